//===- ManifestTest.cpp - Tests of what launchers are told ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Compiler/Compiler.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace norm;

namespace {

Manifest manifestOf(llvm::StringRef text, llvm::StringRef target) {
  CompileOptions options;
  options.target = target.str();
  auto artifact = Compiler().compile(text, "input.mlir", options);
  if (!artifact) {
    ADD_FAILURE() << llvm::toString(artifact.takeError());
    return {};
  }
  llvm::Error error = verifyManifest(artifact->manifest);
  EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  return artifact->manifest;
}

/// The parameter as text: `pointer 0`, `stride 0.1`, `extent 2.0.1 x10`.
std::string print(const Param &param) {
  static const char *kinds[] = {"pointer", "stride", "extent", "scalar",
                                "workspace", "split"};
  std::string text = kinds[unsigned(param.kind)];
  if (param.kind == Param::Kind::Workspace || param.kind == Param::Kind::Split)
    return text;
  text += " " + std::to_string(param.buffer);
  for (unsigned dim : param.dims)
    text += "." + std::to_string(dim);
  if (param.factor != 1)
    text += " x" + std::to_string(param.factor);
  if (param.divisor != 1)
    text += " / " + std::to_string(param.divisor);
  return text;
}

std::vector<std::string> print(const std::vector<Param> &params) {
  std::vector<std::string> texts;
  for (const Param &param : params)
    texts.push_back(print(param));
  return texts;
}

// Groups of channels whose number is known at launch only.
TEST(CompiledManifest, GroupsDivideChannels) {
  Manifest manifest = manifestOf(R"(
func.func @main(%x: tensor<?x?x?x?xf16>) -> tensor<?x?x?x?xf16> {
  %y = norm.group_norm %x groups = 8 channel_axis = 3 eps = 1.0e-5
      : tensor<?x?x?x?xf16> -> tensor<?x?x?x?xf16>
  return %y : tensor<?x?x?x?xf16>
})",
                                 "sm_90");
  ASSERT_EQ(manifest.arguments.size(), 2u);
  std::vector<uint64_t> multiples = {1, 1, 1, 8};
  for (const Argument &argument : manifest.arguments)
    EXPECT_EQ(argument.multiples, multiples);
  // The result has as many channels.
  ASSERT_EQ(manifest.arguments[1].equals.size(), 4u);
  EXPECT_EQ(manifest.arguments[1].equals[3], (BufferDim{0, 3}));
  ASSERT_EQ(manifest.kernels.size(), 1u);
  EXPECT_EQ(manifest.kernels[0].rows, (BufferDims{0, {0}, 8}));
  EXPECT_EQ(manifest.kernels[0].columns, (BufferDims{0, {1, 2, 3}, 1, 8}));
  std::vector<std::string> params = print(manifest.kernels[0].params);
  EXPECT_TRUE(llvm::is_contained(params, "stride 0.3.3 / 8"));
  EXPECT_TRUE(llvm::is_contained(params, "extent 0.3 / 8"));
}

// x, w, s and then the results y and r.
TEST(CompiledManifest, ParamsFollowOperands) {
  Manifest manifest = manifestOf(R"(
func.func @main(%x: tensor<?x?xbf16>, %w: tensor<?xf32>) -> (tensor<?x?xbf16>, tensor<?xf32>) {
  %y, %r = norm.rms_norm %x scale(%w) stats(rstd) axes = [1] eps = 1.0e-6
      : tensor<?x?xbf16>, tensor<?xf32> -> tensor<?x?xbf16>, tensor<?xf32>
  return %y, %r : tensor<?x?xbf16>, tensor<?xf32>
}
)",
                                 "sm_90");
  ASSERT_EQ(manifest.arguments.size(), 4u);
  ASSERT_EQ(manifest.kernels.size(), 1u);
  const Kernel &kernel = manifest.kernels[0];
  EXPECT_EQ(print(kernel.params),
            (std::vector<std::string>{"pointer 0", "stride 0.0", "pointer 1",
                                      "pointer 2", "stride 2.0", "pointer 3",
                                      "extent 0.0", "extent 0.1"}));
  EXPECT_EQ(kernel.reads, (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(kernel.writes, (std::vector<unsigned>{2, 3}));
  EXPECT_EQ(kernel.rows, (BufferDims{0, {0}}));
  EXPECT_EQ(kernel.columns, (BufferDims{0, {1}}));

  using Dim = std::optional<BufferDim>;
  EXPECT_TRUE(manifest.arguments[0].equals.empty());
  EXPECT_EQ(manifest.arguments[1].equals, (std::vector<Dim>{BufferDim{0, 1}}));
  EXPECT_EQ(manifest.arguments[2].equals,
            (std::vector<Dim>{BufferDim{0, 0}, BufferDim{0, 1}}));
  EXPECT_EQ(manifest.arguments[3].equals, (std::vector<Dim>{BufferDim{0, 0}}));
  EXPECT_EQ(manifest.arguments[2].role, ArgumentRole::Output);
  EXPECT_EQ(manifest.arguments[0].strides, (std::vector<int64_t>{kDynamic, 1}));
  EXPECT_EQ(manifest.arguments[1].strides, (std::vector<int64_t>{1}));
}

TEST(CompiledManifest, CollapsedDims) {
  Manifest manifest = manifestOf(R"(
func.func @main(%x: tensor<?x3x1x4x8xf32>) -> tensor<?x3x1x4x8xf32> {
  %y = norm.layer_norm %x axes = [3, 4] eps = 1.0e-6
      : tensor<?x3x1x4x8xf32> -> tensor<?x3x1x4x8xf32>
  return %y : tensor<?x3x1x4x8xf32>
}
)",
                                 "sm_90");
  ASSERT_EQ(manifest.kernels.size(), 1u);
  const Kernel &kernel = manifest.kernels[0];
  EXPECT_EQ(kernel.rows, (BufferDims{0, {0, 1}}));
  EXPECT_EQ(kernel.columns, (BufferDims{0, {}, 32}));
  EXPECT_EQ(print(kernel.params),
            (std::vector<std::string>{"pointer 0", "pointer 1",
                                      "extent 0.0.1"}));
  EXPECT_EQ(manifest.arguments[0].strides,
            (std::vector<int64_t>{96, 32, 32, 8, 1}));
}

// Where strides depend on extents, only the promise tells them.
TEST(CompiledManifest, Contiguous) {
  Manifest manifest = manifestOf(R"(
func.func @main(%x: tensor<?x?x64xf32>) -> tensor<?x?x64xf32> {
  %y = norm.softmax %x axes = [2] : tensor<?x?x64xf32> -> tensor<?x?x64xf32>
  return %y : tensor<?x?x64xf32>
}
)",
                                 "host");
  ASSERT_EQ(manifest.arguments.size(), 2u);
  for (const Argument &argument : manifest.arguments) {
    EXPECT_EQ(argument.strides, (std::vector<int64_t>{kDynamic, 64, 1}));
    EXPECT_TRUE(argument.contiguous);
  }
}

TEST(CompiledManifest, OneRow) {
  Manifest manifest = manifestOf(R"(
func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
  %y = norm.softmax %x axes = [0] : tensor<1000xf32> -> tensor<1000xf32>
  return %y : tensor<1000xf32>
}
)",
                                 "host");
  ASSERT_EQ(manifest.kernels.size(), 1u);
  const Kernel &kernel = manifest.kernels[0];
  EXPECT_TRUE(kernel.rows.dims.empty());
  EXPECT_EQ(kernel.columns, (BufferDims{0, {}, 1000}));
  EXPECT_EQ(print(kernel.params),
            (std::vector<std::string>{"pointer 0", "pointer 1", "extent 0"}));
}

// Channels of a group are strides apart that depend on the launch.
TEST(CompiledManifest, AcrossMemory) {
  Manifest manifest = manifestOf(R"(
func.func @main(%x: tensor<?x?x?x320xf16>) -> tensor<?x?x?x320xf16> {
  %y = norm.group_norm %x groups = 32 channel_axis = 3 eps = 1.0e-5
      : tensor<?x?x?x320xf16> -> tensor<?x?x?x320xf16>
  return %y : tensor<?x?x?x320xf16>
}
)",
                                 "sm_90");
  ASSERT_EQ(manifest.kernels.size(), 1u);
  const Kernel &kernel = manifest.kernels[0];
  // Of each item 32 groups of 10 positions.
  EXPECT_EQ(kernel.rows, (BufferDims{0, {0}, 320}));
  EXPECT_EQ(kernel.columns, (BufferDims{0, {1, 2}, 10}));
  EXPECT_EQ(kernel.slices, 256u);
  EXPECT_EQ(print(kernel.params),
            (std::vector<std::string>{
                "pointer 0", "stride 0.0", "stride 0.1", "pointer 1",
                "stride 1.0", "stride 1.1", "extent 0.0 x320",
                "extent 0.1.2 x10", "extent 0.0", "extent 0.1", "extent 0.2",
                "split", "workspace"}));
  EXPECT_EQ(kernel.counterBytes, 8u);
  EXPECT_GT(kernel.unitBytes, 0u);
  ASSERT_EQ(kernel.variants.size(), 2u);
  for (const Variant &variant : kernel.variants) {
    EXPECT_EQ(variant.split, 0u);
    EXPECT_EQ(variant.rowsPerCta % 10, 0u);
  }
}

TEST(CompiledManifest, StridesOfParts) {
  Manifest manifest = manifestOf(R"(
func.func @main(%x: tensor<?x320x?x?xf16>) -> tensor<?x320x?x?xf16> {
  %y = norm.group_norm %x groups = 32 channel_axis = 1 eps = 1.0e-5
      : tensor<?x320x?x?xf16> -> tensor<?x320x?x?xf16>
  return %y : tensor<?x320x?x?xf16>
}
)",
                                 "sm_90");
  ASSERT_EQ(manifest.kernels.size(), 1u);
  std::vector<std::string> params = print(manifest.kernels[0].params);
  // A group is ten channels on.
  EXPECT_EQ(llvm::count(params, "stride 0.1 x10"), 1) << llvm::join(params, ", ");
}

TEST(CompiledManifest, Temporaries) {
  Manifest manifest = manifestOf(R"(
func.func @main(%x: tensor<?x4x8xf32>) -> tensor<?x4x8xf32> {
  %y = norm.softmax %x axes = [2] : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  %z = norm.layer_norm %y axes = [1, 2] eps = 1.0e-5
      : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return %z : tensor<?x4x8xf32>
}
)",
                                 "sm_90");
  ASSERT_EQ(manifest.kernels.size(), 2u);
  ASSERT_EQ(manifest.temporaries.size(), 1u);
  EXPECT_EQ(manifest.temporaries[0].shape,
            (std::vector<TemporaryExtent>{BufferDim{0, 0}, 4, 8}));
  EXPECT_EQ(manifest.kernels[0].reads, (std::vector<unsigned>{0}));
  EXPECT_EQ(manifest.kernels[0].writes, (std::vector<unsigned>{2}));
  EXPECT_EQ(manifest.kernels[1].reads, (std::vector<unsigned>{2}));
  EXPECT_EQ(manifest.kernels[1].writes, (std::vector<unsigned>{1}));
}

// Wide accesses want all walked operands aligned; the last variant takes any.
TEST(CompiledManifest, Alignment) {
  Manifest manifest = manifestOf(R"(
func.func @main(%x: tensor<?x4096xbf16>, %w: tensor<4096xf32>) -> (tensor<?x4096xbf16>, tensor<?xf32>) {
  %y, %r = norm.rms_norm %x scale(%w) stats(rstd) axes = [1] eps = 1.0e-6
      : tensor<?x4096xbf16>, tensor<4096xf32> -> tensor<?x4096xbf16>, tensor<?xf32>
  return %y, %r : tensor<?x4096xbf16>, tensor<?xf32>
}
)",
                                 "sm_90");
  ASSERT_EQ(manifest.kernels.size(), 1u);
  const std::vector<Variant> &variants = manifest.kernels[0].variants;
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(variants[0].requirements,
            (std::vector<AlignmentRequirement>{{0, 16}, {1, 16}, {2, 16}}));
  EXPECT_TRUE(variants[1].requirements.empty());
  EXPECT_EQ(manifest.arguments[0].alignment, 2u);
  EXPECT_EQ(manifest.arguments[1].alignment, 4u);
}

} // namespace
