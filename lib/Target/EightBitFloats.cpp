//===- EightBitFloats.cpp - Floats of at most 8 bits as bytes -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EightBitFloats.h"
#include "Clamps.h"
#include "MicroFloats.h"
#include "ShapedEmitter.h"
#include "SmallFloats.h"
#include "norm/Support/DType.h"
#include "norm/Support/Targets.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

namespace {
/// What the conversions need to know of a format.
struct Format {
  int mantissaBits; ///< stored ones
  int bias;
  /// The least magnitude that rounds beyond the largest number, or the largest
  /// that doesn't: half a unit of the last place beyond that number, which is a
  /// tie to an even neighbour in the one format and to an odd one in the other.
  double limit;
  /// Whether the limit itself overflows.
  bool limitOverflows;
  int64_t overflow;   ///< the code beyond the limit
  StringLiteral name; ///< in intrinsics
  double largest;     ///< finite number
};
} // namespace

static constexpr int64_t kNaNCode = 0x7f;

/// A GPU converts pairs, each by ops of its own, of which no vector may need
/// very many.
static constexpr int64_t kMaxGPUElements = 1024;

static constexpr Format kE4M3FN{3, 7, 464.0, false, kNaNCode, "e4m3x2",
                                448.0};
static constexpr Format kE5M2{2, 15, 61440.0, true, 0x7c, "e5m2x2",
                              57344.0};

static bool isEightBit(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    type = vector.getElementType();
  return isa<Float8E4M3FNType, Float8E5M2Type>(type) || isMicroFloat(type);
}

static const Format &formatOf(Type type) {
  return isa<Float8E4M3FNType>(getElementTypeOrSelf(type)) ? kE4M3FN : kE5M2;
}

//===----------------------------------------------------------------------===//
// In integer arithmetic
//===----------------------------------------------------------------------===//

/// Bytes to f32. The bits of an f8E5M2 are the upper half of those of the f16
/// of its value; those of an f8E4M3FN, with one exponent bit less, make an f16
/// of its value times 2^-8, subnormal or not.
static Value extendBytes(ShapedEmitter &emit, OpBuilder &b,
                         const Format &format, Value bytes) {
  Type i16 = b.getI16Type(), f16 = b.getF16Type();
  FloatType f32 = b.getF32Type();
  Value wide = emit.convert<arith::ExtUIOp>(i16, bytes);
  if (&format == &kE5M2) {
    Value bits = emit.make<arith::ShLIOp>(wide, emit.constant(i16, 8));
    return emit.convert<arith::ExtFOp>(f32, emit.bitcast(f16, bits));
  }
  Value magnitude = emit.make<arith::AndIOp>(wide, emit.constant(i16, 0x7f));
  Value sign = emit.make<arith::AndIOp>(wide, emit.constant(i16, 0x80));
  Value bits = emit.make<arith::OrIOp>(
      emit.make<arith::ShLIOp>(sign, emit.constant(i16, 8)),
      emit.make<arith::ShLIOp>(magnitude, emit.constant(i16, 7)));
  Value scaled = emit.convert<arith::ExtFOp>(f32, emit.bitcast(f16, bits));
  Value value = emit.make<arith::MulFOp>(scaled, emit.real(f32, 256.0));
  Value isNaN = emit.make<arith::CmpIOp>(arith::CmpIPredicate::eq, magnitude,
                                         emit.constant(i16, kNaNCode));
  Value nan = emit.bitcast(f32, emit.constant(b.getI32Type(), 0x7fc00000));
  return emit.make<arith::SelectOp>(isNaN, nan, value);
}

/// f32 to bytes.
static Value roundToBytes(ShapedEmitter &emit, OpBuilder &b,
                          const Format &format, Value x) {
  Type i32 = b.getI32Type();
  FloatType f32 = b.getF32Type();
  auto constant = [&](int64_t bits) { return emit.constant(i32, bits); };
  auto bitsOf = [](double value) {
    return static_cast<int64_t>(llvm::bit_cast<uint32_t>(float(value)));
  };
  int shift = 23 - format.mantissaBits;
  Value bits = emit.bitcast(i32, x);
  Value magnitude = emit.make<arith::AndIOp>(bits, constant(0x7fffffff));

  // Normal results: half of the last place, less one for an even last place, is
  // added before the rest is cut off; a carry rightly steps into the exponent.
  Value last = emit.make<arith::AndIOp>(
      emit.make<arith::ShRUIOp>(magnitude, constant(shift)), constant(1));
  Value half = constant((int64_t(1) << (shift - 1)) - 1);
  Value sum =
      emit.make<arith::AddIOp>(magnitude, emit.make<arith::AddIOp>(last, half));
  Value normal = emit.make<arith::SubIOp>(
      emit.make<arith::ShRUIOp>(sum, constant(shift)),
      constant(int64_t(127 - format.bias) << format.mantissaBits));

  // Subnormal ones are multiples of one unit, the last place of f32 at `magic`.
  int exponent = 1 - format.bias;
  double magic = std::ldexp(1.0, exponent + shift);
  Value aligned = emit.make<arith::AddFOp>(emit.bitcast(f32, magnitude),
                                           emit.real(f32, magic));
  Value subnormal = emit.make<arith::SubIOp>(emit.bitcast(i32, aligned),
                                             constant(bitsOf(magic)));
  Value isSubnormal =
      emit.make<arith::CmpIOp>(arith::CmpIPredicate::ult, magnitude,
                               constant(bitsOf(std::ldexp(1.0, exponent))));
  Value code = emit.make<arith::SelectOp>(isSubnormal, subnormal, normal);

  // Bits of floats without a sign are ordered as the floats, NaNs on top.
  Value isBeyond = emit.make<arith::CmpIOp>(
      format.limitOverflows ? arith::CmpIPredicate::uge
                            : arith::CmpIPredicate::ugt,
      magnitude, constant(bitsOf(format.limit)));
  code = emit.make<arith::SelectOp>(isBeyond, constant(format.overflow), code);
  Value sign = emit.make<arith::AndIOp>(
      emit.make<arith::ShRUIOp>(bits, constant(24)), constant(0x80));
  code = emit.make<arith::OrIOp>(code, sign);
  Value isNaN = isBeyond;
  if (format.overflow != kNaNCode)
    isNaN = emit.make<arith::CmpIOp>(arith::CmpIPredicate::ugt, magnitude,
                                     constant(0x7f800000));
  code = emit.make<arith::SelectOp>(isNaN, constant(kNaNCode), code);
  return emit.convert<arith::TruncIOp>(b.getI8Type(), code);
}

//===----------------------------------------------------------------------===//
// With the instructions of a GPU
//===----------------------------------------------------------------------===//

static Value callIntrinsic(OpBuilder &b, Location loc, const Twine &name,
                           Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, loc, result, b.getStringAttr(name),
                                       operands)
      .getResults();
}

/// The elements of a vector of one dim, or a scalar, with a zero after an odd
/// number of them.
static SmallVector<Value> unpackPairs(OpBuilder &b, Location loc, Value value) {
  SmallVector<Value> elements;
  Type element = getElementTypeOrSelf(value.getType());
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      elements.push_back(vector::ExtractOp::create(b, loc, value, i));
  else
    elements.push_back(value);
  if (elements.size() % 2 != 0)
    elements.push_back(
        arith::ConstantOp::create(b, loc, b.getZeroAttr(element)));
  return elements;
}

/// The first of `elements` as a value of type `type`.
static Value packElements(OpBuilder &b, Location loc, Type type,
                          ArrayRef<Value> elements) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return elements.front();
  return vector::FromElementsOp::create(
      b, loc, type, elements.take_front(vector.getNumElements()));
}

/// `bytes` by pairs, the first of a pair in the low half.
static SmallVector<Value> pairsOf(OpBuilder &b, Location loc, Value bytes) {
  Type i16 = b.getI16Type();
  auto type = dyn_cast<VectorType>(bytes.getType());
  if (!type || type.getNumElements() % 2 != 0) {
    SmallVector<Value> elements = unpackPairs(b, loc, bytes);
    auto padded = VectorType::get({int64_t(elements.size())}, b.getI8Type());
    bytes = packElements(b, loc, padded, elements);
    type = padded;
  }
  auto pairs = VectorType::get({type.getNumElements() / 2}, i16);
  Value packed = vector::BitCastOp::create(b, loc, pairs, bytes);
  SmallVector<Value> result;
  for (int64_t i = 0; i < pairs.getNumElements(); ++i)
    result.push_back(vector::ExtractOp::create(b, loc, packed, i));
  return result;
}

/// Bytes to f32, by way of f16, which holds all of both formats.
static Value extendOnGPU(OpBuilder &b, Location loc, const Format &format,
                         Value bytes) {
  auto pair = VectorType::get({2}, b.getF16Type());
  SmallVector<Value> halves;
  for (Value packed : pairsOf(b, loc, bytes)) {
    Value two = callIntrinsic(
        b, loc, "llvm.nvvm." + format.name + ".to.f16x2.rn", pair, packed);
    for (int64_t i : {0, 1})
      halves.push_back(vector::ExtractOp::create(b, loc, two, i));
  }
  ShapedEmitter emit(b, loc, bytes.getType());
  Value joined = packElements(b, loc, emit.typed(b.getF16Type()), halves);
  return emit.convert<arith::ExtFOp>(b.getF32Type(), joined);
}

/// Whether no number beyond `limit` (below `-limit` if `below`) can be in `x`,
/// as its clamping says.
static bool isBounded(Value x, double limit, bool below, int depth = 0) {
  DenseFPElementsAttr dense;
  FloatAttr number;
  auto within = [&](const APFloat &value) {
    double v = value.convertToDouble();
    return below ? v >= -limit : v <= limit;
  };
  if (matchPattern(x, m_Constant(&dense)))
    return llvm::all_of(dense.getValues<APFloat>(), within);
  if (matchPattern(x, m_Constant(&number)))
    return within(number.getValue());
  Operation *op = x.getDefiningOp();
  if (!op || depth == 4)
    return false;
  StringRef intrinsic;
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op))
    intrinsic = call.getIntrin();
  bool isMin = isa<arith::MinimumFOp, arith::MinNumFOp>(op) ||
               intrinsic == "llvm.minnum";
  bool isMax = isa<arith::MaximumFOp, arith::MaxNumFOp>(op) ||
               intrinsic == "llvm.maxnum";
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
    return isBounded(broadcast.getSource(), limit, below, depth + 1);
  if (!isMin && !isMax)
    return false;
  bool first = isBounded(op->getOperand(0), limit, below, depth + 1);
  bool second = isBounded(op->getOperand(1), limit, below, depth + 1);
  if (isMin == below)
    return first && second;
  // The op picks the side that is bounded, but for a NaN there, in place of
  // which some ops give the other side. A constant within bounds is none.
  auto isConstant = [&](unsigned i) {
    return matchPattern(op->getOperand(i), m_Constant());
  };
  bool keepsNaN = isa<arith::MinimumFOp, arith::MaximumFOp>(op);
  return (first && (keepsNaN || isConstant(0))) ||
         (second && (keepsNaN || isConstant(1)));
}

/// f32 to bytes. The instruction saturates, also infinities, and makes 0x7f of
/// a NaN.
static Value roundOnGPU(OpBuilder &b, Location loc, const Format &format,
                        Value x) {
  Type i16 = b.getI16Type();
  FloatType f32 = b.getF32Type();
  ShapedEmitter emit(b, loc, x.getType());
  bool bounded = false;
  if (Value clamped = findClamped(x, -format.largest, format.largest)) {
    x = clamped;
    bounded = true;
  } else if (!format.limitOverflows) {
    bounded = isBounded(x, format.limit, false) &&
              isBounded(x, format.limit, true);
  }
  Value beyond;
  if (!bounded) {
    Value magnitude = callIntrinsic(b, loc, "llvm.fabs", x.getType(), x);
    Value limit = emit.real(f32, format.limit);
    if (format.limitOverflows) {
      beyond =
          emit.make<arith::CmpFOp>(arith::CmpFPredicate::OGE, magnitude, limit);
    } else {
      // A NaN in place of what isn't saturated.
      Value within =
          emit.make<arith::CmpFOp>(arith::CmpFPredicate::OLE, magnitude, limit);
      Value nan = emit.bitcast(f32, emit.constant(b.getI32Type(), 0x7fffffff));
      x = emit.make<arith::SelectOp>(within, x, nan);
    }
  }
  SmallVector<Value> elements = unpackPairs(b, loc, x), flags;
  if (beyond)
    flags = unpackPairs(b, loc, beyond);
  SmallVector<Value> pairs;
  for (size_t i = 0; i < elements.size(); i += 2) {
    Value pair = callIntrinsic(b, loc, "llvm.nvvm.ff.to." + format.name + ".rn",
                               i16, {elements[i + 1], elements[i]});
    // The infinity comes after the number that the instruction saturates to.
    for (size_t half = 0; beyond && half < 2; ++half) {
      auto one = b.getIntegerAttr(i16, half ? 0x100 : 1);
      Value step = arith::SelectOp::create(
          b, loc, flags[i + half], arith::ConstantOp::create(b, loc, one),
          arith::ConstantOp::create(b, loc, b.getZeroAttr(i16)));
      pair = arith::AddIOp::create(b, loc, pair, step);
    }
    pairs.push_back(pair);
  }
  int64_t count = pairs.size();
  Value packed = packElements(b, loc, VectorType::get({count}, i16), pairs);
  auto padded = VectorType::get({2 * count}, b.getI8Type());
  Value bytes = vector::BitCastOp::create(b, loc, padded, packed);
  if (emit.typed(b.getI8Type()) == padded)
    return bytes;
  return packElements(b, loc, emit.typed(b.getI8Type()),
                      unpackPairs(b, loc, bytes));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

namespace {
class Expander {
public:
  Expander(MLIRContext *context, StringRef target)
      : rewriter(context), target(target), gpu(::norm::findGPUTarget(target)) {}

  LogicalResult run(Operation *root);

private:
  LogicalResult checkTarget(Operation *op, Type type, StringRef role);
  LogicalResult expand(arith::ExtFOp op);
  LogicalResult expand(arith::TruncFOp op);
  LogicalResult checkMove(Operation *op);
  void holdAsBytes(Operation *op);
  void dropBitcast(arith::BitcastOp op);

  IRRewriter rewriter;
  StringRef target;
  const ::norm::GPUTarget *gpu;
};
} // namespace

static bool isFourBit(Type type) {
  return isa<Float4E2M1FNType>(getElementTypeOrSelf(type));
}

/// Values of `x` as the bytes that they are held in.
static Value asBytes(ShapedEmitter &emit, OpBuilder &b, Value x) {
  Type i8 = b.getI8Type();
  if (!isFourBit(x.getType()))
    return emit.bitcast(i8, x);
  return emit.convert<arith::ExtUIOp>(i8, emit.bitcast(b.getIntegerType(4), x));
}

static Value fromBytes(ShapedEmitter &emit, OpBuilder &b, Type type,
                       Value bytes) {
  if (isFourBit(type))
    bytes = emit.convert<arith::TruncIOp>(b.getIntegerType(4), bytes);
  return emit.bitcast(getElementTypeOrSelf(type), bytes);
}

LogicalResult Expander::checkTarget(Operation *op, Type type, StringRef role) {
  auto vector = dyn_cast<VectorType>(type);
  if (vector && (vector.getRank() != 1 || vector.isScalable()))
    return op->emitError() << "expects a scalar or a vector of one static dim "
                              "to convert but got "
                           << type;
  if (isMicroFloat(type))
    return success();
  if (gpu && vector && vector.getNumElements() > kMaxGPUElements)
    return op->emitError() << "expects at most " << kMaxGPUElements
                           << " elements to convert by pairs but got " << type;
  bool isE4M3 = isa<Float8E4M3FNType>(getElementTypeOrSelf(type));
  if (llvm::Error error = ::norm::checkDType(isE4M3 ? ::norm::DType::F8E4M3FN
                                                    : ::norm::DType::F8E5M2,
                                             role, target))
    return op->emitError(llvm::toString(std::move(error)));
  return success();
}

LogicalResult Expander::expand(arith::ExtFOp op) {
  Value x = op.getIn();
  if (failed(checkTarget(op, x.getType(), "operand")))
    return failure();
  rewriter.setInsertionPoint(op);
  ShapedEmitter emit(rewriter, op.getLoc(), op.getType());
  Value bytes = asBytes(emit, rewriter, x);
  Value result;
  if (isMicroFloat(x.getType()))
    result = extendMicroFloat(emit, rewriter, x.getType(), bytes);
  else if (gpu)
    result = extendOnGPU(rewriter, op.getLoc(), formatOf(x.getType()), bytes);
  else
    result = extendBytes(emit, rewriter, formatOf(x.getType()), bytes);
  Type to = getElementTypeOrSelf(op.getType());
  // Exact all the way.
  if (to.isF64()) {
    result = emit.convert<arith::ExtFOp>(to, result);
  } else if (!to.isF32()) {
    auto rounded =
        arith::TruncFOp::create(rewriter, op.getLoc(), op.getType(), result);
    rewriter.replaceOp(op, rounded);
    return isEightBit(to) ? expand(rounded) : success();
  }
  rewriter.replaceOp(op, result);
  return success();
}

LogicalResult Expander::expand(arith::TruncFOp op) {
  if (failed(checkTarget(op, op.getType(), "result")))
    return failure();
  bool isPower = isa<Float8E8M0FNUType>(getElementTypeOrSelf(op.getType()));
  if (auto mode = op.getRoundingmode();
      mode && (isPower || *mode != arith::RoundingMode::to_nearest_even))
    return op.emitError() << "expects "
                          << (isPower ? "no rounding mode, as f8E8M0FNU rounds "
                                        "towards zero,"
                                      : "rounding to nearest even")
                          << " but got " << arith::stringifyRoundingMode(*mode);
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  ShapedEmitter emit(rewriter, loc, op.getType());
  Value x = op.getIn();
  Type from = getElementTypeOrSelf(x.getType());
  if (from.isF64()) {
    x = roundToOdd(emit, rewriter, x);
  } else if (!from.isF32()) {
    auto extended = arith::ExtFOp::create(rewriter, loc,
                                          emit.typed(rewriter.getF32Type()), x);
    x = extended;
    if (isEightBit(from)) {
      // Its replacement is the operand of what is made here.
      auto held = emit.make<arith::BitcastOp>(x.getType(), x)
                      .getDefiningOp<arith::BitcastOp>();
      if (failed(expand(extended)))
        return failure();
      x = held.getIn();
      rewriter.eraseOp(held);
      rewriter.setInsertionPoint(op);
    }
  }
  Value bytes;
  if (isMicroFloat(op.getType()))
    bytes = roundToMicroFloat(emit, rewriter, op.getType(), x);
  else if (gpu)
    bytes = roundOnGPU(rewriter, loc, formatOf(op.getType()), x);
  else
    bytes = roundToBytes(emit, rewriter, formatOf(op.getType()), x);
  rewriter.replaceOp(op, fromBytes(emit, rewriter, op.getType(), bytes));
  return success();
}

static bool touchesEightBit(Operation *op) {
  auto touches = [](TypeRange types) {
    return llvm::any_of(types, isEightBit);
  };
  return touches(op->getOperandTypes()) || touches(op->getResultTypes());
}

/// Whether an op does no more than to move its operands about.
static bool onlyMoves(Operation *op) {
  // Bytes of which half are used are no vector's bits.
  if (isa<vector::BitCastOp>(op))
    return !isFourBit(op->getOperand(0).getType()) &&
           !isFourBit(op->getResult(0).getType());
  if (isa<arith::SelectOp, arith::ConstantOp, arith::BitcastOp,
          vector::BroadcastOp, vector::ExtractOp, vector::FromElementsOp,
          vector::InsertOp, vector::ShuffleOp, vector::ToElementsOp>(op))
    return true;
  StringRef dialect = op->getName().getDialectNamespace();
  return dialect == "scf" || dialect == "cf" || dialect == "ub";
}

LogicalResult Expander::checkMove(Operation *op) {
  if (touchesEightBit(op) && !onlyMoves(op))
    return op->emitError() << "target " << target << " has no '"
                           << op->getName() << "' on 8-bit floats";
  if (isa<FunctionOpInterface>(op) && !op->getRegion(0).empty())
    for (BlockArgument argument : op->getRegion(0).front().getArguments())
      if (isEightBit(argument.getType()) && !argument.use_empty())
        return op->emitError()
               << "expects 8-bit floats as i8 but argument "
               << argument.getArgNumber() << " is " << argument.getType();
  return success();
}

static Attribute constantAsBytes(Attribute value) {
  Type i8 = IntegerType::get(value.getContext(), 8);
  auto codeOf = [](const APFloat &number) {
    return number.bitcastToAPInt().zextOrTrunc(8);
  };
  if (auto dense = dyn_cast<DenseFPElementsAttr>(value))
    return dense.mapValues(i8, codeOf);
  return IntegerAttr::get(i8, codeOf(cast<FloatAttr>(value).getValue()));
}

void Expander::holdAsBytes(Operation *op) {
  Type i8 = rewriter.getI8Type();
  auto hold = [&](Value value) {
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      value.setType(vector.clone(i8));
    else
      value.setType(i8);
  };
  if (auto constant = dyn_cast<arith::ConstantOp>(op);
      constant && isEightBit(constant.getType()))
    constant.setValueAttr(
        cast<TypedAttr>(constantAsBytes(constant.getValue())));
  for (Value result : op->getResults())
    if (isEightBit(result.getType()))
      hold(result);
  if (isa<FunctionOpInterface>(op))
    return;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Value argument : block.getArguments())
        if (isEightBit(argument.getType()))
          hold(argument);
}

/// A bitcast of values that have become bytes.
void Expander::dropBitcast(arith::BitcastOp op) {
  Value x = op.getIn();
  unsigned from = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  unsigned to = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
  rewriter.setInsertionPoint(op);
  if (x.getType() == op.getType())
    rewriter.replaceOp(op, x);
  else if (from > to)
    rewriter.replaceOpWithNewOp<arith::TruncIOp>(op, op.getType(), x);
  else if (from < to)
    rewriter.replaceOpWithNewOp<arith::ExtUIOp>(op, op.getType(), x);
}

LogicalResult Expander::run(Operation *root) {
  SmallVector<Operation *> conversions;
  bool found = false;
  root->walk([&](Operation *op) {
    if (!touchesEightBit(op))
      return;
    found = true;
    if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      conversions.push_back(op);
  });
  if (!found)
    return success();
  for (Operation *op : conversions) {
    auto extension = dyn_cast<arith::ExtFOp>(op);
    if (failed(extension ? expand(extension)
                         : expand(cast<arith::TruncFOp>(op))))
      return failure();
  }
  WalkResult checked =
      root->walk([&](Operation *op) { return WalkResult(checkMove(op)); });
  if (checked.wasInterrupted())
    return failure();
  root->walk([&](Operation *op) { holdAsBytes(op); });
  root->walk([&](arith::BitcastOp op) { dropBitcast(op); });
  return success();
}

LogicalResult mlir::norm::emulateEightBitArithmetic(Operation *root) {
  MLIRContext *context = root->getContext();
  return emulateArithmetic(
      root, {Float8E4M3FNType::get(context), Float8E5M2Type::get(context)});
}

LogicalResult mlir::norm::expandEightBitFloats(Operation *root,
                                               StringRef target) {
  return Expander(root->getContext(), target).run(root);
}
