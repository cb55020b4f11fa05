//===- NormTileVerify.cpp - What a tiled kernel has to satisfy ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is verified as a whole: what its parts may do depends on its
// operands, its chunk size and its row and chunk.
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "mlir/IR/BuiltinTypes.h"

#include <map>

using namespace mlir;
using namespace mlir::norm_tile;

LogicalResult PartialType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  norm::ReduceKind kind, Type type) {
  bool isWide = type.isF32() || type.isF64();
  switch (kind) {
  case norm::ReduceKind::Welford:
  case norm::ReduceKind::MaxExpSum:
  case norm::ReduceKind::MaxNum:
  case norm::ReduceKind::MinNum:
    if (!isWide)
      return emitError() << "expects f32 or f64 for kind '"
                         << norm::stringifyReduceKind(kind) << "' but got "
                         << type;
    return success();
  default:
    if (!isWide && !type.isSignlessInteger())
      return emitError() << "expects f32, f64 or an integer but got " << type;
    return success();
  }
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

namespace {
/// Verifies the parts of one kernel.
class KernelVerifier {
public:
  explicit KernelVerifier(KernelOp kernel)
      : kernel(kernel), columns(kernel.getColumns()) {}

  LogicalResult verify();

private:
  LogicalResult verifyOperands();
  LogicalResult verifyFields();
  LogicalResult verifyUses();
  LogicalResult verifyRowOp(Operation *op);
  LogicalResult verifyChunkOp(Operation *op, Value column);
  LogicalResult verifyBuffer(Operation *op, Value buffer);
  LogicalResult verifyRow(Operation *op, Value given);
  LogicalResult verifyRowAccess(Operation *op, Value buffer, Value given,
                                Type element);
  LogicalResult verifyChunkAccess(Operation *op, Value buffer, Value givenRow,
                                  Value givenColumn, Value column, Type vector);
  LogicalResult verifyChunkType(Operation *op, Type type);
  LogicalResult verifyHold(HoldOp op);
  LogicalResult verifyHeld(HeldOp op);

  KernelOp kernel;
  int64_t columns;
  Value row;
  /// Types of the slots that are filled so far.
  std::map<int64_t, Type> slots;
};
} // namespace

LogicalResult KernelVerifier::verifyOperands() {
  for (BlockArgument arg : kernel.getBlock()->getArguments()) {
    auto memref = dyn_cast<MemRefType>(arg.getType());
    if (!memref) {
      Type type = arg.getType();
      bool isScalar = type.isIntOrIndexOrFloat();
      if (!isScalar || (!type.isIndex() && type.getIntOrFloatBitWidth() > 64))
        return kernel.emitOpError()
               << "expects memrefs and scalars of up to 64 bits but operand #"
               << arg.getArgNumber() << " is " << type;
      continue;
    }
    if (memref.getRank() < 1 || memref.getRank() > 2)
      return kernel.emitOpError()
             << "expects memrefs of 1 or 2 dims but operand #"
             << arg.getArgNumber() << " is " << memref;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(memref.getStridesAndOffset(strides, offset)) ||
        strides.back() != 1)
      return kernel.emitOpError()
             << "expects columns with stride 1 but operand #"
             << arg.getArgNumber() << " is " << memref;
  }
  return success();
}

LogicalResult KernelVerifier::verifyFields() {
  if (columns < -1)
    return kernel.emitOpError()
           << "expects 'columns' to be an extent, or -1, but got " << columns;
  auto checkOperand = [&](StringRef what, int64_t number) -> LogicalResult {
    auto args = kernel.getBlock()->getArguments();
    if (number >= 0 && number < static_cast<int64_t>(args.size()) &&
        isa<MemRefType>(args[number].getType()))
      return success();
    return kernel.emitOpError()
           << "expects '" << what
           << "' to be the number of a memref operand but got " << number;
  };
  if (failed(checkOperand("rows_of", kernel.getRowsOf())) ||
      failed(checkOperand("columns_of", kernel.getColumnsOf())))
    return failure();
  norm::ScheduleAttr schedule = kernel.getSchedule();
  int64_t lanes = kernel.getOrder().getLanes();
  if (schedule.getThreads() * schedule.getVector() > lanes)
    return kernel.emitOpError()
           << "expects at most " << lanes
           << " lanes per step, those of the order, but got "
           << schedule.getThreads() << " x " << schedule.getVector();
  return success();
}

/// Buffers are accessed by the ops that know rows and chunks.
LogicalResult KernelVerifier::verifyUses() {
  for (BlockArgument arg : kernel.getBlock()->getArguments()) {
    if (!isa<MemRefType>(arg.getType()))
      continue;
    for (Operation *user : arg.getUsers())
      if (!isa<LoadOp, StoreOp, LoadRowOp, StoreRowOp>(user))
        return user->emitOpError()
               << "is not a load or store of norm_tile, and can't use operand #"
               << arg.getArgNumber() << " of a kernel";
  }
  return success();
}

LogicalResult KernelVerifier::verifyBuffer(Operation *op, Value buffer) {
  auto arg = dyn_cast<BlockArgument>(buffer);
  if (arg && arg.getOwner() == kernel.getBlock() &&
      isa<MemRefType>(arg.getType()))
    return success();
  return op->emitOpError("expects a buffer that is an operand of the kernel");
}

LogicalResult KernelVerifier::verifyRow(Operation *op, Value given) {
  if (given == row)
    return success();
  return op->emitOpError("expects the row of its 'norm_tile.work'");
}

LogicalResult KernelVerifier::verifyRowAccess(Operation *op, Value buffer,
                                              Value given, Type element) {
  if (failed(verifyBuffer(op, buffer)) || failed(verifyRow(op, given)))
    return failure();
  auto memref = cast<MemRefType>(buffer.getType());
  if (memref.getRank() != 1)
    return op->emitOpError() << "expects a buffer of rows but got " << memref;
  if (memref.getElementType() != element)
    return op->emitOpError()
           << "expects an element of type " << memref.getElementType()
           << " but got " << element;
  return success();
}

LogicalResult KernelVerifier::verifyChunkType(Operation *op, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (vector && vector.getRank() == 1 && !vector.isScalable() &&
      vector.getNumElements() == kernel.getChunkSize())
    return success();
  return op->emitOpError() << "expects a vector of " << kernel.getChunkSize()
                           << " elements, the chunk of a thread, but got "
                           << type;
}

LogicalResult KernelVerifier::verifyChunkAccess(Operation *op, Value buffer,
                                                Value givenRow,
                                                Value givenColumn, Value column,
                                                Type vector) {
  if (failed(verifyBuffer(op, buffer)))
    return failure();
  auto memref = cast<MemRefType>(buffer.getType());
  bool hasRows = memref.getRank() == 2;
  if (hasRows != static_cast<bool>(givenRow))
    return op->emitOpError()
           << "expects " << (hasRows ? "a" : "no") << " row for " << memref;
  if (hasRows && failed(verifyRow(op, givenRow)))
    return failure();
  if (givenColumn != column)
    return op->emitOpError("expects the column of its 'norm_tile.phase'");
  int64_t extent = memref.getShape().back();
  if (columns >= 0 && ShapedType::isStatic(extent) && extent != columns)
    return op->emitOpError()
           << "expects " << columns << " columns, those of the kernel, but got "
           << memref;
  if (failed(verifyChunkType(op, vector)))
    return failure();
  Type element = cast<VectorType>(vector).getElementType();
  if (element != memref.getElementType())
    return op->emitOpError()
           << "expects elements of type " << memref.getElementType()
           << " but got " << element;
  return success();
}

LogicalResult KernelVerifier::verifyHold(HoldOp op) {
  int64_t slot = op.getSlot();
  if (columns < 0 ||
      kernel.getSchedule().getResidency() == norm::Residency::Stream)
    return op.emitOpError("expects residency registers or shared, and a static "
                          "column extent");
  if (failed(verifyChunkType(op, op.getValue().getType())))
    return failure();
  Type element = op.getValue().getType().getElementType();
  if (!element.isIntOrFloat())
    return op.emitOpError() << "expects integers or floats but got " << element;
  if (slot < 0)
    return op.emitOpError() << "expects a slot from 0 on but got " << slot;
  if (!slots.try_emplace(slot, op.getValue().getType()).second)
    return op.emitOpError()
           << "expects slot " << slot << " to be filled once only";
  return success();
}

LogicalResult KernelVerifier::verifyHeld(HeldOp op) {
  int64_t slot = op.getSlot();
  auto kept = slots.find(slot);
  if (kept != slots.end() && kept->second == op.getType())
    return success();
  InFlightDiagnostic diag = op.emitOpError()
                            << "expects slot " << slot << " of type "
                            << op.getType() << " but ";
  if (kept != slots.end())
    return diag << "it holds " << kept->second;
  return diag << "nothing is kept in it before";
}

LogicalResult KernelVerifier::verifyRowOp(Operation *op) {
  if (auto load = dyn_cast<LoadRowOp>(op))
    return verifyRowAccess(op, load.getSource(), load.getRow(), load.getType());
  if (auto store = dyn_cast<StoreRowOp>(op))
    return verifyRowAccess(op, store.getDestination(), store.getRow(),
                           store.getValue().getType());
  return success();
}

LogicalResult KernelVerifier::verifyChunkOp(Operation *op, Value column) {
  if (auto load = dyn_cast<LoadOp>(op))
    return verifyChunkAccess(op, load.getSource(), load.getRow(),
                             load.getColumn(), column, load.getType());
  if (auto store = dyn_cast<StoreOp>(op))
    return verifyChunkAccess(op, store.getDestination(), store.getRow(),
                             store.getColumn(), column,
                             store.getValue().getType());
  if (auto hold = dyn_cast<HoldOp>(op))
    return verifyHold(hold);
  if (auto held = dyn_cast<HeldOp>(op))
    return verifyHeld(held);
  if (auto yield = dyn_cast<YieldOp>(op))
    for (Value value : yield.getValues())
      if (failed(verifyChunkType(op, value.getType())))
        return failure();
  return success();
}

LogicalResult KernelVerifier::verify() {
  if (failed(verifyOperands()) || failed(verifyFields()) ||
      failed(verifyUses()))
    return failure();
  Block *body = kernel.getBlock();
  if (!llvm::hasSingleElement(*body) || !isa<WorkOp>(body->front()))
    return kernel.emitOpError("expects a body of one 'norm_tile.work'");
  auto work = cast<WorkOp>(body->front());
  row = work.getBlock()->getArgument(0);
  for (Operation &op : *work.getBlock()) {
    auto phase = dyn_cast<PhaseOp>(op);
    if (!phase) {
      if (failed(verifyRowOp(&op)))
        return failure();
      continue;
    }
    Value column = phase.getBlock()->getArgument(0);
    for (Operation &inner : *phase.getBlock())
      if (failed(verifyChunkOp(&inner, column)))
        return failure();
  }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  return KernelVerifier(*this).verify();
}

//===----------------------------------------------------------------------===//
// Work and phases
//===----------------------------------------------------------------------===//

/// Checks that a region has one argument, an index.
static LogicalResult verifyIndexRegion(Operation *op, StringRef what) {
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() == 1 && block.getArgument(0).getType().isIndex())
    return success();
  return op->emitOpError() << "expects one argument of type index, the " << what
                           << ", but got (" << block.getArgumentTypes() << ")";
}

LogicalResult WorkOp::verifyRegions() {
  return verifyIndexRegion(*this, "row");
}

LogicalResult PhaseOp::verifyRegions() {
  if (failed(verifyIndexRegion(*this, "first column of the chunk")))
    return failure();
  auto yield = dyn_cast<YieldOp>(getBlock()->getTerminator());
  if (!yield)
    return emitOpError("expects the region to end in 'norm_tile.yield'");
  if (yield.getNumOperands() != getKinds().size() ||
      getNumResults() != getKinds().size())
    return emitOpError() << "expects " << getKinds().size()
                         << " values and results, one for each kind, but got "
                         << yield.getNumOperands() << " and "
                         << getNumResults();
  for (auto [i, kind] :
       llvm::enumerate(getKinds().getAsRange<norm::ReduceKindAttr>())) {
    auto vector = dyn_cast<VectorType>(yield.getOperand(i).getType());
    auto partial = cast<PartialType>(getResult(i).getType());
    if (!vector || partial.getType() != vector.getElementType() ||
        partial.getKind() != kind.getValue())
      return emitOpError() << "expects result #" << i << " to hold '"
                           << norm::stringifyReduceKind(kind.getValue())
                           << "' of the yielded vector's elements but got "
                           << partial << " for "
                           << yield.getOperand(i).getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

LogicalResult ExchangeStartOp::verify() {
  for (auto [i, partial] : llvm::enumerate(getPartials())) {
    if (!partial.getDefiningOp<PhaseOp>())
      return emitOpError() << "expects partial #" << i
                           << " to be a result of a 'norm_tile.phase'";
    if (!partial.hasOneUse())
      return emitOpError() << "expects partial #" << i
                           << " to be exchanged once only";
  }
  return success();
}

LogicalResult ExchangeWaitOp::verify() {
  auto start = getToken().getDefiningOp<ExchangeStartOp>();
  if (!start)
    return emitOpError("expects the token of a 'norm_tile.exchange_start'");
  if (!getToken().hasOneUse())
    return emitOpError("expects the only wait for its exchange");
  SmallVector<Type> expected;
  for (Type type : start.getPartials().getTypes()) {
    auto partial = cast<PartialType>(type);
    bool pair = partial.getKind() == norm::ReduceKind::Welford ||
                partial.getKind() == norm::ReduceKind::MaxExpSum;
    expected.append(pair ? 2 : 1, partial.getType());
  }
  if (TypeRange(expected) != getResultTypes())
    return emitOpError() << "expects results of types " << TypeRange(expected)
                         << " but got " << getResultTypes();
  return success();
}
