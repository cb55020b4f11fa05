#===----------------------------------------------------------------------===#
#
# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# One precompiled header of upstream's heavy headers, made once and read by
# every target that links MLIR: a translation unit then costs about two seconds
# instead of ten. No source may rely on it; each includes what it uses.
#
#===----------------------------------------------------------------------===#

function(norm_make_shared_header)
  set(source "${PROJECT_BINARY_DIR}/NormPrecompiledHeader.cpp")
  if(NOT EXISTS "${source}")
    file(WRITE "${source}" "// Only carries the shared header.\n")
  endif()
  add_library(NormPrecompiledHeader OBJECT "${source}")
  target_compile_features(NormPrecompiledHeader PRIVATE cxx_std_20)
  target_precompile_headers(NormPrecompiledHeader PRIVATE
    <mlir/Conversion/LLVMCommon/ConversionTarget.h>
    <mlir/Conversion/LLVMCommon/TypeConverter.h>
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h>
    <mlir/Dialect/Bufferization/IR/Bufferization.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/GPU/IR/GPUDialect.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h>
    <mlir/Dialect/LLVMIR/NVVMDialect.h>
    <mlir/Dialect/Linalg/IR/Linalg.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/MemRef/IR/MemRef.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h>
    <mlir/Dialect/Vector/IR/VectorOps.h>
    <mlir/IR/Builders.h>
    <mlir/IR/DialectImplementation.h>
    <mlir/IR/OpImplementation.h>
    <mlir/IR/PatternMatch.h>
    <mlir/Interfaces/IndexingMapOpInterface.h>
    <mlir/Parser/Parser.h>
    <mlir/Pass/Pass.h>
    <mlir/Pass/PassManager.h>
    <mlir/Transforms/DialectConversion.h>
    <mlir/Transforms/GreedyPatternRewriteDriver.h>
    <llvm/ADT/TypeSwitch.h>
    <llvm/Support/JSON.h>)
endfunction()

if(NORM_PCH)
  norm_make_shared_header()
endif()

# Lets `target` read the shared header if it links MLIR and doesn't opt out.
function(norm_use_shared_header target libraries no_pch)
  if(NORM_PCH AND NOT no_pch AND "${libraries}" MATCHES "MLIR")
    target_precompile_headers(${target} REUSE_FROM NormPrecompiledHeader)
  endif()
endfunction()
