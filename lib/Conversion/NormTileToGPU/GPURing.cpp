//===- GPURing.cpp - Rows that a cluster keeps in shared memory -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPURing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

//===----------------------------------------------------------------------===//
// What is in a slot
//===----------------------------------------------------------------------===//

/// The first or the last walk over the columns.
PhaseOp GPURing::phaseAt(bool last) {
  WorkOp work = *kernel.getBlock()->getOps<WorkOp>().begin();
  PhaseOp found;
  for (PhaseOp phase : work.getBlock()->getOps<PhaseOp>())
    if (last || !found)
      found = phase;
  return found;
}

const GPURing::Stream *GPURing::streamOf(Value operand) const {
  unsigned number = cast<BlockArgument>(operand).getArgNumber();
  const Stream *found = llvm::find_if(
      streams, [&](const Stream &stream) { return stream.operand == number; });
  return found == streams.end() ? nullptr : found;
}

/// Inputs that rows have of their own and whose chunks are whole pieces of a
/// copy.
void GPURing::findRing() {
  int64_t columnBytes = 0;
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    Value operand = kernel.getBlock()->getArgument(i);
    if (!buffer.element || !space.hasRows(i) || !space.hasColumns(i) ||
        buffer.reach != Reach::Linear || alignmentOf(buffer) < 16 ||
        llvm::none_of(operand.getUsers(), llvm::IsaPred<LoadOp>))
      continue;
    int64_t bits = buffer.element.getIntOrFloatBitWidth();
    if (bits % 8 != 0 || plan.chunkSize() * bits / 8 % 16 != 0)
      continue;
    Stream stream;
    stream.operand = i;
    stream.element = buffer.element;
    stream.elementBytes = bits / 8;
    columnBytes += stream.elementBytes;
    streams.push_back(stream);
  }
  ring = ::norm::planRing(plan, columnBytes);
  int64_t offset = 0;
  for (Stream &stream : streams) {
    stream.offset = offset;
    offset += ring.slotSteps * stepBytes(stream);
  }
}

/// Results of the last phase take the place of an input of the same size, each
/// thread's chunk that of its own input, which it has loaded before.
void GPURing::findResults() {
  PhaseOp phase = phaseAt(/*last=*/true);
  if (!phase)
    return;
  auto isLoadedBefore = [&](const Stream &stream, StoreOp store) {
    return llvm::all_of(phase.getBlock()->getOps<LoadOp>(), [&](LoadOp load) {
      return load.getSource() !=
                 kernel.getBlock()->getArgument(stream.operand) ||
             load->isBeforeInBlock(store);
    });
  };
  for (StoreOp store : phase.getBlock()->getOps<StoreOp>()) {
    const Buffer &buffer = bufferOf(store.getDestination());
    if (store.getGroup() != 1 || buffer.reach != Reach::Linear ||
        alignmentOf(buffer) < 16 ||
        buffer.element.getIntOrFloatBitWidth() % 8 != 0)
      continue;
    int64_t bytes = buffer.element.getIntOrFloatBitWidth() / 8;
    for (auto [i, stream] : llvm::enumerate(streams)) {
      if (stream.output >= 0 || stream.elementBytes != bytes ||
          !isLoadedBefore(stream, store))
        continue;
      stream.output =
          cast<BlockArgument>(store.getDestination()).getArgNumber();
      results[store] = i;
      break;
    }
  }
}

/// Whether all slots of all CTAs have the same columns.
bool GPURing::isEven() const {
  return plan.columns % (ring.slotSteps * plan.stepSize()) == 0;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value GPURing::i32(int64_t value) {
  return arith::ConstantOp::create(
      b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value GPURing::offsetBy(Value base, Value offset) {
  return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value GPURing::shared(int64_t offset) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base = LLVM::AddressOfOp::create(b, loc, pointer, "norm_shared");
  return offset ? offsetBy(base, i32(offset)) : base;
}

Value GPURing::slotAt(Value slot) {
  return offsetBy(shared(0),
                  arith::MulIOp::create(b, loc, slot, i32(ring.slotBytes)));
}

Value GPURing::fullAt(Value slot) {
  return offsetBy(shared(fullOffset),
                  arith::MulIOp::create(b, loc, slot, i32(8)));
}

Value GPURing::emptyAt(Value slot) {
  return offsetBy(shared(emptyOffset),
                  arith::MulIOp::create(b, loc, slot, i32(8)));
}

/// Where the copying thread leaves the row that a slot is of.
Value GPURing::rowOfSlotAt(Value slot) {
  return offsetBy(shared(rowOffset),
                  arith::MulIOp::create(b, loc, slot, i32(8)));
}

void GPURing::onlyIf(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

void GPURing::makeBarriers() {
  fullOffset = ring.ringBytes();
  emptyOffset = fullOffset + 8 * ring.slots;
  rowOffset = emptyOffset + 8 * ring.slots;
  mailOffset = rowOffset + 8 * ring.slots;
  mailBarrier = mailOffset + 8 * ::norm::ringMails;
  meetBarrier = mailBarrier + 8 * ::norm::ringMails;
  resultBarrier = meetBarrier + 8;
  meetOffset = llvm::alignTo(resultBarrier + 8, 16);
  resultOffset = meetOffset + consumers() * stateBytes;
  dynamicShared = resultOffset + 2 * cluster() * stateBytes;
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, tid, index(0));
  onlyIf(isFirst, [&] {
    auto make = [&](Value barrier, int64_t count) {
      MbarrierInitOp::create(b, loc, barrier, static_cast<uint32_t>(count));
    };
    auto forEach = [&](int64_t count, llvm::function_ref<void(Value)> body) {
      auto loop = scf::ForOp::create(b, loc, i32(0), i32(count), i32(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      body(loop.getInductionVar());
    };
    forEach(ring.slots, [&](Value slot) {
      make(fullAt(slot), 1);
      make(emptyAt(slot), consumers() / 32);
    });
    forEach(::norm::ringMails, [&](Value mail) {
      make(offsetBy(shared(mailBarrier),
                    arith::MulIOp::create(b, loc, mail, i32(8))),
           1);
    });
    make(shared(meetBarrier), 1);
    make(shared(resultBarrier), 1);
  });
  ClusterBarrierOp::create(b, loc);
}

Value GPURing::enter() {
  findRing();
  findResults();
  int64_t count = 0;
  for (auto exchange : (*kernel.getBlock()->getOps<WorkOp>().begin())
                           .getBlock()
                           ->getOps<ExchangeStartOp>()) {
    exchanges[exchange] = count++;
    int64_t bytes = 0;
    for (auto &words : wordsOf(exchange))
      for (const Word &word : words)
        bytes += word.bytes;
    stateBytes = std::max(stateBytes, bytes);
  }
  function.setKnownClusterSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(cluster()), 1, 1}));
  group = index(0);
  local = toI64(tid);
  rank = arith::RemUIOp::create(b, loc, cta, index(cluster()));
  number = arith::DivUIOp::create(b, loc, cta, index(cluster()));
  Value ctas = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
  clusters = arith::DivUIOp::create(b, loc, ctas, index(cluster()));
  thread = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, rank, index(consumers())), tid);
  firstColumn =
      toI64(arith::MulIOp::create(b, loc, thread, index(plan.chunkSize())));
  makeBarriers();

  Value works = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, tid,
                                      index(consumers()));
  auto either = scf::IfOp::create(b, loc, works, /*withElse=*/true);
  branch = either;
  b.setInsertionPointToStart(either.elseBlock());
  Value copies = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, tid,
                                       index(consumers()));
  onlyIf(copies, [&] { copyRows(); });

  b.setInsertionPointToStart(either.thenBlock());
  holdColumns();
  Type i32Type = b.getI32Type(), i64Type = b.getI64Type();
  auto walk = scf::WhileOp::create(
      b, loc, TypeRange{i32Type, i32Type, i32Type, i64Type},
      ValueRange{i32(0), i32(0), i32(0)});
  SmallVector<Location> locs(4, loc);
  Block *before =
      b.createBlock(&walk.getBefore(), {}, TypeRange{i32Type, i32Type, i32Type},
                    ArrayRef(locs).take_front(3));
  // What row is next, or that none is, is known with its first slot.
  MbarrierWaitOp::create(b, loc, fullAt(before->getArgument(0)),
                         before->getArgument(1));
  Value next = LLVM::LoadOp::create(b, loc, i64Type,
                                    rowOfSlotAt(before->getArgument(0)), 8);
  Value isRowLeft = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                          next, toI64(rows));
  SmallVector<Value> handed(before->getArguments());
  handed.push_back(next);
  scf::ConditionOp::create(b, loc, isRowLeft, handed);
  Block *after =
      b.createBlock(&walk.getAfter(), {},
                    TypeRange{i32Type, i32Type, i32Type, i64Type}, locs);
  firstSlot = after->getArgument(0);
  firstParity = after->getArgument(1);
  exchangeCount = after->getArgument(2);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                    after->getArgument(3));
}

void GPURing::leave() {
  Value next = arith::AddIOp::create(b, loc, firstSlot, i32(ring.rowSlots));
  Value wraps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, next,
                                      i32(ring.slots));
  Value less = arith::SubIOp::create(b, loc, next, i32(ring.slots));
  Value turn = arith::ExtUIOp::create(b, loc, b.getI32Type(), wraps);
  Value count =
      arith::AddIOp::create(b, loc, exchangeCount, i32(exchanges.size()));
  scf::YieldOp::create(
      b, loc,
      ValueRange{arith::SelectOp::create(b, loc, wraps, less, next),
                 arith::XOrIOp::create(b, loc, firstParity, turn), count});
  b.setInsertionPointAfter(branch);
  // No CTA's memory goes while another one may write there.
  ClusterBarrierOp::create(b, loc);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

Value GPURing::slotOf(Value piece) {
  return arith::TruncIOp::create(
      b, loc, b.getI32Type(),
      arith::RemUIOp::create(b, loc, piece, i64(ring.slots)));
}

/// The first column (i64) that the CTA has in a step of a slot.
Value GPURing::columnAt(const Piece &piece, int64_t step) {
  Value first = arith::MulIOp::create(b, loc, piece.part,
                                      i64(ring.slotSteps * plan.stepSize()));
  Value own = arith::MulIOp::create(b, loc, toI64(rank),
                                    i64(consumers() * plan.chunkSize()));
  first = arith::AddIOp::create(b, loc, first, own);
  return arith::AddIOp::create(b, loc, first, i64(step * plan.stepSize()));
}

/// How many of them are within the row, i64.
Value GPURing::elementsAt(Value column) {
  Value rest = arith::SubIOp::create(b, loc, i64(plan.columns), column);
  rest = arith::MaxSIOp::create(b, loc, rest, i64(0));
  return arith::MinSIOp::create(b, loc, rest,
                                i64(consumers() * plan.chunkSize()));
}

/// Calls `copy` with the place in the slot, the address in an operand and the
/// bytes (i32) of each step's chunks.
void GPURing::forChunks(const Piece &piece, bool ofOutputs,
                        llvm::function_ref<void(Value, Value, Value)> copy) {
  setPositions(rowDims, piece.row);
  Value slot = slotAt(piece.slot);
  for (const Stream &stream : streams) {
    if (ofOutputs && stream.output < 0)
      continue;
    const Buffer &buffer =
        buffers[ofOutputs ? unsigned(stream.output) : stream.operand];
    Value base = basePointer(buffer, rowDims);
    for (int64_t step = 0; step < ring.slotSteps; ++step) {
      Value column = columnAt(piece, step);
      Value place =
          offsetBy(slot, i32(stream.offset + step * stepBytes(stream)));
      if (isEven()) {
        copy(place, elementPointer(base, column, buffer.element),
             i32(stepBytes(stream)));
        continue;
      }
      Value count = elementsAt(column);
      Value isAny = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                          count, i64(0));
      onlyIf(isAny, [&] {
        Value bytes =
            arith::MulIOp::create(b, loc, count, i64(stream.elementBytes));
        copy(place, elementPointer(base, column, buffer.element),
             arith::TruncIOp::create(b, loc, b.getI32Type(), bytes));
      });
    }
  }
}

void GPURing::loadPiece(const Piece &piece) {
  Value full = fullAt(piece.slot);
  int64_t columnBytes = 0;
  for (const Stream &stream : streams)
    columnBytes += stream.elementBytes;
  Value bytes = i32(ring.slotBytes);
  if (!isEven()) {
    Value sum = i64(0);
    for (int64_t step = 0; step < ring.slotSteps; ++step)
      sum =
          arith::AddIOp::create(b, loc, sum, elementsAt(columnAt(piece, step)));
    bytes = arith::TruncIOp::create(
        b, loc, b.getI32Type(),
        arith::MulIOp::create(b, loc, sum, i64(columnBytes)));
  }
  MbarrierExpectOp::create(b, loc, full, bytes);
  forChunks(piece, /*ofOutputs=*/false,
            [&](Value place, Value address, Value count) {
              BulkLoadOp::create(b, loc, place, address, count, full);
            });
}

void GPURing::storePiece(Value next) {
  Piece piece;
  piece.slot = slotOf(next);
  piece.part = arith::RemUIOp::create(b, loc, next, i64(ring.rowSlots));
  piece.row =
      LLVM::LoadOp::create(b, loc, b.getI64Type(), rowOfSlotAt(piece.slot), 8);
  forChunks(piece, /*ofOutputs=*/true,
            [&](Value place, Value address, Value count) {
              BulkStoreOp::create(b, loc, address, place, count);
            });
  BulkCommitOp::create(b, loc);
}

/// The place of the row that is `turn` (i64) rows after the first one.
Value GPURing::mailAt(Value turn) {
  Value place = arith::RemUIOp::create(b, loc, turn, i64(::norm::ringMails));
  place = arith::TruncIOp::create(b, loc, b.getI32Type(), place);
  return offsetBy(shared(mailOffset),
                  arith::MulIOp::create(b, loc, place, i32(8)));
}

Value GPURing::mailBarrierAt(Value turn) {
  return offsetBy(mailAt(turn), i32(mailBarrier - mailOffset));
}

/// The first CTA draws the row after the one of this turn and tells the others.
void GPURing::drawRow(Value turn) {
  Value draws =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rank, index(0));
  onlyIf(draws, [&] {
    Value own = toI64(clusters);
    Value drawn =
        TicketOp::create(b, loc, b.getI64Type(), workspace, toI64(rows), own);
    Value row = arith::AddIOp::create(b, loc, own, drawn);
    Value mail = mailAt(turn), barrier = mailBarrierAt(turn);
    auto send = scf::ForOp::create(b, loc, i32(0), i32(cluster()), i32(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(send.getBody());
    SendOp::create(b, loc, row, mail, barrier, send.getInductionVar());
  });
}

Value GPURing::receiveRow(Value turn) {
  Value barrier = mailBarrierAt(turn);
  Value round = arith::DivUIOp::create(b, loc, turn, i64(::norm::ringMails));
  Value parity = arith::AndIOp::create(
      b, loc, arith::TruncIOp::create(b, loc, b.getI32Type(), round), i32(1));
  MbarrierExpectOp::create(b, loc, barrier, i32(8));
  MbarrierWaitOp::create(b, loc, barrier, parity);
  return LLVM::LoadOp::create(b, loc, b.getI64Type(), mailAt(turn), 8);
}

/// Fills the next slot and returns what comes after it. Of a row that there
/// isn't, the slot only says so.
SmallVector<Value> GPURing::loadNext(ValueRange next) {
  Piece piece = {slotOf(next[kPiece]), next[kRow], next[kPart]};
  LLVM::StoreOp::create(b, loc, piece.row, rowOfSlotAt(piece.slot), 8);
  Type i64Type = b.getI64Type();
  Value isThere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                        piece.row, toI64(rows));
  auto either =
      scf::IfOp::create(b, loc, TypeRange{i64Type, i64Type, i64Type, i64Type},
                        isThere, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(either.thenBlock());
  Value begins = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                       piece.part, i64(0));
  loadPiece(piece);
  onlyIf(begins, [&] { drawRow(next[kTurn]); });
  Value number = arith::AddIOp::create(b, loc, next[kPiece], i64(1));
  Value part = arith::AddIOp::create(b, loc, piece.part, i64(1));
  Value ends = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, part,
                                     i64(ring.rowSlots));
  auto turns = scf::IfOp::create(b, loc, TypeRange{i64Type, i64Type, i64Type},
                                 ends, true, true);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(turns.thenBlock());
    Value row = receiveRow(next[kTurn]);
    Value turn = arith::AddIOp::create(b, loc, next[kTurn], i64(1));
    scf::YieldOp::create(b, loc, ValueRange{row, i64(0), turn});
    b.setInsertionPointToStart(turns.elseBlock());
    scf::YieldOp::create(b, loc, ValueRange{piece.row, part, next[kTurn]});
  }
  scf::YieldOp::create(b, loc,
                       ValueRange{number, turns.getResult(0),
                                  turns.getResult(1), turns.getResult(2)});
  b.setInsertionPointToStart(either.elseBlock());
  MbarrierExpectOp::create(b, loc, fullAt(piece.slot), i32(0));
  // No slot is filled any more.
  scf::YieldOp::create(
      b, loc, ValueRange{next[kPiece], piece.row, i64(-1), next[kTurn]});
  return SmallVector<Value>(either.getResults());
}

/// All that the CTA copies: as many slots as there are, then one for each that
/// comes back. Piece `k` of its rows is in slot `k mod slots`.
void GPURing::copyRows() {
  Type i64Type = b.getI64Type(), i32Type = b.getI32Type();
  SmallVector<Type> types(4, i64Type);
  SmallVector<Location> locs(5, loc);
  auto isLeft = [&](ValueRange next) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, next[kPart],
                                 i64(-1));
  };
  auto fill = scf::WhileOp::create(
      b, loc, types, ValueRange{i64(0), toI64(number), i64(0), i64(0)});
  {
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&fill.getBefore(), {}, types,
                                  ArrayRef(locs).take_front(4));
    Value isEmpty =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                              before->getArgument(kPiece), i64(ring.slots));
    scf::ConditionOp::create(
        b, loc,
        arith::AndIOp::create(b, loc, isEmpty, isLeft(before->getArguments())),
        before->getArguments());
    Block *after = b.createBlock(&fill.getAfter(), {}, types,
                                 ArrayRef(locs).take_front(4));
    scf::YieldOp::create(b, loc, loadNext(after->getArguments()));
  }
  // The piece that comes back is carried last.
  SmallVector<Value> carried(fill.getResults());
  carried.push_back(i64(0));
  types.push_back(i64Type);
  auto refill = scf::WhileOp::create(b, loc, types, carried);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&refill.getBefore(), {}, types, locs);
  Value isOut = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                      before->getArguments().back(),
                                      before->getArgument(kPiece));
  scf::ConditionOp::create(b, loc, isOut, before->getArguments());
  Block *after = b.createBlock(&refill.getAfter(), {}, types, locs);
  Value piece = after->getArguments().back();
  ValueRange next = after->getArguments().drop_back();
  Value turn = arith::DivUIOp::create(b, loc, piece, i64(ring.slots));
  Value parity = arith::AndIOp::create(
      b, loc, arith::TruncIOp::create(b, loc, i32Type, turn), i32(1));
  MbarrierWaitOp::create(b, loc, emptyAt(slotOf(piece)), parity);
  int64_t pending = results.empty() ? 0 : ring.pending;
  if (!results.empty())
    storePiece(piece);
  Value isFree = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, piece,
                                       i64(pending));
  auto load = scf::IfOp::create(
      b, loc, ArrayRef(types).drop_back(),
      arith::AndIOp::create(b, loc, isFree, isLeft(next)), true, true);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(load.thenBlock());
    if (pending)
      BulkWaitOp::create(b, loc, static_cast<uint32_t>(pending),
                         /*read=*/true);
    scf::YieldOp::create(b, loc, loadNext(next));
    b.setInsertionPointToStart(load.elseBlock());
    scf::YieldOp::create(b, loc, next);
  }
  SmallVector<Value> last(load.getResults());
  last.push_back(arith::AddIOp::create(b, loc, piece, i64(1)));
  scf::YieldOp::create(b, loc, last);
  b.setInsertionPointAfter(refill);
  if (!results.empty())
    BulkWaitOp::create(b, loc, 0u, /*read=*/false);
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// Loads what the last phase needs for all rows, if there are registers for it:
/// each row would read as many bytes of it from the L2 cache as from memory.
void GPURing::holdColumns() {
  PhaseOp phase = phaseAt(/*last=*/true);
  if (!phase)
    return;
  SmallVector<LoadOp> loads;
  int64_t bytes = 0;
  for (LoadOp load : phase.getBlock()->getOps<LoadOp>()) {
    unsigned operand = cast<BlockArgument>(load.getSource()).getArgNumber();
    if (space.hasRows(operand) || mayBeWritten(load.getSource()) ||
        buffers[operand].reach != Reach::Linear)
      continue;
    loads.push_back(load);
    bytes += plan.steps() * plan.chunkSize() *
             buffers[operand].element.getIntOrFloatBitWidth() / 8;
  }
  // What the phases need besides; the code is unrolled.
  constexpr int64_t others = 64, mostSteps = 32;
  int64_t registers = plan.schedule.maxRegisters
                          ? plan.schedule.maxRegisters
                          : std::min<int64_t>(255, 65536 / block());
  if (loads.empty() || plan.steps() > mostSteps ||
      bytes / 4 > registers - others)
    return;
  rowAnchor = i32(0).getDefiningOp();
  for (LoadOp load : loads)
    for (int64_t step = 0; step < plan.steps(); ++step) {
      bool isMasked = (step + 1) * plan.stepSize() > plan.columns;
      Chunk chunk = dynamicChunk(i64(step * plan.stepSize()), 0, isMasked);
      heldColumns[{load.getSource(), step}] =
          GPULowering::emitLoad(load, chunk);
    }
}

/// Emits a phase for `steps` steps of the row's slot `part` (index). `isLast`:
/// the row may end within the last of them.
FailureOr<SmallVector<Value>> GPURing::lowerSlot(PhaseOp phase, Value part,
                                                 int64_t steps, bool isLast,
                                                 ValueRange values) {
  Type i32Type = b.getI32Type();
  Value slot = arith::AddIOp::create(
      b, loc, firstSlot, arith::IndexCastOp::create(b, loc, i32Type, part));
  Value wraps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, slot,
                                      i32(ring.slots));
  Value less = arith::SubIOp::create(b, loc, slot, i32(ring.slots));
  slot = arith::SelectOp::create(b, loc, wraps, less, slot);
  if (phase == phaseAt(/*last=*/false)) {
    Value turn = arith::ExtUIOp::create(b, loc, i32Type, wraps);
    MbarrierWaitOp::create(b, loc, fullAt(slot),
                           arith::XOrIOp::create(b, loc, firstParity, turn));
  }
  slotPointer = slotAt(slot);
  Value first = arith::MulIOp::create(b, loc, toI64(part),
                                      i64(ring.slotSteps * plan.stepSize()));
  SmallVector<Value> next(values);
  for (slotStep = 0; slotStep < steps; ++slotStep) {
    bool isMasked =
        isLast && slotStep + 1 == steps && plan.columns % plan.stepSize() != 0;
    Value base =
        arith::AddIOp::create(b, loc, first, i64(slotStep * plan.stepSize()));
    auto leaves = reduceChunk(phase, dynamicChunk(base, 0, isMasked));
    if (failed(leaves))
      return failure();
    unsigned position = 0;
    for (auto [i, partial] : llvm::enumerate(phase.getPartials())) {
      ReduceEmitter emitter = emitterOf(partial);
      ReduceState state;
      for (unsigned part = 0; part < emitter.numParts(); ++part)
        state.parts.push_back(next[position + part]);
      state = emitter.withCount(emitter.combine(state, (*leaves)[i]));
      for (Value part : state.parts)
        next[position++] = part;
    }
  }
  if (phase == phaseAt(/*last=*/true)) {
    // Also what was read has been read then.
    ProxyFenceOp::create(b, loc);
    MbarrierArriveOp::create(b, loc, emptyAt(slot));
  }
  return next;
}

LogicalResult GPURing::lowerPhase(PhaseOp phase) {
  SmallVector<Value> values;
  for (Value partial : phase.getPartials())
    llvm::append_range(values, emitterOf(partial).identity(0).parts);
  int64_t size = ring.slotSteps * plan.stepSize();
  int64_t whole = plan.columns / size;
  slotPart = -1;
  if (!heldColumns.empty() && phase == phaseAt(/*last=*/true)) {
    for (slotPart = 0; slotPart < whole; ++slotPart) {
      auto next = lowerSlot(phase, index(slotPart), ring.slotSteps,
                            /*isLast=*/false, values);
      if (failed(next))
        return failure();
      values = *next;
    }
  } else if (whole > 0) {
    auto walk =
        scf::ForOp::create(b, loc, index(0), index(whole), index(1), values);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(walk.getBody());
    auto next = lowerSlot(phase, walk.getInductionVar(), ring.slotSteps,
                          /*isLast=*/false, walk.getRegionIterArgs());
    if (failed(next))
      return failure();
    if (!next->empty())
      scf::YieldOp::create(b, loc, *next);
    values = SmallVector<Value>(walk.getResults());
  }
  if (whole < ring.rowSlots) {
    auto next =
        lowerSlot(phase, index(whole), plan.steps() - whole * ring.slotSteps,
                  /*isLast=*/true, values);
    if (failed(next))
      return failure();
    values = *next;
  }
  SmallVector<SmallVector<ReduceState>> blocks(1);
  unsigned position = 0;
  for (Value partial : phase.getPartials()) {
    ReduceState state;
    for (unsigned part = 0; part < emitterOf(partial).numParts(); ++part)
      state.parts.push_back(values[position++]);
    blocks[0].push_back(state);
  }
  combineBlocks(phase, blocks);
  return success();
}

/// Where the thread's chunk of the current step is.
Value GPURing::chunkInSlot(const Stream &stream) {
  int64_t bytes = plan.chunkSize() * stream.elementBytes;
  Value pointer =
      offsetBy(slotPointer, arith::MulIOp::create(b, loc, local, i64(bytes)));
  return offsetBy(pointer, i32(stream.offset + slotStep * stepBytes(stream)));
}

Value GPURing::emitLoad(LoadOp op, const Chunk &chunk) {
  if (slotPart >= 0)
    if (Value value = heldColumns.lookup(
            {op.getSource(), slotPart * ring.slotSteps + slotStep}))
      return keepPacked(value, /*isFixed=*/true);
  const Stream *stream = streamOf(op.getSource());
  if (!stream)
    return GPULowering::emitLoad(op, chunk);
  auto type = cast<VectorType>(op.getType());
  auto load = [&]() -> Value {
    return LLVM::LoadOp::create(b, loc, type, chunkInSlot(*stream),
                                /*alignment=*/16);
  };
  if (!chunk.mask)
    return load();
  // Chunks beyond the row were never copied.
  auto within =
      scf::IfOp::create(b, loc, TypeRange{type}, isWhole(chunk), true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(within.thenBlock());
  scf::YieldOp::create(b, loc, load());
  b.setInsertionPointToStart(within.elseBlock());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  scf::YieldOp::create(b, loc, zero);
  return within.getResult(0);
}

void GPURing::emitStore(StoreOp op, Value value, const Chunk &chunk) {
  auto found = results.find(op);
  if (found == results.end()) {
    GPULowering::emitStore(op, value, chunk);
    return;
  }
  auto store = [&] {
    LLVM::StoreOp::create(b, loc, value, chunkInSlot(streams[found->second]),
                          /*alignment=*/16);
  };
  if (!chunk.mask)
    store();
  else
    onlyIf(isWhole(chunk), store);
}
