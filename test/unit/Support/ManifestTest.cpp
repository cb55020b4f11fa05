//===- ManifestTest.cpp - Tests of manifests ------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleManifest.h"
#include "norm/Support/Version.h"
#include "gtest/gtest.h"

using namespace norm;
using norm::test::exampleManifest;

namespace {

std::string errorOf(const Manifest &manifest) {
  return llvm::toString(verifyManifest(manifest));
}

std::string parseError(llvm::StringRef text) {
  llvm::Expected<Manifest> manifest = parseManifest(text);
  return manifest ? "" : llvm::toString(manifest.takeError());
}

TEST(ManifestTest, RoundTripsThroughText) {
  Manifest manifest = exampleManifest();
  llvm::Expected<Manifest> again = parseManifest(printManifest(manifest));
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(*again, manifest);
}

TEST(ManifestTest, TellsTheMathThatIsNotExact) {
  Manifest manifest = exampleManifest();
  EXPECT_EQ(printManifest(manifest).find("\"math\""), std::string::npos);
  manifest.math = MathMode::Hardware;
  std::string text = printManifest(manifest);
  llvm::Expected<Manifest> again = parseManifest(text);
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(*again, manifest);
  text.replace(text.find("hardware"), 8, "fast");
  EXPECT_EQ(parseError(text),
            "manifest: math: expects exact or hardware but got 'fast'");
}

TEST(ManifestTest, SeveralRoundTripThroughText) {
  Manifest first = exampleManifest(), second = first;
  second.entry = "other";
  std::vector<Manifest> both = {first, second};
  llvm::Expected<std::vector<Manifest>> again =
      parseManifests(printManifests(both));
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(*again, both);
  // One by itself is a list of one.
  again = parseManifests(printManifest(first));
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(*again, std::vector<Manifest>{first});
  EXPECT_EQ(parseError(printManifests(both)),
            "manifest: document: expects a field 'entry' but got none");
  second.arguments[1].alignment = 3;
  again = parseManifests(printManifests({first, second}));
  EXPECT_EQ(llvm::toString(again.takeError()),
            "manifest: arguments[1].alignment: expects a power of two but got "
            "3");
}

TEST(ManifestTest, VerifierChecksWhereBuffersLie) {
  // Kernels 0 to 2: temporary 0 is used from 0 to 2, temporary 1 in 1.
  Manifest manifest = exampleManifest();
  manifest.temporaries.push_back(manifest.temporaries[0]);
  manifest.kernels[1].writes.push_back(6);
  EXPECT_EQ(errorOf(manifest),
            "manifest: temporaries[1].slot: expects memory that is free from "
            "kernel 1 to 1 but temporary 0 is there");
  manifest.temporaries[1].slot = 2;
  EXPECT_EQ(errorOf(manifest),
            "manifest: temporaries[1].slot: expects fewer slots than "
            "temporaries (2) but got slot 2");
  manifest.temporaries[1].slot = std::nullopt;
  EXPECT_EQ(errorOf(manifest), "");
  manifest.arguments[3].inPlace = 4;
  EXPECT_EQ(errorOf(manifest),
            "manifest: arguments[3].in_place: expects an input, in place of "
            "which the output is written, but got 4");
  manifest.arguments[3].inPlace = 1;
  EXPECT_EQ(errorOf(manifest), "manifest: arguments[3].in_place: expects one "
                               "of the aliases but got 1");
}

TEST(ManifestTest, DescribesBuffers) {
  Manifest manifest = exampleManifest();
  EXPECT_EQ(manifest.describe(2), "argument 2 'eps'");
  EXPECT_EQ(manifest.describe(5), "temporary 0");
  EXPECT_EQ(manifest.rank(0), 2u);
  EXPECT_EQ(manifest.rank(5), 2u);
  EXPECT_EQ(manifest.dtype(5), DType::F32);
}

TEST(ManifestTest, VerifierNamesTheField) {
  auto broken = [](auto change) {
    Manifest manifest = exampleManifest();
    change(manifest);
    return errorOf(manifest);
  };
  EXPECT_EQ(broken([](Manifest &) {}), "");
  EXPECT_EQ(broken([](Manifest &m) { m.target = "gfx90a"; }),
            "manifest: target: expects host, emulated or sm_NN but got "
            "'gfx90a'");
  EXPECT_EQ(broken([](Manifest &m) { m.arguments[0].strides.pop_back(); }),
            "manifest: arguments[0].strides: expects one stride per extent (2) "
            "but got 1");
  EXPECT_EQ(broken([](Manifest &m) { m.arguments[0].shape[1] = -3; }),
            "manifest: arguments[0].shape: expects extents of 0 or more but "
            "got -3");
  EXPECT_EQ(broken([](Manifest &m) { m.arguments[1].alignment = 12; }),
            "manifest: arguments[1].alignment: expects a power of two but got "
            "12");
  EXPECT_EQ(broken([](Manifest &m) { m.arguments[0].aliases = {2}; }),
            "manifest: arguments[0].aliases: expects indices of other tensor "
            "arguments but got 2");
  EXPECT_EQ(broken([](Manifest &m) { m.arguments[3].equals[0]->buffer = 4; }),
            "manifest: arguments[3].equals: expects an earlier argument but "
            "got 4");
  EXPECT_EQ(broken([](Manifest &m) { m.arguments[3].equals[0]->dim = 2; }),
            "manifest: arguments[3].equals.dims: expects dims below the rank 2 "
            "but got 2");
  EXPECT_EQ(broken([](Manifest &m) { m.kernels[0].reads = {9}; }),
            "manifest: kernels[0].reads: expects a buffer index below 6 but "
            "got 9");
  EXPECT_EQ(broken([](Manifest &m) { m.kernels[0].writes = {0}; }),
            "manifest: kernels[0].writes: expects outputs and temporaries but "
            "got argument 0 'x'");
  EXPECT_EQ(broken([](Manifest &m) { m.kernels[0].params[3].buffer = 0; }),
            "manifest: kernels[0].params[3].argument: expects a scalar but got "
            "argument 0 'x'");
  EXPECT_EQ(broken([](Manifest &m) { m.kernels[0].params[0].buffer = 2; }),
            "manifest: kernels[0].params[0].buffer: expects a tensor but got "
            "scalar argument 2 'eps'");
  EXPECT_EQ(broken([](Manifest &m) { m.kernels[1].variants.clear(); }),
            "manifest: kernels[1].variants: expects at least one variant but "
            "got 0");
  EXPECT_EQ(broken([](Manifest &m) { m.kernels[0].variants[1].block = 2000; }),
            "manifest: kernels[0].variants[1].block: expects 1 to 1024 threads "
            "but got 2000");
  EXPECT_EQ(
      broken([](Manifest &m) { m.kernels[0].variants[0].rowsPerCta = 0; }),
      "manifest: kernels[0].variants[0].rows_per_cta: expects 1 or more "
      "but got 0");
  EXPECT_EQ(broken([](Manifest &m) { m.workspace.bytes = 600; }),
            "manifest: workspace.zeroed: expects ranges within 600 bytes but "
            "got 512 bytes at 512");
  // The kernel doesn't use one of 0 bytes.
  EXPECT_EQ(broken([](Manifest &m) { m.workspace = {}; }), "");
}

TEST(ManifestTest, VerifierChecksSplitKernels) {
  auto broken = [](auto change) {
    Manifest manifest = exampleManifest();
    change(manifest.kernels[1]);
    return errorOf(manifest);
  };
  EXPECT_EQ(broken([](Kernel &k) { k.slices = 12; }),
            "manifest: kernels[1].slices: expects a power of two but got 12");
  EXPECT_EQ(broken([](Kernel &k) { k.variants[0].split = 3; }),
            "manifest: kernels[1].variants[0].split: expects a power of two "
            "but got 3");
  EXPECT_EQ(broken([](Kernel &k) { k.variants[0].split = 16; }),
            "manifest: kernels[1].variants[0].split: expects at most as many "
            "CTAs as slices (8) but got 16");
  EXPECT_EQ(broken([](Kernel &k) { k.variants[0].cluster = 2; }),
            "manifest: kernels[1].variants[0].cluster: expects 1 CTA where "
            "rows are split but got 2");
  EXPECT_EQ(broken([](Kernel &k) { k.grid = 2; }),
            "manifest: kernels[1].variants[0].split: expects 1 where the "
            "kernel has a grid but got 4");
  EXPECT_EQ(broken([](Kernel &k) { k.variants[0].persistent = true; }),
            "manifest: kernels[1].variants[0].persistent: expects rows that "
            "no CTAs share by a counter, and no grid");
  // A static extent may be 0.
  EXPECT_EQ(broken([](Kernel &k) { k.rows.factor = 0; }), "");
  EXPECT_EQ(broken([](Kernel &k) { k.params[1].factor = 0; }), "");
}

TEST(ManifestTest, DivisorsAreReadBack) {
  Manifest manifest = exampleManifest();
  Kernel &kernel = manifest.kernels[0];
  kernel.columns.divisor = 8;
  kernel.params = {Param::extent({0, {0}, 1, 4}), Param::stride(0, 0)};
  kernel.params[1].dims = {0, 0};
  kernel.params[1].divisor = 16;
  Argument &argument = manifest.arguments[0];
  argument.multiples.assign(argument.shape.size(), 32);
  llvm::Expected<Manifest> read = parseManifest(printManifest(manifest));
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(*read, manifest);

  auto broken = [&](auto change) {
    Manifest copy = manifest;
    change(copy);
    return errorOf(copy);
  };
  EXPECT_EQ(broken([](Manifest &m) { m.kernels[0].params[0].divisor = 0; }),
            "manifest: kernels[0].params[0].divisor: expects 1 or more but "
            "got 0");
  EXPECT_EQ(broken([](Manifest &m) { m.arguments[0].multiples.back() = 0; }),
            "manifest: arguments[0].multiples: expects 1 or more but got 0");
  EXPECT_EQ(
      broken([](Manifest &m) { m.arguments[0].multiples = {1, 2, 3, 4, 5}; }),
      "manifest: arguments[0].multiples: expects one entry per extent (" +
          std::to_string(argument.shape.size()) + ") but got 5");
}

TEST(ManifestTest, TellsWhichKernelsWait) {
  Manifest manifest = exampleManifest();
  EXPECT_EQ(printManifest(manifest).find("\"waits\""), std::string::npos);
  manifest.kernels[0].variants.back().waits = 32;
  std::string text = printManifest(manifest);
  llvm::Expected<Manifest> again = parseManifest(text);
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(*again, manifest);
  manifest.kernels[0].variants.back().waits = 0;
  EXPECT_NE(*again, manifest);
  text.replace(text.find("\"waits\": 32"), 11, "\"waits\": true");
  EXPECT_EQ(parseError(text).find("manifest: kernels[0].variants["), 0u)
      << parseError(text);
  EXPECT_NE(parseError(text).find("waits"), std::string::npos);
}

TEST(ManifestTest, ParserNamesTheField) {
  std::string text = printManifest(exampleManifest());
  auto replaced = [&](llvm::StringRef from, llvm::StringRef to) {
    std::string changed = text;
    size_t at = changed.find(from.str());
    if (at == std::string::npos)
      return "no '" + from.str() + "' in the manifest";
    changed.replace(at, from.size(), to.str());
    return parseError(changed);
  };
  EXPECT_EQ(replaced("\"version\": 1", "\"version\": 2"),
            "manifest: document: expects version 1 but got 2");
  EXPECT_EQ(replaced("\"entry\": \"main\",", ""),
            "manifest: document: expects a field 'entry' but got none");
  EXPECT_EQ(replaced("\"dtype\": \"bf16\"", "\"dtype\": \"b16\""),
            "manifest: arguments[0].dtype: expects the name of an element type "
            "but got 'b16'");
  EXPECT_EQ(replaced("\"dtype\": \"bf16\"", "\"dtype\": 16"),
            "manifest: arguments[0].dtype: expects a string but got a number");
  EXPECT_EQ(replaced("\"role\": \"input\"", "\"role\": \"in\""),
            "manifest: arguments[0].role: expects input, output or scalar but "
            "got 'in'");
  EXPECT_EQ(replaced("\"alignment\": 2", "\"alignment\": -2"),
            "manifest: arguments[0].alignment: expects an integer from 0 to "
            "9223372036854775807 but got -2");
  EXPECT_EQ(replaced("\"alignment\": 2", "\"alignment\": 2.5"),
            "manifest: arguments[0].alignment: expects an integer but got a "
            "number");
  EXPECT_EQ(replaced("\"kind\": \"pointer\"", "\"kind\": \"address\""),
            "manifest: kernels[0].params[0]: expects kind pointer, stride, "
            "extent, scalar, workspace or split but got 'address'");
  EXPECT_EQ(parseError("[]"),
            "manifest: document: expects an object but got an array");
  EXPECT_NE(parseError("{").find("manifest: "), std::string::npos);
  EXPECT_NE(parseError("").find("manifest: "), std::string::npos);
}

TEST(ManifestTest, EveryTruncationIsAnError) {
  std::string text = printManifest(exampleManifest());
  for (size_t length = 0; length + 2 < text.size(); length += 7)
    EXPECT_NE(parseError(llvm::StringRef(text).take_front(length)), "");
}

TEST(VersionTest, IsPartOfTheLine) {
  EXPECT_TRUE(versionLine().contains(versionString()));
  EXPECT_EQ(versionString().count('.'), 2u);
}

} // namespace
