//===- TileRandom.h - Random numbers in kernels -----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_TILERANDOM_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_TILERANDOM_H

#include "mlir/IR/Builders.h"

namespace mlir::norm {

/// Positions along dims of a kernel, outermost first: each an index, or a
/// vector of them where it differs within a chunk; with the dims' extents.
struct RandomPlace {
  SmallVector<Value> positions;
  SmallVector<Value> extents;
};

/// What a `norm.random` becomes in a kernel.
struct TiledRandom {
  /// i64, or vectors of them.
  Value seed, offset;
  /// The dims of `i` and those of `j`.
  RandomPlace outer, inner;
  /// Elements of a chunk.
  int64_t chunkSize = 1;
  /// Whether each four elements of a chunk, from its first on, are neighbours
  /// along the last dim whose first one's position is a multiple of four, with
  /// the same seed and offset.
  bool isInBlocks = false;
};

/// Emits the numbers: a vector where an input is one, else a scalar. An op is
/// built where `builderFor` says for its operands.
Value emitRandom(
    llvm::function_ref<OpBuilder &(ArrayRef<Value> operands)> builderFor,
    Location loc, const TiledRandom &random);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_TILERANDOM_H
