//===- ExpandMath.cpp - Transcendental functions as arithmetic ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "norm/Dialect/Norm/IR/Norm.h"
#include "norm/Dialect/Norm/Utils/EmitExp.h"

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
    : public norm::impl::NormExpandMathPassBase<NormExpandMathPass> {
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

template <typename OpTy, Value (*emit)(OpBuilder &, Location, Value, ExpRange)>
struct ExpandExp : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isF32() && !type.isF64())
      return rewriter.notifyMatchFailure(op, "expects f32 or f64");
    rewriter.replaceOp(op, emit(rewriter, op.getLoc(), op.getOperand(),
                                getRange(op.getOperand())));
    return success();
  }
};

/// 1 / sqrt(x), each op exactly rounded, where targets have approximations of
/// their own.
struct ExpandRsqrt : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!type.isF32() && !type.isF64())
      return rewriter.notifyMatchFailure(op, "expects f32 or f64");
    Value root = math::SqrtOp::create(rewriter, op.getLoc(), op.getOperand());
    Value one = arith::ConstantOp::create(rewriter, op.getLoc(),
                                          rewriter.getFloatAttr(type, 1.0));
    rewriter.replaceOpWithNewOp<arith::DivFOp>(op, one, root);
    return success();
  }
};
} // namespace

/// Functions with an upstream approximation in f32 whose error stays below 5
/// ulp everywhere. The logarithms are wrong for subnormal numbers, sine and
/// cosine for large ones, and are left as they are.
static bool hasApproximation(StringRef name) {
  return llvm::is_contained(
      {math::TanhOp::getOperationName(), math::ErfOp::getOperationName(),
       math::ErfcOp::getOperationName(), math::ExpM1Op::getOperationName(),
       math::Log1pOp::getOperationName()},
      name);
}

static bool isExpanded(StringRef name) {
  return hasApproximation(name) ||
         llvm::is_contained({math::ExpOp::getOperationName(),
                             math::Exp2Op::getOperationName(),
                             math::RsqrtOp::getOperationName()},
                            name);
}

void NormExpandMathPass::runOnOperation() {
  SmallVector<Operation *> programs;
  getOperation()->walk([&](GenericOp op) {
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
  patterns.add<ExpandExp<math::ExpOp, emitExp>,
               ExpandExp<math::Exp2Op, emitExp2>, ExpandRsqrt>(context);
  populateMathF32ExpansionPatterns(patterns, isExpanded);
  populateMathPolynomialApproximationPatterns(patterns, hasApproximation);
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
