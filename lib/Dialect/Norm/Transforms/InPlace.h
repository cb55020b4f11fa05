//===- InPlace.h - Results in the memory of arguments -----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_INPLACE_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_INPLACE_H

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::norm {

/// A result of a function that is written to the memory of an argument, and the
/// program that does so.
struct InPlaceResult {
  unsigned argument, result;
  GenericOp program;
  unsigned output; ///< of the program
  /// The argument as the program's input, as it is or reshaped.
  SmallVector<unsigned> reads;

  Value getProgramResult() { return program->getResult(output); }
  /// Makes the argument a memref that the program updates. What it read as an
  /// input is the previous content of its output.
  void replaceArgument(RewriterBase &rewriter, func::FuncOp function,
                       const llvm::DenseSet<Type> &pitched);
};

/// The results that `norm.in_place` declares, in the order of the arguments.
/// Fails, with a diagnostic, where one can't be: a program must make it, read
/// the argument at no other element than the one it writes, and be the last to
/// read it.
FailureOr<SmallVector<InPlaceResult>>
findInPlaceResults(func::FuncOp function);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_INPLACE_H
