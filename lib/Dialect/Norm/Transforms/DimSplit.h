//===- DimSplit.h - A program over parts of its dims ------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_DIMSPLIT_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_DIMSPLIT_H

#include "ProgramBuilder.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace mlir::norm {

/// The sizes into which a dim is split, the outermost first.
using DimParts = SmallVector<OpFoldResult>;

/// Whether two lists of sizes are known to be equal where their products are:
/// all but one, then, have to be the same number.
bool areSameParts(ArrayRef<OpFoldResult> a, ArrayRef<OpFoldResult> b);

/// Splits dims of a program. Every tensor operand with a split dim is read or
/// written as a tensor.expand_shape of what it was; the body speaks of the
/// parts.
class DimSplit {
public:
  /// Without a split so far.
  explicit DimSplit(GenericOp program)
      : program(program), parts(program.getNumDims()) {}

  GenericOp getProgram() const { return program; }
  /// Splits a dim; false if it's split already in another way.
  bool add(unsigned dim, ArrayRef<OpFoldResult> sizes);
  bool isSplit(unsigned dim) const { return !parts[dim].empty(); }
  bool isEmpty() const;
  unsigned getNumParts(unsigned dim) const {
    return isSplit(dim) ? parts[dim].size() : 1;
  }
  /// The position of the first part of a dim among the new dims.
  unsigned getFirst(unsigned dim) const;
  unsigned getNumDims() const { return getFirst(parts.size()); }

  /// An operand to put in the place of another.
  struct Operand {
    Value value;
    AffineMap map;
  };
  using Operands = llvm::DenseMap<unsigned, Operand>;
  /// Builds the program at the insertion point, with `replacements` of some
  /// operands by number, in terms of the new dims. The given program stays.
  /// Fails, having built nothing but views, where an operand's type doesn't
  /// tell the sizes that it is to be split into, or a dim would be in the map
  /// of no operand.
  FailureOr<GenericOp> build(RewriterBase &rewriter,
                             const Operands &replacements);

  /// Gives the users of the results back what they used, from the program that
  /// was built, by ops at the insertion point. Returns the last one, or
  /// `split`.
  Operation *replaceResults(RewriterBase &rewriter, GenericOp split);

private:
  /// The axes of a new result that make up each axis of the old one.
  SmallVector<ReassociationIndices> getReassociation(unsigned result) const;
  FailureOr<Operand> splitOperand(RewriterBase &rewriter, OpOperand &operand);
  SmallVector<ReassociationIndices> getReassociationOf(AffineMap map) const;
  SmallVector<std::string> makeNames() const;
  void fillBody(RewriterBase &rewriter, GenericOp split);
  Value makeExtent(RewriterBase &rewriter, GenericOp split, ExtentOp extent);
  Value makeIndex(RewriterBase &rewriter, GenericOp split, IndexOp index);

  GenericOp program;
  SmallVector<DimParts> parts;
};

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_DIMSPLIT_H
