//===- Harness.h - Handles of the C API that free themselves ----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_CAPI_HARNESS_H
#define NORM_TEST_UNIT_CAPI_HARNESS_H

#include "norm-c/Norm.h"
#include "gtest/gtest.h"
#include <memory>
#include <string>
#include <vector>

namespace norm::test {

template <auto Destroy>
struct Destroyer {
  template <typename T>
  void operator()(T *handle) const {
    Destroy(handle);
  }
};
using Options = std::unique_ptr<NormcOptions, Destroyer<normcOptionsDestroy>>;
using Compiler =
    std::unique_ptr<NormcCompiler, Destroyer<normcCompilerDestroy>>;
using Artifact =
    std::unique_ptr<NormcArtifact, Destroyer<normcArtifactDestroy>>;
using Device = std::unique_ptr<NormcDevice, Destroyer<normcDeviceDestroy>>;
using Executable =
    std::unique_ptr<NormcExecutable, Destroyer<normcExecutableDestroy>>;
using Session = std::unique_ptr<NormcSession, Destroyer<normcSessionDestroy>>;

/// A status, with its message: `4: argument 1 ...`; nothing for success.
struct Result {
  NormcStatus status = NORMC_SUCCESS;
  std::string text;
};

/// Calls `call(&message)`.
template <typename Call>
Result call(const Call &body) {
  char *message = nullptr;
  Result result;
  result.status = body(&message);
  if (message)
    result.text = message;
  normcFree(message);
  return result;
}

#define NORMC_EXPECT_SUCCESS(...)                                              \
  do {                                                                         \
    ::norm::test::Result result_ =                                             \
        ::norm::test::call([&](char **message) { return __VA_ARGS__; });       \
    EXPECT_EQ(result_.status, NORMC_SUCCESS) << result_.text;                  \
    EXPECT_EQ(result_.text, "");                                               \
  } while (false)

#define NORMC_EXPECT_FAILURE(STATUS, TEXT, ...)                                \
  do {                                                                         \
    ::norm::test::Result result_ =                                             \
        ::norm::test::call([&](char **message) { return __VA_ARGS__; });       \
    EXPECT_EQ(result_.status, STATUS);                                         \
    EXPECT_EQ(result_.text, TEXT);                                             \
  } while (false)

inline std::string build(const char *program, const char *fields) {
  char *text = nullptr;
  NORMC_EXPECT_SUCCESS(normcBuildProgram(program, fields, &text, message));
  std::string result = text ? text : "";
  normcFree(text);
  return result;
}

inline Compiler makeCompiler() {
  NormcCompiler *compiler = nullptr;
  NORMC_EXPECT_SUCCESS(normcCompilerCreate(&compiler, message));
  return Compiler(compiler);
}

inline Options
makeOptions(std::vector<std::pair<const char *, const char *>> values) {
  NormcOptions *options = nullptr;
  NORMC_EXPECT_SUCCESS(normcOptionsCreate(&options, message));
  for (auto [name, value] : values)
    NORMC_EXPECT_SUCCESS(normcOptionsSet(options, name, value, message));
  return Options(options);
}

inline Device openDevice(const char *name) {
  NormcDeviceOptions options = {};
  options.structSize = sizeof(options);
  options.name = name;
  NormcDevice *device = nullptr;
  NORMC_EXPECT_SUCCESS(normcDeviceOpen(&options, &device, message));
  return Device(device);
}

inline Artifact compile(NormcCompiler *compiler, const std::string &text,
                        const NormcOptions *options = nullptr) {
  NormcArtifact *artifact = nullptr;
  NORMC_EXPECT_SUCCESS(normcCompile(compiler, text.data(), text.size(), nullptr,
                                    options, &artifact, message));
  return Artifact(artifact);
}

inline Executable load(NormcDevice *device, const NormcArtifact *artifact) {
  NormcExecutable *executable = nullptr;
  NORMC_EXPECT_SUCCESS(
      normcExecutableCreate(device, artifact, &executable, message));
  return Executable(executable);
}

/// `y = softmax(x)`, or another program of one f32 matrix in and one out.
class MatrixLaunch {
public:
  MatrixLaunch(int64_t rows, int64_t columns)
      : shape{rows, columns}, x(size_t(rows * columns)),
        y(size_t(rows * columns)) {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i % 13) - 6;
    arguments[0] = {x.data(), shape, nullptr, 2, NORMC_F32};
    arguments[1] = {y.data(), shape, nullptr, 2, NORMC_F32};
    launch.structSize = sizeof(launch);
    launch.argumentSize = sizeof(NormcArgument);
    launch.arguments = arguments;
    launch.numArguments = 2;
  }
  MatrixLaunch(const MatrixLaunch &) = delete;

  /// Whether every row of y sums to 1.
  bool sumsToOne() const {
    for (int64_t row = 0; row < shape[0]; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < shape[1]; ++i)
        sum += y[size_t(row * shape[1] + i)];
      if (!(sum > 0.99999 && sum < 1.00001))
        return false;
    }
    return true;
  }

  int64_t shape[2];
  std::vector<float> x, y;
  NormcArgument arguments[2];
  NormcLaunch launch = {};
};

} // namespace norm::test

#endif // NORM_TEST_UNIT_CAPI_HARNESS_H
