//===- CompilerTest.cpp - Tests of the facade -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Compiler/Compiler.h"

#include "gtest/gtest.h"
#include <thread>

using namespace norm;

namespace {

constexpr llvm::StringLiteral kSoftmax = R"(
func.func @main(%x: tensor<?x1000xf32>) -> tensor<?x1000xf32> {
  %y = norm.softmax %x axes = [1] : tensor<?x1000xf32> -> tensor<?x1000xf32>
  return %y : tensor<?x1000xf32>
}
)";

constexpr llvm::StringLiteral kUnknownOp = R"(
func.func @main(%x: tensor<?x1000xf32>) -> tensor<?x1000xf32> {
  %y = math.tan %x : tensor<?x1000xf32>
  return %y : tensor<?x1000xf32>
}
)";

CompileOptions forTarget(llvm::StringRef target) {
  CompileOptions options;
  options.target = target.str();
  return options;
}

std::string errorOf(Compiler &compiler, llvm::StringRef text,
                    const CompileOptions &options) {
  llvm::Expected<Artifact> artifact =
      compiler.compile(text, "input.mlir", options);
  if (artifact)
    return "no error";
  return llvm::toString(artifact.takeError());
}

TEST(Compiler, MakesPtx) {
  Compiler compiler;
  auto artifact = compiler.compile(kSoftmax, "input.mlir", forTarget("sm_90"));
  ASSERT_TRUE(bool(artifact)) << llvm::toString(artifact.takeError());
  llvm::StringRef code = artifact->code;
  EXPECT_TRUE(code.contains(".target sm_90"));
  EXPECT_TRUE(code.contains(".version 8.1"));
  for (const Variant &variant : artifact->manifest.kernels.at(0).variants)
    EXPECT_TRUE(code.contains(".entry " + variant.symbol + "("));
  EXPECT_FALSE(bool(verifyManifest(artifact->manifest)));
  EXPECT_EQ(artifact->manifest.minDriver, 12010u);
}

TEST(Compiler, MakesObjects) {
  Compiler compiler;
  auto artifact = compiler.compile(kSoftmax, "input.mlir", forTarget("host"));
  ASSERT_TRUE(bool(artifact)) << llvm::toString(artifact.takeError());
  EXPECT_TRUE(llvm::StringRef(artifact->code)
                  .starts_with("\x7f"
                               "ELF"));
  EXPECT_EQ(artifact->manifest.target, "host");
  EXPECT_EQ(artifact->manifest.ptx, "");
  EXPECT_FALSE(bool(verifyManifest(artifact->manifest)));
}

// One compiler for all targets, and the same result each time.
TEST(Compiler, KeepsNothingOfAnotherCompilation) {
  Compiler compiler;
  std::string first;
  for (llvm::StringRef target : {"sm_90", "host", "sm_80", "sm_90"}) {
    errorOf(compiler, kUnknownOp, forTarget(target));
    auto artifact = compiler.compile(kSoftmax, "input.mlir", forTarget(target));
    ASSERT_TRUE(bool(artifact)) << llvm::toString(artifact.takeError());
    if (target == "sm_90") {
      if (first.empty())
        first = artifact->code;
      EXPECT_EQ(artifact->code, first);
    }
  }
}

TEST(Compiler, ErrorsNameThePlace) {
  Compiler compiler;
  EXPECT_EQ(errorOf(compiler, "func.func @main(", forTarget("host")),
            "input.mlir:1:16: error: expected non-function type");
  std::string message = errorOf(compiler, kUnknownOp, forTarget("sm_90"));
  EXPECT_TRUE(llvm::StringRef(message).starts_with("input.mlir:3:8: error: "))
      << message;
  EXPECT_NE(message.find("math.tan"), std::string::npos) << message;
}

TEST(Compiler, ErrorsOfOptions) {
  Compiler compiler;
  EXPECT_NE(errorOf(compiler, kSoftmax, forTarget("sm_999"))
                .find("unknown target 'sm_999', expects host or one of sm_80"),
            std::string::npos);

  CompileOptions options = forTarget("sm_103");
  options.driverVersion = 12080;
  EXPECT_EQ(errorOf(compiler, kSoftmax, options),
            "target sm_103 in PTX 8.8 expects driver 12090 or newer but got "
            "12080");

  options = forTarget("sm_90");
  options.entry = "other";
  EXPECT_EQ(errorOf(compiler, kSoftmax, options),
            "expects an entry named 'other' but found main");
}

TEST(Compiler, PrintsLevels) {
  Compiler compiler;
  auto text =
      compiler.print(kSoftmax, "input.mlir", forTarget("host"), Level::Program);
  ASSERT_TRUE(bool(text)) << llvm::toString(text.takeError());
  EXPECT_NE(text->find("norm.generic"), std::string::npos);
  auto none =
      compiler.print(kSoftmax, "input.mlir", forTarget("host"), Level::GPU);
  ASSERT_FALSE(bool(none));
  EXPECT_EQ(llvm::toString(none.takeError()),
            "expects a GPU target for this level but got host");
}

TEST(Compiler, ManyAtOnce) {
  auto compileSome = [](std::vector<std::string> &results) {
    Compiler compiler;
    for (llvm::StringRef target : {"sm_90", "sm_80", "host"}) {
      auto artifact =
          compiler.compile(kSoftmax, "input.mlir", forTarget(target));
      results.push_back(artifact ? artifact->code
                                 : llvm::toString(artifact.takeError()));
      results.push_back(errorOf(compiler, kUnknownOp, forTarget(target)));
    }
  };
  constexpr unsigned numThreads = 4;
  std::vector<std::vector<std::string>> results(numThreads);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < numThreads; ++i)
    threads.emplace_back([&, i] { compileSome(results[i]); });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_TRUE(llvm::StringRef(results[0][0]).contains(".target sm_90"));
  for (unsigned i = 1; i < numThreads; ++i)
    EXPECT_EQ(results[i], results[0]);
}

} // namespace
