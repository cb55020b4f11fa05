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
using Part = BufferTrace::Part;

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
  EXPECT_EQ(found->axes[0], Dims{0});
  EXPECT_EQ(found->axes[1], Dims{1});
  EXPECT_EQ(found->axes[2], Dims{1});
  EXPECT_EQ(found->axes[4], Dims{3});
  EXPECT_TRUE(found->parts[0].isWhole);
  // A group is ten channels on.
  EXPECT_EQ(found->parts[1], (Part{false, 10, 1}));
  EXPECT_EQ(found->parts[2], (Part{false, 1, 1}));
  EXPECT_EQ(found->strideDim(1), 1u);
}

TEST_F(BufferTraceTest, DynamicParts) {
  auto found = trace(R"(
    func.func @f(%x: memref<?xf16>, %n: index) -> memref<?x4x16xf16> {
      %0 = memref.expand_shape %x [[0, 1, 2]] output_shape [%n, 4, 16]
          : memref<?xf16> into memref<?x4x16xf16>
      return %0 : memref<?x4x16xf16>
    })");
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->parts[0], (Part{false, 64, 64}));
  EXPECT_EQ(found->parts[1], (Part{false, 16, 1}));
  EXPECT_EQ(found->parts[2], (Part{false, 1, 1}));

  // How far a group is depends on the extent within.
  found = trace(R"(
    func.func @f(%x: memref<?xf16>, %n: index) -> memref<32x?xf16> {
      %0 = memref.expand_shape %x [[0, 1]] output_shape [32, %n]
          : memref<?xf16> into memref<32x?xf16>
      return %0 : memref<32x?xf16>
    })");
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->parts[0], (Part{false, 0, 1}));
  EXPECT_EQ(found->parts[1], (Part{false, 1, 32}));
  EXPECT_EQ(found->strideDim(0), std::nullopt);
  EXPECT_EQ(found->strideDim(1), 0u);
}

TEST_F(BufferTraceTest, ThereAndBack) {
  // Collapsed dims are whole ones again.
  auto found = trace(R"(
    func.func @f(%x: memref<4x?x8xf32>, %n: index) -> memref<4x?x8xf32> {
      %0 = memref.collapse_shape %x [[0, 1, 2]]
          : memref<4x?x8xf32> into memref<?xf32>
      %1 = memref.expand_shape %0 [[0, 1, 2]] output_shape [4, %n, 8]
          : memref<?xf32> into memref<4x?x8xf32>
      return %1 : memref<4x?x8xf32>
    })");
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->axes[0], Dims{0});
  EXPECT_EQ(found->axes[1], Dims{1});
  EXPECT_EQ(found->axes[2], Dims{2});
  EXPECT_TRUE(found->parts[1].isWhole);

  // Parts put together step as the inner one does.
  found = trace(R"(
    func.func @f(%x: memref<64xf32>) -> memref<4x16xf32> {
      %0 = memref.expand_shape %x [[0, 1, 2]] output_shape [4, 8, 2]
          : memref<64xf32> into memref<4x8x2xf32>
      %1 = memref.collapse_shape %0 [[0], [1, 2]]
          : memref<4x8x2xf32> into memref<4x16xf32>
      return %1 : memref<4x16xf32>
    })");
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->axes[1], Dims{0});
  EXPECT_EQ(found->parts[0], (Part{false, 16, 1}));
  EXPECT_EQ(found->parts[1].step, 1);
}

TEST_F(BufferTraceTest, UnitAxesAreNoParts) {
  auto found = trace(R"(
    func.func @f(%x: memref<?xf32>, %n: index) -> memref<1x?x1xf32> {
      %0 = memref.expand_shape %x [[0, 1, 2]] output_shape [1, %n, 1]
          : memref<?xf32> into memref<1x?x1xf32>
      return %0 : memref<1x?x1xf32>
    })");
  ASSERT_TRUE(succeeded(found));
  EXPECT_EQ(found->axes[0], Dims{});
  EXPECT_EQ(found->axes[1], Dims{0});
  EXPECT_EQ(found->axes[2], Dims{});
  EXPECT_TRUE(found->parts[1].isWhole);
}

TEST_F(BufferTraceTest, AcrossDimsIsRefused) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
  });
  EXPECT_TRUE(failed(trace(R"(
    func.func @f(%x: memref<4x6xf32>) -> memref<8x3xf32> {
      %0 = memref.collapse_shape %x [[0, 1]] : memref<4x6xf32> into memref<24xf32>
      %1 = memref.expand_shape %0 [[0, 1]] output_shape [8, 3]
          : memref<24xf32> into memref<8x3xf32>
      return %1 : memref<8x3xf32>
    })")));
  EXPECT_EQ(message, "expects parts of one dim of a buffer but got "
                     "'memref<24xf32>' as 'memref<8x3xf32>'");
}

} // namespace
