//===- BufferTraceTest.cpp - Tests of views traced to buffers -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferTrace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace norm;

namespace {

using Dims = std::vector<unsigned>;

/// Traces what a function `@f` of buffers and sizes returns.
class BufferTraceTest : public ::testing::Test {
protected:
  BufferTraceTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, memref::MemRefDialect>();
  }

  FailureOr<BufferTrace> trace(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return failure();
    auto function = *module->getOps<func::FuncOp>().begin();
    argument = function.getArgument(0);
    return traceBuffer(function.front().getTerminator()->getOperand(0));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Value argument;
};

TEST_F(BufferTraceTest, SplitsChannelsIntoGroups) {
  auto found = trace(R"(
    func.func @f(%x: memref<?x320x?x?xf16>, %n: index, %h: index, %w: index)
        -> memref<?x32x10x?x?xf16> {
      %0 = memref.expand_shape %x [[0], [1, 2], [3], [4]]
          output_shape [%n, 32, 10, %h, %w]
          : memref<?x320x?x?xf16> into memref<?x32x10x?x?xf16>
      return %0 : memref<?x32x10x?x?xf16>
    })");
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->base, argument);
  ASSERT_EQ(found->axes.size(), 5u);
  EXPECT_EQ(found->axes[0].extent.dims, Dims{0});
  EXPECT_EQ(found->axes[3].extent.dims, Dims{2});
  EXPECT_EQ(found->axes[4].strideDim, 3u);
  // A group is ten channels on.
  EXPECT_EQ(found->axes[1].extent.dims, Dims{});
  EXPECT_EQ(found->axes[1].extent.factor, 32u);
  EXPECT_EQ(found->axes[1].strideDim, 1u);
  EXPECT_EQ(found->axes[1].steps.factor, 10u);
  EXPECT_EQ(found->axes[2].extent.factor, 10u);
  EXPECT_EQ(found->axes[2].strideDim, 1u);
  EXPECT_EQ(found->axes[2].steps.factor, 1u);
}

TEST_F(BufferTraceTest, CollapsesDims) {
  auto found = trace(R"(
    func.func @f(%x: memref<?x4x?x8xf32>) -> memref<?x?xf32> {
      %0 = memref.collapse_shape %x [[0, 1], [2, 3]]
          : memref<?x4x?x8xf32> into memref<?x?xf32>
      return %0 : memref<?x?xf32>
    })");
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->axes[0].extent.dims, (Dims{0, 1}));
  EXPECT_EQ(found->axes[0].strideDim, 1u);
  EXPECT_EQ(found->axes[1].extent.dims, (Dims{2, 3}));
  EXPECT_EQ(found->axes[1].strideDim, 3u);
}

TEST_F(BufferTraceTest, PartsOfParts) {
  auto found = trace(R"(
    func.func @f(%x: memref<64xf32>) -> memref<4x4x4xf32> {
      %0 = memref.expand_shape %x [[0, 1]] output_shape [4, 16]
          : memref<64xf32> into memref<4x16xf32>
      %1 = memref.expand_shape %0 [[0], [1, 2]] output_shape [4, 4, 4]
          : memref<4x16xf32> into memref<4x4x4xf32>
      return %1 : memref<4x4x4xf32>
    })");
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->axes[0].steps.factor, 16u);
  EXPECT_EQ(found->axes[1].steps.factor, 4u);
  EXPECT_EQ(found->axes[2].steps.factor, 1u);

  // Put together, they step as the inner one does.
  found = trace(R"(
    func.func @f(%x: memref<64xf32>) -> memref<4x16xf32> {
      %0 = memref.expand_shape %x [[0, 1, 2]] output_shape [4, 8, 2]
          : memref<64xf32> into memref<4x8x2xf32>
      %1 = memref.collapse_shape %0 [[0], [1, 2]]
          : memref<4x8x2xf32> into memref<4x16xf32>
      return %1 : memref<4x16xf32>
    })");
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->axes[1].extent.factor, 16u);
  EXPECT_EQ(found->axes[1].steps.factor, 1u);
}

TEST_F(BufferTraceTest, NobodyStepsAlongUnitAxes) {
  auto found = trace(R"(
    func.func @f(%x: memref<?xf32>, %n: index) -> memref<1x?x1xf32> {
      %0 = memref.expand_shape %x [[0, 1, 2]] output_shape [1, %n, 1]
          : memref<?xf32> into memref<1x?x1xf32>
      return %0 : memref<1x?x1xf32>
    })");
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->axes[0].strideDim, std::nullopt);
  EXPECT_EQ(found->axes[1].extent.dims, Dims{0});
  EXPECT_EQ(found->axes[1].strideDim, 0u);
  EXPECT_EQ(found->axes[2].strideDim, std::nullopt);
}

TEST_F(BufferTraceTest, DividesAPartThatIsNotKnown) {
  auto found = trace(R"(
    func.func @f(%x: memref<?x?xf16>, %n: index, %c: index)
        -> memref<?x32x?x2xf16> {
      %0 = memref.expand_shape %x [[0], [1, 2, 3]]
          output_shape [%n, 32, %c, 2]
          : memref<?x?xf16> into memref<?x32x?x2xf16>
      return %0 : memref<?x32x?x2xf16>
    })");
  ASSERT_TRUE(succeeded(found));
  ASSERT_EQ(found->multiples.size(), 1u);
  EXPECT_EQ(found->multiples[0].dim, 1u);
  EXPECT_EQ(found->multiples[0].of, 64u);
  EXPECT_EQ(found->axes[2].extent.dims, Dims{1});
  EXPECT_EQ(found->axes[2].extent.factor, 1u);
  EXPECT_EQ(found->axes[2].extent.divisor, 64u);
  EXPECT_EQ(found->axes[2].steps.factor, 2u);
  // A group is a 32nd of the dim on.
  EXPECT_EQ(found->axes[1].extent.factor, 32u);
  EXPECT_EQ(found->axes[1].strideDim, 1u);
  EXPECT_EQ(found->axes[1].steps.dims, Dims{1});
  EXPECT_EQ(found->axes[1].steps.factor, 1u);
  EXPECT_EQ(found->axes[1].steps.divisor, 32u);

  // Put together again, nothing is divided.
  found = trace(R"(
    func.func @f(%x: memref<?xf16>, %c: index) -> memref<?xf16> {
      %0 = memref.expand_shape %x [[0, 1]] output_shape [32, %c]
          : memref<?xf16> into memref<32x?xf16>
      %1 = memref.collapse_shape %0 [[0, 1]]
          : memref<32x?xf16> into memref<?xf16>
      return %1 : memref<?xf16>
    })");
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->axes[0].extent.dims, Dims{0});
  EXPECT_EQ(found->axes[0].extent.factor, 1u);
  EXPECT_EQ(found->axes[0].extent.divisor, 1u);
}

TEST_F(BufferTraceTest, PartsOfProductsAreRefused) {
  std::string message;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  EXPECT_TRUE(failed(trace(R"(
    func.func @f(%x: memref<?x?xf16>, %n: index) -> memref<32x?xf16> {
      %0 = memref.collapse_shape %x [[0, 1]]
          : memref<?x?xf16> into memref<?xf16>
      %1 = memref.expand_shape %0 [[0, 1]] output_shape [32, %n]
          : memref<?xf16> into memref<32x?xf16>
      return %1 : memref<32x?xf16>
    })")));
  EXPECT_EQ(message, "expects static extents of the parts of axis 0 but got "
                     "'memref<?xf16>' as 'memref<32x?xf16>'");
}

} // namespace
