//===- CompileTest.cpp - Tests of compiling through the C API -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include <cstring>

using namespace norm::test;

namespace {

const char *const kWrong =
    "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %y = norm.softmax %x axes = [3] : tensor<4xf32> "
    "-> tensor<4xf32>\n"
    "  return %y : tensor<4xf32>\n}\n";

std::string codeOf(const Artifact &artifact) {
  const void *code = nullptr;
  size_t size = 0;
  NORMC_EXPECT_SUCCESS(
      normcArtifactGetCode(artifact.get(), &code, &size, message));
  EXPECT_EQ(static_cast<const char *>(code)[size], '\0');
  return std::string(static_cast<const char *>(code), size);
}

std::string manifestOf(const Artifact &artifact) {
  const char *text = nullptr;
  size_t size = 0;
  NORMC_EXPECT_SUCCESS(
      normcArtifactGetManifest(artifact.get(), &text, &size, message));
  EXPECT_EQ(std::strlen(text), size);
  return text;
}

TEST(CompileCAPITest, Versions) {
  EXPECT_EQ(normcGetAbiVersion(),
            uint32_t(NORMC_ABI_MAJOR) << 16 | NORMC_ABI_MINOR);
  EXPECT_STREQ(normcGetVersionString(), "0.1.0");
}

TEST(CompileCAPITest, MakesPtxAndManifest) {
  Compiler compiler = makeCompiler();
  Options options = makeOptions({{"target", "sm_90"}});
  Artifact artifact =
      compile(compiler.get(), build("softmax", "columns=64"), options.get());
  EXPECT_NE(codeOf(artifact).find(".target sm_90"), std::string::npos);
  EXPECT_NE(manifestOf(artifact).find("\"entry\": \"softmax\""),
            std::string::npos);
  Artifact host = compile(compiler.get(), build("softmax", "columns=64"));
  EXPECT_EQ(codeOf(host).substr(0, 4), "\x7f"
                                       "ELF");
}

TEST(CompileCAPITest, KeptArtifactsAreLoaded) {
  Compiler compiler = makeCompiler();
  Artifact first =
      compile(compiler.get(), build("softmax", "columns=64,dtype=f32"));
  std::string code = codeOf(first), manifest = manifestOf(first);
  first.reset();
  compiler.reset();
  NormcArtifact *kept = nullptr;
  NORMC_EXPECT_SUCCESS(normcArtifactCreate(code.data(), code.size(),
                                           manifest.data(), manifest.size(),
                                           &kept, message));
  Artifact owner(kept);
  Device device = openDevice("host");
  Executable executable = load(device.get(), kept);
  MatrixLaunch launch(5, 64);
  NORMC_EXPECT_SUCCESS(
      normcExecutableLaunch(executable.get(), &launch.launch, message));
  EXPECT_TRUE(launch.sumsToOne());
  EXPECT_EQ(normcExecutableGetManifest(executable.get()), manifest);

  char *text = nullptr;
  EXPECT_EQ(normcArtifactCreate("", 0, "{}", 2, &kept, &text),
            NORMC_INVALID_ARGUMENT);
  EXPECT_EQ(kept, nullptr);
  normcFree(text);
}

TEST(CompileCAPITest, Differentiates) {
  Compiler compiler = makeCompiler();
  std::string text = build("rms_norm", "columns=64,dtype=f32");
  char *derived = nullptr, *description = nullptr;
  NORMC_EXPECT_SUCCESS(normcDifferentiate(
      compiler.get(), text.data(), text.size(), nullptr,
      "wrt=0,1 save=statistics gradient-type=1:f64 accumulate=1", &derived,
      &description, message));
  ASSERT_TRUE(derived && description);
  std::string tells = description;
  for (const char *part :
       {"\"backward\":{", "\"entry\":\"rms_norm_backward\"",
        "{\"name\":\"input 0\",\"type\":\"tensor<?x64xf32>\"}",
        "{\"name\":\"saved 0\",\"type\":\"tensor<?xf32>\"}",
        "{\"name\":\"cotangent 0\",\"type\":\"tensor<?x64xf32>\"}",
        "{\"name\":\"previous 1\",\"type\":\"tensor<64xf64>\"}",
        "{\"name\":\"gradient 1\",\"type\":\"tensor<64xf64>\"}",
        "\"forward\":{", "\"entry\":\"rms_norm_forward\""})
    EXPECT_NE(tells.find(part), std::string::npos) << part << " in " << tells;
  Options options = makeOptions({{"entry", "rms_norm_backward"}});
  Artifact artifact = compile(compiler.get(), derived, options.get());
  EXPECT_NE(manifestOf(artifact).find("\"name\": \"d_weight\""),
            std::string::npos);
  normcFree(derived);
  normcFree(description);

  NORMC_EXPECT_FAILURE(
      NORMC_INVALID_ARGUMENT,
      "option 'wrt' expects numbers of arguments, as in 0,1, but got 'x'",
      normcDifferentiate(compiler.get(), text.data(), text.size(), nullptr,
                         "wrt=x", &derived, &description, message));
  EXPECT_FALSE(derived || description);
  Result result = call([&](char **message) {
    return normcDifferentiate(compiler.get(), kWrong, std::strlen(kWrong),
                              "w.mlir", nullptr, &derived, &description,
                              message);
  });
  EXPECT_EQ(result.status, NORMC_INVALID_PROGRAM);
  EXPECT_EQ(result.text.find("w.mlir:2:"), 0u) << result.text;
}

TEST(CompileCAPITest, DiagnosticsAreMessagesAndCalls) {
  struct Seen {
    std::vector<std::string> errors, remarks;
  } seen;
  Compiler compiler = makeCompiler();
  auto listen = [](NormcSeverity severity, const char *text, void *data) {
    auto *all = static_cast<Seen *>(data);
    (severity == NORMC_ERROR ? all->errors : all->remarks).push_back(text);
  };
  NORMC_EXPECT_SUCCESS(normcCompilerSetDiagnosticCallback(
      compiler.get(), listen, &seen, message));
  NormcArtifact *artifact = nullptr;
  Result result = call([&](char **message) {
    return normcCompile(compiler.get(), kWrong, std::strlen(kWrong), "w.mlir",
                        nullptr, &artifact, message);
  });
  EXPECT_EQ(result.status, NORMC_INVALID_PROGRAM);
  EXPECT_EQ(artifact, nullptr);
  EXPECT_EQ(result.text.find("w.mlir:2:"), 0u) << result.text;
  ASSERT_EQ(seen.errors.size(), 1u);
  EXPECT_EQ(seen.errors[0], result.text);

  Options options = makeOptions({{"explain", "yes"}});
  compile(compiler.get(), build("add_rms_norm", "columns=64"), options.get());
  EXPECT_FALSE(seen.remarks.empty());
  // The message may be left.
  EXPECT_EQ(normcCompile(compiler.get(), kWrong, std::strlen(kWrong), nullptr,
                         nullptr, &artifact, nullptr),
            NORMC_INVALID_PROGRAM);
}

TEST(CompileCAPITest, OptionsAreChecked) {
  Options options = makeOptions({{"math", "hardware"},
                                 {"schedule", "threads=32"},
                                 {"tuning", "none"},
                                 {"device", "NVIDIA H200"},
                                 {"entry", "main"},
                                 {"ptx-version", "83"},
                                 {"driver-version", "12040"},
                                 {"form", "ptx"},
                                 {"emulate", "no"}});
  NORMC_EXPECT_FAILURE(NORMC_INVALID_ARGUMENT,
                       "option 'form' expects ptx or cubin but got 'x'",
                       normcOptionsSet(options.get(), "form", "x", message));
  NORMC_EXPECT_FAILURE(NORMC_INVALID_ARGUMENT,
                       "option 'explain' expects yes or no but got '1'",
                       normcOptionsSet(options.get(), "explain", "1", message));
  NORMC_EXPECT_FAILURE(
      NORMC_INVALID_ARGUMENT,
      "expects an option of target, emulate, form, entry, schedule, tuning, "
      "device, ptx-version, driver-version, math, explain but got 'speed'",
      normcOptionsSet(options.get(), "speed", "1", message));
  NORMC_EXPECT_FAILURE(
      NORMC_INVALID_ARGUMENT,
      "/nowhere/t.json: cannot read: No such file or directory",
      normcOptionsSet(options.get(), "tuning", "/nowhere/t.json", message));
  Result wrong = call([&](char **message) {
    return normcOptionsSet(options.get(), "target", "sm_1", message);
  });
  EXPECT_EQ(wrong.status, NORMC_INVALID_ARGUMENT);
  EXPECT_EQ(wrong.text.find("unknown target 'sm_1'"), 0u) << wrong.text;
  NORMC_EXPECT_FAILURE(NORMC_INVALID_ARGUMENT,
                       "expects name but got a null pointer",
                       normcOptionsSet(options.get(), nullptr, "", message));
}

TEST(CompileCAPITest, CubinsAreOfGPUs) {
  Compiler compiler = makeCompiler();
  Options options = makeOptions({{"form", "cubin"}});
  std::string text = build("softmax", "columns=64");
  NormcArtifact *artifact = nullptr;
  NORMC_EXPECT_FAILURE(
      NORMC_INVALID_ARGUMENT, "form cubin expects a GPU target but got host",
      normcCompile(compiler.get(), text.data(), text.size(), nullptr,
                   options.get(), &artifact, message));
}

TEST(CompileCAPITest, NullHandlesAreErrors) {
  NormcArtifact *artifact = nullptr;
  NORMC_EXPECT_FAILURE(
      NORMC_INVALID_ARGUMENT, "expects compiler but got a null pointer",
      normcCompile(nullptr, "", 0, nullptr, nullptr, &artifact, message));
  NORMC_EXPECT_FAILURE(NORMC_INVALID_ARGUMENT,
                       "expects NormcDeviceOptions but got a null pointer",
                       normcDeviceOpen(nullptr, nullptr, message));
  normcOptionsDestroy(nullptr);
  normcCompilerDestroy(nullptr);
  normcArtifactDestroy(nullptr);
  normcDeviceDestroy(nullptr);
  normcExecutableDestroy(nullptr);
  normcSessionDestroy(nullptr);
  normcFree(nullptr);
}

TEST(CompileCAPITest, ProgramsAreListed) {
  char *text = nullptr;
  NORMC_EXPECT_SUCCESS(normcListPrograms(&text, message));
  EXPECT_NE(std::string(text).find("add_rms_norm"), std::string::npos);
  normcFree(text);
  NORMC_EXPECT_FAILURE(NORMC_INVALID_ARGUMENT,
                       "expects fields as NAME=VALUE but got 'columns'",
                       normcBuildProgram("softmax", "columns", &text, message));
  EXPECT_EQ(text, nullptr);
}

} // namespace
