//===- EmulatedFunction.cpp - One kernel for the emulated device ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedFunction.h"

#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

/// Shared memory that a CTA may declare statically: the CUDA C++ Programming
/// Guide, "Technical Specifications per Compute Capability".
static constexpr int64_t kMaxStaticShared = 48 << 10;
/// The widest access that the device takes.
static constexpr int64_t kMaxAccess = 4096;

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

unsigned SiteTable::add(Operation *op, int param) {
  llvm::raw_string_ostream stream(entries);
  stream << param << '\t' << op->getName() << '\t';
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    stream << place.getFilename().getValue() << ':' << place.getLine() << ':'
           << place.getColumn();
  else
    stream << "unknown location";
  stream << '\0';
  return count++;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value FunctionEmulator::i32(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value FunctionEmulator::i64(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

func::CallOp FunctionEmulator::call(StringRef name, ValueRange operands,
                                    TypeRange results) {
  std::string symbol = ("norm_emulated_" + name).str();
  if (!module.lookupSymbol(symbol)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    auto type = b.getFunctionType(operands.getTypes(), results);
    func::FuncOp::create(b, module.getLoc(), symbol, type).setPrivate();
  }
  return func::CallOp::create(b, loc, symbol, results, operands);
}

/// Bytes of a value in memory; 0 for types that have no such form.
static int64_t bytesOf(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return 8;
  int64_t count = 1;
  if (auto vector = dyn_cast<VectorType>(type)) {
    count = vector.getNumElements();
    type = vector.getElementType();
    if (type.isIntOrFloat() && type.getIntOrFloatBitWidth() % 8 != 0)
      return 0;
  }
  if (type.isIndex())
    return 8 * count;
  if (!type.isIntOrFloat())
    return 0;
  return count * llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

/// A number or vector of up to 64 bits as an i64.
Value FunctionEmulator::toBits(Value value) {
  Type type = value.getType();
  unsigned width = unsigned(8 * bytesOf(type));
  auto integer = b.getIntegerType(width);
  if (isa<VectorType>(type))
    value = LLVM::BitcastOp::create(b, loc, integer, value);
  else if (isa<FloatType>(type))
    value = arith::BitcastOp::create(b, loc, integer, value);
  return width == 64 ? value
                     : arith::ExtUIOp::create(b, loc, b.getI64Type(), value)
                           .getResult();
}

Value FunctionEmulator::fromBits(Value bits, Type type) {
  unsigned width = unsigned(8 * bytesOf(type));
  auto integer = b.getIntegerType(width);
  if (width != 64)
    bits = arith::TruncIOp::create(b, loc, integer, bits);
  if (isa<VectorType>(type))
    return LLVM::BitcastOp::create(b, loc, type, bits);
  if (isa<FloatType>(type))
    return arith::BitcastOp::create(b, loc, type, bits);
  return bits;
}

//===----------------------------------------------------------------------===//
// The function around
//===----------------------------------------------------------------------===//

LogicalResult FunctionEmulator::layOutShared() {
  int64_t offset = 0;
  for (BlockArgument memory : source.getWorkgroupAttributions()) {
    auto type = cast<MemRefType>(memory.getType());
    int64_t element = bytesOf(type.getElementType());
    if (!type.hasStaticShape() || !type.getLayout().isIdentity() || !element)
      return source.emitError("expects shared memory of a static shape of "
                              "numbers but got ")
             << type;
    offset = llvm::alignTo(offset, 16);
    int64_t bytes = type.getNumElements() * element;
    attributions[memory] = {offset, bytes};
    offset += bytes;
  }
  if (!source.getPrivateAttributions().empty())
    return source.emitError("has private memory, which has no emulation");
  if (offset > kMaxStaticShared)
    return source.emitError("needs ")
           << offset << " bytes of static shared memory but a CTA may have "
           << kMaxStaticShared;
  return success();
}

/// Makes the first `count` arguments values loaded from the slots.
void FunctionEmulator::loadParams(unsigned count) {
  Block &entry = function.front();
  Value slots = entry.getArgument(1);
  b.setInsertionPointToStart(&entry);
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument argument = entry.getArgument(2 + i);
    Type type = argument.getType();
    bool isPointer = isa<LLVM::LLVMPointerType>(type);
    Type loaded = isPointer ? pointer : type;
    if (type.isIndex())
      loaded = b.getI64Type();
    Value slot = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), slots,
                                     ArrayRef<LLVM::GEPArg>{int32_t(i)});
    Value value = LLVM::LoadOp::create(b, loc, loaded, slot);
    if (type.isIndex())
      value = arith::IndexCastOp::create(b, loc, type, value);
    if (isPointer) {
      params[value] = int(i);
      spaces[value] = cast<LLVM::LLVMPointerType>(type).getAddressSpace();
    }
    argument.replaceAllUsesWith(value);
  }
}

/// Pointers become generic ones; what they were stays in `spaces`.
void FunctionEmulator::stripAddressSpaces() {
  auto strip = [&](Value value) {
    auto type = dyn_cast<LLVM::LLVMPointerType>(value.getType());
    if (!type || type.getAddressSpace() == 0)
      return;
    spaces[value] = type.getAddressSpace();
    value.setType(pointer);
  };
  function.getBody().walk([&](Operation *op) {
    llvm::for_each(op->getResults(), strip);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), strip);
  });
  for (Block &block : function.getBody())
    llvm::for_each(block.getArguments(), strip);
}

LogicalResult FunctionEmulator::run() {
  loc = source.getLoc();
  if (failed(layOutShared()))
    return failure();
  if (source.getNumResults() != 0)
    return source.emitError("expects a kernel without results but got ")
           << source.getNumResults();
  if (module.lookupSymbol(source.getName()))
    return source.emitError("expects a name that the module doesn't have but "
                            "got '")
           << source.getName() << "'";
  unsigned numParams = source.getFunctionType().getNumInputs();
  b.setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(b, loc, source.getName(),
                                  b.getFunctionType({pointer, pointer}, {}));
  function.getBody().takeBody(source.getBody());
  Block &entry = function.front();
  entry.insertArgument(0u, pointer, loc);
  entry.insertArgument(1u, pointer, loc);
  thread = entry.getArgument(0);
  SmallVector<Operation *> worklist;
  function.getBody().walk([&](Operation *op) { worklist.push_back(op); });
  loadParams(numParams);
  stripAddressSpaces();
  for (Operation *op : worklist) {
    b.setInsertionPoint(op);
    loc = op->getLoc();
    if (failed(rewrite(op)))
      return failure();
  }
  for (auto &[memory, place] : attributions)
    if (!memory.use_empty())
      return reject(*memory.user_begin());
  entry.eraseArguments(2, entry.getNumArguments() - 2);
  return success();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult FunctionEmulator::reject(Operation *op) {
  return op->emitError("'") << op->getName() << "' has no emulation";
}

LogicalResult FunctionEmulator::rewrite(Operation *op) {
  if (isa<gpu::GPUDialect>(op->getDialect()))
    return rewriteGPU(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](norm_tile::UnitBarrierOp barrier) {
        call("unit_barrier",
             {thread, barrier.getCounter(), barrier.getArrivals(),
              i32(barrier.getPhase()), i32(barrier.getLast()),
              i32(sites.add(op))},
             {});
        op->erase();
        return success();
      })
      .Case([&](NVVM::CpAsyncOp copy) -> LogicalResult {
        if (copy.getCpSize())
          return reject(op);
        call("copy",
             {thread, copy.getDst(), copy.getSrc(), i32(copy.getSize()),
              i32(sites.add(op, paramOf(copy.getSrc())))},
             {});
        op->erase();
        return success();
      })
      .Case([&](NVVM::CpAsyncCommitGroupOp) {
        call("copy_commit", thread, {});
        op->erase();
        return success();
      })
      .Case([&](NVVM::CpAsyncWaitGroupOp wait) {
        call("copy_wait", {thread, i32(wait.getN())}, {});
        op->erase();
        return success();
      })
      .Case([&](LLVM::LoadOp load) {
        // A hint for a GPU's caches, which x86 can't select for all vectors.
        load.setNontemporal(false);
        return rewriteAccess(op, load.getAddr(), load.getType(),
                             load.getAlignment());
      })
      .Case([&](LLVM::StoreOp store) {
        return rewriteAccess(op, store.getAddr(), store.getValue().getType(),
                             store.getAlignment());
      })
      .Case([&](memref::LoadOp load) {
        return rewriteShared(op, load.getMemRef(), load.getIndices(), {});
      })
      .Case([&](memref::StoreOp store) {
        return rewriteShared(op, store.getMemRef(), store.getIndices(),
                             store.getValue());
      })
      .Case([&](LLVM::GEPOp gep) {
        // An address may lie anywhere until it is checked.
        gep.setNoWrapFlags(LLVM::GEPNoWrapFlags::none);
        return success();
      })
      .Case(
          [&](LLVM::InlineAsmOp assembly) { return rewriteAssembly(assembly); })
      .Case(
          [&](LLVM::AddressOfOp address) { return rewriteAddressOf(address); })
      .Case([&](LLVM::AddrSpaceCastOp cast) {
        cast.replaceAllUsesWith(cast.getArg());
        cast.erase();
        return success();
      })
      .Default([&](Operation *) {
        if (isa<norm_tile::NormTileDialect>(op->getDialect()))
          return rewriteCluster(op);
        if (isa<memref::MemRefDialect, NVVM::NVVMDialect>(op->getDialect()) ||
            isa<LLVM::AtomicRMWOp, LLVM::AtomicCmpXchgOp, LLVM::CallOp,
                LLVM::FenceOp, LLVM::MemcpyOp, LLVM::MemsetOp, func::CallOp>(
                op))
          return reject(op);
        return success();
      });
}

void FunctionEmulator::replaceByNumber(Operation *op, StringRef kind,
                                       unsigned dimension) {
  Value number =
      call(kind, {thread, i32(dimension)}, b.getI64Type()).getResult(0);
  Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
  op->getResult(0).replaceAllUsesWith(index);
  op->erase();
}

LogicalResult FunctionEmulator::rewriteGPU(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](gpu::ThreadIdOp id) {
        replaceByNumber(op, "thread_id", unsigned(id.getDimension()));
        return success();
      })
      .Case([&](gpu::BlockIdOp id) {
        replaceByNumber(op, "block_id", unsigned(id.getDimension()));
        return success();
      })
      .Case([&](gpu::BlockDimOp id) {
        replaceByNumber(op, "block_dim", unsigned(id.getDimension()));
        return success();
      })
      .Case([&](gpu::GridDimOp id) {
        replaceByNumber(op, "grid_dim", unsigned(id.getDimension()));
        return success();
      })
      .Case([&](gpu::BarrierOp) {
        call("barrier", {thread, i32(sites.add(op))}, {});
        op->erase();
        return success();
      })
      .Case([&](gpu::ShuffleOp shuffle) -> LogicalResult {
        if (int64_t bytes = bytesOf(shuffle.getValue().getType());
            bytes == 0 || bytes > 8)
          return reject(op);
        rewriteShuffle(shuffle);
        return success();
      })
      .Case([&](gpu::ReturnOp) {
        func::ReturnOp::create(b, loc);
        op->erase();
        return success();
      })
      .Default([&](Operation *) { return reject(op); });
}

void FunctionEmulator::rewriteShuffle(gpu::ShuffleOp op) {
  Value number =
      call("shuffle",
           {thread, toBits(op.getValue()), i32(int64_t(op.getMode())),
            op.getOffset(), op.getWidth(), i32(sites.add(op))},
           b.getI64Type())
          .getResult(0);
  op.getShuffleResult().replaceAllUsesWith(
      fromBits(number, op.getValue().getType()));
  if (!op.getValid().use_empty()) {
    Value valid = call("shuffle_valid", thread, b.getI32Type()).getResult(0);
    op.getValid().replaceAllUsesWith(
        arith::TruncIOp::create(b, loc, b.getI1Type(), valid));
  }
  op.erase();
}

static Value rootOf(Value address) {
  while (auto gep = address.getDefiningOp<LLVM::GEPOp>())
    address = gep.getBase();
  return address;
}

int FunctionEmulator::paramOf(Value address) const {
  auto found = params.find(rootOf(address));
  return found == params.end() ? -1 : found->second;
}

/// A load or store through a pointer: the address that the device returns
/// takes the place of the one computed.
LogicalResult
FunctionEmulator::rewriteAccess(Operation *op, Value address, Type type,
                                std::optional<uint64_t> alignment) {
  unsigned space = spaces.lookup(address);
  Value root = rootOf(address);
  int param = paramOf(address);
  if (space == 0 && param < 0 && root.getDefiningOp<LLVM::AllocaOp>())
    return success();
  int64_t bytes = bytesOf(type);
  if ((space != 0 && space != 1 && space != 3) || bytes == 0 ||
      bytes > kMaxAccess)
    return reject(op);
  bool isWrite = isa<LLVM::StoreOp>(op);
  uint64_t needed =
      alignment.value_or(0) ? *alignment : llvm::PowerOf2Ceil(bytes);
  Value checked = call(space == 3 ? "shared" : "global",
                       {thread, address, i32(bytes), i32(int64_t(needed)),
                        i32(isWrite), i32(sites.add(op, param))},
                       pointer)
                      .getResult(0);
  op->setOperand(isWrite ? 1 : 0, checked);
  return success();
}

/// An access of shared memory that the function declares.
LogicalResult FunctionEmulator::rewriteShared(Operation *op, Value memory,
                                              ValueRange indices,
                                              Value stored) {
  auto found = attributions.find(memory);
  if (found == attributions.end())
    return reject(op);
  auto type = cast<MemRefType>(memory.getType());
  Value position = i64(0);
  for (auto [extent, index] : llvm::zip(type.getShape(), indices))
    position = arith::AddIOp::create(
        b, loc, arith::MulIOp::create(b, loc, position, i64(extent)),
        arith::IndexCastOp::create(b, loc, b.getI64Type(), index));
  int64_t bytes = bytesOf(type.getElementType());
  Value offset = arith::MulIOp::create(b, loc, position, i64(bytes));
  Value checked =
      call("static_shared",
           {thread, i64(found->second.offset), i64(found->second.bytes), offset,
            i32(bytes), i32(bool(stored)), i32(sites.add(op))},
           pointer)
          .getResult(0);
  if (stored) {
    LLVM::StoreOp::create(b, loc, stored, checked);
  } else {
    Value loaded = LLVM::LoadOp::create(b, loc, type.getElementType(), checked);
    op->getResult(0).replaceAllUsesWith(loaded);
  }
  op->erase();
  return success();
}

/// Assembly without text gives its operands, by the tied constraints.
LogicalResult FunctionEmulator::rewriteAssembly(LLVM::InlineAsmOp op) {
  if (!op.getAsmString().empty())
    return reject(op);
  unsigned outputs = 0;
  SmallVector<unsigned> tied;
  for (StringRef constraint : llvm::split(op.getConstraints(), ',')) {
    unsigned output = 0;
    if (constraint.starts_with("="))
      ++outputs;
    else if (!constraint.getAsInteger(10, output))
      tied.push_back(output);
    else
      return reject(op);
  }
  if (tied.size() != op.getNumOperands() || op->getNumResults() != 1 ||
      outputs != tied.size())
    return reject(op);
  Value result = op.getOperand(0);
  if (outputs > 1) {
    result = LLVM::PoisonOp::create(b, loc, op->getResult(0).getType());
    for (auto [output, operand] : llvm::zip(tied, op.getOperands()))
      result = LLVM::InsertValueOp::create(b, loc, result, operand, output);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op.erase();
  return success();
}

/// The CTA's dynamic shared memory is a global without a size.
LogicalResult FunctionEmulator::rewriteAddressOf(LLVM::AddressOfOp op) {
  auto global = SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(
      source, op.getGlobalNameAttr());
  auto type = global ? dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType())
                     : LLVM::LLVMArrayType();
  if (!type || global.getAddrSpace() != 3 || type.getNumElements() != 0)
    return reject(op);
  Value base = call("dynamic_shared", thread, pointer).getResult(0);
  spaces[base] = 3;
  op->getResult(0).replaceAllUsesWith(base);
  op.erase();
  return success();
}
