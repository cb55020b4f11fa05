//===- FuseReshapes.h - Fusing programs with reshapes between ---*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_FUSERESHAPES_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_FUSERESHAPES_H

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::norm {

/// The program that a value is a reshape of: the value's own where there is
/// nothing in between, none where it comes from elsewhere.
GenericOp getProgramBehindReshapes(Value value);

/// Whether an operand of `consumer` is a reshape of a result of `producer`.
bool readsReshaped(GenericOp producer, GenericOp consumer);

/// Fuses two programs, at least one result of the first being read reshaped.
/// Dims are split as the tensor.collapse_shape and tensor.expand_shape in
/// between have it: the consumer's where the first merge axes of what it reads,
/// the producer's where the second split axes of what it writes. Axes of size 1
/// that come and go are read at 0. Reshapes then stand at the operands and the
/// results. Where that leads to no fusion nothing changes, and `reason` says
/// why. Gives the fused program, and in `saved` what it saves, or null. `order`
/// is that of its reductions.
GenericOp fuseThroughReshapes(RewriterBase &rewriter, GenericOp producer,
                              GenericOp consumer, OrderAttr order,
                              std::string &reason, std::string &saved);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_FUSERESHAPES_H
