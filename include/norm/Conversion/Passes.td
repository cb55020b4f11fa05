//===- Passes.td - Conversions of norm_tile -*- tablegen -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_CONVERSION_PASSES_TD
#define NORM_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertNormTileToGPUPass : Pass<"convert-norm-tile-to-gpu", "::mlir::ModuleOp"> {
  let summary = "write tiled kernels as gpu.func";
  let description = [{
    Each `norm_tile.kernel` becomes one or two functions of a `gpu.module`: one
    whose accesses are as wide as the columns allow, and one with accesses of
    single elements for buffers that are not aligned for the first. Launches
    list them in `variants`. A group of `threads` threads takes a row; phases
    are unrolled where values are held in registers and are loops otherwise; an
    exchange goes through shared memory and shuffles in the order of
    `#norm.order`.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect"];
}

def ConvertNormTileToHostPass : Pass<"convert-norm-tile-to-host", "::mlir::ModuleOp"> {
  let summary = "write tiled kernels as host functions over a range of rows";
  let description = [{
    Each `norm_tile.kernel` becomes a function
    `(params: !llvm.ptr, begin: i64, end: i64)` that computes rows `begin` to
    `end` with vector code; `params` points to 8-byte slots.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect"];
}

def ConvertGPUToEmulatedPass : Pass<"convert-gpu-to-emulated", "::mlir::ModuleOp"> {
  let summary = "write gpu.func as functions for the emulated device";
  let description = [{
    Each `gpu.func` becomes a function `(thread: !llvm.ptr, params: !llvm.ptr)`
    of the module, which the emulated device runs once for every GPU thread;
    `params` points to 8-byte slots. What a thread knows of itself, barriers,
    shuffles and every access of global or shared memory become calls of the
    device's routines, all declared as functions with side effects; the access
    itself follows at the address that the routine returns. The places of these
    calls are numbered; the constant `norm_emulated_sites` lists for each, as
    NUL-terminated text, the parameter that the address comes from (-1 where
    that isn't known), the operation and its location, and ends with an empty
    text. `docs/Emulated.md` describes the routines.

    An operation without an emulation is an error.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect"];
}

#endif // NORM_CONVERSION_PASSES_TD
