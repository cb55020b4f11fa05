//===- FuseTest.cpp - Passes keep what a function computes ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random functions through the reference evaluator, before and after passes.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

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

#include <random>

using namespace mlir;
using namespace mlir::norm;
using ::norm::DType;
using ::norm::reference::Tensor;

namespace {

constexpr int rows = 3, columns = 6;

class FuseTest : public ::testing::Test {
protected:
  FuseTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        linalg::LinalgDialect, math::MathDialect, NormDialect,
                        tensor::TensorDialect>();
  }

  static Tensor makeInput(DType dtype, std::vector<int64_t> shape,
                          std::mt19937 &random) {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    Tensor tensor{dtype, std::move(shape), {}, {}};
    // Multiples of 1/16 below 4, which every type holds.
    for (int64_t i = 0; i < count; ++i)
      tensor.value.push_back((static_cast<int>(random() % 128) - 64) / 16.0);
    return tensor;
  }

  std::vector<Tensor> run(ModuleOp module, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Tensor> inputs{makeInput(DType::BF16, {rows, columns}, random),
                               makeInput(DType::F32, {rows, columns}, random),
                               makeInput(DType::F32, {columns}, random),
                               makeInput(DType::F32, {}, random)};
    auto results = ::norm::reference::evaluate(module, "f", inputs);
    if (results)
      return std::move(*results);
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }

  bool apply(ModuleOp module, std::unique_ptr<Pass> pass) {
    PassManager manager(&context);
    manager.addPass(std::move(pass));
    return succeeded(manager.run(module));
  }

  void check(unsigned seed);

  MLIRContext context;
  /// Programs before and after fusing, over all functions.
  unsigned numGeneral = 0, numFused = 0;
};

unsigned countPrograms(ModuleOp module) {
  unsigned count = 0;
  module.walk([&](GenericOp) { ++count; });
  return count;
}

/// Whether each program reduces over one set of dims, if over any.
bool reduceAlike(ModuleOp module) {
  bool alike = true;
  module.walk([&](GenericOp op) {
    ArrayAttr dims;
    for (auto reduce : op.getBlock()->getOps<ReduceOp>()) {
      alike &= !dims || dims == reduce.getDims();
      dims = reduce.getDims();
    }
  });
  return alike;
}

/// Whether the nearest values of the element type to `got` may be returned
/// where `expected` is asked for.
bool agree(const Tensor &expected, const Tensor &got) {
  if (expected.dtype != got.dtype || expected.shape != got.shape)
    return false;
  std::vector<double> rounded;
  for (double value : got.value)
    rounded.push_back(::norm::roundTo(got.dtype, value));
  return ::norm::reference::compare(expected, rounded).isMatch();
}

/// What is computed stays within the bounds of what the user wrote, and the
/// other way round.
void FuseTest::check(unsigned seed) {
  std::string text = ::norm::test::makeRandomProgram(seed, rows, columns);
  SCOPED_TRACE(text);
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  std::vector<Tensor> ofUser = run(*module, seed);
  ASSERT_TRUE(apply(*module, createNormGeneralizePass()));
  std::vector<Tensor> general = run(*module, seed);
  numGeneral += countPrograms(*module);
  ASSERT_TRUE(apply(*module, createNormFusePass()));
  std::vector<Tensor> fused = run(*module, seed);
  numFused += countPrograms(*module);
  EXPECT_TRUE(reduceAlike(*module));
  ASSERT_TRUE(apply(*module, createNormRewriteWelfordPass()));
  std::vector<Tensor> merged = run(*module, seed);

  ASSERT_EQ(general.size(), ofUser.size());
  ASSERT_EQ(fused.size(), ofUser.size());
  ASSERT_EQ(merged.size(), ofUser.size());
  for (size_t i = 0; i != general.size(); ++i) {
    EXPECT_TRUE(agree(ofUser[i], general[i]));
    EXPECT_TRUE(agree(general[i], fused[i]));
    EXPECT_TRUE(agree(fused[i], general[i]));
    EXPECT_TRUE(agree(ofUser[i], merged[i]));
  }
}

TEST_F(FuseTest, KeepsValues) {
  for (unsigned seed = 0; seed != 3000 && !HasFailure(); ++seed)
    check(seed);
  // Most of them become one.
  EXPECT_GT(numFused, 1000u);
  EXPECT_LT(numFused, numGeneral / 2);
}

} // namespace
