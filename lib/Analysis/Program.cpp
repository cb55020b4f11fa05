//===- Program.cpp - What a norm.generic needs from a kernel ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/Program.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

/// How many trailing dims are columns where no reduction tells: the fewest with
/// which every operand has all dims, all row dims or all column dims, else one.
static unsigned countColumnDims(GenericOp op) {
  unsigned numDims = op.getNumDims();
  auto fits = [&](AffineMap map, unsigned columns) {
    unsigned rank = map.getNumResults();
    auto isRange = [&](unsigned begin, unsigned end) {
      if (rank != end - begin)
        return false;
      for (auto [axis, expr] : llvm::enumerate(map.getResults()))
        if (expr != getAffineDimExpr(begin + axis, op.getContext()))
          return false;
      return true;
    };
    return isRange(0, numDims) || isRange(0, numDims - columns) ||
           isRange(numDims - columns, numDims);
  };
  for (unsigned columns = 1; columns <= numDims; ++columns)
    if (llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
          return !isa<ShapedType>(operand.get().getType()) ||
                 fits(op.getMatchingIndexingMap(&operand), columns);
        }))
      return columns;
  return 1;
}

/// The dims that the reductions are over; trailing ones where there is none.
static FailureOr<uint64_t> findColumnDims(GenericOp op) {
  uint64_t mask = 0;
  for (auto reduce : op.getBody().getOps<ReduceOp>()) {
    uint64_t dims = 0;
    for (StringRef name : reduce.getDims().getAsValueRange<StringAttr>())
      dims |= uint64_t(1) << *op.getDimNumber(name);
    if (mask && mask != dims)
      return reduce.emitOpError(
          "expects all reductions of a program over the same dims");
    mask = dims;
  }
  unsigned numDims = op.getNumDims();
  if (!mask && numDims) {
    unsigned columns = countColumnDims(op);
    mask = ((uint64_t(1) << columns) - 1) << (numDims - columns);
  }
  // The column dims are the last ones.
  unsigned count = llvm::popcount(mask);
  uint64_t trailing = llvm::maskTrailingOnes<uint64_t>(count);
  if (count != 0)
    trailing <<= numDims - count;
  if (mask != trailing)
    return op.emitOpError("expects reductions over the trailing dims, but dim '")
           << op.getDimName(llvm::countr_zero(mask)) << "' is not among them";
  return mask;
}

static FailureOr<Access> classify(GenericOp op, OpOperand &operand,
                                  unsigned numRowDims) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!isa<ShapedType>(operand.get().getType()))
    return Access::Scalar;
  SmallVector<unsigned> dims;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return op.emitOpError() << "expects no axis of size 1 in the map of "
                                 "operand #"
                              << operand.getOperandNumber() << " of a kernel";
    dims.push_back(dim.getPosition());
  }
  auto isRange = [&](unsigned begin, unsigned end) {
    if (dims.size() != end - begin)
      return false;
    for (auto [i, dim] : llvm::enumerate(dims))
      if (dim != begin + i)
        return false;
    return true;
  };
  unsigned numDims = op.getNumDims();
  if (isRange(0, numDims))
    return Access::Full;
  if (isRange(numRowDims, numDims))
    return Access::Column;
  if (isRange(0, numRowDims))
    return Access::Row;
  return op.emitOpError() << "expects operand #" << operand.getOperandNumber()
                          << " of a kernel to have all dims, all row dims or "
                             "all column dims, in order";
}

/// Number of columns, -1 where known at launch only.
static FailureOr<int64_t> countColumns(GenericOp op, unsigned numRowDims) {
  SmallVector<int64_t> extents = op.getExtents();
  ArrayRef<int64_t> columnExtents = ArrayRef(extents).drop_front(numRowDims);
  if (llvm::is_contained(columnExtents, ShapedType::kDynamic))
    return -1;
  if (llvm::is_contained(columnExtents, 0))
    return 0;
  int64_t columns = 1;
  for (int64_t extent : columnExtents)
    if (llvm::MulOverflow(columns, extent, columns) ||
        columns > ::norm::maxColumns)
      return op.emitOpError() << "expects at most " << ::norm::maxColumns
                              << " columns";
  return columns;
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

FailureOr<Program> Program::analyze(GenericOp op) {
  Program program;
  program.op = op;
  FailureOr<uint64_t> mask = findColumnDims(op);
  if (failed(mask))
    return failure();
  program.columnMask = *mask;
  program.numRowDims = op.getNumDims() - llvm::popcount(*mask);
  program.supports = op.computeSupports();

  FailureOr<int64_t> columns = countColumns(op, program.numRowDims);
  if (failed(columns) || failed(checkBody(program)))
    return failure();
  program.columns = *columns;
  for (OpOperand &operand : op->getOpOperands()) {
    FailureOr<Access> access = classify(op, operand, program.numRowDims);
    if (failed(access))
      return failure();
    program.accesses.push_back(*access);
  }
  for (auto [i, output] : llvm::enumerate(op.getOutputs())) {
    Access access = program.accesses[op.getInputs().size() + i];
    if (access == Access::Column && program.numRowDims != 0)
      return op.emitOpError() << "expects output #" << i
                              << " of a kernel to have the row dims";
  }

  for (Operation &inner : *op.getBlock()) {
    unsigned phase = 0;
    for (Value operand : inner.getOperands())
      phase = std::max(phase, program.ready.lookup(operand));
    if (isa<ReduceOp>(inner)) {
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
    if (ready.lookup(reduce.getValue()) == phase)
      reductions.push_back(reduce);
  return reductions;
}

SmallVector<Value> Program::laterRoots() const {
  SmallVector<Value> roots;
  for (Operation &inner : op->getRegion(0).front()) {
    if (!isa<ReduceOp, YieldOp>(inner))
      continue;
    for (Value operand : inner.getOperands())
      if (variesOnColumns(operand) && ready.lookup(operand) > 0)
        roots.push_back(operand);
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
  int64_t bits = 0;
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
  // A few ops cost less than the registers; an exponential costs more.
  constexpr unsigned cheap = 8;
  llvm::SetVector<Value> held;
  for (Operation &inner : op->getRegion(0).front()) {
    if (isa<ReduceOp, YieldOp>(inner) || inner.getNumResults() == 0 ||
        ready.lookup(inner.getResult(0)) <= phase)
      continue;
    for (Value operand : inner.getOperands()) {
      if (!operand.getDefiningOp() || !variesOnColumns(operand) ||
          ready.lookup(operand) != phase)
        continue;
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
  // Mean, sum of squares and an i32 count; largest and sum of exponentials.
  if (kind == ReduceKind::Welford)
    return 2 * bytesOf(type) + 4;
  return (kind == ReduceKind::MaxExpSum ? 2 : 1) * bytesOf(type);
}

int64_t mlir::norm::naturalLeaf(GenericOp program) {
  // Of what is read: other operands don't change a row's sums.
  int64_t narrowest = 0;
  for (BlockArgument arg : program.getBlock()->getArguments()) {
    if (program.getMap(arg.getArgNumber()).getNumResults() !=
            program.getNumDims() ||
        arg.use_empty())
      continue;
    int64_t bytes = bytesOf(arg.getType());
    narrowest = narrowest ? std::min(narrowest, bytes) : bytes;
  }
  return ::norm::leafFor(narrowest ? narrowest : 4);
}

::norm::ProgramFacts Program::facts() const {
  ::norm::ProgramFacts facts;
  facts.columns = columns;
  facts.phases = numExchanges + 1;
  GenericOp generic = op;
  facts.leaf = naturalLeaf(generic);
  if (std::optional<OrderAttr> order = generic.getOrder()) {
    facts.leaf = order->getLeaf();
    facts.lanes = order->getLanes();
  }
  facts.heldBytes = facts.slotBytes = facts.stateBytes = 0;
  for (unsigned phase = 0; phase < std::max(numExchanges, 1u); ++phase) {
    int64_t bytes = 0;
    for (Value value : valuesToHold(phase))
      bytes += bytesOf(value.getType());
    facts.heldBytes = std::max(facts.heldBytes, bytes);
    facts.slotBytes += bytes;
  }
  for (auto reduce : generic.getBody().getOps<ReduceOp>())
    facts.stateBytes +=
        mlir::norm::stateBytes(reduce.getKind(), reduce.getValue().getType());
  return facts;
}
