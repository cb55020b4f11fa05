//===- GPURingExchange.cpp - Exchanges between the CTAs of a cluster ------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes whose numbers agree modulo the size of the cluster meet first: their
// distances are the first ones of the halving. Each thread sends its state to
// the CTA with the rank `tid mod cluster`, where one warp combines them. What
// is left is one state of each CTA, which it sends to all; these are combined
// by every thread.
//
// Buffers are written again without a barrier. What a CTA sends in an exchange
// it has computed from what all threads sent in it, and they do so when they
// are through the exchange before. So the states of the lanes of the next
// exchange come after the warp has read those of this one; those of CTAs come
// after all threads have read those of the exchange before this one: two places
// for them are enough.
//
//===----------------------------------------------------------------------===//

#include "GPURing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

/// The words of each partial's state.
SmallVector<SmallVector<GPURing::Word>> GPURing::wordsOf(ExchangeStartOp op) {
  SmallVector<SmallVector<Word>> all;
  // Wide ones first, so that all are aligned.
  int64_t offset = 0;
  for (Value partial : op.getPartials()) {
    ReduceEmitter emitter = emitterOf(partial);
    SmallVector<Word> &words = all.emplace_back();
    for (unsigned part = 0; part < emitter.numParts(); ++part) {
      Word word;
      word.type = emitter.partType(part, 0);
      word.bytes = word.type.getIntOrFloatBitWidth() > 32 ? 8 : 4;
      words.push_back(word);
    }
  }
  for (int64_t bytes : {8, 4})
    for (auto &words : all)
      for (Word &word : words)
        if (word.bytes == bytes) {
          word.offset = offset;
          offset += bytes;
        }
  return all;
}

Value GPURing::toWord(Value part, const Word &word) {
  unsigned bits = word.type.getIntOrFloatBitWidth();
  if (bits >= 32)
    return part;
  Type narrow = b.getIntegerType(bits);
  if (isa<FloatType>(word.type))
    part = arith::BitcastOp::create(b, loc, narrow, part);
  return arith::ExtUIOp::create(b, loc, b.getI32Type(), part);
}

Value GPURing::loadWord(Value address, const Word &word) {
  unsigned bits = word.type.getIntOrFloatBitWidth();
  if (bits >= 32)
    return LLVM::LoadOp::create(b, loc, word.type, address, word.bytes);
  Value loaded = LLVM::LoadOp::create(b, loc, b.getI32Type(), address, 4);
  Type narrow = b.getIntegerType(bits);
  loaded = arith::TruncIOp::create(b, loc, narrow, loaded);
  return isa<FloatType>(word.type)
             ? arith::BitcastOp::create(b, loc, word.type, loaded).getResult()
             : loaded;
}

/// The last bit (i32) of the number of the exchange among all of the kernel.
Value GPURing::parityOf(ExchangeStartOp op) {
  Value number =
      arith::AddIOp::create(b, loc, exchangeCount, i32(exchanges.lookup(op)));
  return arith::AndIOp::create(b, loc, number, i32(1));
}

/// Word number `position` (i32) of a buffer of `count` states.
Value GPURing::wordAt(Value buffer, const Word &word, int64_t count,
                      Value position) {
  Value offset = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, position, i32(word.bytes)),
      i32(word.offset * count));
  return offsetBy(buffer, offset);
}

void GPURing::startExchange(ExchangeStartOp op) {
  Type i32Type = b.getI32Type();
  Value self = arith::TruncIOp::create(b, loc, i32Type, local);
  Value to = arith::RemUIOp::create(b, loc, self, i32(cluster()));
  Value own = arith::DivUIOp::create(b, loc, self, i32(cluster()));
  Value before = arith::MulIOp::create(
      b, loc, arith::IndexCastOp::create(b, loc, i32Type, rank),
      i32(consumers() / cluster()));
  Value position = arith::AddIOp::create(b, loc, before, own);
  Value buffer = shared(meetOffset), barrier = shared(meetBarrier);
  auto all = wordsOf(op);
  int64_t bytes = 0;
  for (auto &words : all)
    for (const Word &word : words)
      bytes += word.bytes;
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, self, i32(0));
  onlyIf(isFirst, [&] {
    MbarrierExpectOp::create(b, loc, barrier, i32(consumers() * bytes));
    MbarrierExpectOp::create(b, loc, shared(resultBarrier),
                             i32(cluster() * bytes));
  });
  for (auto [partial, words] : llvm::zip(op.getPartials(), all)) {
    ReduceEmitter emitter = emitterOf(partial);
    ReduceState state = emitter.withCount(states[partial]);
    for (auto [part, word] : llvm::zip(state.parts, words))
      SendOp::create(b, loc, toWord(part, word),
                     wordAt(buffer, word, consumers(), position), barrier, to);
  }
}

/// Halves what all CTAs sent to this one; the calling warp has the result.
SmallVector<ReduceState> GPURing::combineLanes(ExchangeStartOp op) {
  Value self = arith::TruncIOp::create(b, loc, b.getI32Type(), local);
  Value buffer = shared(meetOffset);
  SmallVector<ReduceState> results;
  for (auto [partial, words] : llvm::zip(op.getPartials(), wordsOf(op))) {
    ReduceEmitter emitter = emitterOf(partial);
    SmallVector<ReduceState> all(consumers() / 32);
    for (auto [i, state] : llvm::enumerate(all))
      for (const Word &word : words) {
        Value position = arith::AddIOp::create(
            b, loc, self, i32(static_cast<int64_t>(32 * i)));
        state.parts.push_back(
            loadWord(wordAt(buffer, word, consumers(), position), word));
      }
    for (size_t half = all.size() / 2; half >= 1; half /= 2)
      for (size_t i = 0; i < half; ++i)
        all[i] = emitter.withCount(emitter.combine(
            all[i], all[i + half],
            casesAtHalf(static_cast<int64_t>(32 * half) * cluster())));
    results.push_back(acrossWarp(all.front(), emitter, cluster()));
  }
  return results;
}

SmallVector<ReduceState> GPURing::finishExchange(ExchangeStartOp op) {
  Type i32Type = b.getI32Type();
  Value self = arith::TruncIOp::create(b, loc, i32Type, local);
  Value parity = parityOf(op);
  Value barrier = shared(resultBarrier);
  Value place =
      arith::MulIOp::create(b, loc, parity, i32(cluster() * stateBytes));
  Value buffer = offsetBy(shared(resultOffset), place);
  auto all = wordsOf(op);
  Value isFirstWarp =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, self, i32(32));
  onlyIf(isFirstWarp, [&] {
    MbarrierWaitOp::create(b, loc, shared(meetBarrier), parity);
    SmallVector<ReduceState> results = combineLanes(op);
    // All lanes have read.
    WarpBarrierOp::create(b, loc);
    Value sends = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, self,
                                        i32(cluster()));
    onlyIf(sends, [&] {
      Value own = arith::IndexCastOp::create(b, loc, i32Type, rank);
      for (auto [partial, state, words] :
           llvm::zip(op.getPartials(), results, all)) {
        ReduceState full = emitterOf(partial).withCount(state);
        for (auto [part, word] : llvm::zip(full.parts, words))
          SendOp::create(b, loc, toWord(part, word),
                         wordAt(buffer, word, cluster(), own), barrier, self);
      }
    });
  });
  MbarrierWaitOp::create(b, loc, barrier, parity);
  SmallVector<ReduceState> results;
  for (auto [partial, words] : llvm::zip(op.getPartials(), all)) {
    ReduceEmitter emitter = emitterOf(partial);
    SmallVector<ReduceState> ofCtas(cluster());
    for (auto [i, state] : llvm::enumerate(ofCtas))
      for (const Word &word : words)
        state.parts.push_back(loadWord(
            wordAt(buffer, word, cluster(), i32(static_cast<int64_t>(i))),
            word));
    for (size_t half = ofCtas.size() / 2; half >= 1; half /= 2)
      for (size_t i = 0; i < half; ++i)
        ofCtas[i] = emitter.withCount(
            emitter.combine(ofCtas[i], ofCtas[i + half],
                            casesAtHalf(static_cast<int64_t>(half))));
    results.push_back(ofCtas.front());
  }
  return results;
}
