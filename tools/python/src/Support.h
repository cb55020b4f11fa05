//===- Support.h - Handles and errors of the C API --------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_PYTHON_SUPPORT_H
#define NORM_TOOLS_PYTHON_SUPPORT_H

#include "norm-c/Norm.h"
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace normpy {

/// What becomes `normc.NormError`.
class Error : public std::exception {
public:
  Error(NormcStatus status, std::string text)
      : status(status), text(std::move(text)) {}
  const char *what() const noexcept override { return text.c_str(); }

  NormcStatus status;
  std::string text;
};

/// The word for a status, `invalid program`.
const char *statusName(NormcStatus status);

/// Throws where a call failed, and frees its message.
void check(NormcStatus status, char *message);

struct Destroy {
  void operator()(NormcOptions *handle) const { normcOptionsDestroy(handle); }
  void operator()(NormcCompiler *handle) const { normcCompilerDestroy(handle); }
  void operator()(NormcArtifact *handle) const { normcArtifactDestroy(handle); }
  void operator()(NormcDevice *handle) const { normcDeviceDestroy(handle); }
  void operator()(NormcExecutable *handle) const {
    normcExecutableDestroy(handle);
  }
  void operator()(NormcSession *handle) const { normcSessionDestroy(handle); }
  void operator()(char *text) const { normcFree(text); }
};
template <typename T>
using Handle = std::unique_ptr<T, Destroy>;

/// Calls `function(arguments..., &handle, &message)`.
template <typename T, typename Function, typename... Arguments>
Handle<T> create(Function function, Arguments... arguments) {
  T *handle = nullptr;
  char *message = nullptr;
  check(function(arguments..., &handle, &message), message);
  return Handle<T>(handle);
}

} // namespace normpy

#endif // NORM_TOOLS_PYTHON_SUPPORT_H
