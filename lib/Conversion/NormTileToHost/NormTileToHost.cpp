//===- NormTileToHost.cpp - Tiled kernels as host functions ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostAcross.h"
#include "HostWorkers.h"
#include "norm/Conversion/PackedElements.h"
#include "norm/Conversion/Passes.h"
#include "norm/Conversion/StorageTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::norm {
#define GEN_PASS_DEF_CONVERTNORMTILETOHOSTPASS
#include "norm/Conversion/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

void HostLowering::loadParams(Value params) {
  Type slot = b.getI64Type();
  auto pointerType = LLVM::LLVMPointerType::get(b.getContext());
  readParams([&](unsigned number, Type type) -> Value {
    Value address = LLVM::GEPOp::create(
        b, loc, pointerType, slot, params,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
    return LLVM::LoadOp::create(b, loc, type, address);
  });
}

void HostLowering::emitLoop(Value lower, Value upper, int64_t step,
                            llvm::function_ref<LogicalResult(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, lower, upper, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  (void)body(loop.getInductionVar());
}

/// Memory that lives as long as the function.
Value HostLowering::stackBuffer(int64_t size, Type element, bool zeroed) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(entry);
  auto type = MemRefType::get({size}, element);
  Value buffer = memref::AllocaOp::create(
      b, loc, type, b.getI64IntegerAttr(64));
  if (zeroed) {
    auto vector = VectorType::get({size}, element);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(vector));
    vector::StoreOp::create(b, loc, zero, buffer, ValueRange{index(0)});
  }
  return buffer;
}

std::pair<Value, Value> HostLowering::enter(Value begin, Value end) {
  Value count = arith::IndexCastOp::create(b, loc, b.getIndexType(), columns);
  fullChunks = arith::DivUIOp::create(b, loc, count, index(plan.chunkSize()));
  tail = arith::RemUIOp::create(b, loc, count, index(plan.chunkSize()));
  return {begin, end};
}

LogicalResult HostLowering::lower(func::FuncOp function) {
  Block *block = function.addEntryBlock();
  b.setInsertionPointToStart(block);
  loadParams(block->getArgument(0));
  if (failed(checkPacked()))
    return failure();
  Value begin = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                           block->getArgument(1));
  Value end = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                         block->getArgument(2));
  std::tie(begin, end) = enter(begin, end);
  if (failed(lowerRange(begin, end)))
    return failure();
  loc = kernel.getLoc();
  b.setInsertionPointAfter(entry);
  func::ReturnOp::create(b, loc);
  return success();
}

LogicalResult HostLowering::lowerRange(Value begin, Value end) {
  auto loop =
      scf::ForOp::create(b, loc, begin, end, index(rowsPerStep()));
  entry = loop;
  b.setInsertionPointToStart(loop.getBody());
  return lowerWork(loop.getInductionVar());
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

Chunk HostLowering::fullChunk(Value number) {
  Chunk chunk;
  chunk.column =
      arith::MulIOp::create(b, loc, number, index(plan.chunkSize()));
  return chunk;
}

Chunk HostLowering::tailChunk() {
  Chunk chunk = fullChunk(fullChunks);
  chunk.mask = columnMask(toI64(chunk.column), columns, plan.chunkSize());
  return chunk;
}

static unsigned alignmentOf(Type element) {
  return std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

Value HostLowering::elementOfChunk(const Buffer &buffer, Value base,
                                   Value first, Value number) {
  Value linear = arith::AddIOp::create(b, loc, first, toI64(number));
  return chunkElement(buffer, base, linear);
}

/// Memory for one chunk of an operand.
Value HostLowering::chunkBuffer(Value operand) {
  Value &copy = chunkBuffers[operand];
  Type element = bufferOf(operand).element;
  bool packed = isPacked(element);
  if (!copy)
    copy = stackBuffer(kernel.getChunkSize() / (packed ? 2 : 1),
                       packed ? b.getI8Type() : element, /*zeroed=*/true);
  return copy;
}

Value HostLowering::loadNeighbours(Value operand, Value base, Value first,
                                   VectorType type, Value count) {
  Buffer &buffer = bufferOf(operand);
  if (isPacked(type))
    return unpackBytes(
        b, loc, loadBytes(operand, base, first, packedBytes(type), count));
  unsigned alignment = alignmentOf(buffer.element);
  bool isWhole = !count && buffer.reach != Reach::Gather;
  if (isWhole && buffer.reach == Reach::Uniform) {
    Value element =
        LLVM::LoadOp::create(b, loc, buffer.element,
                             chunkElement(buffer, base, first), alignment);
    return vector::BroadcastOp::create(b, loc, type, element);
  }
  if (isWhole)
    return LLVM::LoadOp::create(b, loc, type,
                                chunkElement(buffer, base, first), alignment);
  // Element by element, by way of a buffer that is large enough.
  Value copy = chunkBuffer(operand);
  Value end = count ? count : index(type.getNumElements());
  emitLoop(index(0), end, 1, [&](Value i) {
    Value element = LLVM::LoadOp::create(
        b, loc, buffer.element, elementOfChunk(buffer, base, first, i),
        alignment);
    memref::StoreOp::create(b, loc, element, copy, ValueRange{i});
    return success();
  });
  return vector::LoadOp::create(b, loc, type, copy, ValueRange{index(0)});
}

/// The bytes of neighbours that share them, `count` of them (all if null).
Value HostLowering::loadBytes(Value operand, Value base, Value first,
                              VectorType type, Value count) {
  Value pointer = chunkElement(bufferOf(operand), base, first);
  if (!count)
    return LLVM::LoadOp::create(b, loc, type, pointer, /*alignment=*/1);
  Value copy = chunkBuffer(operand);
  Type i8 = b.getI8Type();
  Value bytes = arith::DivUIOp::create(b, loc, count, index(2));
  emitLoop(index(0), bytes, 1, [&](Value i) {
    Value byte = LLVM::LoadOp::create(
        b, loc, i8, elementPointer(pointer, toI64(i), i8), /*alignment=*/1);
    memref::StoreOp::create(b, loc, byte, copy, ValueRange{i});
    return success();
  });
  return vector::LoadOp::create(b, loc, type, copy, ValueRange{index(0)});
}

void HostLowering::storeBytes(Value value, Value operand, Value base,
                              Value first, Value count) {
  Value pointer = chunkElement(bufferOf(operand), base, first);
  if (!count) {
    LLVM::StoreOp::create(b, loc, value, pointer, /*alignment=*/1);
    return;
  }
  Value copy = chunkBuffer(operand);
  vector::StoreOp::create(b, loc, value, copy, ValueRange{index(0)});
  Value bytes = arith::DivUIOp::create(b, loc, count, index(2));
  emitLoop(index(0), bytes, 1, [&](Value i) {
    Value byte = memref::LoadOp::create(b, loc, copy, ValueRange{i});
    LLVM::StoreOp::create(b, loc, byte,
                          elementPointer(pointer, toI64(i), b.getI8Type()),
                          /*alignment=*/1);
    return success();
  });
}

void HostLowering::storeNeighbours(Value value, Value operand, Value base,
                                   Value first, Value count) {
  Buffer &buffer = bufferOf(operand);
  if (isPacked(value.getType()))
    return storeBytes(packBytes(b, loc, value), operand, base, first, count);
  unsigned alignment = alignmentOf(buffer.element);
  bool isWhole = buffer.reach == Reach::Linear ||
                 buffer.reach == Reach::Piecewise;
  if (!count && isWhole) {
    LLVM::StoreOp::create(b, loc, value, chunkElement(buffer, base, first),
                          alignment);
    return;
  }
  Value copy = chunkBuffer(operand);
  vector::StoreOp::create(b, loc, value, copy, ValueRange{index(0)});
  Value end = count ? count : index(kernel.getChunkSize());
  emitLoop(index(0), end, 1, [&](Value i) {
    Value element = memref::LoadOp::create(b, loc, copy, ValueRange{i});
    LLVM::StoreOp::create(b, loc, element,
                          elementOfChunk(buffer, base, first, i), alignment);
    return success();
  });
}

Value HostLowering::emitLoad(LoadOp op, const Chunk &chunk) {
  return loadNeighbours(op.getSource(),
                        basePointer(bufferOf(op.getSource()), rowDims),
                        toI64(chunk.column), cast<VectorType>(op.getType()),
                        chunk.mask ? tail : Value());
}

/// One element for each group of a chunk, which are whole.
void HostLowering::storeGroups(StoreOp op, Value value, const Chunk &chunk) {
  Buffer &buffer = bufferOf(op.getDestination());
  Value base = basePointer(buffer, rowDims);
  Value copy = chunkBuffer(op.getDestination());
  vector::StoreOp::create(b, loc, value, copy, ValueRange{index(0)});
  Value end = chunk.mask ? tail : index(kernel.getChunkSize());
  emitLoop(index(0), end, op.getGroup(), [&](Value i) {
    Value element = memref::LoadOp::create(b, loc, copy, ValueRange{i});
    LLVM::StoreOp::create(
        b, loc, element,
        elementOfChunk(buffer, base, toI64(chunk.column), i),
        alignmentOf(buffer.element));
    return success();
  });
}

void HostLowering::emitStore(StoreOp op, Value value, const Chunk &chunk) {
  if (op.getGroup() > 1)
    return storeGroups(op, value, chunk);
  storeNeighbours(value, op.getDestination(),
                  basePointer(bufferOf(op.getDestination()), rowDims),
                  toI64(chunk.column), chunk.mask ? tail : Value());
}

void HostLowering::emitStoreRow(Value value, const Buffer &buffer) {
  LLVM::StoreOp::create(b, loc, value, basePointer(buffer, rowDims));
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

HostLowering::LaneBuffers
HostLowering::makeLaneBuffers(ReduceEmitter &emitter) {
  LaneBuffers lanes;
  for (unsigned part = 0; part < emitter.numParts(); ++part)
    lanes.push_back(stackBuffer(usedLanes(), emitter.partType(part, 0),
                                /*zeroed=*/false));
  return lanes;
}

ReduceState HostLowering::loadLanes(ArrayRef<Value> lanes, Value first,
                                    ReduceEmitter &emitter) {
  ReduceState state;
  for (auto [part, buffer] : llvm::enumerate(lanes)) {
    auto type = VectorType::get({vectorLanes()}, emitter.partType(part, 0));
    state.parts.push_back(
        vector::LoadOp::create(b, loc, type, buffer, ValueRange{first}));
  }
  return state;
}

/// A state as vectors, also of one lane.
static ReduceState asVectors(OpBuilder &b, Location loc, ReduceState state) {
  for (Value &part : state.parts)
    if (!isa<VectorType>(part.getType()))
      part = vector::BroadcastOp::create(
          b, loc, VectorType::get({1}, part.getType()), part);
  return state;
}

void HostLowering::storeLanes(ArrayRef<Value> lanes, Value first,
                              ReduceEmitter &emitter,
                              const ReduceState &state) {
  ReduceState full = asVectors(b, loc, emitter.withCount(state));
  for (auto [part, buffer] : llvm::zip(full.parts, lanes))
    vector::StoreOp::create(b, loc, part, buffer, ValueRange{first});
}

/// Every block of lanes combines its full chunks in rising order.
LogicalResult HostLowering::reduceFullChunks(PhaseOp phase,
                                             ArrayRef<LaneBuffers> lanes) {
  LogicalResult status = success();
  int64_t blocks = usedLanes() / vectorLanes();
  SmallVector<ReduceEmitter> emitters;
  for (Value partial : phase.getPartials())
    emitters.push_back(emitterOf(partial));
  emitLoop(index(0), index(blocks), 1, [&](Value block) -> LogicalResult {
    // Chunks block, block + blocks of all lanes, ... below fullChunks.
    int64_t stride = plan.blocks();
    auto loop = scf::ForOp::create(
        b, loc, block, fullChunks, index(stride), [&] {
          SmallVector<Value> inits;
          for (ReduceEmitter &emitter : emitters) {
            ReduceState identity =
                asVectors(b, loc, emitter.identity(vectorLanes()));
            llvm::append_range(inits, identity.parts);
          }
          return inits;
        }());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      auto values = lowerChunk(phase, fullChunk(loop.getInductionVar()));
      if (failed(values)) {
        status = failure();
        return failure();
      }
      SmallVector<Value> next;
      unsigned first = 0;
      for (auto [i, emitter] : llvm::enumerate(emitters)) {
        ReduceState before;
        for (unsigned part = 0; part < emitter.numParts(); ++part)
          before.parts.push_back(loop.getRegionIterArgs()[first + part]);
        first += emitter.numParts();
        ReduceState leaves = asVectors(
            b, loc, emitter.leaves((*values)[i], Value(), plan.leaf));
        ReduceState after =
            emitter.withCount(emitter.combine(before, leaves));
        llvm::append_range(next, after.parts);
      }
      scf::YieldOp::create(b, loc, next);
    }
    Value firstLane =
        arith::MulIOp::create(b, loc, block, index(vectorLanes()));
    unsigned first = 0;
    for (auto [i, emitter] : llvm::enumerate(emitters)) {
      ReduceState state;
      for (unsigned part = 0; part < emitter.numParts(); ++part)
        state.parts.push_back(loop.getResult(first + part));
      first += emitter.numParts();
      storeLanes(lanes[i], firstLane, emitter, state);
    }
    return success();
  });
  return status;
}

LogicalResult HostLowering::reduceTail(PhaseOp phase,
                                       ArrayRef<LaneBuffers> lanes) {
  auto values = lowerChunk(phase, tailChunk());
  if (failed(values))
    return failure();
  if (phase.getNumResults() == 0)
    return success();
  Chunk chunk = tailChunk();
  Value block =
      arith::RemUIOp::create(b, loc, fullChunks, index(plan.blocks()));
  Value firstLane = arith::MulIOp::create(b, loc, block, index(vectorLanes()));
  for (auto [i, partial] : llvm::enumerate(phase.getPartials())) {
    ReduceEmitter emitter = emitterOf(partial);
    ReduceState before = loadLanes(lanes[i], firstLane, emitter);
    ReduceState leaves = asVectors(
        b, loc, emitter.leaves((*values)[i], chunk.mask, plan.leaf));
    storeLanes(lanes[i], firstLane, emitter, emitter.combine(before, leaves));
  }
  return success();
}

ReduceState HostLowering::combineLanes(ArrayRef<Value> lanes,
                                       ReduceEmitter &emitter) {
  for (int64_t half = usedLanes() / 2; half >= vectorLanes(); half /= 2)
    emitLoop(index(0), index(half), vectorLanes(), [&](Value lane) {
      Value other = arith::AddIOp::create(b, loc, lane, index(half));
      ReduceState first = loadLanes(lanes, lane, emitter);
      ReduceState second = loadLanes(lanes, other, emitter);
      storeLanes(lanes, lane, emitter, emitter.combine(first, second));
      return success();
    });
  return emitter.acrossLanes(loadLanes(lanes, index(0), emitter));
}

LogicalResult HostLowering::lowerPhase(PhaseOp phase) {
  LogicalResult status = success();
  auto withTail = [&](llvm::function_ref<LogicalResult()> body) {
    if (!hasTail())
      return;
    Value isAny = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, tail,
                                        index(0));
    auto condition = scf::IfOp::create(b, loc, isAny, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(condition.thenBlock());
    if (failed(body()))
      status = failure();
  };
  if (phase.getNumResults() == 0) {
    emitLoop(index(0), fullChunks, 1, [&](Value number) -> LogicalResult {
      if (failed(lowerChunk(phase, fullChunk(number))))
        status = failure();
      return success();
    });
    withTail([&] { return reduceTail(phase, {}); });
    return status;
  }
  SmallVector<LaneBuffers> lanes;
  for (Value partial : phase.getPartials()) {
    ReduceEmitter emitter = emitterOf(partial);
    lanes.push_back(makeLaneBuffers(emitter));
  }
  if (failed(reduceFullChunks(phase, lanes)))
    return failure();
  withTail([&] { return reduceTail(phase, lanes); });
  for (auto [i, partial] : llvm::enumerate(phase.getPartials())) {
    ReduceEmitter emitter = emitterOf(partial);
    states[partial] = combineLanes(lanes[i], emitter);
  }
  return status;
}

SmallVector<ReduceState> HostLowering::finishExchange(ExchangeStartOp op) {
  SmallVector<ReduceState> results;
  for (Value partial : op.getPartials())
    results.push_back(states[partial]);
  return results;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertNormTileToHost
    : public mlir::norm::impl::ConvertNormTileToHostPassBase<
          ConvertNormTileToHost> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ::norm::TargetLimits limits;
    limits.isHost = true;
    if (failed(checkKernels(module, limits, "host")) ||
        failed(checkLaunches(module)))
      return signalPassFailure();
    llvm::StringMap<VariantAttr> variants;
    for (KernelOp kernel : llvm::make_early_inc_range(
             module.getOps<KernelOp>())) {
      OpBuilder b(kernel);
      auto pointer = LLVM::LLVMPointerType::get(b.getContext());
      auto type = b.getFunctionType(
          {pointer, b.getI64Type(), b.getI64Type()}, {});
      StringAttr name = kernel.getSymNameAttr();
      auto function = func::FuncOp::create(b, kernel.getLoc(), name, type);
      useStorageTypes(kernel);
      std::unique_ptr<HostLowering> lowering;
      if (kernel.getOrder().isAcross())
        lowering = std::make_unique<HostAcross>(b, kernel);
      else if (kernel.getSpace().getWorkers())
        lowering = std::make_unique<HostWorkers>(b, kernel);
      else
        lowering = std::make_unique<HostLowering>(b, kernel);
      if (failed(lowering->lower(function)))
        return signalPassFailure();
      variants[name] = VariantAttr::get(b.getContext(), name, 1, 1,
                                        lowering->rowsPerStep(), 0, 1, 0, 0, 0,
                                        /*cluster=*/1, /*persistent=*/false);
      kernel.erase();
    }
    module.walk([&](LaunchOp launch) {
      if (VariantAttr variant = variants.lookup(launch.getKernel()))
        launch.setVariantsAttr(
            ArrayAttr::get(launch.getContext(), {Attribute(variant)}));
    });
  }
};
} // namespace
