//===- KernelEntry.h - Texts that hold GPU kernels already ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compilation may begin at `gpu.func`: behind launches of norm's own, which
// describe the kernels, or with a kernel that was written by hand and that only
// the caller can describe.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_COMPILER_KERNELENTRY_H
#define NORM_LIB_COMPILER_KERNELENTRY_H

#include "norm/Compiler/Compiler.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace norm {

/// Whether the module holds kernels of the gpu dialect.
bool hasKernels(mlir::ModuleOp module);

/// Whether the function launches kernels that have been converted.
bool hasLaunches(mlir::func::FuncOp function);

/// The kernel named `wanted`, or the only one; an error that lists all.
llvm::Expected<mlir::gpu::GPUFuncOp> findKernel(mlir::ModuleOp module,
                                                llvm::StringRef wanted);

/// Bytes of shared memory that the function declares by itself.
uint64_t staticSharedBytes(mlir::gpu::GPUFuncOp kernel);

/// Fills the arguments and the kernel of `manifest` for a kernel that nothing
/// in the text launches; `names` are those of its arguments. Call it before
/// memref arguments are unpacked.
llvm::Error describeKernel(mlir::gpu::GPUFuncOp kernel,
                           llvm::ArrayRef<std::string> names,
                           const KernelLaunchOptions &options,
                           Manifest &manifest);

/// Checks that each variant of the manifest is a kernel of the module, with
/// the parameters that the manifest passes.
llvm::Error checkVariants(mlir::ModuleOp module, const Manifest &manifest);

} // namespace norm

#endif // NORM_LIB_COMPILER_KERNELENTRY_H
