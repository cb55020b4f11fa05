//===- Programs.cpp - norm.generic and linalg ops -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "Random.h"
#include "Reductions.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "norm/Dialect/Norm/IR/Norm.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;
using mlir::norm::ReduceKind;

//===----------------------------------------------------------------------===//
// Operands and results over the space
//===----------------------------------------------------------------------===//

/// The extent of each dim, from the operands' shapes.
static llvm::Expected<Shape> extentsOf(Operation *op,
                                       llvm::ArrayRef<AffineMap> maps,
                                       llvm::ArrayRef<const Array *> in) {
  Shape extents(maps.empty() ? 0 : maps.front().getNumDims(), -1);
  for (auto [number, operand] : llvm::enumerate(in)) {
    for (auto [axis, expr] : llvm::enumerate(maps[number].getResults())) {
      int64_t extent = operand->shape[axis];
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim) {
        auto constant = dyn_cast<AffineConstantExpr>(expr);
        if (!constant || constant.getValue() != 0 || extent != 1)
          return errorAt(op, "has a map that the reference can't evaluate");
        continue;
      }
      int64_t &known = extents[dim.getPosition()];
      if (known != -1 && known != extent)
        return errorAt(op, "expects extent " + llvm::Twine(known) +
                               " at axis " + llvm::Twine(axis) +
                               " of operand #" + llvm::Twine(number) +
                               " but got " + llvm::Twine(extent));
      known = extent;
    }
  }
  if (llvm::is_contained(extents, -1))
    return errorAt(op, "has a dim that no operand gives an extent");
  return extents;
}

/// An operand over the space: extent 1 along the dims that its map leaves out.
static Array toSpace(const Array &operand, AffineMap map) {
  Shape shape(map.getNumDims(), 1), strides(map.getNumDims(), 0);
  Shape own = rowMajorStrides(operand.shape);
  for (auto [axis, expr] : llvm::enumerate(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      shape[dim.getPosition()] = operand.shape[axis];
      strides[dim.getPosition()] = own[axis];
    }
  return gather(operand, shape, strides);
}

/// A value over the space as a result with axes by `map`.
static llvm::Expected<Array> fromSpace(Operation *op, const Array &value,
                                       AffineMap map,
                                       llvm::ArrayRef<int64_t> extents) {
  Shape shape, strides, own = rowMajorStrides(value.shape);
  llvm::SmallVector<bool> isUsed(extents.size(), false);
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    unsigned position = dim ? dim.getPosition() : 0;
    shape.push_back(dim ? extents[position] : 1);
    strides.push_back(dim && value.shape[position] != 1 ? own[position] : 0);
    if (dim)
      isUsed[position] = true;
  }
  for (size_t i = 0; i < extents.size(); ++i)
    if (!isUsed[i] && value.shape[i] > 1)
      return errorAt(op, "yields a value that varies on a dim which its "
                         "result doesn't have");
  return gather(value, shape, strides);
}

/// The positions along `dim` of a space.
static Array positions(DType type, llvm::ArrayRef<int64_t> extents,
                       unsigned dim) {
  Shape shape(extents.size(), 1);
  shape[dim] = extents[dim];
  Array result(type, shape);
  for (int64_t i = 0; i < extents[dim]; ++i)
    result.value[i] = double(i);
  return result;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// How the rows of a program's reductions are summed.
struct Association {
  /// The leaf and lanes of the order, or the least leaf of any.
  int64_t leaf;
  std::optional<int64_t> lanes;

  int64_t depth(int64_t count, bool isInner) const {
    // Over leading dims the association isn't that of a row.
    if (!isInner)
      return unorderedDepth(count);
    if (!lanes)
      return reductionDepth(count, leaf);
    int64_t perLane = (count + leaf * *lanes - 1) / (leaf * *lanes);
    int64_t levels = llvm::Log2_64_Ceil(leaf) + llvm::Log2_64_Ceil(*lanes);
    return std::max<int64_t>(std::min(count - 1, levels + perLane), 0);
  }
};
} // namespace

static Association associationOf(mlir::norm::GenericOp op) {
  if (auto order = op.getOrderAttr())
    return {order.getLeaf(), order.getLanes()};
  // 16 bytes of the narrowest streamed operand, which the widest bounds.
  int64_t widest = 1;
  for (Value operand : op.getInputs())
    if (std::optional<DType> type = dtypeOf(operand.getType()))
      widest = std::max<int64_t>(widest, byteSize(*type));
  return {16 / widest, std::nullopt};
}

/// Integers wrap, which no order changes.
static Element reduceIntegers(ReduceKind kind, DType type, Row row) {
  bool isSum = kind == ReduceKind::Add;
  uint64_t total = isSum ? 0 : 1;
  for (int64_t i = 0, e = row.size(); i < e; ++i) {
    if (!row.at(i).isExact())
      return type == DType::I1 ? Element{0, 1} : unknown();
    uint64_t x = uint64_t(int64_t(row.value[i]));
    total = isSum ? total + x : total * x;
  }
  if (type == DType::I1)
    return {double(total & 1), 0};
  unsigned unused = 64 - 8 * byteSize(type);
  double result = double(int64_t(total << unused) >> unused);
  return std::fabs(result) > 0x1p53 ? unknown(result) : Element{result, 0};
}

static Element integerIdentity(ReduceKind kind, DType type) {
  double most = type == DType::I1 ? 0 : maxFinite(type);
  // As signed numbers the values of an i1 are 0 and -1.
  double least = type == DType::I1 ? 1 : -most - (type == DType::I64 ? 0 : 1);
  double result = kind == ReduceKind::Max ? least : most;
  return std::fabs(result) > 0x1p53 ? unknown(result) : Element{result, 0};
}

static Element reduceExtremum(ReduceKind kind, DType type, Row row) {
  bool isUp = kind == ReduceKind::Max || kind == ReduceKind::MaxNum;
  if (!isFloat(type)) {
    bool isSwapped = type == DType::I1;
    return extremum(isUp != isSwapped ? maximum : minimum, row,
                    integerIdentity(kind, type));
  }
  Element infinity{isUp ? -kInfinity : kInfinity, 0};
  switch (kind) {
  case ReduceKind::Max:
    return extremum(maximum, row, infinity);
  case ReduceKind::Min:
    return extremum(minimum, row, infinity);
  case ReduceKind::MaxNum:
    return extremum(maximumNumber, row, {kNaN, 0});
  default:
    return extremum(minimumNumber, row, {kNaN, 0});
  }
}

/// Reduces one row; writes the op's one or two results.
static void reduceRow(ReduceKind kind, DType type, Row row, int64_t depth,
                      Element (&results)[2]) {
  switch (kind) {
  case ReduceKind::Add:
    results[0] =
        isFloat(type) ? sum(type, row, depth) : reduceIntegers(kind, type, row);
    return;
  case ReduceKind::Mul:
    results[0] = isFloat(type) ? product(type, row, depth)
                               : reduceIntegers(kind, type, row);
    return;
  case ReduceKind::Max:
  case ReduceKind::Min:
  case ReduceKind::MaxNum:
  case ReduceKind::MinNum:
    results[0] = reduceExtremum(kind, type, row);
    return;
  case ReduceKind::Welford:
  case ReduceKind::WelfordExact: {
    Moments result = moments(type, row, depth,
                             kind == ReduceKind::Welford
                                 ? MomentsForm::Merged
                                 : MomentsForm::MergedExact);
    results[0] = result.mean;
    results[1] = result.m2;
    return;
  }
  case ReduceKind::MaxExpSum:
    results[0] = reduceExtremum(ReduceKind::Max, type, row);
    results[1] = sumOfExponentials(type, row, results[0], depth);
    // Whether parts of nothing but -inf give a NaN is not said.
    if (row.size() != 0 && results[0].value == -kInfinity)
      results[1] = unknown(kNaN);
    return;
  }
}

/// `value` with the dims of `isReduced` last and in full, in a row-major array.
static Array rowsFor(const Array &value, llvm::ArrayRef<int64_t> extents,
                     llvm::ArrayRef<bool> isReduced) {
  Shape shape, strides, own = rowMajorStrides(value.shape);
  for (bool pass : {false, true})
    for (size_t i = 0; i < extents.size(); ++i) {
      if (isReduced[i] != pass)
        continue;
      shape.push_back(pass ? extents[i] : value.shape[i]);
      strides.push_back(value.shape[i] == 1 ? 0 : own[i]);
    }
  return gather(value, shape, strides);
}

static llvm::Expected<Arrays> evaluateReduce(mlir::norm::ReduceOp op,
                                             mlir::norm::GenericOp program,
                                             const Array &value,
                                             llvm::ArrayRef<int64_t> extents,
                                             const Association &association) {
  llvm::SmallVector<bool> isReduced(extents.size(), false);
  for (StringRef name : op.getDims().getAsValueRange<StringAttr>())
    if (std::optional<unsigned> dim = program.getDimNumber(name))
      isReduced[*dim] = true;
  // Inner reductions go over the last dims of the space.
  bool isInner = true;
  for (size_t i = 1; i < extents.size(); ++i)
    isInner &= !(isReduced[i - 1] && !isReduced[i]);
  Shape shape = value.shape;
  int64_t columns = 1;
  for (size_t i = 0; i < extents.size(); ++i)
    if (isReduced[i]) {
      shape[i] = 1;
      columns *= extents[i];
    }
  Shape full = value.shape;
  for (size_t i = 0; i < extents.size(); ++i)
    if (isReduced[i])
      full[i] = extents[i];
  if (isTooLarge(full))
    return errorAt(op, "expects at most 2^30 elements for the reference");
  Array rows = rowsFor(value, extents, isReduced);
  Arrays results(op.getNumResults(), Array(value.type, shape));
  int64_t depth = association.depth(columns, isInner);
  for (int64_t row = 0, e = results[0].size(); row < e; ++row) {
    Element elements[2];
    reduceRow(op.getKind(), value.type, rowOf(rows, row, columns), depth,
              elements);
    for (auto [i, result] : llvm::enumerate(results))
      result.set(row, elements[i]);
  }
  return results;
}

/// The points of a sum that each worker has, in the order of the sum's dims.
static llvm::Expected<Arrays>
evaluateAccumulate(mlir::norm::AccumulateOp op, mlir::norm::GenericOp program,
                   const Array &value, llvm::ArrayRef<int64_t> extents) {
  llvm::SmallVector<bool> isReduced(extents.size(), false);
  for (StringRef name : op.getDims().getAsValueRange<StringAttr>())
    isReduced[*program.getDimNumber(name)] = true;
  unsigned dim = *program.getDimNumber(op.getWorker());
  int64_t workers = extents[dim], strands = op.getStrands(), points = 1;
  Shape full = value.shape;
  for (size_t i = 0; i < extents.size(); ++i)
    if (isReduced[i]) {
      full[i] = extents[i];
      points *= extents[i];
    }
  Shape shape = value.shape;
  for (size_t i = 0; i < extents.size(); ++i)
    if (isReduced[i])
      shape[i] = 1;
  shape[dim] = workers;
  if (isTooLarge(full) || isTooLarge(shape))
    return errorAt(op, "expects at most 2^30 elements for the reference");
  Array rows = rowsFor(value, extents, isReduced);
  Array result(value.type, shape);
  // Row-major positions of the result with those of workers apart.
  int64_t inner = 1;
  for (size_t i = dim + 1; i < shape.size(); ++i)
    inner *= shape[i];
  int64_t most = llvm::divideCeil(points, workers * strands);
  int64_t depth = most + llvm::Log2_64_Ceil(strands);
  Array share(value.type, {strands * most});
  for (int64_t outer = 0, e = result.size() / workers; outer < e; ++outer)
    for (int64_t worker = 0; worker < workers; ++worker) {
      int64_t count = 0;
      for (int64_t point = worker * strands; point < points;
           point += workers * strands)
        for (int64_t i = point; i < std::min(point + strands, points); ++i)
          share.set(count++, rowOf(rows, outer, points).at(i));
      Row row = rowOf(share, 0, count);
      int64_t at = outer / inner * inner * workers + worker * inner +
                   outer % inner;
      result.set(at, sum(value.type, row,
                         std::max<int64_t>(std::min(count - 1, depth), 0)));
    }
  return Arrays{std::move(result)};
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

static Array scalarOverSpace(Array scalar, size_t rank) {
  scalar.shape.assign(rank, 1);
  return scalar;
}

/// A number as the type says it: an extent of f32 is rounded.
static Array numberOverSpace(DType type, int64_t number, size_t rank) {
  Array result(type, Shape(rank, 1));
  result.set(0, rounded(type, {double(number), 0}));
  return result;
}

static llvm::Expected<Arrays> evaluateBodyOp(Operation &op,
                                             mlir::norm::GenericOp program,
                                             const Scope &scope,
                                             llvm::ArrayRef<int64_t> extents,
                                             const Association &association) {
  auto operands = scope.operandsOf(&op);
  if (!operands)
    return operands.takeError();
  if (auto reduce = dyn_cast<mlir::norm::ReduceOp>(op))
    return evaluateReduce(reduce, program, *operands->front(), extents,
                          association);
  if (auto sum = dyn_cast<mlir::norm::AccumulateOp>(op))
    return evaluateAccumulate(sum, program, *operands->front(), extents);
  Arrays results;
  auto take = [&](llvm::Expected<Array> result) -> llvm::Error {
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
    return llvm::Error::success();
  };
  llvm::Error error =
      llvm::TypeSwitch<Operation *, llvm::Error>(&op)
          .Case<mlir::norm::ExtentOp>([&](auto extent) {
            unsigned dim = *program.getDimNumber(extent.getDim());
            return take(numberOverSpace(*dtypeOf(extent.getType()),
                                        extents[dim], extents.size()));
          })
          .Case<mlir::norm::IndexOp>([&](auto index) {
            unsigned dim = *program.getDimNumber(index.getDim());
            return take(positions(*dtypeOf(index.getType()), extents, dim));
          })
          .Case<mlir::norm::RandomOp>([&](auto random) {
            return take(evaluateRandom(random, program, *(*operands)[0],
                                       *(*operands)[1], extents));
          })
          .Default([&](Operation *other) {
            if (other->hasTrait<OpTrait::ConstantLike>()) {
              llvm::Expected<Array> scalar = evaluateConstant(other);
              if (scalar)
                *scalar = scalarOverSpace(std::move(*scalar), extents.size());
              return take(std::move(scalar));
            }
            return take(evaluateElementwise(other, *operands));
          });
  if (error)
    return std::move(error);
  return results;
}

/// The results that a terminator yields, by the maps of the destinations.
static llvm::Expected<Arrays> yielded(Operation *terminator, const Scope &scope,
                                      llvm::ArrayRef<AffineMap> maps,
                                      llvm::ArrayRef<int64_t> extents) {
  auto values = scope.operandsOf(terminator);
  if (!values)
    return values.takeError();
  Arrays results;
  for (auto [value, map] : llvm::zip(*values, maps)) {
    llvm::Expected<Array> result = fromSpace(terminator, *value, map, extents);
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
  }
  return results;
}

llvm::Expected<Arrays>
reference::evaluateGeneric(mlir::norm::GenericOp op,
                           llvm::ArrayRef<const Array *> in) {
  if (!op.hasTensorSemantics())
    return errorAt(op, "expects tensors for the reference but got memrefs");
  llvm::SmallVector<AffineMap> maps;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    maps.push_back(op.getMap(i));
  llvm::Expected<Shape> extents = extentsOf(op, maps, in);
  if (!extents)
    return extents.takeError();
  Scope scope;
  for (BlockArgument argument : op.getBlock()->getArguments()) {
    unsigned number = argument.getArgNumber();
    scope.define(argument, toSpace(*in[number], maps[number]));
  }
  Association association = associationOf(op);
  for (Operation &inner : op.getBlock()->without_terminator()) {
    auto results = evaluateBodyOp(inner, op, scope, *extents, association);
    if (!results)
      return results.takeError();
    scope.release(&inner);
    for (auto [value, array] : llvm::zip(inner.getResults(), *results))
      scope.define(value, std::move(array));
  }
  llvm::ArrayRef<AffineMap> outMaps(maps);
  return yielded(op.getBlock()->getTerminator(), scope,
                 outMaps.drop_front(op.getInputs().size()), *extents);
}

/// Brings what a body captures into its scope.
static llvm::Error capture(Operation &op, const Scope &outer, size_t rank,
                           Scope &scope) {
  for (Value operand : op.getOperands()) {
    if (scope.lookup(operand))
      continue;
    const Array *array = outer.lookup(operand);
    if (!array || !array->shape.empty())
      return errorAt(&op, "takes a value that the reference can't evaluate");
    scope.define(operand, scalarOverSpace(*array, rank));
  }
  return llvm::Error::success();
}

llvm::Expected<Arrays>
reference::evaluateLinalg(linalg::LinalgOp op, llvm::ArrayRef<const Array *> in,
                          const Scope &outer) {
  llvm::SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  Block *block = op.getBlock();
  if (op.getNumParallelLoops() != op.getNumLoops() ||
      block->getNumArguments() != in.size() || !op.hasPureTensorSemantics())
    return errorAt(op, "expects parallel loops over tensors, and a body "
                       "argument for each operand, for the reference");
  llvm::Expected<Shape> extents = extentsOf(op, maps, in);
  if (!extents)
    return extents.takeError();
  Scope scope;
  for (BlockArgument argument : block->getArguments()) {
    unsigned number = argument.getArgNumber();
    scope.define(argument, toSpace(*in[number], maps[number]));
  }
  for (Operation &inner : *block) {
    if (llvm::Error error = capture(inner, outer, extents->size(), scope))
      return std::move(error);
    if (&inner == block->getTerminator())
      break;
    llvm::Expected<Array> result =
        errorAt(&inner, "can't be evaluated by the reference");
    auto assign = [&](llvm::Expected<Array> value) {
      llvm::consumeError(result.takeError());
      result = std::move(value);
    };
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      assign(positions(DType::I64, *extents, index.getDim()));
    } else if (inner.hasTrait<OpTrait::ConstantLike>()) {
      assign(evaluateConstant(&inner));
      if (result)
        *result = scalarOverSpace(std::move(*result), extents->size());
    } else if (inner.getNumRegions() == 0 && inner.getNumResults() == 1) {
      auto operands = scope.operandsOf(&inner);
      if (!operands)
        return operands.takeError();
      assign(evaluateElementwise(&inner, *operands));
    }
    if (!result)
      return result.takeError();
    scope.release(&inner);
    scope.define(inner.getResult(0), std::move(*result));
  }
  llvm::ArrayRef<AffineMap> outMaps(maps);
  return yielded(block->getTerminator(), scope,
                 outMaps.drop_front(op.getNumDpsInputs()), *extents);
}
