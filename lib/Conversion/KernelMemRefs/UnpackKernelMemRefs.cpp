//===- UnpackKernelMemRefs.cpp - Kernels without memref arguments ---------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMUNPACKKERNELMEMREFSPASS
#include "norm/Conversion/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

namespace {

/// A memref as the values that take its place.
struct Unpacked {
  Value base;
  SmallVector<OpFoldResult> extents;
  SmallVector<OpFoldResult> strides;
};

/// Rewrites the memref arguments of one kernel and the ops that use them.
class KernelUnpacker {
public:
  explicit KernelUnpacker(gpu::GPUFuncOp kernel)
      : kernel(kernel), b(kernel.getContext()) {}

  LogicalResult run();

private:
  LogicalResult unpack(unsigned index);
  LogicalResult checkType(MemRefType type, unsigned index);
  LogicalResult rewrite(Operation *user, const Unpacked &memory);
  FailureOr<Value> addressOf(Operation *user, MemRefType type,
                             const Unpacked &memory, ValueRange indices,
                             Type accessed);
  LogicalResult rewriteLoad(Operation *user, MemRefType type,
                            const Unpacked &memory, ValueRange indices,
                            std::optional<uint64_t> alignment);
  LogicalResult rewriteStore(Operation *user, MemRefType type,
                             const Unpacked &memory, Value stored,
                             ValueRange indices,
                             std::optional<uint64_t> alignment);
  LogicalResult rewriteDim(memref::DimOp dim, const Unpacked &memory);
  Value number(OpFoldResult value);

  gpu::GPUFuncOp kernel;
  OpBuilder b;
  Location loc = UnknownLoc::get(kernel.getContext());
};

/// The type with which LLVM moves a number: of 8-bit floats, their bits.
Type typeInMemory(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.getIntOrFloatBitWidth() != 8 || element.isInteger())
    return type;
  Type bits = IntegerType::get(type.getContext(), 8);
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(bits);
  return bits;
}

bool isGlobal(MemRefType type) {
  Attribute space = type.getMemorySpace();
  if (!space)
    return true;
  if (auto number = dyn_cast<IntegerAttr>(space))
    return number.getInt() == 1;
  auto named = dyn_cast<gpu::AddressSpaceAttr>(space);
  return named && named.getValue() == gpu::AddressSpace::Global;
}

} // namespace

LogicalResult KernelUnpacker::checkType(MemRefType type, unsigned index) {
  Type element = type.getElementType();
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  bool isGood = element.isIntOrFloat() &&
                element.getIntOrFloatBitWidth() % 8 == 0 && isGlobal(type) &&
                succeeded(type.getStridesAndOffset(strides, offset)) &&
                offset == 0;
  if (isGood)
    return success();
  return kernel.emitError("expects a strided memref of whole bytes in global "
                          "memory, without an offset, as argument ")
         << index << " but got " << type;
}

/// An extent or stride as an i64.
Value KernelUnpacker::number(OpFoldResult value) {
  if (auto known = dyn_cast<Value>(value))
    return known;
  int64_t constant = cast<IntegerAttr>(cast<Attribute>(value)).getInt();
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(constant));
}

/// Makes argument `index` an address, the dynamic extents and the dynamic
/// strides.
LogicalResult KernelUnpacker::unpack(unsigned index) {
  BlockArgument argument = kernel.getArgument(index);
  auto type = cast<MemRefType>(argument.getType());
  if (failed(checkType(type, index)))
    return failure();
  Location place = argument.getLoc();
  unsigned next = index + 1;
  auto add = [&](Type added, DictionaryAttr attributes) -> Value {
    (void)kernel.insertArgument(next, added, attributes, place);
    return kernel.getArgument(next++);
  };
  Unpacked memory;
  memory.base = add(LLVM::LLVMPointerType::get(kernel.getContext(), 1),
                    kernel.getArgAttrDict(index));
  auto describe = [&](ArrayRef<int64_t> values,
                      SmallVector<OpFoldResult> &into) {
    for (int64_t value : values)
      into.push_back(ShapedType::isDynamic(value)
                         ? OpFoldResult(add(b.getI64Type(), {}))
                         : OpFoldResult(b.getI64IntegerAttr(value)));
  };
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  (void)type.getStridesAndOffset(strides, offset);
  describe(type.getShape(), memory.extents);
  if (type.getLayout().isIdentity()) {
    // Strides that follow from the extents.
    b.setInsertionPointToStart(&kernel.front());
    loc = place;
    OpFoldResult stride = b.getI64IntegerAttr(1);
    for (OpFoldResult extent : llvm::reverse(memory.extents)) {
      memory.strides.insert(memory.strides.begin(), stride);
      if (memory.strides.size() < memory.extents.size())
        stride =
            arith::MulIOp::create(b, loc, number(stride), number(extent))
                .getResult();
    }
  } else {
    describe(strides, memory.strides);
  }
  argument = kernel.getArgument(index);
  for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
    b.setInsertionPoint(user);
    loc = user->getLoc();
    if (failed(rewrite(user, memory)))
      return failure();
  }
  (void)kernel.eraseArgument(index);
  return success();
}

LogicalResult KernelUnpacker::run() {
  for (unsigned index = 0; index < kernel.getNumArguments(); ++index)
    if (isa<MemRefType>(kernel.getArgument(index).getType()))
      if (failed(unpack(index)))
        return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult KernelUnpacker::rewrite(Operation *user,
                                      const Unpacked &memory) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(user)
      .Case([&](memref::LoadOp load) {
        return rewriteLoad(user, load.getMemRefType(), memory,
                           load.getIndices(), load.getAlignment());
      })
      .Case([&](vector::LoadOp load) {
        return rewriteLoad(user, load.getMemRefType(), memory,
                           load.getIndices(), load.getAlignment());
      })
      .Case([&](memref::StoreOp store) {
        return rewriteStore(user, store.getMemRefType(), memory,
                            store.getValue(), store.getIndices(),
                            store.getAlignment());
      })
      .Case([&](vector::StoreOp store) {
        return rewriteStore(user, store.getMemRefType(), memory,
                            store.getValueToStore(), store.getIndices(),
                            store.getAlignment());
      })
      .Case([&](memref::DimOp dim) { return rewriteDim(dim, memory); })
      .Default([&](Operation *) {
        return user->emitError("expects loads, stores and memref.dim of a "
                               "kernel's argument but got '")
               << user->getName() << "'";
      });
}

FailureOr<Value> KernelUnpacker::addressOf(Operation *user, MemRefType type,
                                           const Unpacked &memory,
                                           ValueRange indices, Type accessed) {
  if (auto vector = dyn_cast<VectorType>(accessed)) {
    bool isRow = vector.getRank() <= 1 && !vector.isScalable() &&
                 vector.getElementType() == type.getElementType();
    if (vector.getRank() == 1 && isRow) {
      auto stride = memory.strides.empty()
                        ? std::optional<int64_t>()
                        : getConstantIntValue(memory.strides.back());
      isRow = stride == 1;
    }
    if (!isRow)
      return user->emitError("expects a vector of elements that lie one after "
                             "the other but got ")
             << accessed << " of " << type;
  }
  Value offset;
  for (auto [index, stride] : llvm::zip_equal(indices, memory.strides)) {
    Value step = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
    if (getConstantIntValue(stride) != 1)
      step = arith::MulIOp::create(b, loc, step, number(stride));
    offset = offset ? arith::AddIOp::create(b, loc, offset, step).getResult()
                    : step;
  }
  if (!offset)
    return memory.base;
  return LLVM::GEPOp::create(b, loc, memory.base.getType(),
                             typeInMemory(type.getElementType()), memory.base,
                             ArrayRef<LLVM::GEPArg>{offset})
      .getResult();
}

/// What an access without a stated alignment may rely on.
static unsigned alignmentOf(MemRefType type,
                            std::optional<uint64_t> alignment) {
  return unsigned(alignment.value_or(type.getElementTypeBitWidth() / 8));
}

LogicalResult KernelUnpacker::rewriteLoad(Operation *user, MemRefType type,
                                          const Unpacked &memory,
                                          ValueRange indices,
                                          std::optional<uint64_t> alignment) {
  Type result = user->getResult(0).getType();
  FailureOr<Value> address = addressOf(user, type, memory, indices, result);
  if (failed(address))
    return failure();
  Type moved = typeInMemory(result);
  Value loaded = LLVM::LoadOp::create(b, loc, moved, *address,
                                      alignmentOf(type, alignment));
  if (moved != result)
    loaded = arith::BitcastOp::create(b, loc, result, loaded);
  user->getResult(0).replaceAllUsesWith(loaded);
  user->erase();
  return success();
}

LogicalResult KernelUnpacker::rewriteStore(Operation *user, MemRefType type,
                                           const Unpacked &memory, Value stored,
                                           ValueRange indices,
                                           std::optional<uint64_t> alignment) {
  FailureOr<Value> address =
      addressOf(user, type, memory, indices, stored.getType());
  if (failed(address))
    return failure();
  if (Type moved = typeInMemory(stored.getType()); moved != stored.getType())
    stored = arith::BitcastOp::create(b, loc, moved, stored);
  LLVM::StoreOp::create(b, loc, stored, *address, alignmentOf(type, alignment));
  user->erase();
  return success();
}

LogicalResult KernelUnpacker::rewriteDim(memref::DimOp dim,
                                         const Unpacked &memory) {
  std::optional<int64_t> axis = dim.getConstantIndex();
  if (!axis || *axis < 0 || size_t(*axis) >= memory.extents.size())
    return dim.emitError("expects a constant dim below ")
           << memory.extents.size();
  Value extent = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                            number(memory.extents[*axis]));
  dim.getResult().replaceAllUsesWith(extent);
  dim.erase();
  return success();
}

namespace {
struct NormUnpackKernelMemRefs
    : public mlir::norm::impl::NormUnpackKernelMemRefsPassBase<
          NormUnpackKernelMemRefs> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel.isKernel() && failed(KernelUnpacker(kernel).run()))
        return signalPassFailure();
  }
};
} // namespace
