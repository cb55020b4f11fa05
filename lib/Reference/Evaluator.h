//===- Evaluator.h - Evaluation of ops on arrays ----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of the evaluator: values in scope, and one entry per kind of op.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_REFERENCE_EVALUATOR_H
#define NORM_LIB_REFERENCE_EVALUATOR_H

#include "Array.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

namespace mlir::linalg {
class LinalgOp;
} // namespace mlir::linalg
namespace mlir::norm {
class GenericOp;
} // namespace mlir::norm

namespace norm::reference {

using Arrays = llvm::SmallVector<Array, 2>;

/// An error with the op's position in the text.
llvm::Error errorAt(mlir::Operation *op, const llvm::Twine &message);

/// The arrays of a block's values. An array is dropped after its last use.
class Scope {
public:
  void define(mlir::Value value, Array array);
  /// The array of a value, or null.
  const Array *lookup(mlir::Value value) const;
  /// The arrays of an op's operands, all of which are in scope.
  llvm::Expected<llvm::SmallVector<const Array *>>
  operandsOf(mlir::Operation *op) const;
  /// Drops the operands of an op that nothing else uses.
  void release(mlir::Operation *op);

private:
  struct Entry {
    Array array;
    int64_t uses = 0;
  };
  llvm::DenseMap<mlir::Value, Entry> entries;
};

/// A constant as an array of its shape; a scalar has shape {}.
llvm::Expected<Array> evaluateConstant(mlir::Operation *op);

/// An elementwise arith or math op on arrays of one rank, or scalars.
llvm::Expected<Array> evaluateElementwise(mlir::Operation *op,
                                          llvm::ArrayRef<const Array *> in);

/// Whether `op` is one of the named ops of the norm dialect.
bool isNamedOp(mlir::Operation *op);
llvm::Expected<Arrays> evaluateNamedOp(mlir::Operation *op,
                                       llvm::ArrayRef<const Array *> in);

/// `in` are the operands, destinations included.
llvm::Expected<Arrays> evaluateGeneric(mlir::norm::GenericOp op,
                                       llvm::ArrayRef<const Array *> in);

/// A linalg op of parallel loops; `scope` holds what its body captures.
llvm::Expected<Arrays> evaluateLinalg(mlir::linalg::LinalgOp op,
                                      llvm::ArrayRef<const Array *> in,
                                      const Scope &scope);

/// tensor.empty, splat, cast, dim, expand_shape and collapse_shape.
bool isTensorOp(mlir::Operation *op);
llvm::Expected<Array> evaluateTensorOp(mlir::Operation *op,
                                       llvm::ArrayRef<const Array *> in);

} // namespace norm::reference

#endif // NORM_LIB_REFERENCE_EVALUATOR_H
