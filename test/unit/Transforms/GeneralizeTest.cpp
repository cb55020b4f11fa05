//===- GeneralizeTest.cpp - Named ops and their programs agree ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The evaluator knows each named op by its formula and each program op by op.
// What norm-generalize writes has to lie within the bounds of the named op, for
// every op, any axes and layouts.
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/IR/Norm.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"
#include "norm/Reference/Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <limits>
#include <random>

using namespace mlir;
using namespace mlir::norm;
using ::norm::DType;
using ::norm::reference::Tensor;

namespace {

enum class Data { Any, Positive, Mask, Lengths, Zeros };

/// An operand: its element type, extents, which replace those of the type, and
/// what it holds.
struct Operand {
  StringRef name;
  DType dtype;
  std::vector<int64_t> shape;
  Data data = Data::Any;
};

Tensor makeInput(const Operand &operand, std::mt19937 &random) {
  int64_t count = 1;
  for (int64_t extent : operand.shape)
    count *= extent;
  Tensor tensor{operand.dtype, operand.shape, {}, {}};
  for (int64_t i = 0; i < count; ++i) {
    // Multiples of 1/16 below 4, which every type but the 8-bit ones holds.
    double any = (static_cast<int>(random() % 128) - 64) / 16.0;
    switch (operand.data) {
    case Data::Any:
      tensor.value.push_back(any);
      break;
    case Data::Positive:
      tensor.value.push_back(any < 0 ? -any : any + 0.25);
      break;
    case Data::Mask:
      tensor.value.push_back(
          random() % 3 == 0 ? -std::numeric_limits<double>::infinity() : any);
      break;
    case Data::Lengths:
      tensor.value.push_back(static_cast<int>(random() % 9) - 1);
      break;
    case Data::Zeros:
      tensor.value.push_back(0);
      break;
    }
  }
  return tensor;
}

/// `dynamic` leaves out the extents of operands and results of more than one
/// axis, except those of 1.
std::string typeOf(DType dtype, ArrayRef<int64_t> shape, bool dynamic) {
  if (shape.empty())
    return ::norm::name(dtype).str();
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text +=
        (dynamic && extent != 1 && shape.size() > 1 ? std::string("?")
                                                    : std::to_string(extent)) +
        "x";
  return text + ::norm::name(dtype).str() + ">";
}

/// A function `f` that applies one op. `op` is its text up to the types.
std::string functionOf(StringRef op, ArrayRef<Operand> operands,
                       ArrayRef<Operand> results, bool dynamic) {
  std::string arguments, operandTypes, resultTypes, names;
  for (const Operand &operand : operands) {
    std::string type = typeOf(operand.dtype, operand.shape, dynamic);
    std::string comma = arguments.empty() ? "" : ", ";
    arguments += comma + "%" + operand.name.str() + ": " + type;
    operandTypes += comma + type;
  }
  for (const Operand &result : results) {
    std::string comma = names.empty() ? "" : ", ";
    resultTypes += comma + typeOf(result.dtype, result.shape, dynamic);
    names += comma + "%" + result.name.str();
  }
  return "func.func @f(" + arguments + ") -> (" + resultTypes + ") {\n  " +
         names + " = " + op.str() + " : " + operandTypes + " -> " +
         resultTypes + "\n  return " + names + " : " + resultTypes + "\n}\n";
}

/// What a program makes, as an implementation would return it.
std::vector<double> roundedValues(const Tensor &tensor) {
  std::vector<double> rounded;
  for (double value : tensor.value)
    rounded.push_back(::norm::roundTo(tensor.dtype, value));
  return rounded;
}

class GeneralizeTest : public ::testing::Test {
protected:
  GeneralizeTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        linalg::LinalgDialect, math::MathDialect, NormDialect,
                        tensor::TensorDialect>();
  }

  std::vector<Tensor> run(ModuleOp module, ArrayRef<Operand> operands) {
    std::mt19937 random(7);
    std::vector<Tensor> inputs;
    for (const Operand &operand : operands)
      inputs.push_back(makeInput(operand, random));
    auto results = ::norm::reference::evaluate(module, "f", inputs);
    if (results)
      return std::move(*results);
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }

  void apply(ModuleOp module, std::unique_ptr<Pass> pass) {
    PassManager manager(&context);
    manager.addPass(std::move(pass));
    ASSERT_TRUE(succeeded(manager.run(module)));
  }

  static void expectSame(ArrayRef<Tensor> named, ArrayRef<Tensor> program) {
    ASSERT_EQ(named.size(), program.size());
    for (auto [i, expected, got] : llvm::enumerate(named, program)) {
      EXPECT_EQ(expected.dtype, got.dtype);
      EXPECT_EQ(expected.shape, got.shape);
      auto result = ::norm::reference::compare(expected, roundedValues(got));
      EXPECT_TRUE(result.isMatch())
          << "result " << i << " is " << result.firstGot << " at "
          << result.firstIndex << " but should be " << result.firstValue
          << " +- " << result.firstBound;
      EXPECT_EQ(result.unknown, 0) << "result " << i;
    }
  }

  void check(StringRef op, ArrayRef<Operand> operands,
             ArrayRef<Operand> results) {
    for (bool dynamic : {false, true}) {
      std::string text = functionOf(op, operands, results, dynamic);
      SCOPED_TRACE(text);
      auto module = parseSourceString<ModuleOp>(text, &context);
      ASSERT_TRUE(module);
      std::vector<Tensor> named = run(*module, operands);
      apply(*module, createNormGeneralizePass());
      bool isLeft = false;
      module->walk([&](Operation *other) {
        isLeft |= isa<NormDialect>(other->getDialect()) &&
                  !isa<GenericOp>(other) &&
                  !other->getParentOfType<GenericOp>();
      });
      EXPECT_FALSE(isLeft);
      std::vector<Tensor> program = run(*module, operands);
      expectSame(named, program);
      apply(*module, createNormRewriteWelfordPass());
      expectSame(named, run(*module, operands));
    }
  }

  MLIRContext context;
};

constexpr DType f16 = DType::F16, f32 = DType::F32, f64 = DType::F64,
                bf16 = DType::BF16;

TEST_F(GeneralizeTest, OverAnyAxes) {
  struct Case {
    const char *axes;
    std::vector<int64_t> rows, columns;
  };
  for (const Case &c : {Case{"[0]", {5, 2, 3}, {4}},
                        {"[1]", {4, 2, 3}, {5}},
                        {"[3]", {4, 5, 2}, {3}},
                        {"[0, 2]", {5, 3}, {4, 2}},
                        {"[1, 2]", {4, 3}, {5, 2}},
                        {"[2, 3]", {4, 5}, {2, 3}},
                        {"[0, 3]", {5, 2}, {4, 3}},
                        {"[0, 1, 3]", {2}, {4, 5, 3}},
                        {"[0, 1, 2, 3]", {}, {4, 5, 2, 3}}}) {
    std::string axes = std::string(" axes = ") + c.axes;
    std::vector<int64_t> shape{4, 5, 2, 3};
    // A statistic of no axes is a tensor all the same.
    if (!c.rows.empty()) {
      check("norm.layer_norm %x scale(%g, offset = 1.0) bias(%b) "
            "stats(mean, rstd)" +
                axes + " eps = 1.0e-5",
            {{"x", bf16, shape}, {"g", f32, c.columns}, {"b", f16, c.columns}},
            {{"y", bf16, shape}, {"m", f32, c.rows}, {"r", f32, c.rows}});
      check("norm.rms_norm %x scale(%g) stats(rstd)" + axes + " eps = 1.0e-5",
            {{"x", f32, shape}, {"g", bf16, c.columns}},
            {{"y", f32, shape}, {"r", f32, c.rows}});
      check("norm.softmax %x stats(logsumexp)" + axes, {{"x", f16, shape}},
            {{"y", f32, shape}, {"l", f32, c.rows}});
      check("norm.logsumexp %x" + axes, {{"x", f32, shape}},
            {{"y", f32, c.rows}});
    }
    check("norm.rms_norm %x" + axes + " eps = 1.0e-5", {{"x", f64, shape}},
          {{"y", f64, shape}});
    check("norm.l2_normalize %x" + axes + " eps = 1.0e-12", {{"x", f16, shape}},
          {{"y", f32, shape}});
    check("norm.log_softmax %x" + axes, {{"x", bf16, shape}},
          {{"y", f32, shape}});
  }
}

TEST_F(GeneralizeTest, BroadcastsScaleAndBias) {
  std::vector<int64_t> shape{4, 5, 2, 3};
  // To the normalized axes, repeated along the first of them.
  check("norm.layer_norm %x scale(%g) bias(%b) axes = [1, 3] eps = 1.0e-5",
        {{"x", f32, shape}, {"g", f32, {1, 3}}, {"b", f32, {3}}},
        {{"y", f32, shape}});
  // By head, to the last axes of x.
  check("norm.rms_norm %x scale(%g, offset = 1.0) axes = [3] eps = 1.0e-6",
        {{"x", bf16, shape}, {"g", f32, {2, 3}}}, {{"y", bf16, shape}});
  check("norm.rms_norm %x scale(%g) axes = [3] eps = 1.0e-6",
        {{"x", bf16, shape}, {"g", f32, {5, 1, 3}}}, {{"y", bf16, shape}});
  check("norm.layer_norm %x scale(%g) bias(%b) axes = [3] eps = 1.0e-5",
        {{"x", f32, shape}, {"g", f32, {4, 1, 1, 3}}, {"b", f32, {1, 3}}},
        {{"y", f32, shape}});
}

TEST_F(GeneralizeTest, MasksScores) {
  std::vector<int64_t> shape{2, 3, 5, 7}, rows{2, 3, 5};
  Operand x{"x", f16, shape}, y{"y", f32, shape}, l{"l", f32, rows};
  for (const char *causal :
       {"causal", "causal diagonal = 1", "causal diagonal = -2",
        "causal = lower_right", "causal = lower_right diagonal = -3"}) {
    check(std::string("norm.softmax %x stats(logsumexp) axes = [3] ") + causal,
          {x}, {y, l});
    // Keys that are not the last axis, more queries than keys.
    check(std::string("norm.softmax %x axes = [1] scale = 0.5 ") + causal,
          {{"x", f32, {4, 3, 2}}}, {{"y", f32, {4, 3, 2}}});
  }
  for (std::vector<int64_t> mask : {std::vector<int64_t>{7},
                                    {5, 7},
                                    {3, 1, 7},
                                    {2, 1, 1, 7},
                                    {2, 3, 5, 7},
                                    {1, 1, 5, 1}}) {
    check("norm.softmax %x mask(%m) axes = [3] scale = 0.125",
          {x, {"m", f32, mask, Data::Mask}}, {y});
    check("norm.softmax %x mask(%m) stats(logsumexp) axes = [3]",
          {x, {"m", bf16, mask, Data::Mask}}, {y, l});
  }
  check("norm.softmax %x scale(%s) axes = [2, 3]", {x, {"s", f32, {}}}, {y});
  check("norm.softmax %x lengths(%n) stats(logsumexp) axes = [3]",
        {x, {"n", DType::I32, {2}, Data::Lengths}}, {y, l});
  check("norm.softmax %x lengths(%n) axes = [2]",
        {x, {"n", DType::I64, {2, 3}, Data::Lengths}}, {y});
  check("norm.softmax %x scale(%s) mask(%m) lengths(%n) stats(logsumexp) "
        "axes = [3] causal = lower_right",
        {x,
         {"s", f32, {}},
         {"m", f16, {5, 7}, Data::Mask},
         {"n", DType::I32, {2, 3, 5}, Data::Lengths}},
        {y, l});
}

TEST_F(GeneralizeTest, ExponentialsOfInfinities) {
  Operand x{"x", f32, {4, 6}, Data::Mask}, y{"y", f32, {4, 6}};
  check("norm.softmax %x axes = [1]", {x}, {y});
  check("norm.log_softmax %x axes = [1]", {x}, {y});
  check("norm.logsumexp %x axes = [1]", {x}, {{"y", f32, {4}}});
  // Rows of nothing but -inf.
  Operand one{"x", f32, {9, 1}, Data::Mask};
  check("norm.softmax %x axes = [1]", {one}, {{"y", f32, {9, 1}}});
  check("norm.softmax %x axes = [1] causal", {one}, {{"y", f32, {9, 1}}});
  check("norm.log_softmax %x axes = [1]", {one}, {{"y", f32, {9, 1}}});
  check("norm.logsumexp %x axes = [1]", {one}, {{"y", f32, {9}}});
}

TEST_F(GeneralizeTest, OverChannels) {
  for (auto [axis, shape] :
       {std::pair<int, std::vector<int64_t>>{1, {2, 6, 4, 5}},
        {3, {2, 4, 5, 6}},
        {2, {2, 4, 6, 5}}}) {
    std::string channels = " channel_axis = " + std::to_string(axis);
    Operand x{"x", f16, shape}, y{"y", f16, shape}, g{"g", f32, {6}},
        b{"b", bf16, {6}};
    for (int64_t groups : {1, 2, 6})
      check("norm.group_norm %x scale(%g, offset = 1.0) bias(%b) "
            "stats(mean, rstd) groups = " +
                std::to_string(groups) + channels + " eps = 1.0e-5",
            {x, g, b}, {y, {"m", f32, {2, groups}}, {"r", f32, {2, groups}}});
    check("norm.group_norm %x bias(%b) groups = 3" + channels + " eps = 1.0e-5",
          {x, b}, {y});
    check("norm.instance_norm %x scale(%g) stats(rstd)" + channels +
              " eps = 1.0e-5",
          {x, g}, {y, {"r", f32, {2, 6}}});
    check("norm.instance_norm %x" + channels + " eps = 1.0e-5",
          {{"x", f64, shape}}, {{"y", f64, shape}});
    Operand mean{"p", f32, {6}}, variance{"q", f32, {6}, Data::Positive};
    check("norm.batch_norm %x scale(%g) bias(%b) running(%p, %q)" + channels +
              " eps = 1.0e-5",
          {x, g, b, mean, variance}, {y});
    for (const char *momentum : {"0.1", "0.0", "1.0"})
      check("norm.batch_norm %x scale(%g) bias(%b) running(%p, %q) "
            "stats(mean, rstd)" +
                channels + " eps = 1.0e-5 training momentum = " + momentum,
            {x, g, b, mean, variance},
            {y,
             {"p1", f32, {6}},
             {"q1", f32, {6}},
             {"m", f32, {6}},
             {"r", f32, {6}}});
    check("norm.batch_norm %x" + channels + " eps = 1.0e-5 training", {x}, {y});
  }
  // No spatial axes.
  check("norm.group_norm %x groups = 2 channel_axis = 1 eps = 1.0e-5",
        {{"x", f32, {3, 6}}}, {{"y", f32, {3, 6}}});
}

TEST_F(GeneralizeTest, FewElements) {
  Operand mean{"p", f32, {3}}, variance{"q", f32, {3}, Data::Positive};
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{3, 1}, {3, 0}, {3, 1, 1}, {3, 2, 0}})
    check("norm.batch_norm %x running(%p, %q) channel_axis = 0 eps = 1.0e-5 "
          "training momentum = 0.25",
          {{"x", f32, shape}, mean, variance},
          {{"y", f32, shape}, {"p1", f32, {3}}, {"q1", f32, {3}}});
  check("norm.l2_normalize %x axes = [1] eps = 1.0e-12",
        {{"x", f16, {2, 4}, Data::Zeros}}, {{"y", f16, {2, 4}}});
  check("norm.instance_norm %x stats(mean, rstd) channel_axis = 1 eps = 1.0e-5",
        {{"x", f16, {2, 3, 1}}},
        {{"y", f16, {2, 3, 1}}, {"m", f32, {2, 3}}, {"r", f32, {2, 3}}});
  check("norm.logsumexp %x axes = [1]", {{"x", f32, {2, 0}}},
        {{"y", f32, {2}}});
  check("norm.softmax %x axes = [1] causal", {{"x", f32, {2, 0}}},
        {{"y", f32, {2, 0}}});
  check("norm.group_norm %x groups = 2 channel_axis = 1 eps = 1.0e-5",
        {{"x", f32, {0, 4, 3}}}, {{"y", f32, {0, 4, 3}}});
}

} // namespace
