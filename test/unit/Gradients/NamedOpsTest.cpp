//===- NamedOpsTest.cpp - Gradients of named ops and fusions --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"

#include <limits>

using ::norm::test::GradientCheck;

namespace {

class NamedGradients : public GradientCheck {};

TEST_F(NamedGradients, LayerNorm) {
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x7xf64>, %w: tensor<7xf64>, %b: tensor<7xf64>)
        -> (tensor<?x7xf64>, tensor<?xf64>, tensor<?xf64>) {
      %y, %m, %r = norm.layer_norm %x scale(%w, offset = 1.0) bias(%b)
          stats(mean, rstd) axes = [1] eps = 1.0e-3
          : tensor<?x7xf64>, tensor<7xf64>, tensor<7xf64>
            -> tensor<?x7xf64>, tensor<?xf64>, tensor<?xf64>
      return %y, %m, %r : tensor<?x7xf64>, tensor<?xf64>, tensor<?xf64>
    })"));
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<2x3x?xf64>, %w: tensor<3x?xf64>)
        -> tensor<2x3x?xf64> {
      %y = norm.layer_norm %x scale(%w) axes = [1, 2] eps = 1.0e-3
          : tensor<2x3x?xf64>, tensor<3x?xf64> -> tensor<2x3x?xf64>
      return %y : tensor<2x3x?xf64>
    })"));
}

TEST_F(NamedGradients, RmsNorm) {
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x?xf64>, %w: tensor<?xf64>)
        -> (tensor<?x?xf64>, tensor<?xf64>) {
      %y, %r = norm.rms_norm %x scale(%w) stats(rstd) axes = [1] eps = 1.0e-3
          : tensor<?x?xf64>, tensor<?xf64> -> tensor<?x?xf64>, tensor<?xf64>
      return %y, %r : tensor<?x?xf64>, tensor<?xf64>
    })"));
  // Over the first axis, with a scale of one element.
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<5x2xf64>, %w: tensor<1x1xf64>) -> tensor<5x2xf64> {
      %y = norm.rms_norm %x scale(%w) axes = [0] eps = 1.0e-3
          : tensor<5x2xf64>, tensor<1x1xf64> -> tensor<5x2xf64>
      return %y : tensor<5x2xf64>
    })"));
}

TEST_F(NamedGradients, Softmax) {
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x6xf64>) -> tensor<?x6xf64> {
      %y = norm.softmax %x axes = [1] scale = 0.7
          : tensor<?x6xf64> -> tensor<?x6xf64>
      return %y : tensor<?x6xf64>
    })"));
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x6xf64>) -> (tensor<?x6xf64>, tensor<?xf64>) {
      %y, %l = norm.softmax %x stats(logsumexp) axes = [1]
          : tensor<?x6xf64> -> tensor<?x6xf64>, tensor<?xf64>
      return %y, %l : tensor<?x6xf64>, tensor<?xf64>
    })"));
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<2x4x4xf64>, %m: tensor<4xf64>)
        -> tensor<2x4x4xf64> {
      %y = norm.softmax %x mask(%m) axes = [2] causal
          : tensor<2x4x4xf64>, tensor<4xf64> -> tensor<2x4x4xf64>
      return %y : tensor<2x4x4xf64>
    })"));
  // The first row has no element.
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<4x4xf64>) -> tensor<4x4xf64> {
      %y = norm.softmax %x axes = [1] causal = upper_left diagonal = -1
          : tensor<4x4xf64> -> tensor<4x4xf64>
      return %y : tensor<4x4xf64>
    })"));
}

TEST_F(NamedGradients, LogSoftmaxAndLogSumExp) {
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x6xf64>) -> tensor<?x6xf64> {
      %y = norm.log_softmax %x axes = [1] : tensor<?x6xf64> -> tensor<?x6xf64>
      return %y : tensor<?x6xf64>
    })"));
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x6xf64>) -> tensor<?xf64> {
      %y = norm.logsumexp %x axes = [1] : tensor<?x6xf64> -> tensor<?xf64>
      return %y : tensor<?xf64>
    })"));
}

TEST_F(NamedGradients, L2Normalize) {
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<4x?xf64>) -> tensor<4x?xf64> {
      %y = norm.l2_normalize %x axes = [0] eps = 1.0e-12
          : tensor<4x?xf64> -> tensor<4x?xf64>
      return %y : tensor<4x?xf64>
    })"));
  // All rows are shorter than eps.
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<4x?xf64>) -> tensor<4x?xf64> {
      %y = norm.l2_normalize %x axes = [0] eps = 100.0
          : tensor<4x?xf64> -> tensor<4x?xf64>
      return %y : tensor<4x?xf64>
    })"));
}

// A row of zeros has the gradient of a division by eps.
TEST_F(NamedGradients, ZeroRow) {
  auto module = derive(R"(
    func.func @f(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
      %y = norm.l2_normalize %x axes = [1] eps = 0.5
          : tensor<2x3xf64> -> tensor<2x3xf64>
      return %y : tensor<2x3xf64>
    })");
  ASSERT_TRUE(module);
  using namespace norm;
  reference::Tensor x{DType::F64, {2, 3}, {0, 0, 0, 0, 4, 0}, {}};
  reference::Tensor dy{DType::F64, {2, 3}, {1, 2, 3, 4, 8, 12}, {}};
  auto results = reference::evaluate(*module, "f_backward", {x, dy});
  ASSERT_TRUE(bool(results));
  EXPECT_EQ((*results)[0].value, (std::vector<double>{2, 4, 6, 1, 0, 3}));
}

TEST_F(NamedGradients, GroupNorm) {
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x4x3xf64>, %w: tensor<4xf64>, %b: tensor<4xf64>)
        -> (tensor<?x4x3xf64>, tensor<?x2xf64>) {
      %y, %m = norm.group_norm %x scale(%w) bias(%b) stats(mean) groups = 2
          channel_axis = 1 eps = 1.0e-3
          : tensor<?x4x3xf64>, tensor<4xf64>, tensor<4xf64>
            -> tensor<?x4x3xf64>, tensor<?x2xf64>
      return %y, %m : tensor<?x4x3xf64>, tensor<?x2xf64>
    })"));
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<2x2x?x4xf64>, %w: tensor<4xf64>)
        -> tensor<2x2x?x4xf64> {
      %y = norm.group_norm %x scale(%w) groups = 2 channel_axis = 3
          eps = 1.0e-3
          : tensor<2x2x?x4xf64>, tensor<4xf64> -> tensor<2x2x?x4xf64>
      return %y : tensor<2x2x?x4xf64>
    })"));
}

TEST_F(NamedGradients, InstanceNorm) {
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x2x5xf64>, %w: tensor<2xf64>, %b: tensor<2xf64>)
        -> (tensor<?x2x5xf64>, tensor<?x2xf64>) {
      %y, %r = norm.instance_norm %x scale(%w) bias(%b) stats(rstd)
          channel_axis = 1 eps = 1.0e-3
          : tensor<?x2x5xf64>, tensor<2xf64>, tensor<2xf64>
            -> tensor<?x2x5xf64>, tensor<?x2xf64>
      return %y, %r : tensor<?x2x5xf64>, tensor<?x2xf64>
    })"));
}

TEST_F(NamedGradients, BatchNorm) {
  Options positive;
  positive.least[4] = 0.5;
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x3x4xf64>, %w: tensor<3xf64>, %b: tensor<3xf64>,
                 %m: tensor<3xf64>, %v: tensor<3xf64>) -> tensor<?x3x4xf64> {
      %y = norm.batch_norm %x scale(%w) bias(%b) running(%m, %v)
          channel_axis = 1 eps = 1.0e-3
          : tensor<?x3x4xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>,
            tensor<3xf64> -> tensor<?x3x4xf64>
      return %y : tensor<?x3x4xf64>
    })",
                    positive));
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x3x4xf64>, %w: tensor<3xf64>, %b: tensor<3xf64>)
        -> tensor<?x3x4xf64> {
      %y = norm.batch_norm %x scale(%w) bias(%b) channel_axis = 1 eps = 1.0e-3
          training
          : tensor<?x3x4xf64>, tensor<3xf64>, tensor<3xf64>
            -> tensor<?x3x4xf64>
      return %y : tensor<?x3x4xf64>
    })"));
  // The mean's halves of significands are known to be anything.
  Options unknown;
  unknown.mostBound = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x3x4xf64>, %m: tensor<3xf64>, %v: tensor<3xf64>)
        -> (tensor<?x3x4xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
      %y, %m1, %v1, %r = norm.batch_norm %x running(%m, %v) stats(rstd)
          channel_axis = 1 eps = 1.0e-3 training momentum = 0.1
          : tensor<?x3x4xf64>, tensor<3xf64>, tensor<3xf64>
            -> tensor<?x3x4xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
      return %y, %m1, %v1, %r : tensor<?x3x4xf64>, tensor<3xf64>,
          tensor<3xf64>, tensor<3xf64>
    })",
                    unknown));
}

TEST_F(NamedGradients, AddAndNorm) {
  // Both results, and the sum goes on.
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x6xf64>, %r: tensor<?x6xf64>, %w: tensor<6xf64>)
        -> (tensor<?x6xf64>, tensor<?x6xf64>) {
      %s = arith.addf %x, %r : tensor<?x6xf64>
      %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-3
          : tensor<?x6xf64>, tensor<6xf64> -> tensor<?x6xf64>
      return %y, %s : tensor<?x6xf64>, tensor<?x6xf64>
    })"));
}

TEST_F(NamedGradients, GateActivationAndDropout) {
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x6xf64>, %g: tensor<?x6xf64>, %w: tensor<6xf64>,
                 %seed: i64) -> tensor<?x6xf64> {
      %n = norm.layer_norm %x scale(%w) axes = [1] eps = 1.0e-3
          : tensor<?x6xf64>, tensor<6xf64> -> tensor<?x6xf64>
      %a = norm.silu %g : tensor<?x6xf64>
      %m = arith.mulf %n, %a : tensor<?x6xf64>
      %y = norm.dropout %m seed(%seed) offset(%seed) p = 0.3
          : tensor<?x6xf64>, i64, i64 -> tensor<?x6xf64>
      return %y : tensor<?x6xf64>
    })"));
}

TEST_F(NamedGradients, TwoNorms) {
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x6xf64>, %v: tensor<6xf64>, %w: tensor<6xf64>)
        -> tensor<?x6xf64> {
      %n = norm.layer_norm %x scale(%v) axes = [1] eps = 1.0e-3
          : tensor<?x6xf64>, tensor<6xf64> -> tensor<?x6xf64>
      %a = norm.gelu %n : tensor<?x6xf64>
      %s = arith.addf %a, %x : tensor<?x6xf64>
      %y = norm.layer_norm %s scale(%w) axes = [1] eps = 1.0e-3
          : tensor<?x6xf64>, tensor<6xf64> -> tensor<?x6xf64>
      return %y : tensor<?x6xf64>
    })"));
  // Over rows, then over columns: two programs.
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<4x6xf64>, %w: tensor<6xf64>) -> tensor<4x6xf64> {
      %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-3
          : tensor<4x6xf64>, tensor<6xf64> -> tensor<4x6xf64>
      %y = norm.softmax %n axes = [0] : tensor<4x6xf64> -> tensor<4x6xf64>
      return %y : tensor<4x6xf64>
    })"));
}

TEST_F(NamedGradients, SomeArguments) {
  const char *text = R"(
    func.func @f(%x: tensor<?x6xf64>, %w: tensor<6xf64>, %b: tensor<6xf64>)
        -> tensor<?x6xf64> {
      %y = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-3
          : tensor<?x6xf64>, tensor<6xf64>, tensor<6xf64> -> tensor<?x6xf64>
      return %y : tensor<?x6xf64>
    })";
  for (const char *wrt : {"0", "1", "2", "2,0", "1,2"}) {
    Options options;
    options.wrt = wrt;
    EXPECT_TRUE(check(text, options));
  }
}

// f32 is rounded, so that differences have to be large.
TEST_F(NamedGradients, Casts) {
  Options coarse;
  coarse.step = 1e-2;
  coarse.tolerance = 2e-3;
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x6xf64>, %w: tensor<6xf32>) -> tensor<?x6xf64> {
      %c = arith.truncf %x : tensor<?x6xf64> to tensor<?x6xf32>
      %n = norm.rms_norm %c scale(%w) axes = [1] eps = 1.0e-3
          : tensor<?x6xf32>, tensor<6xf32> -> tensor<?x6xf32>
      %y = arith.extf %n : tensor<?x6xf32> to tensor<?x6xf64>
      return %y : tensor<?x6xf64>
    })",
                    coarse));
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x6xf32>, %w: tensor<6xf32>) -> tensor<?x6xf32> {
      %y = norm.layer_norm %x scale(%w) axes = [1] eps = 1.0e-3
          : tensor<?x6xf32>, tensor<6xf32> -> tensor<?x6xf32>
      return %y : tensor<?x6xf32>
    })",
                    coarse));
}

} // namespace
