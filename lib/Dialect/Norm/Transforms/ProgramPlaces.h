//===- ProgramPlaces.h - Moving programs within a block ---------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_PROGRAMPLACES_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_PROGRAMPLACES_H

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::norm {

/// The first op of the program's block, before `before`, that needs what the
/// program yields, as it is or reshaped; null where none does.
Operation *findFirstReader(GenericOp program, Operation *before);

/// Moves an op, and what it needs, up its block. What was moved goes back
/// unless it's kept.
class TentativeHoist {
public:
  explicit TentativeHoist(RewriterBase &rewriter) : rewriter(rewriter) {}
  TentativeHoist(const TentativeHoist &) = delete;
  TentativeHoist &operator=(const TentativeHoist &) = delete;
  ~TentativeHoist();

  /// Moves `op` right above `limit`, an op before it in its block. Fails, with
  /// nothing moved, where it needs `limit` itself, or an op with effects that
  /// comes after it.
  LogicalResult moveAbove(Operation *op, Operation *limit);
  void keep() { moved.clear(); }

private:
  RewriterBase &rewriter;
  /// What was moved, and the op that it was above.
  SmallVector<std::pair<Operation *, Operation *>> moved;
};

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_PROGRAMPLACES_H
