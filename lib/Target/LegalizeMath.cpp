//===- LegalizeMath.cpp - Only exactly rounded math -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Target/Passes.h"

#include "Clamps.h"
#include "EightBitFloats.h"
#include "MicroFloats.h"
#include "ShapedEmitter.h"
#include "SmallFloats.h"
#include "norm/Dialect/Norm/Utils/EmitExp.h"
#include "norm/Support/Targets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMLEGALIZEMATHPASS
#include "norm/Target/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

/// `type` with its element type replaced.
static Type withElement(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

static bool isSmallFloat(Type type) {
  return isa<Float16Type, BFloat16Type, Float8E4M3FNType, Float8E5M2Type>(
      getElementTypeOrSelf(type));
}

/// Whether values of a type can be computed with at all.
static bool isKnown(Type type) {
  type = getElementTypeOrSelf(type);
  return !isa<FloatType>(type) || type.isF32() || type.isF64() ||
         isSmallFloat(type);
}

/// Whether an op may have operands and results of a type. Those that a target
/// has no arithmetic of are converted and moved only, without a further
/// rounding.
static bool takes(Operation *op, Type type) {
  if (!isMicroFloat(type))
    return isKnown(type);
  if (auto extension = dyn_cast<arith::ExtFOp>(op))
    return !isMicroFloat(extension.getType()) &&
           !(isa<Float8E8M0FNUType>(getElementTypeOrSelf(type)) &&
             getElementTypeOrSelf(extension.getType()).isF16());
  return isa<arith::TruncFOp, arith::BitcastOp, arith::ConstantOp,
             arith::SelectOp>(op);
}

/// The LLVM intrinsic that computes what `op` does, rounded exactly; empty if
/// there is none.
static StringRef getIntrinsic(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](math::AbsFOp) { return "llvm.fabs"; })
      .Case([](math::CeilOp) { return "llvm.ceil"; })
      .Case([](math::CopySignOp) { return "llvm.copysign"; })
      .Case([](math::FloorOp) { return "llvm.floor"; })
      .Case([](math::FmaOp) { return "llvm.fma"; })
      .Case([](math::RoundOp) { return "llvm.round"; })
      .Case([](math::RoundEvenOp) { return "llvm.roundeven"; })
      .Case([](math::SqrtOp) { return "llvm.sqrt"; })
      .Case([](math::TruncOp) { return "llvm.trunc"; })
      .Case([](arith::MaxNumFOp) { return "llvm.maxnum"; })
      .Case([](arith::MinNumFOp) { return "llvm.minnum"; })
      .Default([](Operation *) { return StringRef(); });
}

static bool isOne(Value value) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    value = broadcast.getSource();
  return matchPattern(value, m_OneFloat());
}

/// The NVVM intrinsic of the approximation that `op` asks for by the one flag
/// `afn`: 2^x, and 1 / x as a division of ones; empty where it asks for none.
static StringRef getApproximation(Operation *op) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!flags || !flags.getFastMathFlagsAttr() ||
      flags.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::afn)
    return {};
  Type type = op->getResult(0).getType();
  if (!isa<FloatType, VectorType>(type) || !getElementTypeOrSelf(type).isF32())
    return {};
  if (isa<math::Exp2Op>(op))
    return "llvm.nvvm.ex2.approx.ftz";
  if (isa<arith::DivFOp>(op) && isOne(op->getOperand(0)))
    return "llvm.nvvm.rcp.approx.ftz.f";
  return {};
}

namespace {
/// Rewrites the ops below one op, one after the other.
class Legalizer {
public:
  Legalizer(MLIRContext *context, StringRef target)
      : rewriter(context), target(target), onHost(target == "host") {}

  LogicalResult run(Operation *root) {
    SmallVector<Operation *> worklist;
    root->walk([&](Operation *op) {
      if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
          isa<vector::FMAOp>(op))
        worklist.push_back(op);
    });
    for (Operation *op : worklist) {
      rewriter.setInsertionPoint(op);
      if (failed(legalize(op)))
        return failure();
    }
    return success();
  }

private:
  LogicalResult legalize(Operation *op) {
    for (Type type : op->getOperandTypes())
      if (!takes(op, type))
        return rejectType(op, type);
    for (Type type : op->getResultTypes())
      if (!takes(op, type))
        return rejectType(op, type);
    if (StringRef name = getApproximation(op); !name.empty()) {
      if (!onHost)
        return callByElement(op, name);
      if (isa<math::Exp2Op>(op)) {
        rewriter.replaceOp(op,
                           emitExp2(rewriter, op->getLoc(), op->getOperand(0)));
        return success();
      }
    }
    dropFastMath(op);
    if (auto fma = dyn_cast<vector::FMAOp>(op))
      op = rewriter.replaceOpWithNewOp<math::FmaOp>(fma, fma.getLhs(),
                                                    fma.getRhs(), fma.getAcc());
    if (isa<math::IsNaNOp, math::IsInfOp, math::IsFiniteOp>(op))
      return classifyByComparison(op), success();
    if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
      return roundOnce(op), success();
    if (isa<arith::RemFOp>(op))
      return reject(op);
    if (isa<math::MathDialect>(op->getDialect())) {
      if (getIntrinsic(op).empty() && !isa<math::AbsIOp>(op))
        return reject(op);
      if (isSmallFloat(op->getResult(0).getType()))
        op = computeInFloat(op);
    }
    if (onHost)
      return success();
    if (auto extension = dyn_cast<arith::ExtFOp>(op))
      extendByPairs(rewriter, extension);
    else
      callIntrinsic(op);
    return success();
  }

  LogicalResult reject(Operation *op) {
    return op->emitError() << "target " << target << " has no exactly rounded '"
                           << op->getName() << "' on "
                           << op->getOperand(0).getType();
  }

  LogicalResult rejectType(Operation *op, Type type) {
    return op->emitError() << "target " << target << " has no '"
                           << op->getName() << "' on " << type;
  }

  void dropFastMath(Operation *op) {
    auto fastMath = dyn_cast<arith::ArithFastMathInterface>(op);
    if (fastMath && fastMath.getFastMathFlagsAttr() &&
        fastMath.getFastMathFlagsAttr().getValue() !=
            arith::FastMathFlags::none)
      op->setAttr(fastMath.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(op->getContext(),
                                                arith::FastMathFlags::none));
  }

  /// Rewrites a math op on a smaller float than f32 into one on f32 between
  /// conversions.
  Operation *computeInFloat(Operation *op) {
    Location loc = op->getLoc();
    Type small = op->getResult(0).getType();
    Type wide = withElement(small, rewriter.getF32Type());
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (isSmallFloat(operand.getType()))
        mapping.map(operand,
                    arith::ExtFOp::create(rewriter, loc, wide, operand));
    Operation *computed = rewriter.clone(*op, mapping);
    computed->getResult(0).setType(wide);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, small,
                                                 computed->getResult(0));
    rewriter.setInsertionPoint(computed);
    return computed;
  }

  /// x != x; |x| == inf; |x| < inf.
  void classifyByComparison(Operation *op) {
    Location loc = op->getLoc();
    Value x = op->getOperand(0);
    if (getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth() == 8)
      x = arith::ExtFOp::create(
          rewriter, loc, withElement(x.getType(), rewriter.getF32Type()), x);
    if (isa<math::IsNaNOp>(op)) {
      rewriter.replaceOpWithNewOp<arith::CmpFOp>(op, arith::CmpFPredicate::UNO,
                                                 x, x);
      return;
    }
    auto element = cast<FloatType>(getElementTypeOrSelf(x.getType()));
    auto makeInfinity = [&](bool negative) -> Value {
      TypedAttr value = rewriter.getFloatAttr(
          element, APFloat::getInf(element.getFloatSemantics(), negative));
      if (auto shaped = dyn_cast<ShapedType>(x.getType()))
        value = DenseElementsAttr::get(shaped, Attribute(value));
      return arith::ConstantOp::create(rewriter, loc, value);
    };
    bool infinite = isa<math::IsInfOp>(op);
    // Two comparisons instead of an absolute value, which bf16 has no cheap
    // form of everywhere.
    auto predicate =
        infinite ? arith::CmpFPredicate::OEQ : arith::CmpFPredicate::ONE;
    Value above =
        arith::CmpFOp::create(rewriter, loc, predicate, x, makeInfinity(false));
    Value below =
        arith::CmpFOp::create(rewriter, loc, predicate, x, makeInfinity(true));
    if (infinite)
      rewriter.replaceOpWithNewOp<arith::OrIOp>(op, above, below);
    else
      rewriter.replaceOpWithNewOp<arith::AndIOp>(op, above, below);
  }

  /// Integers reach smaller floats than f32 through a type that holds them
  /// exactly, or at least with all that decides on the rounding.
  void roundOnce(Operation *op) {
    Type result = op->getResult(0).getType();
    if (!isSmallFloat(result))
      return;
    Value x = op->getOperand(0);
    unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
    Type exact = withElement(result, width > 24 ? Type(rewriter.getF64Type())
                                                : rewriter.getF32Type());
    Operation *converted = rewriter.clone(*op);
    converted->getResult(0).setType(exact);
    Value value = converted->getResult(0);
    if (width > 53)
      value = roundWideToOdd(op, value);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, result, value);
  }

  /// A 64-bit integer as an f64, `value` where that is exact, else rounded to
  /// odd: its upper bits, the last of which says whether lower ones were set.
  Value roundWideToOdd(Operation *op, Value value) {
    constexpr int64_t kDropped = 11, kMantissa = 53;
    Type i64 = rewriter.getI64Type();
    Value x = op->getOperand(0);
    ShapedEmitter emit(rewriter, op->getLoc(), x.getType());
    bool isSigned = isa<arith::SIToFPOp>(op);
    Value count = emit.constant(i64, kDropped);
    Value upper = isSigned ? emit.make<arith::ShRSIOp>(x, count)
                           : emit.make<arith::ShRUIOp>(x, count);
    Value zero = emit.constant(i64, 0), one = emit.constant(i64, 1);
    Value lower = emit.make<arith::AndIOp>(
        x, emit.constant(i64, (int64_t(1) << kDropped) - 1));
    Value isInexact =
        emit.make<arith::CmpIOp>(arith::CmpIPredicate::ne, lower, zero);
    upper = emit.make<arith::OrIOp>(
        upper, emit.make<arith::SelectOp>(isInexact, one, zero));
    Operation *rounded = rewriter.clone(*op);
    rounded->setOperand(0, upper);
    rounded->getResult(0).setType(value.getType());
    Value scaled = emit.make<arith::MulFOp>(
        rounded->getResult(0),
        emit.real(rewriter.getF64Type(), double(int64_t(1) << kDropped)));
    // Small ones are exact as they are.
    Value offset = isSigned
                       ? emit.make<arith::AddIOp>(
                             x, emit.constant(i64, int64_t(1) << kMantissa))
                       : x;
    Value span = emit.constant(
        i64, int64_t(1) << (isSigned ? kMantissa + 1 : kMantissa));
    Value isSmall =
        emit.make<arith::CmpIOp>(arith::CmpIPredicate::ult, offset, span);
    return emit.make<arith::SelectOp>(isSmall, value, scaled);
  }

  void callIntrinsic(Operation *op) {
    SmallVector<Value> operands(op->getOperands());
    StringRef name = getIntrinsic(op);
    if (auto abs = dyn_cast<math::AbsIOp>(op)) {
      // The smallest integer stays as it is.
      name = "llvm.abs";
      operands.push_back(arith::ConstantOp::create(
          rewriter, op->getLoc(), rewriter.getBoolAttr(false)));
    }
    if (name.empty())
      return;
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, op->getResult(0).getType(), rewriter.getStringAttr(name), operands);
  }

  /// Calls an intrinsic that there is for scalars only, on the last operand.
  LogicalResult callByElement(Operation *op, StringRef name) {
    Location loc = op->getLoc();
    Value x = op->getOperand(op->getNumOperands() - 1);
    auto call = [&](Value element) -> Value {
      return LLVM::CallIntrinsicOp::create(rewriter, loc, element.getType(),
                                           rewriter.getStringAttr(name),
                                           element)
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(x.getType());
    if (!vector) {
      rewriter.replaceOp(op, call(x));
      return success();
    }
    constexpr int64_t kMaxElements = 1024;
    if (vector.getRank() != 1 || vector.isScalable() ||
        vector.getNumElements() > kMaxElements)
      return op->emitError()
             << "expects a scalar or a vector of one static dim of at most "
             << kMaxElements << " elements to approximate but got " << vector;
    SmallVector<Value> elements;
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      elements.push_back(call(vector::ExtractOp::create(rewriter, loc, x, i)));
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, elements);
    return success();
  }

  IRRewriter rewriter;
  StringRef target;
  bool onHost;
};

struct NormLegalizeMathPass
    : public mlir::norm::impl::NormLegalizeMathPassBase<NormLegalizeMathPass> {
  using Base::Base;

  void runOnOperation() override {
    Operation *root = getOperation();
    if (llvm::Error error = ::norm::checkTargetName(target)) {
      root->emitError(llvm::toString(std::move(error)));
      return signalPassFailure();
    }
    if (target != "host")
      convertToSaturatedBytes(root);
    if (failed(emulateEightBitArithmetic(root)) ||
        failed(Legalizer(&getContext(), target).run(root)) ||
        failed(expandEightBitFloats(root, target)))
      return signalPassFailure();
    if (target == "host" && failed(expandSmallFloats(root)))
      signalPassFailure();
  }
};
} // namespace
