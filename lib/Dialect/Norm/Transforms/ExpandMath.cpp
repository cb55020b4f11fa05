//===- ExpandMath.cpp - Transcendental functions as arithmetic ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "norm/Dialect/Norm/IR/Norm.h"
#include "norm/Dialect/Norm/Utils/EmitActivation.h"
#include "norm/Dialect/Norm/Utils/EmitExp.h"
#include "norm/Dialect/Norm/Utils/EmitLog.h"
#include "norm/Dialect/Norm/Utils/EmitNarrow.h"
#include "norm/Support/MathMode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMEXPANDMATHPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

namespace {
struct NormExpandMathPass
    : public mlir::norm::impl::NormExpandMathPassBase<NormExpandMathPass> {
  using Base::Base;
  void runOnOperation() override;
};

/// Whether `x` is a value less its own maximum, and so at most 0 or a NaN.
ExpRange getRange(Value x) {
  auto difference = x.getDefiningOp<arith::SubFOp>();
  if (!difference)
    return ExpRange::Any;
  auto max = difference.getRhs().getDefiningOp<ReduceOp>();
  bool isMax = max && difference.getRhs() == max.getResult(0) &&
               max.getValue() == difference.getLhs() &&
               (max.getKind() == ReduceKind::Max ||
                max.getKind() == ReduceKind::MaxNum ||
                max.getKind() == ReduceKind::MaxExpSum);
  return isMax ? ExpRange::NonPositive : ExpRange::Any;
}

/// Whether `op` is for the hardware to approximate.
bool isForHardware(Operation *op) {
  auto exp2 = dyn_cast<math::Exp2Op>(op);
  return exp2 && exp2.getType().isF32() &&
         exp2.getFastmath() == arith::FastMathFlags::afn;
}

Value emitExpOf(OpBuilder &builder, Location loc, Value x) {
  return emitExp(builder, loc, x, getRange(x));
}
Value emitExp2Of(OpBuilder &builder, Location loc, Value x) {
  return emitExp2(builder, loc, x, getRange(x));
}

/// Replaces a function of one f32 or f64 by its expansion.
template <typename OpTy, Value (*emit)(OpBuilder &, Location, Value)>
struct ExpandFunction : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isF32() && !type.isF64())
      return rewriter.notifyMatchFailure(op, "expects f32 or f64");
    if (isForHardware(op))
      return rewriter.notifyMatchFailure(op, "expects an exact function");
    rewriter.replaceOp(op, emit(rewriter, op.getLoc(), op.getOperand()));
    return success();
  }
};

NarrowFunction getNarrow(math::ExpOp) { return NarrowFunction::Exp; }
NarrowFunction getNarrow(math::Exp2Op) { return NarrowFunction::Exp2; }
NarrowFunction getNarrow(math::TanhOp) { return NarrowFunction::Tanh; }
NarrowFunction getNarrow(SigmoidOp) { return NarrowFunction::Sigmoid; }
NarrowFunction getNarrow(SiluOp) { return NarrowFunction::Silu; }
NarrowFunction getNarrow(GeluOp op) {
  return op.getApproximate() == GeluForm::Tanh ? NarrowFunction::GeluTanh
                                               : NarrowFunction::GeluErf;
}

/// Replaces a function of one f16 or bf16 by f32 arithmetic that is precise
/// enough for the one rounding at its end.
template <typename OpTy>
struct ExpandNarrow : OpRewritePattern<OpTy> {
  ExpandNarrow(MLIRContext *context, ::norm::MathMode mode)
      : OpRewritePattern<OpTy>(context, /*benefit=*/2), mode(mode) {}
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op->getResult(0).getType();
    if (!type.isBF16() && !type.isF16())
      return rewriter.notifyMatchFailure(op, "expects f16 or bf16");
    NarrowFormat format =
        type.isBF16() ? NarrowFormat::BF16 : NarrowFormat::F16;
    Location loc = op.getLoc();
    Value x = arith::ExtFOp::create(rewriter, loc, rewriter.getF32Type(),
                                    op->getOperand(0));
    auto *emit = mode == ::norm::MathMode::Hardware ? emitHardware : emitNarrow;
    Value y = emit(rewriter, loc, getNarrow(op), format, x);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, y);
    return success();
  }

private:
  ::norm::MathMode mode;
};

Value emitActivation(OpBuilder &builder, SigmoidOp op) {
  return emitSigmoid(builder, op.getLoc(), op.getX());
}
Value emitActivation(OpBuilder &builder, SiluOp op) {
  return emitSilu(builder, op.getLoc(), op.getX());
}
Value emitActivation(OpBuilder &builder, GeluOp op) {
  return op.getApproximate() == GeluForm::Tanh
             ? emitGeluTanh(builder, op.getLoc(), op.getX())
             : emitGeluErf(builder, op.getLoc(), op.getX());
}

/// Replaces an activation of one f32 or f64 by its expansion, and of an 8-bit
/// float by that of f32, rounded.
template <typename OpTy>
struct ExpandActivation : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getX().getType();
    if (type.isF32() || type.isF64()) {
      rewriter.replaceOp(op, emitActivation(rewriter, op));
      return success();
    }
    if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() != 8)
      return rewriter.notifyMatchFailure(op, "expects a float of 8 bits");
    Location loc = op.getLoc();
    Type f32 = rewriter.getF32Type();
    Value x = arith::ExtFOp::create(rewriter, loc, f32, op.getX());
    auto wide = cast<OpTy>(rewriter.clone(*op));
    rewriter.modifyOpInPlace(wide, [&] {
      wide->setOperand(0, x);
      wide->getResult(0).setType(f32);
    });
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, wide.getY());
    return success();
  }
};

/// 1 / sqrt(x) by exactly rounded ops, where targets have approximations of
/// their own. The square root and the division leave an error of up to 1.5
/// units; how far each is off is exact in an fma, and taken off.
struct ExpandRsqrt : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isF32() && !type.isF64())
      return rewriter.notifyMatchFailure(op, "expects f32 or f64");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto constant = [&](double value) -> Value {
      return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
    };
    Value x = op.getOperand(), one = constant(1.0);
    Value root = math::SqrtOp::create(b, x);
    Value inverse = arith::DivFOp::create(b, one, root);
    Value negated = arith::NegFOp::create(b, root);
    Value offRoot = math::FmaOp::create(b, negated, root, x);
    Value offInverse = math::FmaOp::create(b, negated, inverse, one);
    // sqrt(x) = root + offRoot / (2 root), 1 / root = inverse (1 + offInverse).
    Value half = arith::MulFOp::create(b, inverse, constant(-0.5));
    Value scaled = arith::MulFOp::create(b, offRoot, half);
    Value change = math::FmaOp::create(b, scaled, inverse, offInverse);
    Value refined = math::FmaOp::create(b, inverse, change, inverse);
    // There is nothing to be taken off 0, infinities and NaNs.
    Value isNumber =
        arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, change, change);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNumber, refined,
                                                 inverse);
    return success();
  }
};
} // namespace

/// Functions with an upstream approximation in f32 whose error stays below 5
/// ulp everywhere. Sine and cosine are wrong for large numbers there.
static bool isApproximatedUpstream(StringRef name) {
  return llvm::is_contained(
      {math::ErfOp::getOperationName(), math::ErfcOp::getOperationName()},
      name);
}

static bool isExpanded(StringRef name) {
  return isApproximatedUpstream(name) ||
         llvm::is_contained(
             {math::ExpOp::getOperationName(), math::Exp2Op::getOperationName(),
              math::ExpM1Op::getOperationName(),
              math::TanhOp::getOperationName(), math::LogOp::getOperationName(),
              math::Log1pOp::getOperationName(),
              math::RsqrtOp::getOperationName(), SigmoidOp::getOperationName(),
              SiluOp::getOperationName(), GeluOp::getOperationName()},
             name);
}

/// Takes the flags of a program away, so that none is read as a request for the
/// hardware's approximations by mistake.
static void dropFastMath(GenericOp program) {
  for (Operation &op : *program.getBlock())
    if (auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
        flags && flags.getFastMathFlagsAttr() &&
        flags.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::none)
      op.setAttr(flags.getFastMathAttrName(),
                 arith::FastMathFlagsAttr::get(op.getContext(),
                                               arith::FastMathFlags::none));
}

void NormExpandMathPass::runOnOperation() {
  llvm::Expected<::norm::MathMode> mode = ::norm::parseMathMode(math);
  if (!mode) {
    getOperation()->emitError("option math ")
        << llvm::toString(mode.takeError());
    return signalPassFailure();
  }
  SmallVector<Operation *> programs;
  getOperation()->walk([&](GenericOp op) {
    if (*mode == ::norm::MathMode::Exact)
      dropFastMath(op);
    if (llvm::any_of(*op.getBlock(), [](Operation &inner) {
          return isExpanded(inner.getName().getStringRef());
        }))
      programs.push_back(op);
  });
  // Making the patterns costs more than most programs need.
  if (programs.empty())
    return;
  MLIRContext *context = &getContext();
  RewritePatternSet patterns(context);
  patterns.add<ExpandFunction<math::ExpOp, emitExpOf>,
               ExpandFunction<math::Exp2Op, emitExp2Of>,
               ExpandFunction<math::ExpM1Op, emitExpM1>,
               ExpandFunction<math::TanhOp, emitTanh>,
               ExpandFunction<math::LogOp, emitLog>,
               ExpandFunction<math::Log1pOp, emitLog1P>, ExpandRsqrt,
               ExpandActivation<SigmoidOp>, ExpandActivation<SiluOp>,
               ExpandActivation<GeluOp>>(context);
  patterns.add<ExpandNarrow<math::ExpOp>, ExpandNarrow<math::Exp2Op>,
               ExpandNarrow<math::TanhOp>, ExpandNarrow<SigmoidOp>,
               ExpandNarrow<SiluOp>, ExpandNarrow<GeluOp>>(context, *mode);
  populateMathF32ExpansionPatterns(patterns, isExpanded);
  populateMathPolynomialApproximationPatterns(patterns, isApproximatedUpstream);
  FrozenRewritePatternSet frozen(std::move(patterns));
  // Expansions only: what the user wrote is not simplified on the way.
  GreedyRewriteConfig config;
  config.enableFolding(false).setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
  for (Operation *program : programs)
    if (failed(applyPatternsGreedily(program, frozen, config))) {
      program->emitError("expects the expansion of math functions to end");
      return signalPassFailure();
    }
}
