//===- DimSplit.cpp - A program over parts of its dims --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DimSplit.h"

#include "ProgramFusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::norm;

static bool areSameSizes(OpFoldResult a, OpFoldResult b) {
  std::optional<int64_t> numberA = getConstantIntValue(a);
  std::optional<int64_t> numberB = getConstantIntValue(b);
  if (numberA || numberB)
    return numberA == numberB;
  return getExtentKey(cast<Value>(a)) == getExtentKey(cast<Value>(b));
}

bool norm::areSameParts(ArrayRef<OpFoldResult> a, ArrayRef<OpFoldResult> b) {
  if (a.size() != b.size())
    return false;
  unsigned open = 0;
  for (auto [sizeA, sizeB] : llvm::zip_equal(a, b)) {
    std::optional<int64_t> numberA = getConstantIntValue(sizeA);
    std::optional<int64_t> numberB = getConstantIntValue(sizeB);
    bool same = areSameSizes(sizeA, sizeB);
    if (!same && numberA && numberB)
      return false;
    open += !same;
    // Anything times nothing is nothing.
    if (!same && (numberA == 0 || numberB == 0))
      return false;
  }
  return open == 0 || (open == 1 && llvm::none_of(a, [](OpFoldResult size) {
                         return getConstantIntValue(size) == 0;
                       }));
}

bool DimSplit::add(unsigned dim, ArrayRef<OpFoldResult> sizes) {
  if (isSplit(dim))
    return areSameParts(parts[dim], sizes);
  parts[dim].assign(sizes.begin(), sizes.end());
  return true;
}

bool DimSplit::isEmpty() const {
  return llvm::all_of(parts,
                      [](const DimParts &sizes) { return sizes.empty(); });
}

unsigned DimSplit::getFirst(unsigned dim) const {
  unsigned first = 0;
  for (unsigned before = 0; before != dim; ++before)
    first += getNumParts(before);
  return first;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

SmallVector<ReassociationIndices>
DimSplit::getReassociationOf(AffineMap map) const {
  SmallVector<ReassociationIndices> groups;
  int64_t axis = 0;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    ReassociationIndices &group = groups.emplace_back();
    for (unsigned i = 0, e = dim ? getNumParts(dim.getPosition()) : 1; i != e;
         ++i)
      group.push_back(axis++);
  }
  return groups;
}

SmallVector<ReassociationIndices>
DimSplit::getReassociation(unsigned result) const {
  GenericOp op = program;
  return getReassociationOf(op.getMap(op.getInputs().size() + result));
}

/// Appends the static sizes of an axis of size `extent` that is split. Fails
/// where the type of the whole can't be that of the parts.
static LogicalResult appendSplit(int64_t extent, ArrayRef<OpFoldResult> sizes,
                                 SmallVectorImpl<int64_t> &shape) {
  int64_t known = 1;
  std::optional<unsigned> open;
  for (OpFoldResult size : sizes) {
    int64_t number = getConstantIntValue(size).value_or(ShapedType::kDynamic);
    if (!ShapedType::isDynamic(number))
      known *= number;
    else if (open && ShapedType::isStatic(extent))
      return failure();
    else
      open = shape.size();
    shape.push_back(number);
  }
  if (ShapedType::isDynamic(extent))
    return success(open.has_value());
  if (!open)
    return success(known == extent);
  if (known == 0 || extent % known != 0)
    return failure();
  shape[*open] = extent / known;
  return success();
}

FailureOr<DimSplit::Operand> DimSplit::splitOperand(RewriterBase &rewriter,
                                                    OpOperand &operand) {
  Value value = operand.get();
  AffineMap map = program.getMatchingIndexingMap(&operand);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  SmallVector<AffineExpr> exprs;
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> sizes;
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || !isSplit(dim.getPosition())) {
      exprs.push_back(
          dim ? rewriter.getAffineDimExpr(getFirst(dim.getPosition())) : expr);
      shape.push_back(type.getDimSize(axis));
      // Only a tensor that is split needs its sizes.
      sizes.push_back(OpFoldResult());
      continue;
    }
    ArrayRef<OpFoldResult> dimParts = parts[dim.getPosition()];
    if (failed(appendSplit(type.getDimSize(axis), dimParts, shape)))
      return failure();
    llvm::append_range(sizes, dimParts);
    for (unsigned i = 0, e = dimParts.size(); i != e; ++i)
      exprs.push_back(
          rewriter.getAffineDimExpr(getFirst(dim.getPosition()) + i));
  }
  AffineMap newMap =
      AffineMap::get(getNumDims(), 0, exprs, rewriter.getContext());
  if (exprs.size() == map.getNumResults())
    return Operand{value, newMap};

  SmallVector<ReassociationIndices> groups = getReassociationOf(map);
  auto newType = RankedTensorType::get(shape, type.getElementType());
  if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>())
    if (collapse.getSrcType() == newType &&
        collapse.getReassociationIndices() == groups &&
        llvm::all_of(groups, [&](const ReassociationIndices &group) {
          return llvm::count_if(group, [&](int64_t axis) {
                   return ShapedType::isDynamic(shape[axis]);
                 }) <= 1;
        }))
      return Operand{collapse.getSrc(), newMap};

  DimSizes dimSizes(rewriter);
  Location loc = program.getLoc();
  for (auto [axis, group] : llvm::enumerate(groups))
    for (int64_t part : group) {
      if (ShapedType::isStatic(shape[part]))
        sizes[part] = rewriter.getIndexAttr(shape[part]);
      else if (!sizes[part])
        sizes[part] = dimSizes.get(loc, value, axis);
    }
  if (value.getDefiningOp<tensor::EmptyOp>())
    return Operand{
        tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType())
            .getResult(),
        newMap};
  return Operand{tensor::ExpandShapeOp::create(rewriter, loc, newType, value,
                                               groups, sizes)
                     .getResult(),
                 newMap};
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// The dims that no reduction goes over are rows.
SmallVector<std::string> DimSplit::makeNames() const {
  GenericOp op = program;
  llvm::SmallDenseSet<StringRef> columns;
  for (auto reduce : op.getBlock()->getOps<ReduceOp>())
    for (StringRef name : reduce.getDims().getAsValueRange<StringAttr>())
      columns.insert(name);
  if (columns.empty())
    return getSpaceNames(getNumDims() - 1, 1);
  SmallVector<std::string> names;
  unsigned numRows = 0, numColumns = 0;
  for (unsigned dim = 0, e = parts.size(); dim != e; ++dim) {
    bool isColumn = columns.contains(op.getDimName(dim));
    unsigned &count = isColumn ? numColumns : numRows;
    for (unsigned i = 0, n = getNumParts(dim); i != n; ++i, ++count)
      names.push_back((isColumn ? "col" : "row") +
                      (count == 0 ? std::string() : std::to_string(count)));
  }
  return names;
}

/// The product of the extents of the parts, as a number of the old op's type.
Value DimSplit::makeExtent(RewriterBase &rewriter, GenericOp split,
                           ExtentOp extent) {
  Location loc = extent.getLoc();
  unsigned dim = *program.getDimNumber(extent.getDim());
  // A product of rounded floats isn't the rounded product.
  auto floating = dyn_cast<FloatType>(extent.getType());
  Type type =
      floating && isSplit(dim) ? rewriter.getI64Type() : extent.getType();
  Value product;
  for (unsigned i = 0, e = getNumParts(dim); i != e; ++i) {
    StringRef name = split.getDimName(getFirst(dim) + i);
    Value part =
        ExtentOp::create(rewriter, loc, type, rewriter.getStringAttr(name));
    product =
        product ? arith::MulIOp::create(rewriter, loc, product, part) : part;
  }
  if (type != extent.getType())
    product = arith::SIToFPOp::create(rewriter, loc, extent.getType(), product);
  return product;
}

/// The position along the whole of the position along its parts.
Value DimSplit::makeIndex(RewriterBase &rewriter, GenericOp split,
                          IndexOp index) {
  Location loc = index.getLoc();
  Type type = index.getType();
  unsigned dim = *program.getDimNumber(index.getDim());
  Value position;
  for (unsigned i = 0, e = getNumParts(dim); i != e; ++i) {
    StringAttr name =
        rewriter.getStringAttr(split.getDimName(getFirst(dim) + i));
    if (position) {
      Value extent = ExtentOp::create(rewriter, loc, type, name);
      position = arith::MulIOp::create(rewriter, loc, position, extent);
    }
    Value part = IndexOp::create(rewriter, loc, type, name);
    position =
        position ? arith::AddIOp::create(rewriter, loc, position, part) : part;
  }
  return position;
}

void DimSplit::fillBody(RewriterBase &rewriter, GenericOp split) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(split.getBlock());
  IRMapping mapping;
  mapping.map(program.getBlock()->getArguments(),
              split.getBlock()->getArguments());
  for (Operation &inner : *program.getBlock()) {
    if (auto extent = dyn_cast<ExtentOp>(inner)) {
      mapping.map(extent.getResult(), makeExtent(rewriter, split, extent));
      continue;
    }
    if (auto index = dyn_cast<IndexOp>(inner)) {
      mapping.map(index.getResult(), makeIndex(rewriter, split, index));
      continue;
    }
    Operation *copy = rewriter.clone(inner, mapping);
    auto splitNames = [&](ArrayRef<Attribute> names) {
      SmallVector<Attribute> dims;
      for (Attribute name : names) {
        unsigned dim = *program.getDimNumber(cast<StringAttr>(name));
        for (unsigned i = 0, e = getNumParts(dim); i != e; ++i)
          dims.push_back(
              rewriter.getStringAttr(split.getDimName(getFirst(dim) + i)));
      }
      return dims;
    };
    if (auto reduce = dyn_cast<ReduceOp>(copy)) {
      reduce.setDimsAttr(
          rewriter.getArrayAttr(splitNames(reduce.getDims().getValue())));
    } else if (auto random = dyn_cast<RandomOp>(copy)) {
      // Positions are row-major on the parts, as they were on the whole.
      SmallVector<Attribute> dims = splitNames(random.getOuterDims());
      SmallVector<Attribute> inner = splitNames(random.getInnerDims());
      llvm::append_range(dims, inner);
      random.setDimsAttr(rewriter.getArrayAttr(dims));
      random.setInner(inner.size());
    }
  }
}

FailureOr<GenericOp> DimSplit::build(RewriterBase &rewriter,
                                     const Operands &replacements) {
  // Sets of dims are 64 bits.
  if (getNumDims() > 64)
    return failure();
  // Workers share the rows as they are.
  if (program.getWorkerDims())
    return failure();
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  llvm::SmallBitVector covered(getNumDims());
  for (OpOperand &operand : program->getOpOperands()) {
    FailureOr<Operand> split;
    auto replacement = replacements.find(operand.getOperandNumber());
    if (replacement != replacements.end())
      split = replacement->second;
    else
      split = splitOperand(rewriter, operand);
    if (failed(split))
      return failure();
    operands.push_back(split->value);
    maps.push_back(split->map);
    for (AffineExpr expr : split->map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        covered.set(dim.getPosition());
  }
  if (!covered.all())
    return failure();

  // Without a split the names stay as they are.
  SmallVector<std::string> made =
      isEmpty() ? SmallVector<std::string>() : makeNames();
  SmallVector<StringRef> names(made.begin(), made.end());
  if (isEmpty())
    names.assign(program.getDims().getAsValueRange<StringAttr>().begin(),
                 program.getDims().getAsValueRange<StringAttr>().end());
  unsigned numInputs = program.getInputs().size();
  ArrayRef<Value> all(operands);
  auto split =
      GenericOp::create(rewriter, program.getLoc(), all.take_front(numInputs),
                        all.drop_front(numInputs), names, maps);
  if (std::optional<StringRef> name = program.getName())
    split.setName(*name);
  if (std::optional<OrderAttr> order = program.getOrder())
    split.setOrderAttr(*order);
  fillBody(rewriter, split);
  return split;
}

/// Whether `expand` undoes a collapse from `type` by `groups`.
static bool isInverse(tensor::ExpandShapeOp expand, RankedTensorType type,
                      ArrayRef<ReassociationIndices> groups) {
  if (expand.getResultType() != type ||
      ArrayRef<ReassociationIndices>(expand.getReassociationIndices()) !=
          groups)
    return false;
  // A size follows from the others of its group.
  return llvm::all_of(groups, [&](const ReassociationIndices &group) {
    return llvm::count_if(group, [&](int64_t axis) {
             return type.isDynamicDim(axis);
           }) <= 1;
  });
}

Operation *DimSplit::replaceResults(RewriterBase &rewriter, GenericOp split) {
  Operation *last = split;
  for (auto [number, from, to] :
       llvm::enumerate(program.getResults(), split.getResults())) {
    if (from.getType() == to.getType()) {
      rewriter.replaceAllUsesWith(from, to);
      continue;
    }
    SmallVector<ReassociationIndices> groups = getReassociation(number);
    for (Operation *user : llvm::make_early_inc_range(from.getUsers()))
      if (auto expand = dyn_cast<tensor::ExpandShapeOp>(user))
        if (isInverse(expand, cast<RankedTensorType>(to.getType()), groups))
          rewriter.replaceOp(expand, to);
    if (from.use_empty())
      continue;
    auto collapse = tensor::CollapseShapeOp::create(rewriter, program.getLoc(),
                                                    from.getType(), to, groups);
    rewriter.replaceAllUsesWith(from, collapse.getResult());
    last = collapse;
  }
  return last;
}
