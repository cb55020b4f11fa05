//===- GPUPhases.cpp - Phases of a kernel on a GPU ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPULowering.h"
#include "norm/Conversion/KernelHints.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

bool GPULowering::isUnrolled() const {
  if (plan.isDynamic())
    return false;
  return plan.schedule.residency == ::norm::Residency::Registers ||
         plan.columns <= plan.iterationSize();
}

bool GPULowering::isWritten(Value operand) {
  return llvm::any_of(operand.getUsers(), [](Operation *user) {
    return isa<StoreOp, StoreRowOp, SumRowsOp>(user);
  });
}

/// The cap on a thread's registers, 0 for none. A device gives them to warps by
/// fours, which assemblers don't count.
int64_t GPULowering::mostRegisters() const {
  constexpr int64_t all = 65536, most = 255;
  int64_t wanted = plan.schedule.maxRegisters;
  int64_t fitting = all / llvm::alignTo(block(), 128) / 8 * 8;
  if (block() % 128 == 0 || fitting >= most)
    return wanted;
  return wanted ? std::min(wanted, fitting) : fitting;
}

bool GPULowering::startsEarly() const {
  int64_t rows = space.countRows();
  return plan.schedule.pdl && !isAcross && space.getWorkers() == 0 &&
         plan.schedule.cluster == 1 && rows >= 0 &&
         llvm::divideCeil(rows, plan.schedule.rowsPerCta) <=
             static_cast<uint64_t>(kMostWaitingCtas);
}

FailureOr<gpu::GPUFuncOp> GPULowering::lower(gpu::GPUModuleOp module,
                                             StringRef name) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
  Type i64Type = b.getI64Type();
  SmallVector<Type> types;
  auto signature = getKernelParams(kernel.getBlock()->getArgumentTypes(), space,
                                   kernel.getOrder(), kernel.getSchedule());
  for (const KernelParam &param : signature) {
    Type operand = kernel.getBlock()->getArgument(param.operand).getType();
    bool isScalar = param.kind == KernelParam::Scalar && !operand.isIndex();
    bool isPointer = param.kind == KernelParam::Pointer ||
                     param.kind == KernelParam::Workspace;
    types.push_back(isPointer ? Type(pointer) : isScalar ? operand : i64Type);
  }
  b.setInsertionPointToEnd(module.getBody());
  function = gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(block()), 1, 1}));
  // What is read may be written by the grid before, beside which the kernel
  // starts: constant loads would be moved before the wait.
  bool waits = startsEarly();
  if (waits)
    function->setAttr(kDependentLaunchAttr,
                      b.getI64IntegerAttr(kMostWaitingCtas));
  if (int64_t most = mostRegisters())
    function->setAttr("nvvm.maxnreg",
                      b.getI32IntegerAttr(static_cast<int32_t>(most)));
  // Buffers don't overlap unless declared; a kernel that reads its rows again
  // must not have the second read merged with the first.
  bool isReread = plan.schedule.residency == ::norm::Residency::Stream &&
                  plan.schedule.cluster == 1;
  for (auto [i, param] : llvm::enumerate(signature)) {
    if (param.kind != KernelParam::Pointer || isReread ||
        overlapping[param.operand])
      continue;
    bool isRead = !isWritten(kernel.getBlock()->getArgument(param.operand));
    // LLVM finds out by itself that it's only read, and would then use loads
    // that may see what was there before the wait. What is written keeps its
    // mark, so that loads still move across stores.
    if (isRead && waits)
      continue;
    function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
    if (isRead)
      function.setArgAttr(i, "llvm.readonly", b.getUnitAttr());
  }

  b.setInsertionPointToStart(&function.getBody().front());
  readParams([&](unsigned number, Type) {
    return Value(function.getArgument(number));
  });
  if (failed(checkPacked()))
    return failure();
  findStreams();
  tid = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  cta = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  if (failed(lowerWork(enter())))
    return failure();
  leave();
  loc = kernel.getLoc();
  gpu::ReturnOp::create(b, loc);
  return function;
}

Value GPULowering::enter() {
  Value currentRow = cta;
  thread = tid;
  group = index(0);
  if (plan.schedule.rowsPerCta > 1) {
    thread = arith::RemUIOp::create(b, loc, tid, index(threads()));
    group = arith::DivUIOp::create(b, loc, tid, index(threads()));
    Value first =
        arith::MulIOp::create(b, loc, cta, index(plan.schedule.rowsPerCta));
    currentRow = arith::AddIOp::create(b, loc, first, group);
    // Groups without a row compute the last one again and store nothing: all
    // threads reach every barrier and shuffle.
    Value bound = arith::IndexCastOp::create(b, loc, b.getIndexType(), rows);
    isRow = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, currentRow,
                                  bound);
    Value last = arith::SubIOp::create(b, loc, bound, index(1));
    currentRow = arith::MinUIOp::create(b, loc, currentRow, last);
  }
  firstColumn =
      toI64(arith::MulIOp::create(b, loc, thread, index(plan.chunkSize())));
  return currentRow;
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

void GPULowering::maskChunk(Chunk &chunk) {
  if (!plan.isDynamic()) {
    // The elements that the last chunk has, and others.
    int64_t size = plan.chunkSize(), rest = plan.columns % size;
    SmallVector<Value> bits(size);
    Value any = isAny(chunk), whole = isWhole(chunk);
    for (int64_t i = 0; i < size; ++i)
      bits[i] = rest == 0 || i < rest ? any : whole;
    chunk.mask = vector::FromElementsOp::create(
        b, loc, VectorType::get({size}, b.getI1Type()), bits);
    return;
  }
  // 32 bits hold a column of any supported row.
  Type i32 = b.getI32Type();
  Value first = arith::TruncIOp::create(b, loc, i32, toI64(chunk.column));
  Value bound = arith::TruncIOp::create(b, loc, i32, columns);
  chunk.mask = columnMask(first, bound, plan.chunkSize());
}

Chunk GPULowering::constantChunk(int64_t iteration, int64_t block) {
  Chunk chunk;
  chunk.constantColumn = plan.column(iteration, block, 0);
  chunk.number = iteration * plan.blocks() + block;
  chunk.block = block;
  Value column =
      arith::AddIOp::create(b, loc, firstColumn, i64(chunk.constantColumn));
  chunk.column = arith::IndexCastOp::create(b, loc, b.getIndexType(), column);
  if (!plan.isFull(iteration, block))
    maskChunk(chunk);
  return chunk;
}

Chunk GPULowering::dynamicChunk(Value base, int64_t block, bool masked) {
  Chunk chunk;
  chunk.block = block;
  chunk.dynamicColumn =
      arith::AddIOp::create(b, loc, base, i64(block * plan.stepSize()));
  Value column =
      arith::AddIOp::create(b, loc, firstColumn, chunk.dynamicColumn);
  chunk.column = arith::IndexCastOp::create(b, loc, b.getIndexType(), column);
  if (masked)
    maskChunk(chunk);
  return chunk;
}

FailureOr<SmallVector<ReduceState>>
GPULowering::reduceChunk(PhaseOp phase, const Chunk &chunk) {
  auto values = lowerChunk(phase, chunk);
  if (failed(values))
    return failure();
  SmallVector<ReduceState> result;
  for (auto [partial, value] : llvm::zip(phase.getPartials(), *values)) {
    ReduceEmitter emitter = emitterOf(partial);
    if (!chunk.mask || plan.hasPartialChunk()) {
      result.push_back(emitter.leaves(value, chunk.mask, plan.leaf));
      continue;
    }
    // All or nothing: the leaf of a whole chunk, or the identity. Cheaper than
    // a mask on every element, above all where elements are counted.
    ReduceState leaf =
        emitter.withCount(emitter.leaves(value, Value(), plan.leaf));
    ReduceState none = emitter.identity(0);
    Value isColumn =
        vector::ExtractOp::create(b, loc, chunk.mask, ArrayRef<int64_t>{0});
    for (auto [part, neutral] : llvm::zip(leaf.parts, none.parts))
      part = arith::SelectOp::create(b, loc, isColumn, part, neutral);
    result.push_back(leaf);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

LogicalResult GPULowering::lowerPhase(PhaseOp phase) {
  return isUnrolled() ? lowerUnrolled(phase) : lowerRolled(phase);
}

template <typename... Ts>
SmallVector<Counts> GPULowering::casesAt(Ts... at) {
  SmallVector<Counts> cases;
  if (plan.isDynamic())
    return cases;
  for (Counts counts : plan.countsAt(at...))
    if (!llvm::is_contained(cases, counts))
      cases.push_back(counts);
  return cases;
}

SmallVector<Counts> GPULowering::casesAtHalf(int64_t half) {
  return casesAt(half);
}

/// Combines a thread's blocks of lanes by halving and keeps the states.
void GPULowering::combineBlocks(
    PhaseOp phase, MutableArrayRef<SmallVector<ReduceState>> blocks) {
  int64_t count = blocks.size();
  for (auto [i, partial] : llvm::enumerate(phase.getPartials())) {
    ReduceEmitter emitter = emitterOf(partial);
    for (int64_t half = llvm::PowerOf2Ceil(count) / 2; half >= 1; half /= 2)
      for (int64_t block = 0; block < half; ++block)
        if (block + half < count)
          blocks[block][i] =
              emitter.combine(blocks[block][i], blocks[block + half][i],
                              casesAtHalf(half * threads()));
    states[partial] = count ? blocks[0][i] : emitter.identity(0);
  }
}

LogicalResult GPULowering::lowerUnrolled(PhaseOp phase) {
  SmallVector<SmallVector<ReduceState>> blocks(plan.liveBlocks());
  int64_t steps = plan.steps();
  for (int64_t step = 0; step < steps; ++step) {
    int64_t iteration = step / plan.blocks(), block = step % plan.blocks();
    loadAhead(phase, step);
    auto leaves = reduceChunk(phase, constantChunk(iteration, block));
    if (failed(leaves))
      return failure();
    storeBatch(step + 1);
    if (iteration == 0) {
      blocks[block] = *leaves;
      continue;
    }
    for (auto [i, partial] : llvm::enumerate(phase.getPartials()))
      blocks[block][i] = emitterOf(partial).combine(
          blocks[block][i], (*leaves)[i], casesAt(iteration, block));
  }
  combineBlocks(phase, blocks);
  return success();
}

static void appendParts(SmallVectorImpl<Value> &values,
                        const ReduceState &state) {
  llvm::append_range(values, state.parts);
}

LogicalResult GPULowering::lowerRolled(PhaseOp phase) {
  int64_t numBlocks = plan.liveBlocks();
  SmallVector<ReduceEmitter> emitters;
  for (Value partial : phase.getPartials())
    emitters.push_back(emitterOf(partial));
  auto unpack = [&](ValueRange values) {
    SmallVector<SmallVector<ReduceState>> blocks(numBlocks);
    unsigned next = 0;
    for (auto &block : blocks)
      for (ReduceEmitter &emitter : emitters) {
        ReduceState state;
        for (unsigned part = 0; part < emitter.numParts(); ++part)
          state.parts.push_back(values[next++]);
        block.push_back(state);
      }
    return blocks;
  };
  /// Combines one chunk into each block of lanes.
  auto step = [&](Value base, bool masked,
                  ValueRange values) -> FailureOr<SmallVector<Value>> {
    auto blocks = unpack(values);
    SmallVector<Value> next;
    for (int64_t block = 0; block < numBlocks; ++block) {
      // No thread's chunk holds a column, and none has a place to keep it.
      if (masked && !plan.isDynamic() &&
          !plan.isLive(plan.columns / plan.iterationSize(), block)) {
        for (ReduceState &state : blocks[block])
          appendParts(next, state);
        continue;
      }
      auto leaves = reduceChunk(phase, dynamicChunk(base, block, masked));
      if (failed(leaves))
        return failure();
      for (auto [i, emitter] : llvm::enumerate(emitters))
        appendParts(next, emitter.withCount(
                              emitter.combine(blocks[block][i], (*leaves)[i])));
    }
    storeBatch(base);
    return next;
  };

  SmallVector<Value> inits;
  for (int64_t block = 0; block < numBlocks; ++block)
    for (ReduceEmitter &emitter : emitters)
      appendParts(inits, emitter.identity(0));
  Value size = i64(plan.iterationSize());
  Value rest = arith::RemUIOp::create(b, loc, columns, size);
  Value whole = arith::SubIOp::create(b, loc, columns, rest);
  auto loop = scf::ForOp::create(b, loc, i64(0), whole, size, inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    auto next = step(loop.getInductionVar(), /*masked=*/false,
                     loop.getRegionIterArgs());
    if (failed(next))
      return failure();
    if (!inits.empty())
      scf::YieldOp::create(b, loc, *next);
  }
  SmallVector<Value> results(loop.getResults());
  if (plan.isDynamic() || plan.columns % plan.iterationSize() != 0) {
    auto next = step(whole, /*masked=*/true, results);
    if (failed(next))
      return failure();
    results = *next;
  }
  auto blocks = unpack(results);
  combineBlocks(phase, blocks);
  return success();
}
