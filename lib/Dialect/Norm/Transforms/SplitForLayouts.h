//===- SplitForLayouts.h - Programs on memory with gaps ---------*- C++ -*-===//
//-*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_SPLITFORLAYOUTS_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_SPLITFORLAYOUTS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::norm {

/// The memref by which a tensor that may be reshaped is a view of an argument,
/// as it is declared, or of a temporary. Fails where it's none.
FailureOr<MemRefType> getViewType(FunctionOpInterface function, Value tensor);

/// Axes that lie apart in memory can't be collapsed to one. Where a program
/// reads such an argument collapsed, or writes a result whose axes are split to
/// such ones, its dims are split instead. What isn't a matter of splitting dims
/// stays as it is.
void splitForLayouts(RewriterBase &rewriter, FunctionOpInterface function);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_SPLITFORLAYOUTS_H
