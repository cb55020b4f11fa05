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
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::norm_tile;

LogicalResult PartialType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  norm::ReduceKind kind, Type type) {
  bool isWide = type.isF32() || type.isF64();
  switch (kind) {
  case norm::ReduceKind::Welford:
  case norm::ReduceKind::WelfordExact:
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
      : kernel(kernel), space(kernel.getSpace()),
        isAcross(kernel.getOrder().isAcross()), columns(kernel.getColumns()) {}

  LogicalResult verify();

private:
  LogicalResult verifyOperands();
  LogicalResult verifyAxes(unsigned operand, MemRefType memref);
  LogicalResult verifyFields();
  LogicalResult verifyUses();
  LogicalResult verifyDim(Operation *op, uint64_t dim);
  LogicalResult verifyRowOp(Operation *op);
  LogicalResult verifyChunkOp(Operation *op, Value column);
  LogicalResult verifyBuffer(Operation *op, Value buffer);
  LogicalResult verifyRow(Operation *op, Value given);
  LogicalResult verifyRowAccess(Operation *op, Value buffer, Value given,
                                Type element);
  LogicalResult verifyChunkAccess(Operation *op, Value buffer, Value givenRow,
                                  Value givenColumn, Value column, Type vector);
  LogicalResult verifyChunkType(Operation *op, Type type);
  LogicalResult verifySumRows(SumRowsOp op, Value column);
  LogicalResult verifyHold(HoldOp op);
  LogicalResult verifyHeld(HeldOp op);

  /// Whether an operand is known to vary on the columns that a phase walks.
  bool isWalked(Value buffer);
  /// Whether it may: no operand has an axis for a dim of one element.
  bool mayBeWalked(Value buffer);

  KernelOp kernel;
  SpaceAttr space;
  bool isAcross;
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
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(memref.getStridesAndOffset(strides, offset)))
      return kernel.emitOpError() << "expects strided memrefs but operand #"
                                  << arg.getArgNumber() << " is " << memref;
    if (failed(verifyAxes(arg.getArgNumber(), memref)))
      return failure();
  }
  return success();
}

LogicalResult KernelVerifier::verifyAxes(unsigned operand, MemRefType memref) {
  if (space.getAxes()[operand].empty() && space.getNumDims() != 0)
    return kernel.emitOpError()
           << "expects axes of operand #" << operand << ", which is " << memref;
  for (unsigned dim = 0; dim < space.getNumDims(); ++dim) {
    int64_t axis = space.getAxis(operand, dim);
    if (axis >= memref.getRank())
      return kernel.emitOpError()
             << "expects axes of operand #" << operand << " below "
             << memref.getRank() << " but got " << axis;
    if (axis < 0)
      continue;
    // Of sums, workers have an axis that isn't one of the space's dims.
    if (llvm::any_of(kernel.getBlock()->getArgument(operand).getUsers(),
                     [](Operation *user) { return isa<SumRowsOp>(user); }))
      continue;
    int64_t extent = 1;
    for (unsigned part : space.getAxesOf(operand, dim))
      extent = extent < 0 || memref.isDynamicDim(part)
                   ? -1
                   : extent * memref.getDimSize(part);
    int64_t expected = space.getExtent(dim);
    if (expected >= 0 && extent >= 0 && expected != extent)
      return kernel.emitOpError()
             << "expects " << expected << " elements on dim " << dim
             << " of its space but operand #" << operand << " has " << extent
             << ": " << memref;
  }
  return success();
}

LogicalResult KernelVerifier::verifyFields() {
  norm::ScheduleAttr schedule = kernel.getSchedule();
  int64_t lanes = kernel.getOrder().getLanes();
  int64_t perStep = isAcross ? schedule.getThreads()
                             : schedule.getThreads() * schedule.getVector();
  if (perStep > lanes)
    return kernel.emitOpError()
           << "expects at most " << lanes
           << " lanes per step, those of the order, but got "
           << schedule.getThreads() << " x " << schedule.getVector();
  if (!isAcross) {
    if (llvm::isPowerOf2_64(schedule.getVector()))
      return success();
    return kernel.emitOpError()
           << "expects 'vector' to be a power of two along memory but got "
           << schedule.getVector();
  }
  // The inner columns are the last dim.
  int64_t inner = kernel.getOrder().getInner();
  if (inner > 1 &&
      (space.getColumns().empty() || space.getColumns().back() != inner))
    return kernel.emitOpError()
           << "expects the last column dim to have the order's " << inner
           << " inner columns";
  // Chunks cover the positions without a rest.
  int64_t run = inner;
  for (int64_t extent : llvm::reverse(space.getRows())) {
    if (extent < 0)
      break;
    run *= extent;
  }
  if (run % schedule.getVector() != 0)
    return kernel.emitOpError()
           << "expects 'vector' to divide the " << run
           << " elements of the last row dims whose extents are static, but "
              "got "
           << schedule.getVector();
  return success();
}

/// Buffers are accessed by the ops that know rows and chunks.
LogicalResult KernelVerifier::verifyUses() {
  for (BlockArgument arg : kernel.getBlock()->getArguments()) {
    if (!isa<MemRefType>(arg.getType()))
      continue;
    for (Operation *user : arg.getUsers())
      if (!isa<LoadOp, StoreOp, SumRowsOp, LoadRowOp, StoreRowOp>(user))
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

bool KernelVerifier::isWalked(Value buffer) {
  unsigned operand = cast<BlockArgument>(buffer).getArgNumber();
  unsigned last = space.getNumDims() - (kernel.getOrder().getInner() > 1);
  for (unsigned dim = space.getNumRowDims(); dim < last; ++dim)
    if (space.getAxis(operand, dim) >= 0)
      return true;
  return false;
}

bool KernelVerifier::mayBeWalked(Value buffer) {
  unsigned last = space.getNumDims() - (kernel.getOrder().getInner() > 1);
  for (unsigned dim = space.getNumRowDims(); dim < last; ++dim)
    if (space.getExtent(dim) == 1)
      return true;
  return isWalked(buffer);
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
  if (isWalked(buffer))
    return op->emitOpError() << "expects a buffer of rows but got " << memref;
  if (isAcross) {
    if (failed(verifyChunkType(op, element)))
      return failure();
    element = cast<VectorType>(element).getElementType();
  }
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
  unsigned number = cast<BlockArgument>(buffer).getArgNumber();
  bool hasRows = space.hasRows(number);
  if (hasRows != static_cast<bool>(givenRow))
    return op->emitOpError()
           << "expects " << (hasRows ? "a" : "no") << " row for " << memref;
  if (hasRows && failed(verifyRow(op, givenRow)))
    return failure();
  if (givenColumn != column)
    return op->emitOpError("expects the column of its 'norm_tile.phase'");
  if (!mayBeWalked(buffer))
    return op->emitOpError()
           << "expects a buffer of columns but got " << memref;
  if (failed(verifyChunkType(op, vector)))
    return failure();
  Type element = cast<VectorType>(vector).getElementType();
  if (element != memref.getElementType())
    return op->emitOpError()
           << "expects elements of type " << memref.getElementType()
           << " but got " << element;
  return success();
}

/// Sums lie worker after worker, and one by one are kept for each column.
LogicalResult KernelVerifier::verifySumRows(SumRowsOp op, Value column) {
  if (space.getWorkers() == 0)
    return op.emitOpError("expects a space with workers");
  if (isAcross || columns < 0)
    return op.emitOpError("expects an order along memory and a static column "
                          "extent");
  if (failed(verifyChunkAccess(op, op.getDestination(), Value(),
                               op.getColumn(), column,
                               op.getValue().getType())))
    return failure();
  auto memref = cast<MemRefType>(op.getDestination().getType());
  if (!memref.getElementType().isF32() && !memref.getElementType().isF64())
    return op.emitOpError() << "expects sums of f32 or f64 but got " << memref;
  if (!memref.hasStaticShape() || !memref.getLayout().isIdentity() ||
      memref.getNumElements() != space.getWorkers() * columns)
    return op.emitOpError()
           << "expects a contiguous buffer of " << space.getWorkers() << " x "
           << columns << " sums but got " << memref;
  if (!op.getDestination().hasOneUse())
    return op.emitOpError("expects the only use of its buffer");
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

LogicalResult KernelVerifier::verifyDim(Operation *op, uint64_t dim) {
  if (dim < space.getNumDims())
    return success();
  return op->emitOpError() << "expects a dim below " << space.getNumDims()
                           << " but got " << dim;
}

LogicalResult KernelVerifier::verifyRowOp(Operation *op) {
  if (auto extent = dyn_cast<ExtentOp>(op))
    return verifyDim(op, extent.getDim());
  if (auto index = dyn_cast<IndexOp>(op))
    return verifyDim(op, index.getDim());
  if (auto load = dyn_cast<LoadRowOp>(op))
    return verifyRowAccess(op, load.getSource(), load.getRow(), load.getType());
  if (auto store = dyn_cast<StoreRowOp>(op))
    return verifyRowAccess(op, store.getDestination(), store.getRow(),
                           store.getValue().getType());
  return success();
}

LogicalResult KernelVerifier::verifyChunkOp(Operation *op, Value column) {
  if (auto index = dyn_cast<IndexOp>(op))
    return verifyDim(op, index.getDim());
  if (auto load = dyn_cast<LoadOp>(op))
    return verifyChunkAccess(op, load.getSource(), load.getRow(),
                             load.getColumn(), column, load.getType());
  if (auto store = dyn_cast<StoreOp>(op))
    return verifyChunkAccess(op, store.getDestination(), store.getRow(),
                             store.getColumn(), column,
                             store.getValue().getType());
  if (auto sum = dyn_cast<SumRowsOp>(op))
    return verifySumRows(sum, column);
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
  Block *body = kernel.getBlock();
  if (space.getAxes().size() != body->getNumArguments())
    return kernel.emitOpError()
           << "expects axes for " << body->getNumArguments()
           << " operands but got " << space.getAxes().size();
  if (failed(verifyOperands()) || failed(verifyFields()) ||
      failed(verifyUses()))
    return failure();
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
  auto kernel = (*this)->getParentOfType<KernelOp>();
  SmallVector<Type> expected;
  for (Type type : start.getPartials().getTypes()) {
    auto partial = cast<PartialType>(type);
    Type result = partial.getType();
    if (kernel && kernel.getOrder().isAcross())
      result = VectorType::get({kernel.getChunkSize()}, result);
    bool pair = norm::isWelford(partial.getKind()) ||
                partial.getKind() == norm::ReduceKind::MaxExpSum;
    expected.append(pair ? 2 : 1, result);
  }
  if (TypeRange(expected) != getResultTypes())
    return emitOpError() << "expects results of types " << TypeRange(expected)
                         << " but got " << getResultTypes();
  return success();
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  int64_t numInputs = getNumOperands() - getNumOutputs();
  for (int64_t operand : getUnread().value_or(ArrayRef<int64_t>()))
    if (operand < 0 || operand >= numInputs)
      return emitOpError() << "expects unread operands below " << numInputs
                           << ", the number of inputs, but got " << operand;
  return success();
}
