//===- StorageTypes.cpp - How elements lie in memory ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Conversion/StorageTypes.h"
#include "norm/Conversion/PackedElements.h"

#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

bool mlir::norm::isStorable(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64() ||
         isa<Float8E4M3FNType, Float8E5M2Type, Float8E8M0FNUType,
             Float4E2M1FNType>(type) ||
         type.isSignlessInteger(1) || type.isSignlessInteger(8) ||
         type.isSignlessInteger(16) || type.isSignlessInteger(32) ||
         type.isSignlessInteger(64);
}

Type mlir::norm::storageTypeOf(Type type) {
  if (isa<Float8E4M3FNType, Float8E5M2Type, Float8E8M0FNUType>(type) ||
      type.isInteger(1))
    return IntegerType::get(type.getContext(), 8);
  if (isa<Float4E2M1FNType>(type))
    return IntegerType::get(type.getContext(), 4);
  return type;
}

/// `type`, a scalar, vector or memref, with its elements as they are stored.
static Type storedForm(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    Type element = storageTypeOf(shaped.getElementType());
    return element == shaped.getElementType() ? type : shaped.clone(element);
  }
  return storageTypeOf(type);
}

/// `type` with elements of i8 in place of i4: what shares a byte in memory has
/// one of its own where it's kept.
static Type keptForm(Type type) {
  Type stored = storedForm(type);
  if (!isPacked(stored))
    return stored;
  return cast<VectorType>(stored).clone(IntegerType::get(type.getContext(), 8));
}

static Type formFor(Operation *op, Type type) {
  return isa<HoldOp, HeldOp>(op) ? keptForm(type) : storedForm(type);
}

/// A stored value as one of `type`.
static Value fromStorage(OpBuilder &b, Location loc, Value stored, Type type) {
  if (Type packed = storedForm(type);
      isPacked(packed) && stored.getType() != packed)
    stored = arith::TruncIOp::create(b, loc, packed, stored);
  if (!getElementTypeOrSelf(type).isInteger(1))
    return arith::BitcastOp::create(b, loc, type, stored);
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(stored.getType()));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, stored, zero);
}

/// `value` as one of `type`, the form that it is to be stored in.
static Value toStorage(OpBuilder &b, Location loc, Value value, Type type) {
  Type packed = storedForm(value.getType());
  if (isPacked(packed) && type != packed)
    return arith::ExtUIOp::create(b, loc, type,
                                  toStorage(b, loc, value, packed));
  if (!getElementTypeOrSelf(value.getType()).isInteger(1))
    return arith::BitcastOp::create(b, loc, type, value);
  return arith::ExtUIOp::create(b, loc, type, value);
}

/// Gives `value`, at whose uses `b` stands, its stored type.
static void storeResult(OpBuilder &b, Location loc, Value value, Type stored) {
  Type type = value.getType();
  if (stored == type)
    return;
  value.setType(stored);
  if (isa<MemRefType>(type) || value.use_empty())
    return;
  SmallVector<OpOperand *> uses =
      llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
  Value converted = fromStorage(b, loc, value, type);
  for (OpOperand *use : uses)
    use->set(converted);
}

void mlir::norm::useStorageTypes(KernelOp kernel) {
  OpBuilder b(kernel.getContext());
  SmallVector<Operation *> accesses;
  kernel.getBody().walk([&](Operation *op) {
    if (isa<NormTileDialect>(op->getDialect()))
      accesses.push_back(op);
  });
  for (Operation *op : accesses) {
    b.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Type type = operand.get().getType();
      Type form = formFor(op, type);
      if (!isa<MemRefType>(type) && form != type)
        operand.set(toStorage(b, op->getLoc(), operand.get(), form));
    }
    b.setInsertionPointAfter(op);
    for (Value result : op->getResults())
      storeResult(b, op->getLoc(), result, formFor(op, result.getType()));
  }
  // Scalars are read by the rows, in the region of the one `norm_tile.work`.
  for (BlockArgument argument : kernel.getBlock()->getArguments()) {
    auto work = kernel.getBlock()->getOps<WorkOp>();
    b.setInsertionPointToStart((*work.begin()).getBlock());
    storeResult(b, kernel.getLoc(), argument, storedForm(argument.getType()));
  }
}
