//===- Foreign.h - Ops that don't become kernels ----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_FOREIGN_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_FOREIGN_H

#include "mlir/IR/Operation.h"

namespace mlir::norm {

/// Whether an op calls a function.
bool isCall(Operation *op);

/// Whether an op is a constant tensor of several values, which programs take
/// only where they are few.
bool isTable(Operation *op);

/// Whether an op is neither a program nor what lies around programs: it makes
/// or takes tensors otherwise than as views, sizes or destinations, or calls a
/// function.
bool isForeign(Operation *op);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_FOREIGN_H
