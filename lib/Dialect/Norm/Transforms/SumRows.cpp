//===- SumRows.cpp - Sums over the rows of another program ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SumRows.h"

#include "norm/Analysis/Program.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

/// The dims that all reductions of a program go over, 0 where they differ.
static uint64_t getCommonDims(GenericOp op) {
  uint64_t all = 0;
  for (auto reduce : op.getBlock()->getOps<ReduceOp>()) {
    uint64_t dims = getReducedDims(op, reduce);
    if (all && all != dims)
      return 0;
    all = dims;
  }
  return all;
}

static SmallVector<unsigned> listDims(GenericOp op, uint64_t mask) {
  SmallVector<unsigned> dims;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (mask >> dim & 1)
      dims.push_back(dim);
  return dims;
}

static uint64_t getAllDims(GenericOp op) {
  return op.getNumDims() == 64 ? ~uint64_t(0)
                               : (uint64_t(1) << op.getNumDims()) - 1;
}

/// The map to some dims, in order.
static AffineMap mapTo(GenericOp op, ArrayRef<unsigned> dims) {
  SmallVector<AffineExpr> exprs;
  for (unsigned dim : dims)
    exprs.push_back(getAffineDimExpr(dim, op.getContext()));
  return AffineMap::get(op.getNumDims(), 0, exprs, op.getContext());
}

/// Whether what is made of the sums needs the number of rows, which the program
/// that makes it doesn't have: it is no other for a number that is known.
static bool countsRowsLater(GenericOp op, uint64_t rows) {
  SmallVector<Value> wanted(op.getBlock()->getTerminator()->getOperands());
  llvm::DenseSet<Value> seen(wanted.begin(), wanted.end());
  while (!wanted.empty()) {
    Operation *made = wanted.pop_back_val().getDefiningOp();
    if (!made || isa<ReduceOp>(made))
      continue;
    if (auto extent = dyn_cast<ExtentOp>(made))
      if (std::optional<unsigned> dim = op.getDimNumber(extent.getDim());
          dim && (rows >> *dim & 1))
        return true;
    for (Value operand : made->getOperands())
      if (seen.insert(operand).second)
        wanted.push_back(operand);
  }
  return false;
}

/// Whether a sum, or the previous content of an output, has a part in what is
/// summed: such a sum can't be taken together with the first.
static bool sumsSums(GenericOp op) {
  llvm::DenseSet<Value> later;
  for (unsigned i = op.getInputs().size(); i < op.getBlock()->getNumArguments();
       ++i)
    later.insert(op.getBlock()->getArgument(i));
  for (Operation &inner : op.getBlock()->without_terminator()) {
    bool isReduce = isa<ReduceOp>(inner);
    bool dependsOnLater = llvm::any_of(inner.getOperands(), [&](Value operand) {
      return later.contains(operand);
    });
    if (isReduce && dependsOnLater)
      return true;
    if (isReduce || dependsOnLater)
      later.insert_range(inner.getResults());
  }
  return false;
}

/// Bytes of the sums that the threads of a CTA keep in registers: two of f32
/// for each of the most columns.
static constexpr int64_t mostBytes = 8 * ::norm::maxSummedColumns;

bool mlir::norm::sumsRows(GenericOp op) {
  uint64_t rows = getCommonDims(op);
  if (!op.hasTensorSemantics() || rows == 0 || op.getOrder() ||
      op.getSchedule() || op.getNumDims() > 62 || countsRowsLater(op, rows) ||
      sumsSums(op))
    return false;
  int64_t bytes = 0;
  for (auto reduce : op.getBlock()->getOps<ReduceOp>()) {
    if (reduce.getKind() != ReduceKind::Add ||
        !isa<Float32Type, Float64Type>(reduce.getValue().getType()))
      return false;
    bytes += reduce.getValue().getType().getIntOrFloatBitWidth() / 8;
  }
  SmallVector<unsigned> columns = listDims(op, getAllDims(op) & ~rows);
  int64_t count = 1;
  for (unsigned dim : columns) {
    int64_t extent = op.getExtents()[dim];
    if (ShapedType::isDynamic(extent) || extent < 1 ||
        extent > ::norm::maxSummedColumns)
      return false;
    count *= extent;
    if (count > ::norm::maxSummedColumns || count * bytes > mostBytes)
      return false;
  }
  // Neighbours in memory are columns.
  FailureOr<OrderAttr> order = naturalOrder(op);
  if (columns.empty() || failed(order) || order->getInner() != 1)
    return false;
  AffineMap map = mapTo(op, columns);
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.getMatchingIndexingMap(&init) != map)
      return false;
  return true;
}

bool mlir::norm::goesAlongSummedRows(GenericOp other, GenericOp program) {
  uint64_t reduced = getCommonDims(other), rows = getCommonDims(program);
  FailureOr<OrderAttr> order = naturalOrder(other);
  if (reduced == 0 || failed(order) || order->isAcross())
    return false;
  for (OpOperand *mine : program.getDpsInputOperands())
    for (OpOperand *theirs : other.getDpsInputOperands()) {
      AffineMap map = program.getMatchingIndexingMap(mine);
      AffineMap otherMap = other.getMatchingIndexingMap(theirs);
      if (mine->get() != theirs->get() ||
          map.getNumResults() != program.getNumDims() ||
          otherMap.getNumResults() != other.getNumDims())
        continue;
      bool isSame = true;
      for (auto [a, b] : llvm::zip(map.getResults(), otherMap.getResults())) {
        auto dim = dyn_cast<AffineDimExpr>(a);
        auto otherDim = dyn_cast<AffineDimExpr>(b);
        isSame &= dim && otherDim &&
                  (rows >> dim.getPosition() & 1) !=
                      (reduced >> otherDim.getPosition() & 1);
      }
      if (isSame)
        return true;
    }
  return false;
}

namespace {
/// The two programs while they are written.
class SumSplitter {
public:
  SumSplitter(RewriterBase &rewriter, GenericOp program)
      : rewriter(rewriter), program(program), loc(program.getLoc()),
        rows(getCommonDims(program)),
        columns(listDims(program, getAllDims(program) & ~rows)),
        supports(program.computeSupports()) {}

  SummedRows split();

private:
  GenericOp buildWorkers();
  GenericOp buildSum(GenericOp workers);
  /// The value in the body of the second program.
  Value get(Value value, IRMapping &mapping);
  /// Workers that have a row, for all that is known.
  int64_t countWorkers(int64_t columns);
  /// A name for the dim of workers that the program hasn't got.
  StringRef nameWorkers();

  RewriterBase &rewriter;
  GenericOp program;
  Location loc;
  uint64_t rows;
  SmallVector<unsigned> columns;
  llvm::DenseMap<Value, uint64_t> supports;
  std::string workerName;
};
} // namespace

StringRef SumSplitter::nameWorkers() {
  workerName = "worker";
  for (unsigned i = 1; program.getDimNumber(workerName); ++i)
    workerName = "worker" + std::to_string(i);
  return workerName;
}

// Workers without a row change no bit, and needn't be there, but one by itself
// would be no dim of the space. The sum over workers has one tree for up to so
// many: their lanes, in one slice.
int64_t SumSplitter::countWorkers(int64_t columns) {
  constexpr int64_t mostOfOneTree = 132;
  int64_t workers = ::norm::workersFor(columns), points = 1;
  for (unsigned dim : listDims(program, rows)) {
    int64_t extent = program.getExtents()[dim];
    if (ShapedType::isDynamic(extent) ||
        llvm::MulOverflow(points, extent, points))
      return workers;
  }
  int64_t busy = llvm::divideCeil(points, ::norm::strandsFor(columns));
  return busy <= mostOfOneTree ? std::max<int64_t>(busy, 2) : workers;
}

/// All that the sums are of, and the sums of workers.
GenericOp SumSplitter::buildWorkers() {
  unsigned numDims = program.getNumDims();
  SmallVector<StringRef> names;
  for (unsigned dim = 0; dim < numDims; ++dim)
    names.push_back(program.getDimName(dim));
  names.push_back(nameWorkers());
  int64_t count = 1;
  SmallVector<int64_t> shape{0};
  for (unsigned dim : columns) {
    shape.push_back(program.getExtents()[dim]);
    count *= shape.back();
  }
  shape.front() = countWorkers(count);
  SmallVector<AffineMap> maps;
  for (unsigned i = 0; i < program.getInputs().size(); ++i) {
    AffineMap map = program.getMap(i);
    maps.push_back(
        AffineMap::get(numDims + 1, 0, map.getResults(), program.getContext()));
  }
  SmallVector<AffineExpr> exprs{rewriter.getAffineDimExpr(numDims)};
  for (unsigned dim : columns)
    exprs.push_back(rewriter.getAffineDimExpr(dim));
  auto reductions = llvm::to_vector(program.getBlock()->getOps<ReduceOp>());
  SmallVector<Value> outputs;
  for (ReduceOp reduce : reductions) {
    outputs.push_back(tensor::EmptyOp::create(rewriter, loc, shape,
                                              reduce.getValue().getType()));
    maps.push_back(AffineMap::get(numDims + 1, 0, exprs, program.getContext()));
  }
  auto workers = GenericOp::create(rewriter, loc, program.getInputs(), outputs,
                                   names, maps);

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(workers.getBlock());
  IRMapping mapping;
  for (unsigned i = 0; i < program.getInputs().size(); ++i)
    mapping.map(program.getBlock()->getArgument(i),
                workers.getBlock()->getArgument(i));
  SmallVector<Value> sums;
  int64_t strands = ::norm::strandsFor(count);
  // What is made of the sums, or of an output's content, comes later.
  llvm::DenseSet<Value> later;
  for (unsigned i = program.getInputs().size();
       i < program.getBlock()->getNumArguments(); ++i)
    later.insert(program.getBlock()->getArgument(i));
  for (Operation &inner : program.getBlock()->without_terminator()) {
    auto reduce = dyn_cast<ReduceOp>(inner);
    if (!reduce && llvm::any_of(inner.getOperands(), [&](Value operand) {
          return later.contains(operand);
        })) {
      later.insert_range(inner.getResults());
      continue;
    }
    if (!reduce) {
      rewriter.clone(inner, mapping);
      continue;
    }
    later.insert_range(reduce.getResults());
    sums.push_back(AccumulateOp::create(
        rewriter, reduce.getLoc(), reduce.getValue().getType(),
        mapping.lookup(reduce.getValue()), reduce.getDims(),
        rewriter.getStringAttr(workerName),
        rewriter.getI64IntegerAttr(strands)));
  }
  YieldOp::create(rewriter, loc, sums);
  return workers;
}

Value SumSplitter::get(Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Operation *user = op; Value operand : user->getOperands())
    (void)get(operand, mapping);
  return rewriter.clone(*op, mapping)
      ->getResult(cast<OpResult>(value).getResultNumber());
}

/// The sum over workers, and what the program makes of it.
GenericOp SumSplitter::buildSum(GenericOp workers) {
  MLIRContext *context = program.getContext();
  SmallVector<StringRef> names{workerName};
  SmallVector<AffineExpr> renumbered(program.getNumDims(),
                                     getAffineConstantExpr(0, context));
  for (auto [i, dim] : llvm::enumerate(columns)) {
    names.push_back(program.getDimName(dim));
    renumbered[dim] = getAffineDimExpr(i + 1, context);
  }
  unsigned numDims = names.size();
  SmallVector<Value> inputs(workers.getResults());
  SmallVector<AffineMap> maps(
      inputs.size(), AffineMap::getMultiDimIdentityMap(numDims, context));
  // Operands that vary on no row may have a part in what is made of the sum.
  SmallVector<unsigned> others;
  for (unsigned i = 0; i < program.getInputs().size(); ++i)
    if ((supports.lookup(program.getBlock()->getArgument(i)) & rows) == 0) {
      others.push_back(i);
      inputs.push_back(program.getInputs()[i]);
      maps.push_back(
          program.getMap(i).replaceDimsAndSymbols(renumbered, {}, numDims, 0));
    }
  for (unsigned i = 0; i < program.getOutputs().size(); ++i)
    maps.push_back(program.getMap(program.getInputs().size() + i)
                       .replaceDimsAndSymbols(renumbered, {}, numDims, 0));
  auto sum = GenericOp::create(rewriter, loc, inputs, program.getOutputs(),
                               names, maps);
  // What it becomes a part of keeps the name.
  if (std::optional<StringRef> name = program.getName())
    sum.setName((*name + "_sum").str());

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(sum.getBlock());
  IRMapping mapping;
  unsigned next = workers->getNumResults();
  for (unsigned number : others)
    mapping.map(program.getBlock()->getArgument(number),
                sum.getBlock()->getArgument(next++));
  for (unsigned i = 0; i < program.getOutputs().size(); ++i)
    mapping.map(program.getBlock()->getArgument(program.getInputs().size() + i),
                sum.getBlock()->getArgument(next++));
  ArrayAttr dims = rewriter.getStrArrayAttr({workerName});
  for (auto [i, reduce] :
       llvm::enumerate(program.getBlock()->getOps<ReduceOp>()))
    mapping.map(reduce.getResults().front(),
                ReduceOp::create(rewriter, reduce.getLoc(), ReduceKind::Add,
                                 sum.getBlock()->getArgument(i), dims)
                    .getResults()
                    .front());
  auto yield = cast<YieldOp>(program.getBlock()->getTerminator());
  SmallVector<Value> yielded;
  for (Value value : yield.getOperands())
    yielded.push_back(get(value, mapping));
  YieldOp::create(rewriter, loc, yielded);
  return sum;
}

SummedRows SumSplitter::split() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(program);
  SummedRows result;
  result.workers = buildWorkers();
  result.sum = buildSum(result.workers);
  return result;
}

SummedRows mlir::norm::splitSum(RewriterBase &rewriter, GenericOp program) {
  return SumSplitter(rewriter, program).split();
}
