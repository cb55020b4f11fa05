//===- GPUExchange.cpp - Exchanges between the threads of a row ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPULowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

/// Shared memory of the CTA with `size` elements.
Value GPULowering::sharedBuffer(Type element, int64_t size) {
  auto memory = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto type =
      MemRefType::get({size}, element, MemRefLayoutAttrInterface(), memory);
  return function.addWorkgroupAttribution(type, loc);
}

void GPULowering::storeState(ArrayRef<Value> memory, Value position,
                             const ReduceState &state,
                             ReduceEmitter &emitter) {
  ReduceState full = memory.size() > state.parts.size()
                         ? emitter.withCount(state)
                         : state;
  for (auto [part, buffer] : llvm::zip(full.parts, memory))
    memref::StoreOp::create(b, loc, part, buffer, ValueRange{position});
}

ReduceState GPULowering::loadState(ArrayRef<Value> memory, Value position) {
  ReduceState state;
  for (Value buffer : memory)
    state.parts.push_back(
        memref::LoadOp::create(b, loc, buffer, ValueRange{position}));
  return state;
}

/// Whether every thread reads the states of its lane in all warps. Code for
/// many warps of a kind that is more than one instruction would be long; it
/// halves in shared memory instead. The tree is the same.
bool GPULowering::readsAllWarps(ExchangeStartOp op) const {
  if (warps() <= 8)
    return true;
  return llvm::all_of(op.getPartials().getTypes(), [](Type type) {
    ReduceKind kind = cast<PartialType>(type).getKind();
    return !isWelford(kind) && kind != ReduceKind::MaxExpSum;
  });
}

/// Where the states of the group's first thread lie.
Value GPULowering::exchangeBase() {
  Value base = arith::MulIOp::create(b, loc, group, index(threads()));
  if (Value place = exchangePlace())
    base = arith::AddIOp::create(b, loc, base, place);
  return base;
}

void GPULowering::startExchange(ExchangeStartOp op) {
  if (threads() <= 32)
    return;
  Value position = arith::AddIOp::create(b, loc, exchangeBase(), thread);
  for (Value partial : op.getPartials()) {
    ReduceEmitter emitter = emitterOf(partial);
    const ReduceState &state = states[partial];
    // A count that all threads share needs no exchange.
    bool dropCount = state.count >= 0 && readsAllWarps(op);
    exchangeCounts[partial] = dropCount ? state.count : -1;
    unsigned parts = dropCount ? state.parts.size() : emitter.numParts();
    SmallVector<Value, 3> &memory = exchangeBuffers[partial];
    for (unsigned part = 0; part < parts; ++part)
      memory.push_back(sharedBuffer(emitter.partType(part, 0),
                                    exchangePlaces() * block()));
    storeState(memory, position, state, emitter);
  }
}

/// Halves the states of a group in shared memory until one warp's are left.
void GPULowering::halveInShared(ExchangeStartOp op) {
  Value position = arith::AddIOp::create(b, loc, exchangeBase(), thread);
  for (int64_t half = threads() / 2; half >= 32; half /= 2) {
    gpu::BarrierOp::create(b, loc);
    Value isLower = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                          thread, index(half));
    auto condition = scf::IfOp::create(b, loc, isLower, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(condition.thenBlock());
    Value other = arith::AddIOp::create(b, loc, position, index(half));
    for (Value partial : op.getPartials()) {
      ReduceEmitter emitter = emitterOf(partial);
      ArrayRef<Value> memory = exchangeBuffers[partial];
      ReduceState combined = emitter.combine(loadState(memory, position),
                                             loadState(memory, other),
                                             casesAtHalf(half));
      storeState(memory, position, combined, emitter);
    }
  }
}

/// `value` of the thread whose number differs by `offset`.
static Value shuffle(OpBuilder &b, Location loc, Value value, Value offset,
                     Value width) {
  Type type = value.getType();
  bool isNarrow = isa<IntegerType>(type) && type.getIntOrFloatBitWidth() < 32;
  if (isNarrow)
    value = arith::ExtUIOp::create(b, loc, b.getI32Type(), value);
  value = gpu::ShuffleOp::create(b, loc, value, offset, width,
                                 gpu::ShuffleMode::XOR)
              .getShuffleResult();
  if (isNarrow)
    value = arith::TruncIOp::create(b, loc, type, value);
  return value;
}

ReduceState GPULowering::acrossThreads(ReduceState state, int64_t count,
                                       ReduceEmitter &emitter) {
  Value width = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(32));
  for (int64_t half = count / 2; half >= 1; half /= 2) {
    Value offset = arith::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(static_cast<int32_t>(half)));
    ReduceState other;
    for (Value part : state.parts)
      other.parts.push_back(shuffle(b, loc, part, offset, width));
    state = emitter.combine(state, other);
  }
  return state;
}

/// Combines the lanes of a warp (of a group, if it is smaller) by halving; all
/// of them get the result.
ReduceState GPULowering::acrossWarp(ReduceState state,
                                    ReduceEmitter &emitter,
                                    int64_t apart) {
  Value lane = arith::RemUIOp::create(b, loc, thread, index(32));
  Value width = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(32));
  for (int64_t half = std::min<int64_t>(32, threads()) / 2; half >= 1;
       half /= 2) {
    Value offset = arith::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(static_cast<int32_t>(half)));
    ReduceState other;
    other.count = state.count;
    for (Value part : state.parts)
      other.parts.push_back(shuffle(b, loc, part, offset, width));
    if (emitter.isSymmetric()) {
      state = emitter.combine(state, other, casesAtHalf(half * apart));
      continue;
    }
    // The lower lane's state comes first on both sides.
    Value bit = arith::AndIOp::create(b, loc, lane, index(half));
    Value isUpper = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                          bit, index(0));
    ReduceState first, second;
    first.count = second.count = state.count;
    for (auto [mine, theirs] : llvm::zip(state.parts, other.parts)) {
      first.parts.push_back(
          arith::SelectOp::create(b, loc, isUpper, theirs, mine));
      second.parts.push_back(
          arith::SelectOp::create(b, loc, isUpper, mine, theirs));
    }
    state = emitter.combine(first, second, casesAtHalf(half * apart));
  }
  return state;
}

SmallVector<ReduceState> GPULowering::finishExchange(ExchangeStartOp op) {
  bool isWide = threads() > 32;
  bool readsAll = readsAllWarps(op);
  if (isWide && !readsAll)
    halveInShared(op);
  if (isWide)
    gpu::BarrierOp::create(b, loc);
  SmallVector<ReduceState> results;
  for (Value partial : op.getPartials()) {
    ReduceEmitter emitter = emitterOf(partial);
    ReduceState state = states[partial];
    if (isWide) {
      Value lane = arith::RemUIOp::create(b, loc, thread, index(32));
      Value first = arith::AddIOp::create(b, loc, exchangeBase(), lane);
      SmallVector<ReduceState> all;
      for (int64_t warp = 0; warp < (readsAll ? warps() : 1); ++warp) {
        all.push_back(loadState(
            exchangeBuffers[partial],
            arith::AddIOp::create(b, loc, first, index(32 * warp))));
        all.back().count = exchangeCounts[partial];
      }
      for (size_t half = all.size() / 2; half >= 1; half /= 2)
        for (size_t warp = 0; warp < half; ++warp)
          all[warp] = emitter.combine(all[warp], all[warp + half],
                                      casesAtHalf(32 * half));
      state = all.front();
    }
    results.push_back(acrossWarp(state, emitter));
  }
  return results;
}
