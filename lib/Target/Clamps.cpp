//===- Clamps.cpp - What a conversion may saturate by itself --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clamps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::norm;

bool norm::isNumber(Value x, double number) {
  FloatAttr scalar;
  DenseFPElementsAttr dense;
  if (auto broadcast = x.getDefiningOp<vector::BroadcastOp>())
    x = broadcast.getSource();
  if (matchPattern(x, m_Constant(&scalar)))
    return scalar.getValue().convertToDouble() == number;
  return matchPattern(x, m_Constant(&dense)) && dense.isSplat() &&
         dense.getSplatValue<APFloat>().convertToDouble() == number;
}

/// The operand that an op compares with `bound`.
template <typename OpTy> static Value findOther(Value x, double bound) {
  auto clamp = x ? x.getDefiningOp<OpTy>() : OpTy();
  if (!clamp)
    return {};
  if (isNumber(clamp.getRhs(), bound))
    return clamp.getLhs();
  return isNumber(clamp.getLhs(), bound) ? clamp.getRhs() : Value();
}

Value norm::findClamped(Value x, double least, double most) {
  if (Value inner = findOther<arith::MaximumFOp>(
          findOther<arith::MinimumFOp>(x, most), least))
    return inner;
  return findOther<arith::MinimumFOp>(findOther<arith::MaximumFOp>(x, least),
                                      most);
}

/// What `x` is but where that is a NaN, for which it is 0.
static Value findBehindNaN(Value x) {
  auto select = x.getDefiningOp<arith::SelectOp>();
  if (!select || !isNumber(select.getFalseValue(), 0.0))
    return {};
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::ORD ||
      compare.getLhs() != compare.getRhs())
    return {};
  Value clamped = findClamped(select.getTrueValue(), -128, 127);
  return clamped && clamped == compare.getLhs() ? clamped : Value();
}

static Value convertOne(OpBuilder &b, Location loc, Value x) {
  auto convert = LLVM::InlineAsmOp::create(
      b, loc, b.getI32Type(), x, "cvt.rni.sat.s8.f32 $0, $1;", "=r,f",
      /*has_side_effects=*/false, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
      ArrayAttr());
  return arith::TruncIOp::create(b, loc, b.getI8Type(), convert.getResult(0));
}

void norm::convertToSaturatedBytes(Operation *root) {
  IRRewriter rewriter(root->getContext());
  root->walk([&](arith::FPToSIOp op) {
    if (!getElementTypeOrSelf(op.getType()).isInteger(8) ||
        !getElementTypeOrSelf(op.getIn().getType()).isF32())
      return;
    auto round = op.getIn().getDefiningOp<math::RoundEvenOp>();
    Value x = round ? findBehindNaN(round.getOperand()) : Value();
    if (!x)
      return;
    rewriter.setInsertionPoint(op);
    Location loc = op.getLoc();
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type) {
      rewriter.replaceOp(op, convertOne(rewriter, loc, x));
      return;
    }
    SmallVector<Value> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      elements.push_back(convertOne(
          rewriter, loc, vector::ExtractOp::create(rewriter, loc, x, i)));
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
  });
}
