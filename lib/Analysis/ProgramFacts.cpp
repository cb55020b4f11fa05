//===- ProgramFacts.cpp - Order and facts of a program --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramDims.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::norm;

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
      columns.size() < 2 || ShapedType::isDynamic(extent) || extent > mostInner)
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
        (order.isAcross() || groupOfOperand(number) <= 1) &&
        (number >= generic.getInputs().size() || !arg.use_empty()))
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
  return ScheduleAttr::get(context, schedule.threads, schedule.rowsPerCta,
                           static_cast<Residency>(schedule.residency),
                           schedule.prefetch, schedule.vector,
                           schedule.maxRegisters, schedule.split, schedule.pdl,
                           schedule.stages, schedule.cluster);
}
