//===- ProgramsTest.cpp - Tests of programs by name -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Programs/Programs.h"
#include "norm/Compiler/Compiler.h"
#include "gtest/gtest.h"

using namespace norm;

namespace {

std::string text(llvm::StringRef program, llvm::StringRef fields) {
  llvm::Expected<ProgramFields> parsed = parseProgramFields(fields);
  if (!parsed)
    return llvm::toString(parsed.takeError());
  llvm::Expected<std::string> built = buildProgram(program, *parsed);
  return built ? *built : llvm::toString(built.takeError());
}

/// The manifest of the compiled program, for a GPU.
Manifest compile(llvm::StringRef program, llvm::StringRef fields) {
  static Compiler compiler;
  CompileOptions options;
  options.target = "sm_90";
  std::string source = text(program, fields);
  llvm::Expected<Artifact> artifact =
      compiler.compile(source, "program.mlir", options);
  if (artifact)
    return std::move(artifact->manifest);
  ADD_FAILURE() << program.str() << " " << fields.str() << ": "
                << llvm::toString(artifact.takeError()) << "\n"
                << source;
  return {};
}

std::vector<std::string> results(const Manifest &manifest) {
  std::vector<std::string> types;
  for (const Argument &argument : manifest.arguments)
    if (argument.role == ArgumentRole::Output)
      types.push_back(name(argument.dtype).str());
  return types;
}

TEST(ProgramsTest, AllBecomeOneKernel) {
  for (llvm::StringRef program : programNames()) {
    std::string fields = "columns=256";
    if (program.starts_with("group_norm"))
      fields = "channels=64,groups=8";
    if (program == "quantize")
      fields += ",quantize=i8:row";
    Manifest manifest = compile(program, fields);
    EXPECT_EQ(manifest.entry, program);
    EXPECT_EQ(manifest.kernels.size(), 1u) << program.str();
  }
}

TEST(ProgramsTest, FieldsAreTaken) {
  Manifest manifest =
      compile("add_rms_norm", "columns=256,rows=12,dtype=f16,param-dtype=f32,"
                              "eps=1e-5,offset=1,stats=yes");
  EXPECT_EQ(results(manifest), (std::vector<std::string>{"f16", "f16", "f32"}));
  ASSERT_EQ(manifest.arguments.size(), 6u);
  EXPECT_EQ(manifest.arguments[0].shape, (std::vector<int64_t>{12, 256}));
  EXPECT_EQ(manifest.arguments[2].dtype, DType::F32);
  EXPECT_EQ(text("rms_norm", "columns=4,eps=0.1,offset=1,dtype=f32"),
            "func.func @rms_norm(%x: tensor<?x4xf32>, %weight: tensor<4xf32>)\n"
            "    -> (tensor<?x4xf32>) {\n"
            "  %normed = norm.rms_norm %x scale(%weight, offset = "
            "1.0000000000000000e+00) axes = [1] eps = 1.0000000000000001e-01 : "
            "tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>\n"
            "  return %normed : tensor<?x4xf32>\n"
            "}\n");
  compile("layer_norm", "columns=?,stats=yes,offset=1");
}

TEST(ProgramsTest, ResultsAreQuantized) {
  EXPECT_EQ(results(compile("add_rms_norm",
                            "columns=256,quantize=f8E4M3FN:row,in-place=yes")),
            (std::vector<std::string>{"f8E4M3FN", "f32", "bf16"}));
  Manifest given = compile("add_layer_norm",
                           "columns=256,quantize=f8E5M2:tensor,in-place=yes");
  EXPECT_EQ(results(given), (std::vector<std::string>{"f8E5M2", "bf16"}));
  EXPECT_EQ(given.arguments.back().inPlace, 1u);
  EXPECT_EQ(results(compile("rms_norm", "columns=256,quantize=i8:64")),
            (std::vector<std::string>{"i8", "f32"}));
  EXPECT_EQ(results(compile("silu_and_mul", "columns=256,quantize=mxfp8")),
            (std::vector<std::string>{"f8E4M3FN", "f8E8M0FNU"}));
  EXPECT_EQ(results(compile("rms_norm", "columns=256,quantize=nvfp4")),
            (std::vector<std::string>{"f4E2M1FN", "f8E4M3FN"}));
}

TEST(ProgramsTest, WrongRequestsAreTold) {
  EXPECT_EQ(text("rms_norm", ""),
            "program 'rms_norm' expects a field 'columns' but got none");
  EXPECT_EQ(text("quantize", "columns=8"),
            "program 'quantize' expects a field 'quantize' but got none");
  EXPECT_EQ(text("softmax", "columns=8,eps=1"),
            "program 'softmax' expects fields of columns, rows, dtype but got "
            "'eps'");
  EXPECT_EQ(text("rms_norm", "columns=0"),
            "field 'columns' expects ? or a number from 1 to 1073741824 but "
            "got '0'");
  EXPECT_EQ(text("rms_norm", "columns=8,dtype=i8"),
            "field 'dtype' expects f32, f16, bf16 or f64 but got 'i8'");
  EXPECT_EQ(text("rms_norm", "columns=8,eps=-1"),
            "field 'eps' expects a number of 0 or more but got '-1'");
  EXPECT_EQ(text("rms_norm", "columns=8,eps=nan"),
            "field 'eps' expects a number but got 'nan'");
  EXPECT_EQ(text("rms_norm", "columns=8,stats=1"),
            "field 'stats' expects yes or no but got '1'");
  EXPECT_EQ(
      text("rms_norm", "columns=8,quantize=i8"),
      "field 'quantize' expects TYPE:row, TYPE:N, TYPE:tensor with a TYPE "
      "of f8E4M3FN, f8E5M2 or i8, mxfp8 or nvfp4 but got 'i8'");
  EXPECT_EQ(
      text("rms_norm", "columns=100,quantize=i8:64"),
      "field 'quantize' expects columns that are a multiple of 64 but got "
      "100");
  EXPECT_EQ(
      text("rms_norm", "columns=?,quantize=i8:64"),
      "field 'quantize' expects columns that are a multiple of 64 but got "
      "?");
  EXPECT_EQ(text("group_norm", "channels=6,groups=4"),
            "field 'groups' expects a divisor of 6 channels but got '4'");
  EXPECT_EQ(text("rms_norm", "columns=8,columns=9"),
            "expects each field once but got 'columns' again");
  EXPECT_EQ(text("norm", ""),
            "expects a program of rms_norm, layer_norm, add_rms_norm, "
            "add_layer_norm, rms_norm_silu, rms_norm_silu_gate, silu_and_mul, "
            "gelu_and_mul, softmax, log_softmax, quantize, group_norm, "
            "group_norm_silu but got 'norm'");
}

TEST(ProgramsTest, TheListHasEveryProgram) {
  std::string list = listPrograms();
  for (llvm::StringRef program : programNames())
    EXPECT_NE(list.find(("  " + program + " ").str()), std::string::npos);
}

} // namespace
