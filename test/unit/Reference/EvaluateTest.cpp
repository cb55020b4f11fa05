//===- EvaluateTest.cpp - Tests of functions and comparisons --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulation.h"
#include <chrono>

using namespace norm;
using namespace norm::reference;
using namespace norm::reference::test;

static bool holds(const std::string &text, llvm::StringRef part) {
  return llvm::StringRef(text).contains(part);
}

static const char *const kAdd = R"(
func.func @add(%a: tensor<?x2xf32>, %s: f32) -> tensor<?x2xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?x2xf32>
  %t = tensor.splat %s[%n] : tensor<?x2xf32>
  %r = arith.addf %a, %t : tensor<?x2xf32>
  return %r : tensor<?x2xf32>
})";

TEST(Evaluate, TakesScalarsAndDynamicExtents) {
  auto results = run(kAdd, {tensorOf(DType::F32, {2, 2}, {1, 2, 3, 4}),
                            tensorOf(DType::F32, {}, {0.5})});
  EXPECT_EQ(results[0].shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(results[0].value, (Doubles{1.5, 2.5, 3.5, 4.5}));
  EXPECT_TRUE(results[0].bound.empty());
}

TEST(Evaluate, ChecksItsInputs) {
  Tensor a = tensorOf(DType::F32, {2, 2}, {1, 2, 3, 4});
  Tensor s = tensorOf(DType::F32, {}, {0.5});
  EXPECT_TRUE(holds(errorOf(kAdd, {a}), "expects 2 inputs but got 1"));
  EXPECT_TRUE(
      holds(errorOf(kAdd, {tensorOf(DType::BF16, {2, 2}, {1, 2, 3, 4}), s}),
            "expects argument #0 as ?x2xf32 but got 2x2xbf16"));
  EXPECT_TRUE(holds(errorOf(kAdd, {tensorOf(DType::F32, {1, 3}, {1, 2, 3}), s}),
                    "expects argument #0 as ?x2xf32 but got 1x3xf32"));
  EXPECT_TRUE(holds(errorOf(kAdd, {tensorOf(DType::F32, {2, 2}, {1, 2, 3}), s}),
                    "expects 4 values for argument #0 but got 3"));
  EXPECT_TRUE(holds(errorOf(kAdd, {a, s}, "mul"), "expects a function 'mul'"));
  EXPECT_EQ(errorOf(kAdd, {a, s}, "add"), "no error");
}

TEST(Evaluate, ReportsWhatItCannotDo) {
  Tensor a = tensorOf(DType::F32, {2}, {1, 2});
  EXPECT_TRUE(holds(errorOf("func.func @f(", {}), "test.mlir:1:"));
  std::string unknownOp = errorOf(R"(
    func.func @f(%a: tensor<2xf32>) -> tensor<1xf32> {
      %r = tensor.extract_slice %a[0] [1] [1] : tensor<2xf32> to tensor<1xf32>
      return %r : tensor<1xf32>
    })",
                                  a);
  EXPECT_TRUE(holds(unknownOp, "test.mlir:3:12: 'tensor.extract_slice' op "
                               "can't be evaluated by the reference"))
      << unknownOp;
  std::string shapes = errorOf(R"(
    func.func @f(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
      %r = arith.addf %a, %b : tensor<?xf32>
      return %r : tensor<?xf32>
    })",
                               {a, tensorOf(DType::F32, {3}, {1, 2, 3})});
  EXPECT_TRUE(holds(shapes, "expects operands of one shape")) << shapes;
  EXPECT_TRUE(holds(errorOf("func.func private @f()", {}),
                    "expects a body of one block"));
}

TEST(Evaluate, RefusesWhatNoMemoryHolds) {
  std::string error = errorOf(R"(
    func.func @f(%n: index) -> tensor<?x?xf32> {
      %e = tensor.empty(%n, %n) : tensor<?x?xf32>
      return %e : tensor<?x?xf32>
    })",
                              tensorOf(DType::I64, {}, {1e9}));
  EXPECT_TRUE(holds(error, "expects at most 2^30 elements")) << error;
}

TEST(Evaluate, ConstantsOfAllForms) {
  auto results = run(R"(
    func.func @f() -> (tensor<2x2xbf16>, tensor<3xf32>, tensor<2xi8>, f64) {
      %a = arith.constant dense<1.5> : tensor<2x2xbf16>
      %b = arith.constant dense<[1.0, 0.5, 0xFF800000]> : tensor<3xf32>
      %c = arith.constant dense<[-1, 100]> : tensor<2xi8>
      %d = arith.constant 0.1 : f64
      return %a, %b, %c, %d
          : tensor<2x2xbf16>, tensor<3xf32>, tensor<2xi8>, f64
    })",
                     {});
  EXPECT_EQ(results[0].value, Doubles(4, 1.5));
  EXPECT_EQ(results[1].value, (Doubles{1, 0.5, -HUGE_VAL}));
  EXPECT_EQ(results[2].value, (Doubles{-1, 100}));
  EXPECT_EQ(results[3].value, Doubles{0.1});
  EXPECT_TRUE(results[3].shape.empty());
}

TEST(Evaluate, ReshapesAndUninitializedTensors) {
  auto results = run(R"(
    func.func @f(%a: tensor<?x4xf32>) -> (tensor<?x2x2xf32>, tensor<2xf32>) {
      %c0 = arith.constant 0 : index
      %n = tensor.dim %a, %c0 : tensor<?x4xf32>
      %b = tensor.expand_shape %a [[0], [1, 2]] output_shape [%n, 2, 2]
             : tensor<?x4xf32> into tensor<?x2x2xf32>
      %e = tensor.empty() : tensor<2xf32>
      return %b, %e : tensor<?x2x2xf32>, tensor<2xf32>
    })",
                     tensorOf(DType::F32, {1, 4}, {1, 2, 3, 4}));
  EXPECT_EQ(results[0].shape, (std::vector<int64_t>{1, 2, 2}));
  EXPECT_EQ(compare(results[1], {3, 4}).unknown, 2);
}

TEST(Evaluate, BoundsOfInputsAreKept) {
  Tensor a = tensorOf(DType::F32, {1, 2}, {1, 2});
  a.bound = {0, 0.25};
  auto results = run(kAdd, {a, tensorOf(DType::F32, {}, {1})});
  EXPECT_EQ(results[0].bound[0], 0);
  EXPECT_GE(results[0].bound[1], 0.25);
  EXPECT_TRUE(compare(results[0], {2, 3.25}).isMatch());
  EXPECT_EQ(compare(results[0], {2, 3.26}).firstIndex, 1);
}

TEST(Evaluate, LargeTensorsTakeSeconds) {
  int64_t rows = 1024, columns = 1024;
  Doubles x(size_t(rows * columns));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = roundTo(DType::BF16, std::sin(double(i)));
  auto start = std::chrono::steady_clock::now();
  auto results = run(R"(
    func.func @f(%x: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
      %s = arith.addf %x, %x : tensor<?x?xbf16>
      %y = norm.layer_norm %s axes = [1] eps = 1.0e-5
             : tensor<?x?xbf16> -> tensor<?x?xbf16>
      return %y : tensor<?x?xbf16>
    })",
                     tensorOf(DType::BF16, {rows, columns}, x));
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(results[0].value.size(), x.size());
  // A generous limit, for a loaded machine and a build with sanitizers.
  EXPECT_LT(time.count(), 60);
  RecordProperty("milliseconds", int(time.count() * 1000));
}

TEST(Compare, CountsAndLocates) {
  Tensor expected = tensorOf(DType::F32, {4}, {1, 2, HUGE_VAL, std::nan("")});
  expected.bound = {0, 0x1p-22, 0, 0};
  Comparison same = compare(expected, expected.value);
  EXPECT_TRUE(same.isMatch());
  EXPECT_EQ(same.maxUlp, 0);
  EXPECT_EQ(same.maxUlpIndex, -1);
  Comparison near =
      compare(expected, {1, 2 + 0x1p-22, HUGE_VAL, -std::nan("")});
  EXPECT_TRUE(near.isMatch());
  EXPECT_EQ(near.maxUlp, 1);
  EXPECT_EQ(near.maxRatio, 1);
  EXPECT_EQ(near.maxUlpIndex, 1);
  Comparison wrong = compare(expected, {1 + 0x1p-23, 2, -HUGE_VAL, 0});
  EXPECT_EQ(wrong.mismatches, 3);
  EXPECT_EQ(wrong.firstIndex, 0);
  EXPECT_EQ(wrong.firstGot, 1 + 0x1p-23);
  EXPECT_EQ(compare(expected, {1, 2}).mismatches, 2);
  EXPECT_EQ(compare(tensorOf(DType::F32, {1}, {-0.0}), {0.0}).mismatches, 0);
}
