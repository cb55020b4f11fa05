//===- BodyOpsTest.cpp - Gradients of the ops of programs -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"

using ::norm::test::GradientCheck;

namespace {

class BodyGradients : public GradientCheck {
protected:
  /// A program of a (tensor<3x4xf64>), b (of 4), that yields %r.
  void checkBody(const std::string &body, const Options &options) {
    EXPECT_TRUE(check(R"(
      func.func @f(%a: tensor<3x4xf64>, %b: tensor<4xf64>) -> tensor<3x4xf64> {
        %e = tensor.empty() : tensor<3x4xf64>
        %y = norm.generic (row, col)
            ins(%p = %a[row, col] : tensor<3x4xf64>, %q = %b[col] : tensor<4xf64>)
            outs(%o = %e[row, col] : tensor<3x4xf64>) {
          )" + body + R"(
          norm.yield %r : f64
        }
        return %y : tensor<3x4xf64>
      })",
                      options));
  }
  void checkUnary(const std::string &op, double least) {
    Options options;
    options.least[0] = least;
    options.tolerance = 1e-5;
    checkBody("%u = " + op + " %p : f64\n %r = arith.mulf %u, %q : f64",
              options);
  }
  void checkBinary(const std::string &op, double least = -0.5) {
    Options options;
    options.least = {{0, least}, {1, least}};
    checkBody("%r = " + op + " %p, %q : f64", options);
  }
};

TEST_F(BodyGradients, Unary) {
  for (const char *op :
       {"arith.negf", "math.absf", "math.exp", "math.exp2", "math.expm1",
        "math.sin", "math.cos", "math.tan", "math.sinh", "math.cosh",
        "math.tanh", "math.atan", "math.asinh", "math.erf", "math.erfc",
        "norm.sigmoid", "norm.silu", "norm.gelu", "math.cbrt"})
    checkUnary(op, op == std::string("math.cbrt") ? 0.5 : -0.5);
  for (const char *op : {"math.log", "math.log2", "math.log10", "math.log1p",
                         "math.sqrt", "math.rsqrt"})
    checkUnary(op, 0.5);
  checkUnary("math.acosh", 1.5);
  for (const char *op : {"math.asin", "math.acos", "math.atanh"})
    checkUnary(op, -0.3);
  Options options;
  checkBody("%r = norm.gelu %p approximate = tanh : f64", options);
}

TEST_F(BodyGradients, Binary) {
  for (const char *op :
       {"arith.addf", "arith.subf", "arith.mulf", "arith.maximumf",
        "arith.minimumf", "arith.maxnumf", "arith.minnumf", "math.copysign"})
    checkBinary(op);
  checkBinary("arith.divf", 0.5);
  checkBinary("math.powf", 0.5);
  Options options;
  options.least = {{0, 2.1}, {1, 0.7}};
  checkBody("%r = arith.remf %p, %q : f64", options);
}

TEST_F(BodyGradients, ChoicesAndConstants) {
  checkBody("%r = math.fma %p, %q, %p : f64", Options());
  checkBody("%c = arith.cmpf olt, %p, %q : f64\n"
            "%s = arith.mulf %p, %q : f64\n"
            "%r = arith.select %c, %s, %q : f64",
            Options());
  checkBody("%j = norm.index col : i64\n%k = arith.sitofp %j : i64 to f64\n"
            "%n = norm.extent row : f64\n%s = arith.mulf %p, %k : f64\n"
            "%r = arith.divf %s, %n : f64",
            Options());
}

TEST_F(BodyGradients, Reductions) {
  for (const char *kind : {"add", "mul", "max", "min", "maxnum", "minnum"})
    checkBody("%s = norm.reduce " + std::string(kind) +
                  " %p over [col] : f64\n%m = arith.mulf %s, %p : f64\n"
                  "%r = arith.addf %m, %q : f64",
              Options());
  for (const char *kind : {"welford", "welford_exact", "max_expsum"})
    checkBody("%s:2 = norm.reduce " + std::string(kind) +
                  " %p over [col] : f64\n%m = arith.mulf %s#0, %s#1 : f64\n"
                  "%n = arith.mulf %m, %p : f64\n"
                  "%r = arith.addf %n, %q : f64",
              Options());
  // Over rows, and over all.
  checkBody("%s = norm.reduce add %p over [row] : f64\n"
            "%m = arith.mulf %s, %p : f64\n%r = arith.mulf %m, %q : f64",
            Options());
  checkBody("%t = arith.mulf %p, %q : f64\n"
            "%s = norm.reduce add %t over [row, col] : f64\n"
            "%m = arith.mulf %s, %p : f64\n%r = arith.mulf %m, %q : f64",
            Options());
  // Of what doesn't vary along the dim.
  checkBody("%s = norm.reduce add %q over [row] : f64\n"
            "%m = arith.mulf %s, %s : f64\n%r = arith.mulf %m, %p : f64",
            Options());
  // Of a row of weights, in a program over rows.
  checkBody("%w = arith.mulf %q, %q : f64\n"
            "%s = norm.reduce add %w over [col] : f64\n"
            "%m = arith.divf %q, %s : f64\n%r = arith.mulf %m, %p : f64",
            Options());
}

// Two rows of the same elements: their maximum is shared.
TEST_F(BodyGradients, SharedMaximum) {
  auto module = derive(R"(
    func.func @f(%x: tensor<2x4xf64>) -> tensor<2xf64> {
      %e = tensor.empty() : tensor<2xf64>
      %y = norm.generic (row, col) ins(%p = %x[row, col] : tensor<2x4xf64>)
          outs(%o = %e[row] : tensor<2xf64>) {
        %r = norm.reduce max %p over [col] : f64
        norm.yield %r : f64
      }
      return %y : tensor<2xf64>
    })");
  ASSERT_TRUE(module);
  using namespace norm;
  reference::Tensor x{DType::F64, {2, 4}, {1, 5, 5, 2, 3, 3, 3, 3}, {}};
  reference::Tensor dy{DType::F64, {2}, {6, 8}, {}};
  auto results = reference::evaluate(*module, "f_backward", {x, dy});
  ASSERT_TRUE(bool(results));
  EXPECT_EQ((*results)[0].value, (std::vector<double>{0, 3, 3, 0, 2, 2, 2, 2}));
}

// relu has the slope 0 at 0, a clamp 1 at its ends.
TEST_F(BodyGradients, TiesWithConstants) {
  auto module = derive(R"(
    func.func @f(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
      %zero = arith.constant dense<0.0> : tensor<3xf64>
      %one = arith.constant dense<1.0> : tensor<3xf64>
      %y = arith.maximumf %x, %zero : tensor<3xf64>
      %z = arith.minimumf %x, %one : tensor<3xf64>
      return %y, %z : tensor<3xf64>, tensor<3xf64>
    })");
  ASSERT_TRUE(module);
  using namespace norm;
  reference::Tensor x{DType::F64, {3}, {0, 0.5, 1}, {}};
  reference::Tensor dy{DType::F64, {3}, {2, 2, 2}, {}};
  reference::Tensor dz{DType::F64, {3}, {1, 1, 1}, {}};
  auto results = reference::evaluate(*module, "f_backward", {x, dy, dz});
  ASSERT_TRUE(bool(results));
  EXPECT_EQ((*results)[0].value, (std::vector<double>{1, 3, 3}));
}

TEST_F(BodyGradients, CustomNorms) {
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x6xf64>, %w: tensor<6xf64>) -> tensor<?x6xf64> {
      %y = norm.generic (row, col) ins(%g = %w[col] : tensor<6xf64>)
          outs(%v = %x[row, col] : tensor<?x6xf64>) {
        %n = norm.extent col : f64
        %sum = norm.reduce add %v over [col] : f64
        %mean = arith.divf %sum, %n : f64
        %c = arith.subf %v, %mean : f64
        %a = math.absf %c : f64
        %total = norm.reduce add %a over [col] : f64
        %mad = arith.divf %total, %n : f64
        %eps = arith.constant 1.0e-6 : f64
        %d = arith.addf %mad, %eps : f64
        %u = arith.divf %c, %d : f64
        %r = arith.mulf %u, %g : f64
        norm.yield %r : f64
      }
      return %y : tensor<?x6xf64>
    })"));
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x6xf64>, %w: tensor<6xf64>, %alpha: f64)
        -> tensor<?x6xf64> {
      %y = norm.generic (row, col)
          ins(%g = %w[col] : tensor<6xf64>, %a = %alpha : f64)
          outs(%v = %x[row, col] : tensor<?x6xf64>) {
        %sq = arith.mulf %v, %v : f64
        %sum = norm.reduce add %sq over [col] : f64
        %n = norm.extent col : f64
        %mean = arith.divf %sum, %n : f64
        %eps = arith.constant 1.0e-6 : f64
        %m = arith.addf %mean, %eps : f64
        %rstd = math.rsqrt %m : f64
        %u = arith.mulf %v, %rstd : f64
        %au = arith.mulf %a, %u : f64
        %t = math.tanh %au : f64
        %r = arith.mulf %t, %g : f64
        norm.yield %r : f64
      }
      return %y : tensor<?x6xf64>
    })"));
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x?xf64>, %k: i32) -> tensor<?x?xf64> {
      %y = norm.generic (row, col) ins(%count = %k : i32)
          outs(%v = %x[row, col] : tensor<?x?xf64>) {
        %sq = arith.mulf %v, %v : f64
        %j = norm.index col : i32
        %is = arith.cmpi slt, %j, %count : i32
        %zero = arith.constant 0.0 : f64
        %part = arith.select %is, %sq, %zero : f64
        %n = arith.sitofp %count : i32 to f64
        %sum = norm.reduce add %part over [col] : f64
        %mean = arith.divf %sum, %n : f64
        %eps = arith.constant 1.0e-6 : f64
        %m = arith.addf %mean, %eps : f64
        %rstd = math.rsqrt %m : f64
        %u = arith.mulf %v, %rstd : f64
        %r = arith.select %is, %u, %v : f64
        norm.yield %r : f64
      }
      return %y : tensor<?x?xf64>
    })"));
  Options positive;
  positive.least[1] = 1.5;
  EXPECT_TRUE(check(R"(
    func.func @f(%x: tensor<?x7xf64>, %p: tensor<1xf64>) -> tensor<?x7xf64> {
      %y = norm.generic (row, col) ins(%e = %p[0] : tensor<1xf64>)
          outs(%v = %x[row, col] : tensor<?x7xf64>) {
        %a = math.absf %v : f64
        %log = math.log %a : f64
        %plog = arith.mulf %e, %log : f64
        %power = math.exp %plog : f64
        %sum = norm.reduce add %power over [col] : f64
        %logsum = math.log %sum : f64
        %root = arith.divf %logsum, %e : f64
        %norm = math.exp %root : f64
        %eps = arith.constant 1.0e-6 : f64
        %d = arith.maximumf %norm, %eps : f64
        %r = arith.divf %v, %d : f64
        norm.yield %r : f64
      }
      return %y : tensor<?x7xf64>
    })",
                    positive));
}

} // namespace
