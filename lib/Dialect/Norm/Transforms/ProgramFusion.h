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
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::norm {

/// Who uses what a program yields, as it is or reshaped.
struct ProgramUses {
  explicit ProgramUses(GenericOp program);

  /// The results that an op other than `consumer` reads.
  static llvm::SmallBitVector findShared(GenericOp program, GenericOp consumer);
  /// Whether an op other than `consumer` reads before it does.
  bool areBefore(GenericOp consumer) const;

  /// The tensor.expand_shape and tensor.collapse_shape ops in the program's
  /// block, operands before users.
  SmallVector<Operation *> reshapes;
  /// The other ops.
  llvm::SmallSetVector<Operation *, 4> readers;
};

/// How a producer and a consumer are made one program. Both run over the space
/// of one of them, the base; a dim of either is a dim of the base, or stands
/// for position 0 of axes of size 1.
class ProgramFusion {
public:
  /// Finds how to fuse where the consumer reads the producer's results as they
  /// are, or says why not: `reason` then completes "not fused:".
  static std::optional<ProgramFusion>
  match(GenericOp producer, GenericOp consumer, std::string &reason);

  /// The part of `match` that asks whether the producer may be computed in the
  /// consumer's place: who else reads it, and where.
  static LogicalResult checkPlaces(GenericOp producer, GenericOp consumer,
                                   std::string &reason);
  /// The part of `match` that looks at the two spaces. `shared` are the results
  /// that others read as well.
  static std::optional<ProgramFusion>
  matchSpaces(GenericOp producer, GenericOp consumer,
              const llvm::SmallBitVector &shared, std::string &reason);
  /// The same for two programs neither of which needs the other, in any order,
  /// both of which read a tensor of all their dims.
  static std::optional<ProgramFusion>
  matchSiblings(GenericOp first, GenericOp second, std::string &reason);

  GenericOp getProducer() const { return producer; }
  GenericOp getConsumer() const { return consumer; }

  /// Both as one program. Bodies are inlined as they are. What the producer
  /// yields is an output as well where others than the consumer use it.
  GenericOp build(RewriterBase &rewriter);
  /// Replaces both ops by one in the place of the consumer, and returns it.
  GenericOp apply(RewriterBase &rewriter);

private:
  ProgramFusion(GenericOp producer, GenericOp consumer,
                const llvm::SmallBitVector &shared)
      : producer(producer), consumer(consumer), shared(shared),
        toConsumer(producer.getNumDims()), toProducer(consumer.getNumDims()) {}

  LogicalResult bind(AffineMap from, AffineMap to, std::string &reason);
  LogicalResult bindAxes(std::string &reason);
  LogicalResult bindShared(std::string &reason);
  bool keepsOrder(unsigned p, unsigned c) const;
  void bindByExtents();
  LogicalResult checkSpaces(std::string &reason);
  LogicalResult checkWorkers(bool producerIsOpen, bool consumerIsOpen,
                             std::string &reason);
  LogicalResult checkReductions(std::string &reason);
  LogicalResult checkExtents(std::string &reason);
  bool isCheap() const;

  GenericOp producer, consumer;
  /// Results of the producer that stay.
  llvm::SmallBitVector shared;
  /// For each dim, the one of the other program that it is bound to.
  SmallVector<std::optional<unsigned>> toConsumer, toProducer;
  /// Dims of the producer that stand for position 0.
  SmallVector<unsigned> zeroDims;
  bool baseIsProducer = false;
  /// What each result of the program built last takes the place of.
  SmallVector<OpResult> replaced;
};

/// What fixes a dynamic extent: an axis of a tensor that comes from elsewhere,
/// or a value, with axis -1. Equal keys mean equal extents.
using ExtentKey = std::pair<Value, int64_t>;
/// Of a size; the value is one of type index.
ExtentKey getExtentKey(Value size);
/// Of an axis of a tensor.
ExtentKey getExtentKey(Value tensor, int64_t axis);

/// Moves reshapes of a program's results, which nothing above `consumer` may
/// read, from above it to right below `last`, a later op of the same block.
void moveReshapesBelow(RewriterBase &rewriter, GenericOp program,
                       GenericOp consumer, Operation *last);

/// Removes inputs that the body doesn't use, unless an extent needs them.
void dropUnusedInputs(RewriterBase &rewriter, GenericOp op);

/// The program without the results that nobody uses, in its place; or as it is
/// where there is none, or what is left wouldn't tell the extents of all dims.
GenericOp dropUnusedResults(RewriterBase &rewriter, GenericOp op);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_PROGRAMFUSION_H
