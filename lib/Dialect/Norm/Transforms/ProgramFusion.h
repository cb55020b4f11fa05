//===- ProgramFusion.h - Inlining one program into another ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_PROGRAMFUSION_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_PROGRAMFUSION_H

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::norm {

/// How a producer and a consumer are made one program. Both run over the space
/// of the one with more dims, the base; a dim of either is a dim of the base,
/// or stands for position 0 of axes of size 1.
class ProgramFusion {
public:
  /// Finds how to fuse, or says why not: `reason` then completes "not fused:".
  static std::optional<ProgramFusion>
  match(GenericOp producer, GenericOp consumer, std::string &reason);

  /// Replaces both ops by one in the place of the consumer, and returns it.
  /// Bodies are inlined as they are. What the producer yields is an output as
  /// well where others than the consumer use it.
  GenericOp apply(RewriterBase &rewriter);

private:
  ProgramFusion(GenericOp producer, GenericOp consumer)
      : producer(producer), consumer(consumer),
        toConsumer(producer.getNumDims()), toProducer(consumer.getNumDims()) {}

  LogicalResult bindAxes(std::string &reason);
  bool keepsOrder(unsigned p, unsigned c) const;
  void bindByExtents();
  LogicalResult checkSpaces(std::string &reason);
  LogicalResult checkReductions(std::string &reason);
  LogicalResult checkOtherUses(std::string &reason);
  bool isCheap() const;

  GenericOp producer, consumer;
  /// For each dim, the one of the other program that it is bound to.
  SmallVector<std::optional<unsigned>> toConsumer, toProducer;
  /// Dims of the producer that stand for position 0.
  SmallVector<unsigned> zeroDims;
  bool baseIsProducer = false;
};

/// Removes inputs that the body doesn't use, unless an extent needs them.
void dropUnusedInputs(RewriterBase &rewriter, GenericOp op);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_PROGRAMFUSION_H
