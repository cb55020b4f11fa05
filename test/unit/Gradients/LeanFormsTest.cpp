//===- LeanFormsTest.cpp - Derived gradients against those by hand --------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As many ops for each element and as many reductions as in the closed form of
// each gradient, what is computed again counted too.
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"

#include "norm/Dialect/Norm/IR/Norm.h"

using namespace mlir;
using namespace mlir::norm;
using ::norm::test::GradientCheck;

namespace {

/// What a function does.
struct Counts {
  unsigned programs = 0, perElement = 0, reductions = 0;
};

class LeanForms : public GradientCheck {
protected:
  Counts count(const std::string &text, const char *wrt, const char *save) {
    OwningOpRef<ModuleOp> module = derive(text, wrt, save);
    Counts counts;
    if (!module)
      return counts;
    auto function = module->lookupSymbol<func::FuncOp>("f_backward");
    function.walk([&](GenericOp program) {
      ++counts.programs;
      auto supports = program.computeSupports();
      uint64_t all = (uint64_t(1) << program.getNumDims()) - 1;
      for (Operation &op : program.getBlock()->without_terminator()) {
        counts.reductions += isa<ReduceOp>(op);
        counts.perElement +=
            !isa<ReduceOp>(op) && supports.lookup(op.getResult(0)) == all;
      }
    });
    return counts;
  }

  /// Of the gradient of the first argument, which is one program.
  void expect(const std::string &text, const char *save, unsigned perElement,
              unsigned reductions) {
    SCOPED_TRACE(std::string(save) + text);
    Counts counts = count(text, "0", save);
    EXPECT_EQ(counts.programs, 1u);
    EXPECT_EQ(counts.perElement, perElement);
    EXPECT_EQ(counts.reductions, reductions);
  }
};

const char *layerNorm = R"(
  func.func @f(%x: tensor<?x512xf32>, %w: tensor<512xf32>, %b: tensor<512xf32>)
      -> tensor<?x512xf32> {
    %y = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-5
        : tensor<?x512xf32>, tensor<512xf32>, tensor<512xf32>
          -> tensor<?x512xf32>
    return %y : tensor<?x512xf32>
  })";
const char *rmsNorm = R"(
  func.func @f(%x: tensor<?x?xf32>, %w: tensor<?xf32>) -> tensor<?x?xf32> {
    %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-5
        : tensor<?x?xf32>, tensor<?xf32> -> tensor<?x?xf32>
    return %y : tensor<?x?xf32>
  })";

// c = x - mean, g = w dy, dx = rstd g + (k c + m): k and m by row.
TEST_F(LeanForms, LayerNorm) {
  expect(layerNorm, "none", /*c, c^2, g, g c, 2 fma*/ 6, 4);
  expect(layerNorm, "statistics", /*c, g, g c, 2 fma*/ 5, 2);
}

// g = w dy, dx = rstd g + k x.
TEST_F(LeanForms, RmsNorm) {
  expect(rmsNorm, "none", /*x^2, g, g x, rstd g, fma*/ 5, 2);
  expect(rmsNorm, "statistics", /*g, g x, rstd g, fma*/ 4, 1);
}

// p = exp(x - max), dx = p (r dy - q): r and q by row.
TEST_F(LeanForms, Softmax) {
  const char *text = R"(
    func.func @f(%x: tensor<?x512xf32>) -> tensor<?x512xf32> {
      %y = norm.softmax %x axes = [1] : tensor<?x512xf32> -> tensor<?x512xf32>
      return %y : tensor<?x512xf32>
    })";
  expect(text, "none", /*x - max, exp, dy p, fma, product*/ 5, 3);
  expect(text, "statistics", 5, 1);
}

// dx = dy - q p.
TEST_F(LeanForms, LogSoftmax) {
  expect(R"(
    func.func @f(%x: tensor<?x512xf32>) -> tensor<?x512xf32> {
      %y = norm.log_softmax %x axes = [1]
          : tensor<?x512xf32> -> tensor<?x512xf32>
      return %y : tensor<?x512xf32>
    })",
         "none", /*x - max, exp, fma*/ 3, 3);
}

// dx = dy / |x|, and k x added where |x| isn't below eps.
TEST_F(LeanForms, L2Normalize) {
  expect(R"(
    func.func @f(%x: tensor<?x512xf32>) -> tensor<?x512xf32> {
      %y = norm.l2_normalize %x axes = [1] eps = 1.0e-12
          : tensor<?x512xf32> -> tensor<?x512xf32>
      return %y : tensor<?x512xf32>
    })",
         "none", /*x^2, dy x, r dy, k x, choice, sum*/ 6, 2);
}

// The scale's and the bias' are one program beside that of x: c, dy c, and the
// product with rstd; in it are 2 of the reductions.
TEST_F(LeanForms, Parameters) {
  Counts all = count(layerNorm, "", "none");
  EXPECT_EQ(all.programs, 2u);
  EXPECT_EQ(all.perElement, 6u + 3u);
  EXPECT_EQ(all.reductions, 4u + 2u);
  Counts saved = count(layerNorm, "1,2", "statistics");
  EXPECT_EQ(saved.programs, 1u);
  EXPECT_EQ(saved.perElement, 3u);
  EXPECT_EQ(saved.reductions, 2u);
}

// Both gradients of a sum are one value, to which the other cotangent is added.
TEST_F(LeanForms, AddAndNorm) {
  Counts counts = count(R"(
    func.func @f(%x: tensor<?x512xf32>, %r: tensor<?x512xf32>,
                 %w: tensor<512xf32>) -> (tensor<?x512xf32>, tensor<?x512xf32>) {
      %s = arith.addf %x, %r : tensor<?x512xf32>
      %y = norm.rms_norm %s scale(%w) axes = [1] eps = 1.0e-5
          : tensor<?x512xf32>, tensor<512xf32> -> tensor<?x512xf32>
      return %y, %s : tensor<?x512xf32>, tensor<?x512xf32>
    })",
                        "0,1", "none");
  EXPECT_EQ(counts.programs, 1u);
  EXPECT_EQ(counts.perElement, /*s, s^2, g, g s, 2 fma*/ 6u);
  EXPECT_EQ(counts.reductions, 2u);
}

} // namespace
