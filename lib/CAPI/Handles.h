//===- Handles.h - What the handles of the C API stand for ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_CAPI_HANDLES_H
#define NORM_LIB_CAPI_HANDLES_H

#include "norm-c/Norm.h"
#include "norm/JIT/Session.h"
#include <cstring>
#include <mutex>
#include <new>

struct NormcOptions {
  norm::CompileOptions compile;
  bool hasTarget = false;
  bool isCubin = false;
};

namespace norm::capi {
/// Who wants to hear of diagnostics.
struct Listener {
  NormcDiagnosticCallback callback = nullptr;
  void *userData = nullptr;

  void tell(NormcSeverity severity, const std::string &text) const {
    if (callback)
      callback(severity, text.c_str(), userData);
  }
};
} // namespace norm::capi

struct NormcCompiler {
  std::shared_ptr<norm::jit::CompilerPool> pool;
  norm::capi::Listener listener;
};

struct NormcArtifact {
  std::string code;
  std::string manifestText;
  norm::Manifest manifest;
};

struct NormcDevice {
  std::shared_ptr<norm::jit::SharedDevice> device;
  std::string target;
  std::string description;
  std::string product;
};

struct NormcExecutable {
  std::shared_ptr<norm::jit::SessionProgram> program;
};

struct NormcSession {
  norm::capi::Listener listener;
  std::unique_ptr<norm::jit::Session> session;
};

namespace norm::capi {

/// An error of which it is known what status it is.
class StatusError : public llvm::ErrorInfo<StatusError> {
public:
  static char ID;

  StatusError(NormcStatus status, std::string text)
      : status(status), text(std::move(text)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  NormcStatus status;
  std::string text;
};

llvm::Error makeError(NormcStatus status, const llvm::Twine &text);
/// The same error as one of status `status`, unless its own kind says more.
llvm::Error withStatus(NormcStatus status, llvm::Error error);
/// `NORMC_INVALID_ARGUMENT` where the pointer `name` is null.
llvm::Error checkPointer(const void *pointer, llvm::StringRef name);

/// A copy in memory of `normcFree`; throws where there is none.
char *copyText(llvm::StringRef text);

/// The status and the message of an error; success without one.
NormcStatus report(llvm::Error error, char **message);
/// The same for an exception, within its handler.
NormcStatus reportException(char **message);

/// Runs a function of the API: `body` returns an `llvm::Error`.
template <typename Body>
NormcStatus run(char **message, const Body &body) {
  if (message)
    *message = nullptr;
  try {
    return report(body(), message);
  } catch (...) {
    return reportException(message);
  }
}

/// The struct that a caller knows `theirs->structSize` bytes of, of which the
/// first version had `least`. What the caller doesn't know is zero.
template <typename T>
llvm::Expected<T> readStruct(const T *theirs, size_t least,
                             llvm::StringRef name) {
  if (llvm::Error error = checkPointer(theirs, name))
    return std::move(error);
  if (theirs->structSize < least)
    return makeError(NORMC_INVALID_ARGUMENT,
                     "expects a " + name + " of " + llvm::Twine(least) +
                         " bytes or more but its structSize is " +
                         llvm::Twine(theirs->structSize));
  T ours = {};
  std::memcpy(&ours, theirs, std::min(theirs->structSize, sizeof(T)));
  return ours;
}

/// The options of a compilation; of a session without a target.
CompileOptions optionsOf(const NormcOptions *options, bool isSession);

} // namespace norm::capi

#endif // NORM_LIB_CAPI_HANDLES_H
