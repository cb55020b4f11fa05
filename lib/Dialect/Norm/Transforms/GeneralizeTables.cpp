//===- GeneralizeTables.cpp - Constants of several values in programs -----===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::norm;

/// A program selects among at most this many values for each element that it
/// computes.
static constexpr int64_t maxInlineValues = 16;
/// A table of at most this many is written by a program of its own.
static constexpr int64_t maxTableValues = 256;

/// The elements of a constant that is small and of several values; null for
/// another value.
static DenseElementsAttr getTable(Value value) {
  DenseElementsAttr elements;
  if (!isa<RankedTensorType>(value.getType()) ||
      !matchPattern(value, m_Constant(&elements)) || elements.isSplat() ||
      elements.getNumElements() > maxTableValues)
    return {};
  Type type = elements.getElementType();
  // Not all targets compute with 8-bit floats.
  if (auto floating = dyn_cast<FloatType>(type);
      floating ? floating.getWidth() < 16 : !type.isIntOrIndex())
    return {};
  return elements;
}

namespace {
/// Emits the choice of a table's value into a body.
class TableEmitter {
public:
  TableEmitter(RewriterBase &rewriter, Location loc, DenseElementsAttr elements)
      : rewriter(rewriter), loc(loc),
        values(llvm::to_vector(elements.getValues<TypedAttr>())),
        shape(elements.getType().getShape()) {}

  /// The value at the position where the axes are along `names`, none for an
  /// axis read at 0.
  Value emit(ArrayRef<StringAttr> names) {
    position = nullptr;
    for (auto [name, extent] : llvm::zip_equal(names, shape))
      step(name, extent);
    if (!position)
      return arith::ConstantOp::create(rewriter, loc, values.front());
    return choose(0, values.size());
  }

private:
  Value number(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }

  void step(StringAttr name, int64_t extent) {
    if (!name || extent == 1)
      return;
    if (position)
      position = arith::MulIOp::create(rewriter, loc, position, number(extent));
    Value index = IndexOp::create(rewriter, loc, rewriter.getIndexType(), name);
    position = position ? arith::AddIOp::create(rewriter, loc, position, index)
                        : index;
  }

  /// The value among those from `begin` to before `end`, by halves.
  Value choose(size_t begin, size_t end) {
    if (llvm::all_equal(ArrayRef(values).slice(begin, end - begin)))
      return arith::ConstantOp::create(rewriter, loc, values[begin]);
    size_t middle = begin + (end - begin) / 2;
    Value lower = choose(begin, middle), upper = choose(middle, end);
    Value isLower =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                              position, number(static_cast<int64_t>(middle)));
    return arith::SelectOp::create(rewriter, loc, isLower, lower, upper);
  }

  RewriterBase &rewriter;
  Location loc;
  SmallVector<TypedAttr> values;
  ArrayRef<int64_t> shape;
  Value position;
};
} // namespace

/// Whether other operands tell all extents as well.
static bool tellsNothing(GenericOp op, unsigned number) {
  AffineMap map = op.getMap(number);
  return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
    if (!isa<AffineDimExpr>(expr))
      return true;
    for (OpOperand &other : op->getOpOperands())
      if (other.getOperandNumber() != number)
        if (auto axis =
                op.getMatchingIndexingMap(&other).getResultPosition(expr))
          if (ShapedType::isStatic(op.getShape(&other)[*axis]))
            return true;
    return false;
  });
}

/// Puts small tables that a program reads into its body.
static void inlineTables(RewriterBase &rewriter, GenericOp op) {
  for (unsigned number = op.getInputs().size(); number-- > 0;) {
    DenseElementsAttr elements = getTable(op.getInputs()[number]);
    if (!elements || elements.getNumElements() > maxInlineValues ||
        !tellsNothing(op, number))
      continue;
    SmallVector<StringAttr> names;
    for (AffineExpr expr : op.getMap(number).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      names.push_back(dim ? cast<StringAttr>(op.getDims()[dim.getPosition()])
                          : StringAttr());
    }
    rewriter.setInsertionPointToStart(op.getBlock());
    TableEmitter table(rewriter, op.getInputs()[number].getLoc(), elements);
    rewriter.replaceAllUsesWith(op.getBlock()->getArgument(number),
                                table.emit(names));
    SmallVector<Attribute> maps(op.getIndexingMaps().getValue());
    maps.erase(maps.begin() + number);
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputsMutable().erase(number);
      op.setIndexingMapsAttr(rewriter.getArrayAttr(maps));
      op.getBlock()->eraseArgument(number);
    });
  }
}

/// Writes a table by a program, for those who need it in memory.
static void writeTable(RewriterBase &rewriter, DimSizes &sizes, Value tensor,
                       DenseElementsAttr elements) {
  auto type = cast<RankedTensorType>(tensor.getType());
  unsigned rank = type.getRank();
  rewriter.setInsertionPointAfterValue(tensor);
  ProgramBuilder program(rewriter, sizes, tensor.getLoc(),
                         rank == 0 ? SmallVector<std::string>()
                                   : getSpaceNames(rank - 1, 1));
  program.addOutput(type, rewriter.getMultiDimIdentityMap(rank));
  program.begin();
  SmallVector<StringAttr> names;
  for (unsigned dim = 0; dim != rank; ++dim)
    names.push_back(rewriter.getStringAttr(program.getDimName(dim)));
  TableEmitter table(rewriter, tensor.getLoc(), elements);
  Value value = table.emit(names);
  Value written = program.finish(value, "table").getResult(0);
  rewriter.replaceAllUsesWith(tensor, written);
}

void norm::generalizeTables(RewriterBase &rewriter, DimSizes &sizes,
                            Operation *root) {
  SmallVector<GenericOp> programs;
  SmallVector<arith::ConstantOp> tables;
  root->walk([&](Operation *op) {
    if (auto program = dyn_cast<GenericOp>(op))
      programs.push_back(program);
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (getTable(constant))
        tables.push_back(constant);
  });
  for (GenericOp program : programs)
    inlineTables(rewriter, program);
  for (arith::ConstantOp constant : tables) {
    bool needed = llvm::any_of(constant->getUsers(), [](Operation *user) {
      return isa<GenericOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
                 user) ||
             user->hasTrait<OpTrait::ReturnLike>();
    });
    if (needed)
      writeTable(rewriter, sizes, constant, getTable(constant));
    if (constant.use_empty())
      rewriter.eraseOp(constant);
  }
}
