//===- SmallFloats.h - f16 and bf16 on targets without them -----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_TARGET_SMALLFLOATS_H
#define NORM_LIB_TARGET_SMALLFLOATS_H

#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"

namespace mlir {
class Operation;
class RewriterBase;
namespace arith {
class ExtFOp;
} // namespace arith

namespace norm {

/// Writes arithmetic of `arith` and `vector` ops on `types`, below `root`, in
/// f32 with conversions around each op. The precision of f32 is large enough
/// that the two roundings give what one would for types of up to 11 bits.
LogicalResult emulateArithmetic(Operation *root, ArrayRef<Type> types);

/// Writes what is done on bf16 below `root` in f32 and integers, and roundings
/// from f64 to bf16 and f16 such that there is only one.
LogicalResult expandSmallFloats(Operation *root);

/// For a GPU: writes the extension of a vector of an even number of bf16 to f32
/// as a shift and a mask of each pair, one instruction per element. Left to
/// LLVM, the upper half of a pair costs two, and a rounding before it is done
/// one by one. Other extensions stay as they are.
void extendByPairs(RewriterBase &rewriter, arith::ExtFOp op);

} // namespace norm
} // namespace mlir

#endif // NORM_LIB_TARGET_SMALLFLOATS_H
