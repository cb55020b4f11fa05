//===- ProgramsTest.cpp - Tests of norm.generic and linalg ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulation.h"

using namespace norm;
using namespace norm::reference;
using namespace norm::reference::test;

static const char *const kAddRmsNorm = R"(
func.func @f(%x: tensor<?x?xbf16>, %w: tensor<?xf32>, %y0: tensor<?x?xbf16>,
             %r0: tensor<?xf32>) -> (tensor<?x?xbf16>, tensor<?xf32>) {
  %y, %r = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<?x?xbf16>, %g = %w[col] : tensor<?xf32>)
      outs(%_0 = %y0[row, col] : tensor<?x?xbf16>,
           %_1 = %r0[row] : tensor<?xf32>) {
    %f = arith.extf %a : bf16 to f32
    %sq = arith.mulf %f, %f : f32
    %ss = norm.reduce add %sq over [col] : f32
    %n = norm.extent col : f32
    %mean = arith.divf %ss, %n : f32
    %eps = arith.constant 1.0e-6 : f32
    %shifted = arith.addf %mean, %eps : f32
    %root = math.sqrt %shifted : f32
    %one = arith.constant 1.0 : f32
    %rstd = arith.divf %one, %root : f32
    %scaled = arith.mulf %f, %rstd : f32
    %out = arith.mulf %scaled, %g : f32
    %t = arith.truncf %out : f32 to bf16
    norm.yield %t, %rstd : bf16, f32
  }
  return %y, %r : tensor<?x?xbf16>, tensor<?xf32>
})";

static const char *const kNamedRmsNorm = R"(
func.func @f(%x: tensor<?x?xbf16>, %w: tensor<?xf32>)
    -> (tensor<?x?xbf16>, tensor<?xf32>) {
  %y, %r = norm.rms_norm %x scale(%w) stats(rstd) axes = [1] eps = 1.0e-6
      : tensor<?x?xbf16>, tensor<?xf32> -> tensor<?x?xbf16>, tensor<?xf32>
  return %y, %r : tensor<?x?xbf16>, tensor<?xf32>
})";

TEST(Generic, AgreesWithTheNamedOp) {
  std::mt19937 random(1);
  int64_t rows = 5, columns = 77;
  Tensor x = tensorOf(
      DType::BF16, {rows, columns},
      widened(normalRow(random, size_t(rows * columns), 0, 2, DType::BF16)));
  Tensor w = tensorOf(DType::F32, {columns},
                      widened(normalRow(random, size_t(columns))));
  Tensor y0 = tensorOf(DType::BF16, {rows, columns}, Doubles(x.value.size()));
  Tensor r0 = tensorOf(DType::F32, {rows}, Doubles(size_t(rows)));
  auto program = run(kAddRmsNorm, {x, w, y0, r0});
  auto named = run(kNamedRmsNorm, {x, w});
  for (int i : {0, 1}) {
    ASSERT_EQ(program[i].shape, named[i].shape);
    // Each takes the nearest value of the other.
    EXPECT_TRUE(compare(named[i], roundedTo(program[i].dtype,
                                            Floats(program[i].value.begin(),
                                                   program[i].value.end())))
                    .isMatch());
    EXPECT_TRUE(compare(program[i],
                        roundedTo(named[i].dtype, Floats(named[i].value.begin(),
                                                         named[i].value.end())))
                    .isMatch());
  }
}

static const char *const kTextbookLayerNorm = R"(
func.func @f(%x: tensor<1x?xf32>, %y0: tensor<1x?xf32>) -> tensor<1x?xf32> {
  %y = norm.generic (row, col)
      ins(%a = %x[row, col] : tensor<1x?xf32>)
      outs(%_0 = %y0[row, col] : tensor<1x?xf32>) {
    %n = norm.extent col : f32
    %sum = norm.reduce add %a over [col] : f32
    %mean = arith.divf %sum, %n : f32
    %d = arith.subf %a, %mean : f32
    %sq = arith.mulf %d, %d : f32
    %m2 = norm.reduce add %sq over [col] : f32
    %var = arith.divf %m2, %n : f32
    %eps = arith.constant 1.0e-5 : f32
    %shifted = arith.addf %var, %eps : f32
    %root = math.sqrt %shifted : f32
    %one = arith.constant 1.0 : f32
    %rstd = arith.divf %one, %root : f32
    %out = arith.mulf %d, %rstd : f32
    norm.yield %out : f32
  }
  return %y : tensor<1x?xf32>
})";

// norm-rewrite-welford turns one form into the other.
TEST(Generic, TextbookVarianceTakesTheMergedForm) {
  std::mt19937 random(2);
  for (auto [mean, deviation] :
       {std::pair(0.0, 1.0), {3.0, 1e-2}, {80000.25, 2.0}}) {
    Floats x = normalRow(random, 384, mean, deviation);
    Floats ones(384, 1.0f), zeros(384, 0.0f);
    Tensor expected = run(kTextbookLayerNorm,
                          {tensorOf(DType::F32, {1, 384}, widened(x)),
                           tensorOf(DType::F32, {1, 384}, Doubles(384))})[0];
    for (bool isMerged : {false, true}) {
      Floats got = layerNorm(Order::Lanes, isMerged, x, ones, zeros, 1e-5f);
      Comparison result = compare(expected, widened(got));
      EXPECT_TRUE(result.isMatch()) << mean << " ratio " << result.maxRatio;
      EXPECT_EQ(result.unknown, 0);
    }
    Floats unbiased = layerNorm(Order::Lanes, true, x, ones, zeros, 1e-5f,
                                {.isUnbiased = true});
    // Around 80000 the rounding of the mean hides 1/768 of a result.
    EXPECT_EQ(compare(expected, widened(unbiased)).isMatch(), mean > 1000);
  }
}

/// Reduces a 2x3 tensor by the lines, over the columns or over the rows.
static std::vector<Tensor> reduced(llvm::StringRef reduce, bool isTwo,
                                   Doubles x, llvm::StringRef dims = "col") {
  int64_t kept = dims == "col" ? 2 : 3;
  std::string type = "tensor<" + std::to_string(kept) + "xf32>";
  std::string keptDim = dims == "col" ? "row" : "col";
  std::string text =
      "func.func @f(%x: tensor<2x3xf32>, %a0: " + type + ", %b0: " + type +
      ") -> (" + type + ", " + type + ") {\n" +
      "%a, %b = norm.generic (row, col) ins(%v = %x[row, col] : "
      "tensor<2x3xf32>) outs(%o = %a0[" +
      keptDim + "] : " + type + ", %p = %b0[" + keptDim + "] : " + type +
      ") {\n" + "%r" + (isTwo ? ", %s" : "") + " = norm.reduce " +
      reduce.str() + " %v over [" + dims.str() + "] : f32\n norm.yield %r, " +
      (isTwo ? "%s" : "%r") + " : f32, f32\n}\nreturn %a, %b : " + type + ", " +
      type + "\n}";
  Tensor zeros = tensorOf(DType::F32, {kept}, Doubles(size_t(kept)));
  return run(text, {tensorOf(DType::F32, {2, 3}, std::move(x)), zeros, zeros});
}

TEST(Generic, ReducesByEveryKind) {
  double nan = std::nan("");
  Doubles x = {1, 2, 4, -3, 5, nan};
  EXPECT_TRUE(compare(reduced("add", false, x)[0], {7, nan}).isMatch());
  EXPECT_TRUE(compare(reduced("mul", false, x)[0], {8, nan}).isMatch());
  EXPECT_TRUE(compare(reduced("max", false, x)[0], {4, nan}).isMatch());
  EXPECT_TRUE(compare(reduced("min", false, x)[0], {1, nan}).isMatch());
  EXPECT_TRUE(compare(reduced("maxnum", false, x)[0], {4, 5}).isMatch());
  EXPECT_TRUE(compare(reduced("minnum", false, x)[0], {1, -3}).isMatch());
  auto welford = reduced("welford", true, {1, 2, 6, 7, 7, 7});
  EXPECT_TRUE(compare(welford[0], {3, 7}).isMatch());
  EXPECT_TRUE(compare(welford[1], {14, 0}).isMatch());
  EXPECT_FALSE(compare(welford[1], {14.001, 0}).isMatch());
  auto online = reduced("max_expsum", true, {0, 0, 0, 1, 1, -HUGE_VAL});
  EXPECT_TRUE(compare(online[0], {0, 1}).isMatch());
  EXPECT_TRUE(compare(online[1], {3, 2}).isMatch());
}

TEST(Generic, ReducesOverRows) {
  auto sums = reduced("add", false, {1, 2, 3, 10, 20, 30}, "row");
  EXPECT_TRUE(compare(sums[0], {11, 22, 33}).isMatch());
}

TEST(Generic, EmptyExtentsGiveIdentities) {
  auto results =
      run(R"(
    func.func @f(%x: tensor<2x0xf32>, %a0: tensor<2xf32>, %b0: tensor<2xf32>)
        -> (tensor<2xf32>, tensor<2xf32>) {
      %a, %b = norm.generic (row, col)
          ins(%v = %x[row, col] : tensor<2x0xf32>)
          outs(%o = %a0[row] : tensor<2xf32>, %p = %b0[row] : tensor<2xf32>) {
        %s = norm.reduce add %v over [col] : f32
        %m = norm.reduce max %v over [col] : f32
        norm.yield %s, %m : f32, f32
      }
      return %a, %b : tensor<2xf32>, tensor<2xf32>
    })",
          {tensorOf(DType::F32, {2, 0}, {}), tensorOf(DType::F32, {2}, {7, 7}),
           tensorOf(DType::F32, {2}, {7, 7})});
  EXPECT_TRUE(compare(results[0], {0, 0}).isMatch());
  EXPECT_TRUE(compare(results[1], {-HUGE_VAL, -HUGE_VAL}).isMatch());
}

TEST(Generic, ReadsDestinationsIndicesAndTransposes) {
  auto results = run(R"(
    func.func @f(%x: tensor<3x2xf32>, %s: f32, %y0: tensor<2x3xf32>)
        -> tensor<2x3xf32> {
      %y = norm.generic (row, col)
          ins(%v = %x[col, row] : tensor<3x2xf32>, %c = %s : f32)
          outs(%o = %y0[row, col] : tensor<2x3xf32>) {
        %i = norm.index col : i32
        %f = arith.sitofp %i : i32 to f32
        %a = arith.mulf %f, %c : f32
        %b = arith.addf %a, %v : f32
        %d = arith.addf %b, %o : f32
        norm.yield %d : f32
      }
      return %y : tensor<2x3xf32>
    })",
                     {tensorOf(DType::F32, {3, 2}, {1, 2, 3, 4, 5, 6}),
                      tensorOf(DType::F32, {}, {10}),
                      tensorOf(DType::F32, {2, 3}, {0, 0, 0, 100, 100, 100})});
  EXPECT_EQ(results[0].value, (Doubles{1, 13, 25, 102, 114, 126}));
}

TEST(Generic, RefusesExtentsThatDisagree) {
  std::string error =
      errorOf(kAddRmsNorm, {tensorOf(DType::BF16, {1, 2}, {1, 2}),
                            tensorOf(DType::F32, {3}, {1, 2, 3}),
                            tensorOf(DType::BF16, {1, 2}, {0, 0}),
                            tensorOf(DType::F32, {1}, {0})});
  EXPECT_TRUE(llvm::StringRef(error).contains(
      "expects extent 2 at axis 0 of operand #1 but got 3"))
      << error;
}

TEST(Linalg, BroadcastsFillsAndMaps) {
  auto results =
      run(R"(
    #rows = affine_map<(i, j) -> (i)>
    #all = affine_map<(i, j) -> (i, j)>
    func.func @f(%x: tensor<2xf32>, %s: f32)
        -> (tensor<2x3xf32>, tensor<2x3xf32>) {
      %e = tensor.empty() : tensor<2x3xf32>
      %b = linalg.broadcast ins(%x : tensor<2xf32>)
             outs(%e : tensor<2x3xf32>) dimensions = [1]
      %filled = linalg.fill ins(%s : f32) outs(%e : tensor<2x3xf32>)
                  -> tensor<2x3xf32>
      %r = linalg.generic {indexing_maps = [#rows, #all, #all],
                           iterator_types = ["parallel", "parallel"]}
          ins(%x, %filled : tensor<2xf32>, tensor<2x3xf32>)
          outs(%e : tensor<2x3xf32>) {
        ^bb0(%u: f32, %v: f32, %o: f32):
          %j = linalg.index 1 : index
          %k = arith.index_cast %j : index to i32
          %f = arith.sitofp %k : i32 to f32
          %p = arith.mulf %f, %s : f32
          %q = arith.addf %p, %u : f32
          %t = arith.addf %q, %v : f32
          linalg.yield %t : f32
      } -> tensor<2x3xf32>
      return %b, %r : tensor<2x3xf32>, tensor<2x3xf32>
    })",
          {tensorOf(DType::F32, {2}, {1, 2}), tensorOf(DType::F32, {}, {100})});
  EXPECT_EQ(results[0].value, (Doubles{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(results[1].value, (Doubles{101, 201, 301, 102, 202, 302}));
}

TEST(Linalg, RefusesReductions) {
  std::string error = errorOf(
      R"(
    func.func @f(%x: tensor<2xf32>, %y: tensor<f32>) -> tensor<f32> {
      %r = linalg.reduce ins(%x : tensor<2xf32>) outs(%y : tensor<f32>)
             dimensions = [0]
             (%a: f32, %b: f32) {
               %s = arith.addf %a, %b : f32
               linalg.yield %s : f32
             }
      return %r : tensor<f32>
    })",
      {tensorOf(DType::F32, {2}, {1, 2}), tensorOf(DType::F32, {}, {0})});
  EXPECT_TRUE(llvm::StringRef(error).contains("expects parallel loops"))
      << error;
}
