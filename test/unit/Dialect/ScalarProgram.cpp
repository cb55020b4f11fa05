//===- ScalarProgram.cpp - Running emitted arithmetic ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace norm::test;

namespace {
enum Code {
  Unknown,
  Add,
  Sub,
  Mul,
  Div,
  Maximum,
  Minimum,
  Fma,
  Abs,
  CopySign,
  Bitcast,
  ShiftLeft,
  ShiftRight,
  ShiftRightSigned,
  SubInt,
  And,
  ToFloat,
  Compare,
  Select,
};
} // namespace

static Code getCode(StringRef name) {
  return llvm::StringSwitch<Code>(name)
      .Case("arith.addf", Add)
      .Case("arith.subf", Sub)
      .Case("arith.mulf", Mul)
      .Case("arith.divf", Div)
      .Case("arith.maximumf", Maximum)
      .Case("arith.minimumf", Minimum)
      .Case("math.fma", Fma)
      .Case("math.absf", Abs)
      .Case("math.copysign", CopySign)
      .Case("arith.bitcast", Bitcast)
      .Case("arith.shli", ShiftLeft)
      .Case("arith.shrui", ShiftRight)
      .Case("arith.shrsi", ShiftRightSigned)
      .Case("arith.subi", SubInt)
      .Case("arith.andi", And)
      .Case("arith.sitofp", ToFloat)
      .Case("arith.cmpf", Compare)
      .Case("arith.select", Select)
      .Default(Unknown);
}

template <typename T>
struct Bits;
template <>
struct Bits<float> {
  using UInt = uint32_t;
  using Int = int32_t;
};
template <>
struct Bits<double> {
  using UInt = uint64_t;
  using Int = int64_t;
};

template <typename T>
static T toFloat(uint64_t bits) {
  auto narrow = static_cast<typename Bits<T>::UInt>(bits);
  T value;
  std::memcpy(&value, &narrow, sizeof(T));
  return value;
}

template <typename T>
static uint64_t toBits(T value) {
  typename Bits<T>::UInt bits;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <typename T>
ScalarProgram<T>::ScalarProgram(Block &block, Value result) {
  llvm::DenseMap<Value, unsigned> slots;
  auto newSlot = [&](Value value, uint64_t bits) {
    slots[value] = values.size();
    values.push_back(bits);
  };
  newSlot(block.getArgument(0), 0);
  for (Operation &op : block) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      APInt bits;
      if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
        bits = number.getValue().bitcastToAPInt();
      else
        bits = cast<IntegerAttr>(constant.getValue()).getValue();
      newSlot(constant, bits.getZExtValue());
      continue;
    }
    Step step{getCode(op.getName().getStringRef()), 0, {0, 0, 0}};
    if (step.code == Unknown)
      unknownOp = op.getName().getStringRef().str();
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      step.operands[i] = slots.lookup(operand);
    if (auto compare = dyn_cast<arith::CmpFOp>(op))
      step.predicate = static_cast<int>(compare.getPredicate());
    numOps += step.code != Bitcast;
    targets.push_back(values.size());
    steps.push_back(step);
    newSlot(op.getResult(0), 0);
  }
  resultSlot = slots.lookup(result);
}

template <typename T>
static bool compare(int predicate, T a, T b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (static_cast<arith::CmpFPredicate>(predicate)) {
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::ULT:
    return unordered || a < b;
  default:
    return false;
  }
}

template <typename T>
T ScalarProgram<T>::operator()(T x) {
  using UInt = typename Bits<T>::UInt;
  using Int = typename Bits<T>::Int;
  values[0] = toBits(x);
  for (size_t i = 0, e = steps.size(); i != e; ++i) {
    const Step &step = steps[i];
    uint64_t p = values[step.operands[0]], q = values[step.operands[1]],
             r = values[step.operands[2]];
    T a = toFloat<T>(p), b = toFloat<T>(q), c = toFloat<T>(r);
    uint64_t &out = values[targets[i]];
    switch (step.code) {
    case Add:
      out = toBits<T>(a + b);
      break;
    case Sub:
      out = toBits<T>(a - b);
      break;
    case Mul:
      out = toBits<T>(a * b);
      break;
    case Div:
      out = toBits<T>(a / b);
      break;
    case Maximum:
      out = std::isnan(a) || std::isnan(b) ? toBits<T>(a + b)
                                           : toBits<T>(std::fmax(a, b));
      break;
    case Minimum:
      out = std::isnan(a) || std::isnan(b) ? toBits<T>(a + b)
                                           : toBits<T>(std::fmin(a, b));
      break;
    case Fma:
      out = toBits<T>(std::fma(a, b, c));
      break;
    case Abs:
      out = toBits<T>(std::fabs(a));
      break;
    case CopySign:
      out = toBits<T>(std::copysign(a, b));
      break;
    case Bitcast:
      out = p;
      break;
    case ShiftLeft:
      out = static_cast<UInt>(p << q);
      break;
    case ShiftRight:
      out = static_cast<UInt>(p) >> q;
      break;
    case ShiftRightSigned:
      out = static_cast<UInt>(static_cast<Int>(p) >> q);
      break;
    case SubInt:
      out = static_cast<UInt>(p - q);
      break;
    case And:
      out = p & q;
      break;
    case ToFloat:
      out = toBits<T>(static_cast<T>(static_cast<Int>(p)));
      break;
    case Compare:
      out = compare<T>(step.predicate, a, b);
      break;
    case Select:
      out = p & 1 ? q : r;
      break;
    default:
      break;
    }
  }
  return toFloat<T>(values[resultSlot]);
}

template class norm::test::ScalarProgram<float>;
template class norm::test::ScalarProgram<double>;
