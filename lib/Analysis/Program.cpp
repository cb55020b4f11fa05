//===- Program.cpp - What a norm.generic needs from a kernel --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramDims.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

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
  uint64_t rows =
      ~(columnMask | dims) & ((uint64_t(1) << generic.getNumDims()) - 1);
  for (AccumulateOp sum : sums) {
    if (sum.getWorker() != first.getWorker() ||
        sum.getStrands() != first.getStrands())
      return sum.emitOpError(
          "expects all sums of a program by the same workers "
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
      SmallVector<unsigned> expected;
      if (!isOne(generic, worker))
        expected.push_back(worker);
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
      return op.emitOpError() << "expects dim '" << op.getDimName(last)
                              << "' to have the order's "
                              << program.order.getInner() << " inner columns";
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
      if (value.getType().isIndex() || held.contains(value) ||
          !variesOnColumns(value) || ready.lookup(value) != 0)
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
