//===- SmallFloats.cpp - f16 and bf16 on targets without them -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallFloats.h"
#include "ShapedEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace mlir::norm;

/// f32 to bf16, to nearest even; a NaN becomes the quiet one. In integers: half
/// of the last place, less one for an even last place, is added before the low
/// half is cut off, and a carry rightly steps into the exponent.
static Value roundToBrain(ShapedEmitter &emit, OpBuilder &builder, Value x) {
  Type i32 = builder.getI32Type(), i16 = builder.getI16Type();
  Value bits = emit.bitcast(i32, x);
  Value sixteen = emit.constant(i32, 16);
  Value last = emit.make<arith::AndIOp>(
      emit.make<arith::ShRUIOp>(bits, sixteen), emit.constant(i32, 1));
  Value half = emit.make<arith::AddIOp>(last, emit.constant(i32, 0x7fff));
  Value rounded =
      emit.make<arith::ShRUIOp>(emit.make<arith::AddIOp>(bits, half), sixteen);
  Value isNaN = emit.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
  Value result =
      emit.make<arith::SelectOp>(isNaN, emit.constant(i32, 0x7fc0), rounded);
  return emit.bitcast(builder.getBF16Type(),
                      emit.convert<arith::TruncIOp>(i16, result));
}

Value mlir::norm::roundToOdd(ShapedEmitter &emit, OpBuilder &builder, Value x) {
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  Value nearest = emit.convert<arith::TruncFOp>(f32, x);
  Value back = emit.convert<arith::ExtFOp>(builder.getF64Type(), nearest);
  Value bits = emit.bitcast(i32, nearest);

  // Towards zero: the magnitude of the nearest one is too large where it's
  // beyond x, seen from zero.
  Value zero = emit.bitcast(builder.getF64Type(),
                            emit.constant(builder.getI64Type(), 0));
  Value isNegative =
      emit.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, zero);
  Value below = emit.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, back, x);
  Value above = emit.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, back, x);
  Value beyond = emit.make<arith::SelectOp>(isNegative, below, above);
  Value one = emit.constant(i32, 1), none = emit.constant(i32, 0);
  Value truncated = emit.make<arith::SubIOp>(
      bits, emit.make<arith::SelectOp>(beyond, one, none));

  Value inexact = emit.make<arith::OrIOp>(below, above);
  Value sticky = emit.make<arith::SelectOp>(inexact, one, none);
  return emit.bitcast(f32, emit.make<arith::OrIOp>(truncated, sticky));
}

static void expandTruncation(IRRewriter &rewriter, arith::TruncFOp op) {
  Type to = getElementTypeOrSelf(op.getType());
  Value x = op.getIn();
  bool fromDouble = getElementTypeOrSelf(x.getType()).isF64();
  if (!isa<BFloat16Type, Float16Type>(to) || (to.isF16() && !fromDouble))
    return;
  rewriter.setInsertionPoint(op);
  ShapedEmitter emit(rewriter, op.getLoc(), op.getType());
  if (fromDouble)
    x = roundToOdd(emit, rewriter, x);
  else if (getElementTypeOrSelf(x.getType()).isF16())
    return;
  rewriter.replaceOp(op, to.isF16() ? emit.convert<arith::TruncFOp>(to, x)
                                    : roundToBrain(emit, rewriter, x));
}

/// bf16 are the high halves of the f32 of the same value.
static void expandExtension(IRRewriter &rewriter, arith::ExtFOp op) {
  Value x = op.getIn();
  if (!getElementTypeOrSelf(x.getType()).isBF16())
    return;
  rewriter.setInsertionPoint(op);
  ShapedEmitter emit(rewriter, op.getLoc(), op.getType());
  Type i32 = rewriter.getI32Type();
  Value bits =
      emit.convert<arith::ExtUIOp>(i32, emit.bitcast(rewriter.getI16Type(), x));
  bits = emit.make<arith::ShLIOp>(bits, emit.constant(i32, 16));
  Value result = emit.bitcast(rewriter.getF32Type(), bits);
  if (getElementTypeOrSelf(op.getType()).isF64())
    result = emit.convert<arith::ExtFOp>(rewriter.getF64Type(), result);
  rewriter.replaceOp(op, result);
}

static bool isArithmeticOn(Operation *op, ArrayRef<Type> types) {
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::BitcastOp, arith::ConstantOp,
          arith::SelectOp>(op))
    return false;
  auto isOne = [&](Type type) {
    return llvm::is_contained(types, getElementTypeOrSelf(type));
  };
  return isa<arith::ArithDialect, vector::VectorDialect>(op->getDialect()) &&
         (llvm::any_of(op->getOperandTypes(), isOne) ||
          llvm::any_of(op->getResultTypes(), isOne));
}

LogicalResult mlir::norm::emulateArithmetic(Operation *root,
                                            ArrayRef<Type> types) {
  auto found = root->walk([&](Operation *op) {
    return isArithmeticOn(op, types) ? WalkResult::interrupt()
                                     : WalkResult::advance();
  });
  if (!found.wasInterrupted())
    return success();
  MLIRContext *context = root->getContext();
  TypeConverter converter;
  arith::populateEmulateUnsupportedFloatsConversions(converter, types,
                                                     Float32Type::get(context));
  RewritePatternSet patterns(context);
  arith::populateEmulateUnsupportedFloatsPatterns(patterns, converter);
  ConversionTarget target(*context);
  arith::populateEmulateUnsupportedFloatsLegality(target, converter);
  return applyPartialConversion(root, target, std::move(patterns));
}

LogicalResult mlir::norm::expandSmallFloats(Operation *root) {
  Type brain = BFloat16Type::get(root->getContext());
  if (failed(emulateArithmetic(root, brain)))
    return failure();

  IRRewriter rewriter(root->getContext());
  root->walk([&](arith::TruncFOp op) { expandTruncation(rewriter, op); });
  root->walk([&](arith::ExtFOp op) { expandExtension(rewriter, op); });
  return success();
}

void mlir::norm::extendByPairs(RewriterBase &rewriter, arith::ExtFOp op) {
  auto to = dyn_cast<VectorType>(op.getType());
  auto from = dyn_cast<VectorType>(op.getIn().getType());
  if (!to || !from || to.getRank() != 1 || to.isScalable() ||
      to.getDimSize(0) % 2 != 0 || !to.getElementType().isF32() ||
      !from.getElementType().isBF16())
    return;
  rewriter.setInsertionPoint(op);
  int64_t pairs = to.getDimSize(0) / 2;
  auto words = VectorType::get(pairs, rewriter.getI32Type());
  Value bits =
      vector::BitCastOp::create(rewriter, op.getLoc(), words, op.getIn());
  ShapedEmitter emit(rewriter, op.getLoc(), words);
  Type i32 = rewriter.getI32Type(), f32 = rewriter.getF32Type();
  Value low = emit.make<arith::ShLIOp>(bits, emit.constant(i32, 16));
  Value high =
      emit.make<arith::AndIOp>(bits, emit.constant(i32, int32_t(0xffff0000)));
  SmallVector<int64_t> order;
  for (int64_t pair = 0; pair < pairs; ++pair)
    order.append({pair, pairs + pair});
  rewriter.replaceOpWithNewOp<vector::ShuffleOp>(
      op, emit.bitcast(f32, low), emit.bitcast(f32, high), order);
}
