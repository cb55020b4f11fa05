//===- Passes.h - Passes of the norm dialect --------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_TRANSFORMS_PASSES_H
#define NORM_DIALECT_NORM_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
namespace norm {

#define GEN_PASS_DECL
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"

/// The memref by which a tensor crosses a function's boundary: as `layout`, its
/// norm.layout, has it; without one, of rank 2 and with `hasPitch`, with any
/// distance between rows; contiguous otherwise.
MemRefType getBoundaryType(RankedTensorType type, bool hasPitch,
                           StridedLayoutAttr layout = {});

/// The two-dimensional tensor types of a function whose rows may lie apart: in
/// every program they are rows and columns.
llvm::DenseSet<Type> findPitchedTypes(FunctionOpInterface function);

/// The ops of a function that no kernel takes in, which norm-outline leaves to
/// the caller, in order: those on tensors that are neither programs nor around
/// programs, calls, and what runs programs under control.
SmallVector<Operation *> findForeignOps(FunctionOpInterface function);

/// The nested module to which norm-outline moved the programs of `module`, or
/// null.
ModuleOp findKernelModule(ModuleOp module);

#define GEN_PASS_REGISTRATION
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"

} // namespace norm
} // namespace mlir

#endif // NORM_DIALECT_NORM_TRANSFORMS_PASSES_H
