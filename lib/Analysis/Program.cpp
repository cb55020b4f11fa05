//===- Program.cpp - What a norm.generic needs from a kernel ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

static bool isOne(GenericOp op, unsigned dim) {
  return op.getExtents()[dim] == 1;
}

/// The dims that a map walks and that have more than one element, outermost
/// first.
static SmallVector<unsigned> walkedBy(GenericOp op, AffineMap map) {
  SmallVector<unsigned> dims;
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr); dim &&
                                                  !isOne(op, dim.getPosition()))
      dims.push_back(dim.getPosition());
  return dims;
}

/// The map of the first of the inputs that are used with the most dims, or of
/// an output: how the program's data lies in memory.
static AffineMap leadingMap(GenericOp op) {
  AffineMap best;
  size_t most = 0;
  unsigned numInputs = op.getInputs().size();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    bool isInput = number < numInputs;
    if (!isa<ShapedType>(operand.get().getType()) ||
        (isInput && op.getBlock()->getArgument(number).use_empty()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    size_t count = walkedBy(op, map).size();
    if (best && count <= most)
      continue;
    best = map;
    most = count;
  }
  return best;
}

/// How many trailing dims are columns where no reduction tells: the fewest with
/// which every operand has all dims, all row dims, none or, of inputs, all
/// column dims; 0 if there is no such number.
static unsigned countColumnDims(GenericOp op) {
  unsigned numDims = op.getNumDims();
  auto fits = [&](AffineMap map, unsigned columns, bool isInput) {
    unsigned rank = map.getNumResults();
    auto isRange = [&](unsigned begin, unsigned end) {
      if (rank != end - begin)
        return false;
      for (auto [axis, expr] : llvm::enumerate(map.getResults()))
        if (expr != getAffineDimExpr(begin + axis, op.getContext()))
          return false;
      return true;
    };
    return rank == 0 || isRange(0, numDims) ||
           isRange(0, numDims - columns) ||
           (isInput && isRange(numDims - columns, numDims));
  };
  for (unsigned columns = 1; columns <= numDims; ++columns)
    if (llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
          return !isa<ShapedType>(operand.get().getType()) ||
                 fits(op.getMatchingIndexingMap(&operand), columns,
                      operand.getOperandNumber() < op.getInputs().size());
        }))
      return columns;
  return 0;
}

/// The dims, of more than one element, that some output doesn't have.
static uint64_t dimsWithoutOutput(GenericOp op) {
  uint64_t missing = 0;
  for (unsigned i = 0; i < op.getOutputs().size(); ++i) {
    AffineMap map = op.getMap(op.getInputs().size() + i);
    SmallVector<unsigned> has = walkedBy(op, map);
    for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
      if (!isOne(op, dim) && !llvm::is_contained(has, dim))
        missing |= uint64_t(1) << dim;
  }
  return missing;
}

static uint64_t getDims(GenericOp op, ArrayAttr names) {
  uint64_t dims = 0;
  for (StringRef name : names.getAsValueRange<StringAttr>())
    dims |= uint64_t(1) << *op.getDimNumber(name);
  return dims;
}

uint64_t mlir::norm::getReducedDims(GenericOp op, ReduceOp reduce) {
  return getDims(op, reduce.getDims());
}

bool mlir::norm::dependsOnOrder(ReduceOp reduce) {
  switch (reduce.getKind()) {
  case ReduceKind::Max:
  case ReduceKind::Min:
  case ReduceKind::MaxNum:
  case ReduceKind::MinNum:
    return false;
  default:
    return isa<FloatType>(reduce.getValue().getType());
  }
}

bool mlir::norm::dependsOnOrder(GenericOp program) {
  return llvm::any_of(program.getBody().getOps<ReduceOp>(),
                      [](ReduceOp reduce) { return dependsOnOrder(reduce); });
}

std::optional<int64_t> mlir::norm::getGroupSize(GenericOp op,
                                                uint64_t columns,
                                                uint64_t dims) {
  int64_t size = 1;
  SmallVector<int64_t> extents = op.getExtents();
  bool isLast = true;
  for (unsigned dim = op.getNumDims(); dim-- > 0;) {
    if (!(columns >> dim & 1) || extents[dim] == 1)
      continue;
    bool isOne = dims >> dim & 1;
    if (isOne && (!isLast || ShapedType::isDynamic(extents[dim]) ||
                  llvm::MulOverflow(size, extents[dim], size)))
      return std::nullopt;
    isLast &= isOne;
  }
  if (!llvm::isPowerOf2_64(size))
    return std::nullopt;
  return size;
}

/// The dims that the reductions are over; where there is none, those that an
/// output leaves out, or some that lie next to each other in memory.
static FailureOr<uint64_t> findColumnDims(GenericOp op,
                                          bool isDiagnosed = true) {
  uint64_t mask = 0;
  for (auto reduce : op.getBody().getOps<ReduceOp>())
    mask |= getReducedDims(op, reduce);
  // All but those that are summed over.
  if (uint64_t workers = op.getWorkerDims(); workers && mask == 0) {
    mask = ((uint64_t(1) << op.getNumDims()) - 1) & ~workers;
    for (auto sum : op.getBody().getOps<AccumulateOp>())
      mask &= ~getDims(op, sum.getDims());
  }
  for (auto reduce : op.getBody().getOps<ReduceOp>()) {
    uint64_t dims = getReducedDims(op, reduce);
    if (dims == mask ||
        (!dependsOnOrder(reduce) && getGroupSize(op, mask, dims)))
      continue;
    if (isDiagnosed)
      reduce.emitOpError("expects all reductions of a program over the same "
                         "dims or, of kinds without an order, over the last "
                         "of them in groups of a power of two");
    return failure();
  }
  unsigned numDims = op.getNumDims();
  if (mask || numDims == 0)
    return mask;
  if (unsigned columns = countColumnDims(op))
    return ((uint64_t(1) << columns) - 1) << (numDims - columns);
  if (uint64_t missing = dimsWithoutOutput(op))
    return missing;
  // Stores next to each other matter most.
  AffineMap map = op.getMap(op.getInputs().size());
  SmallVector<unsigned> dims = walkedBy(op, map);
  return uint64_t(1) << (dims.empty() ? numDims - 1 : dims.back());
}

/// Number of columns, -1 where known at launch only.
static FailureOr<int64_t> countColumns(GenericOp op, uint64_t columnMask) {
  int64_t columns = 1;
  SmallVector<int64_t> extents = op.getExtents();
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (columnMask >> dim & 1 && extent == 0)
      return 0;
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    if (!(columnMask >> dim & 1))
      continue;
    if (columns < 0 || ShapedType::isDynamic(extent)) {
      columns = -1;
      continue;
    }
    bool overflows = llvm::MulOverflow(columns, extent, columns);
    if (overflows || columns > ::norm::maxColumns) {
      InFlightDiagnostic diag = op.emitOpError()
                                << "expects at most " << ::norm::maxColumns
                                << " columns but got ";
      return overflows ? diag << "more than 2^63" : diag << columns;
    }
  }
  return columns;
}

/// Dims of a mask that have more than one element, or its last one.
static SmallVector<unsigned> dimsOf(GenericOp op, uint64_t mask) {
  SmallVector<unsigned> dims;
  unsigned last = 0;
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim) {
    if (!(mask >> dim & 1))
      continue;
    last = dim;
    if (!isOne(op, dim))
      dims.push_back(dim);
  }
  if (dims.empty() && mask)
    dims.push_back(last);
  return dims;
}

/// Checks the ops of the body that not every target can run on whole chunks.
static LogicalResult checkBody(const Program &program) {
  GenericOp generic = program.op;
  for (Operation &inner : *generic.getBlock()) {
    if (auto reduce = dyn_cast<ReduceOp>(inner)) {
      Type type = reduce.getValue().getType();
      if (type.isF32() || type.isF64() || type.isSignlessInteger(8) ||
          type.isSignlessInteger(16) || type.isSignlessInteger(32) ||
          type.isSignlessInteger(64))
        continue;
      return reduce.emitOpError() << "expects a reduction of f32, f64 or "
                                     "integers of 8, 16, 32 or 64 bits in a "
                                     "kernel but got "
                                  << type;
    }
    // Chunks reach beyond the last column, where operands have any value.
    if (inner.getNumResults() != 0 &&
        program.variesOnColumns(inner.getResult(0)) && !isSpeculatable(&inner))
      return inner.emitOpError("may be undefined for some operands, and can't "
                               "be computed on the columns of a kernel");
  }
  return success();
}

void Program::setAccesses() {
  uint64_t rowMask = 0, workers = op.getWorkerDims();
  for (unsigned dim = 0; dim < op.getNumDims(); ++dim)
    if (!((walkedMask | workers) >> dim & 1))
      rowMask |= uint64_t(1) << dim;
  for (OpOperand &operand : op->getOpOperands()) {
    uint64_t dims = 0;
    if (isa<ShapedType>(operand.get().getType()))
      for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
        if (auto dim = dyn_cast<AffineDimExpr>(expr))
          dims |= uint64_t(1) << dim.getPosition();
    bool hasRows = dims & rowMask, hasColumns = dims & walkedMask;
    accesses.push_back(hasColumns ? hasRows ? Access::Full : Access::Column
                       : isa<ShapedType>(operand.get().getType())
                           ? Access::Row
                           : Access::Scalar);
  }
}

/// What comes of a reduction over groups is computed on chunks of columns, also
/// where it is the same for all groups of a row.
void Program::widenGroups() {
  for (Operation &inner : *op.getBlock()) {
    auto reduce = dyn_cast<ReduceOp>(inner);
    if (reduce && groupOf(reduce) == 0)
      continue;
    uint64_t mask = reduce ? walkedMask : 0;
    for (Value operand : inner.getOperands())
      mask |= supports.lookup(operand) & walkedMask;
    for (Value result : inner.getResults())
      supports[result] |= mask;
  }
}

/// Each element of an output is written once: it has all the dims on which what
/// is written can differ.
LogicalResult Program::checkOutputs() const {
  GenericOp generic = op;
  uint64_t workers = generic.getWorkerDims();
  for (auto [i, output] : llvm::enumerate(generic.getOutputs())) {
    unsigned number = generic.getInputs().size() + i;
    SmallVector<unsigned> has = walkedBy(generic, generic.getMap(number));
    bool isWalked = accesses[number] != Access::Row;
    bool isOfGroups = isWalked && !order.isAcross() && groupOfOperand(number);
    if (generic.getBlock()
            ->getTerminator()
            ->getOperand(i)
            .getDefiningOp<AccumulateOp>())
      continue;
    if (!isWalked &&
        variesOnColumns(generic.getBlock()->getTerminator()->getOperand(i)))
      return generic.emitOpError()
             << "expects output #" << i
             << " of a kernel, which has no column dim, not to come from a "
                "reduction over groups of columns";
    for (unsigned dim = 0; dim < generic.getNumDims(); ++dim) {
      if (isOne(generic, dim) || llvm::is_contained(has, dim) ||
          (workers >> dim & 1))
        continue;
      if (isColumnDim(dim) && isOfGroups)
        continue;
      if (!isColumnDim(dim))
        return generic.emitOpError()
               << "expects output #" << i << " of a kernel to have row dim '"
               << generic.getDimName(dim) << "'";
      if (isWalked)
        return generic.emitOpError()
               << "expects output #" << i
               << " of a kernel to have all column dims or none, but '"
               << generic.getDimName(dim) << "' is missing";
    }
  }
  return success();
}

/// Sums over rows are over all of them, of static columns along memory, and
/// have a buffer with workers first.
LogicalResult Program::checkSums() {
  GenericOp generic = op;
  uint64_t dims = generic.getWorkerDims();
  if (dims == 0)
    return success();
  auto sums = generic.getBody().getOps<AccumulateOp>();
  AccumulateOp first = *sums.begin();
  unsigned worker = *generic.getDimNumber(first.getWorker());
  workers = generic.getExtents()[worker];
  strands = first.getStrands();
  uint64_t rows = ~(columnMask | dims) &
                  ((uint64_t(1) << generic.getNumDims()) - 1);
  for (AccumulateOp sum : sums) {
    if (sum.getWorker() != first.getWorker() ||
        sum.getStrands() != first.getStrands())
      return sum.emitOpError("expects all sums of a program by the same workers "
                             "and strands");
    if (getDims(generic, sum.getDims()) != rows)
      return sum.emitOpError("expects sums of workers over all dims that the "
                             "program doesn't reduce over");
    if (order.isAcross() || columns < 0)
      return sum.emitOpError("expects sums of workers where rows lie along "
                             "memory and have static columns");
    for (OpOperand &use : sum->getUses()) {
      unsigned number = generic.getInputs().size() + use.getOperandNumber();
      SmallVector<unsigned> has = walkedBy(generic, generic.getMap(number));
      SmallVector<unsigned> expected{worker};
      for (unsigned dim : columnDims)
        if (!isOne(generic, dim))
          expected.push_back(dim);
      if (has != expected)
        return sum.emitOpError() << "expects output #" << use.getOperandNumber()
                                 << " to have the dims of workers and columns";
    }
  }
  for (auto [i, value] :
       llvm::enumerate(generic.getBlock()->getTerminator()->getOperands())) {
    AffineMap map = generic.getMap(generic.getInputs().size() + i);
    if (!value.getDefiningOp<AccumulateOp>() && map.isFunctionOfDim(worker))
      return generic.emitOpError()
             << "expects output #" << i
             << ", which is no sum of workers, not to have their dim";
  }
  return success();
}

int64_t Program::groupOf(ReduceOp reduce) const {
  uint64_t dims = getReducedDims(op, reduce);
  return dims == columnMask ? 0 : *getGroupSize(op, columnMask, dims);
}

int64_t Program::groupOfOperand(unsigned number) const {
  GenericOp generic = op;
  uint64_t missing = columnMask;
  for (unsigned dim : walkedBy(generic, generic.getMap(number)))
    missing &= ~(uint64_t(1) << dim);
  return getGroupSize(generic, columnMask, missing).value_or(0);
}

/// Groups lie within the chunks of the threads of a warp.
LogicalResult Program::checkGroups() const {
  GenericOp generic = op;
  for (auto reduce : generic.getBody().getOps<ReduceOp>()) {
    int64_t group = groupOf(reduce);
    if (group == 0)
      continue;
    if (order.isAcross())
      return reduce.emitOpError("expects groups of neighbours in memory");
    int64_t most = ::norm::maxGroup(order.getLeaf());
    if (group > most)
      return reduce.emitOpError() << "expects groups of at most " << most
                                  << " columns but got " << group;
  }
  return success();
}

FailureOr<Program> Program::analyze(GenericOp op) {
  Program program;
  program.op = op;
  FailureOr<uint64_t> mask = findColumnDims(op);
  if (failed(mask))
    return failure();
  program.columnMask = *mask;
  uint64_t all = llvm::maskTrailingOnes<uint64_t>(op.getNumDims());
  program.rowDims = dimsOf(op, all & ~(*mask | op.getWorkerDims()));
  program.columnDims = dimsOf(op, *mask);
  // What varies on dims of one element only is one value for each row.
  for (unsigned dim : program.columnDims)
    program.walkedMask |= uint64_t(1) << dim;
  program.supports = op.computeSupports();

  FailureOr<int64_t> columns = countColumns(op, *mask);
  if (failed(columns))
    return failure();
  program.columns = *columns;
  if (std::optional<OrderAttr> order = op.getOrder())
    program.order = *order;
  else if (FailureOr<OrderAttr> natural = naturalOrder(op); succeeded(natural))
    program.order = *natural;
  else
    return failure();
  if (program.order.getInner() > 1) {
    unsigned last = program.columnDims.back();
    if (op.getExtents()[last] != program.order.getInner())
      return op.emitOpError()
             << "expects dim '" << op.getDimName(last)
             << "' to have the order's " << program.order.getInner()
             << " inner columns";
    program.walkedMask &= ~(uint64_t(1) << last);
  }
  if (failed(checkBody(program)))
    return failure();
  program.widenGroups();
  program.setAccesses();
  if (failed(program.checkOutputs()) || failed(program.checkSums()))
    return failure();

  if (failed(program.checkGroups()))
    return failure();

  for (Operation &inner : *op.getBlock()) {
    unsigned phase = 0;
    for (Value operand : inner.getOperands())
      phase = std::max(phase, program.ready.lookup(operand));
    if (auto reduce = dyn_cast<ReduceOp>(inner);
        reduce && program.groupOf(reduce) == 0) {
      ++phase;
      program.numExchanges = std::max(program.numExchanges, phase);
    }
    for (Value result : inner.getResults())
      program.ready[result] = phase;
  }
  return program;
}

SmallVector<ReduceOp> Program::reductionsOf(unsigned phase) const {
  SmallVector<ReduceOp> reductions;
  for (auto reduce : op->getRegion(0).getOps<ReduceOp>())
    if (groupOf(reduce) == 0 && ready.lookup(reduce.getValue()) == phase)
      reductions.push_back(reduce);
  return reductions;
}

unsigned Program::storePhase(unsigned index) const {
  GenericOp generic = op;
  unsigned number = generic.getInputs().size() + index;
  if (!generic.getBlock()->getArgument(number).use_empty())
    return numExchanges;
  return ready.lookup(generic.getBlock()->getTerminator()->getOperand(index));
}

SmallVector<Value> Program::laterRoots() const {
  SmallVector<Value> roots;
  for (Operation &inner : op->getRegion(0).front()) {
    if (!isa<ReduceOp, YieldOp>(inner))
      continue;
    for (OpOperand &operand : inner.getOpOperands()) {
      unsigned phase = isa<YieldOp>(inner)
                           ? storePhase(operand.getOperandNumber())
                           : ready.lookup(operand.get());
      if (variesOnColumns(operand.get()) && phase > 0)
        roots.push_back(operand.get());
    }
  }
  return roots;
}

void Program::collectFrontier(Value value, const llvm::SetVector<Value> &held,
                              llvm::SetVector<Value> &frontier,
                              llvm::DenseSet<Value> &seen) const {
  if (!variesOnColumns(value) || !seen.insert(value).second)
    return;
  if (held.contains(value)) {
    frontier.insert(value);
    return;
  }
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (accesses[arg.getArgNumber()] == Access::Full)
      frontier.insert(value);
    return;
  }
  for (Value operand : value.getDefiningOp()->getOperands())
    collectFrontier(operand, held, frontier, seen);
}

int64_t Program::frontierBits(const llvm::SetVector<Value> &held,
                              llvm::SetVector<Value> &frontier) const {
  llvm::DenseSet<Value> seen;
  for (Value root : laterRoots())
    collectFrontier(root, held, frontier, seen);
  // Of as many bits, those are better from which no random number is drawn
  // again.
  int64_t bits = llvm::count_if(seen, [](Value value) {
    return isa_and_nonnull<RandomOp>(value.getDefiningOp());
  });
  for (Value value : frontier)
    bits += value.getType().isIndex() ? 64
                                      : value.getType().getIntOrFloatBitWidth();
  return bits;
}

// Greedy: as long as keeping one more value of phase 0 lets go of more bits
// than it costs. Programs are small, and the usual case is one residual sum.
llvm::SetVector<Value> Program::valuesToHoldFromFirst() const {
  llvm::SetVector<Value> held, frontier;
  int64_t best = frontierBits(held, frontier);
  while (true) {
    Value choice;
    for (Operation &inner : op->getRegion(0).front()) {
      if (inner.getNumResults() != 1 || isa<ReduceOp>(inner))
        continue;
      Value value = inner.getResult(0);
      if (value.getType().isIndex() || held.contains(value) || !variesOnColumns(value) ||
          ready.lookup(value) != 0)
        continue;
      llvm::SetVector<Value> candidate = held, candidateFrontier;
      candidate.insert(value);
      int64_t bits = frontierBits(candidate, candidateFrontier);
      if (bits < best) {
        best = bits;
        choice = value;
        frontier = candidateFrontier;
      }
    }
    if (!choice)
      return frontier;
    held.insert(choice);
  }
}

unsigned Program::countOps(Value value, llvm::DenseSet<Value> &seen) const {
  Operation *def = value.getDefiningOp();
  if (!def || !variesOnColumns(value) || !seen.insert(value).second)
    return 0;
  unsigned count = 1;
  for (Value operand : def->getOperands())
    count += countOps(operand, seen);
  return count;
}

llvm::SetVector<Value> Program::valuesToHold(unsigned phase) const {
  if (phase == 0)
    return valuesToHoldFromFirst();
  // A few ops cost less than the registers where a thread has many columns; an
  // exponential costs more. Short rows leave registers.
  constexpr int64_t shortRow = 8192;
  bool isShort = columns >= 0 && columns <= shortRow;
  const unsigned cheap = isShort ? 1 : 8;
  llvm::SetVector<Value> held;
  for (Operation &inner : op->getRegion(0).front()) {
    if (isa<ReduceOp, YieldOp>(inner) || inner.getNumResults() == 0 ||
        ready.lookup(inner.getResult(0)) <= phase)
      continue;
    for (Value operand : inner.getOperands()) {
      if (!operand.getDefiningOp() || !variesOnColumns(operand) ||
          ready.lookup(operand) != phase)
        continue;
      // What was narrow before is kept so.
      if (auto extension = operand.getDefiningOp<arith::ExtFOp>();
          extension && extension.getIn().getDefiningOp() &&
          ready.lookup(extension.getIn()) == phase)
        operand = extension.getIn();
      llvm::DenseSet<Value> seen;
      for (Value first : valuesToHoldFromFirst())
        seen.insert(first);
      if (countOps(operand, seen) > cheap)
        held.insert(operand);
    }
  }
  return held;
}

SmallVector<BlockArgument> Program::columnOperandsToPrefetch() const {
  SmallVector<BlockArgument> result;
  if (numExchanges == 0)
    return result;
  // What phase 0 computes with.
  llvm::DenseSet<Value> early;
  SmallVector<Value> work;
  for (Operation &inner : op->getRegion(0).front())
    if (isa<ReduceOp, YieldOp>(inner))
      for (Value operand : inner.getOperands())
        if (ready.lookup(operand) == 0)
          work.push_back(operand);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!early.insert(value).second)
      continue;
    if (Operation *def = value.getDefiningOp())
      llvm::append_range(work, def->getOperands());
  }
  for (BlockArgument arg : op->getRegion(0).getArguments())
    if (accesses[arg.getArgNumber()] == Access::Column && !arg.use_empty() &&
        !early.contains(arg))
      result.push_back(arg);
  return result;
}

static int64_t bytesOf(Type type) {
  return type.isIndex() ? 8 : (type.getIntOrFloatBitWidth() + 7) / 8;
}

int64_t mlir::norm::stateBytes(ReduceKind kind, Type type) {
  // Mean, its rest, sum of squares and an i32 count; largest and sum of
  // exponentials.
  if (isWelford(kind))
    return (kind == ReduceKind::WelfordExact ? 3 : 2) * bytesOf(type) + 4;
  return (kind == ReduceKind::MaxExpSum ? 2 : 1) * bytesOf(type);
}

/// Columns per leaf along memory.
static int64_t naturalLeaf(GenericOp program, uint64_t columnMask) {
  // Of what is read: other operands don't change a row's sums. Nor does the
  // number of rows: one row alone makes no input of all rows out of a
  // per-column one.
  int64_t narrowest = 0;
  uint64_t workers = program.getWorkerDims();
  for (BlockArgument arg : program.getBlock()->getArguments()) {
    AffineMap map = program.getMap(arg.getArgNumber());
    unsigned numDims = 0;
    for (unsigned dim = 0; dim < program.getNumDims(); ++dim)
      numDims += map.isFunctionOfDim(dim) || (workers >> dim & 1) ||
                 ((columnMask >> dim & 1) && isOne(program, dim));
    if (numDims != program.getNumDims() || map.getNumResults() == 0 ||
        arg.use_empty())
      continue;
    int64_t bytes = bytesOf(arg.getType());
    narrowest = narrowest ? std::min(narrowest, bytes) : bytes;
  }
  return ::norm::leafFor(narrowest ? narrowest : 4);
}

/// How many columns of a row lie next to each other where other rows follow, 1
/// where none do; 0 for an order along memory.
static int64_t innerColumns(GenericOp program, uint64_t columnMask) {
  // More than this are worth accesses of their own.
  constexpr int64_t mostInner = 48;
  AffineMap map = leadingMap(program);
  if (!map || program.getBody().getOps<ReduceOp>().empty())
    return 0;
  SmallVector<unsigned> dims = walkedBy(program, map);
  if (dims.empty())
    return 0;
  auto isColumn = [&](unsigned dim) { return columnMask >> dim & 1; };
  unsigned last = dims.pop_back_val();
  if (!isColumn(last))
    return llvm::any_of(dims, isColumn) ? 1 : 0;
  // Channels of a group: [..., columns, ..., rows, columns].
  SmallVector<unsigned> columns = dimsOf(program, columnMask);
  int64_t extent = program.getExtents()[last];
  if (dims.empty() || isColumn(dims.back()) || columns.back() != last ||
      columns.size() < 2 || ShapedType::isDynamic(extent) ||
      extent > mostInner)
    return 0;
  return extent;
}

FailureOr<OrderAttr> mlir::norm::naturalOrder(GenericOp program) {
  FailureOr<uint64_t> columns = findColumnDims(program, /*isDiagnosed=*/false);
  if (failed(columns))
    return failure();
  MLIRContext *context = program.getContext();
  if (int64_t inner = innerColumns(program, *columns))
    return OrderAttr::get(context, ::norm::leafAcross, ::norm::lanesAcross,
                          inner);
  return OrderAttr::get(context, naturalLeaf(program, *columns), 1024, 0);
}

/// How many elements of `positions`, the last ones fastest, follow each other
/// where a map puts them.
static int64_t runOf(GenericOp op, AffineMap map,
                     SmallVector<unsigned> positions) {
  SmallVector<unsigned> walked = walkedBy(op, map);
  SmallVector<int64_t> extents = op.getExtents();
  int64_t run = 1;
  while (!positions.empty() && !walked.empty() &&
         positions.back() == walked.back()) {
    int64_t extent = extents[positions.back()];
    if (ShapedType::isDynamic(extent))
      return run;
    run *= extent;
    positions.pop_back();
    walked.pop_back();
  }
  return run;
}

/// Neighbours in memory that a thread can take together, across memory: the
/// positions' dims that follow each other in the leading operand.
static int64_t runAcross(const Program &program) {
  GenericOp generic = program.op;
  int64_t inner = program.order.getInner();
  SmallVector<unsigned> positions = program.rowDims;
  if (inner > 1)
    positions.push_back(program.columnDims.back());
  int64_t run = runOf(generic, leadingMap(generic), positions);
  if (run % inner == 0)
    return run;
  // The order may be that of values which lay otherwise before programs were
  // fused: whole groups of inner columns are taken from another operand.
  for (OpOperand &operand : generic->getOpOperands()) {
    if (!isa<ShapedType>(operand.get().getType()))
      continue;
    int64_t other =
        runOf(generic, generic.getMatchingIndexingMap(&operand), positions);
    if (other % inner == 0)
      return other;
  }
  return inner;
}

::norm::ProgramFacts Program::facts() const {
  ::norm::ProgramFacts facts;
  facts.columns = columns;
  facts.phases = numExchanges + 1;
  facts.leaf = order.getLeaf();
  facts.lanes = order.getLanes();
  facts.heldBytes = facts.slotBytes = facts.stateBytes = 0;
  for (unsigned phase = 0; phase < std::max(numExchanges, 1u); ++phase) {
    int64_t bytes = 0;
    for (Value value : valuesToHold(phase))
      bytes += bytesOf(value.getType());
    facts.heldBytes = std::max(facts.heldBytes, bytes);
    facts.slotBytes += bytes;
  }
  GenericOp generic = op;
  facts.columnBytes = 0;
  for (auto [number, arg] : llvm::enumerate(generic.getBlock()->getArguments()))
    if (accesses[number] == Access::Full &&
        (order.isAcross() || groupOfOperand(number) <= 1) && (number >= generic.getInputs().size() || !arg.use_empty()))
      facts.columnBytes += bytesOf(arg.getType());
  facts.strands = strands;
  facts.inputBytes = 0;
  for (BlockArgument arg : generic.getBlock()->getArguments())
    if (accesses[arg.getArgNumber()] == Access::Full && !arg.use_empty())
      facts.inputBytes += bytesOf(arg.getType());
  for (auto sum : generic.getBody().getOps<AccumulateOp>())
    facts.sumBytes += bytesOf(sum.getType());
  for (Operation &inner : *generic.getBlock())
    if (!isa<ReduceOp, arith::ConstantOp>(inner) &&
        inner.getNumResults() == 1 && variesOnColumns(inner.getResult(0)))
      ++facts.work;
  for (unsigned i = 0; i < generic.getOutputs().size(); ++i)
    if (unsigned number = generic.getInputs().size() + i;
        accesses[number] != Access::Row && !order.isAcross())
      facts.group = std::max(facts.group, groupOfOperand(number));
  for (auto reduce : generic.getBody().getOps<ReduceOp>()) {
    if (int64_t group = groupOf(reduce)) {
      facts.group = std::max(facts.group, group);
      continue;
    }
    facts.stateBytes +=
        mlir::norm::stateBytes(reduce.getKind(), reduce.getValue().getType());
    facts.countBytes += isWelford(reduce.getKind()) ? 4 : 0;
  }
  facts.inner = order.getInner();
  SmallVector<int64_t> extents = generic.getExtents();
  facts.rows = 1;
  for (unsigned dim : rowDims)
    facts.rows = facts.rows < 0 || ShapedType::isDynamic(extents[dim])
                     ? -1
                     : facts.rows * extents[dim];
  if (!order.isAcross())
    return facts;
  facts.narrowest = 16 / naturalLeaf(generic, columnMask);
  facts.run = runAcross(*this);
  facts.positions = facts.rows < 0 ? -1 : facts.inner * facts.rows;
  return facts;
}

static_assert(static_cast<int>(Residency::Registers) ==
                  static_cast<int>(::norm::Residency::Registers) &&
              static_cast<int>(Residency::Shared) ==
                  static_cast<int>(::norm::Residency::Shared) &&
              static_cast<int>(Residency::Stream) ==
                  static_cast<int>(::norm::Residency::Stream));

::norm::Schedule mlir::norm::toSchedule(ScheduleAttr attr) {
  ::norm::Schedule schedule;
  schedule.threads = attr.getThreads();
  schedule.rowsPerCta = attr.getRowsPerCta();
  schedule.residency = static_cast<::norm::Residency>(attr.getResidency());
  schedule.prefetch = attr.getPrefetch();
  schedule.vector = attr.getVector();
  schedule.maxRegisters = attr.getMaxRegisters();
  schedule.split = attr.getSplit();
  schedule.pdl = attr.getPdl();
  schedule.stages = attr.getStages();
  schedule.cluster = attr.getCluster();
  return schedule;
}

ScheduleAttr mlir::norm::toAttribute(MLIRContext *context,
                                     const ::norm::Schedule &schedule) {
  return ScheduleAttr::get(
      context, schedule.threads, schedule.rowsPerCta,
      static_cast<Residency>(schedule.residency), schedule.prefetch,
      schedule.vector, schedule.maxRegisters, schedule.split, schedule.pdl,
      schedule.stages, schedule.cluster);
}
