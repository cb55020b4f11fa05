//===- Status.cpp - Errors as statuses and texts --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "norm/Support/Version.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <exception>

using namespace norm;
using namespace norm::capi;

char StatusError::ID = 0;

void StatusError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code StatusError::convertToErrorCode() const {
  return std::make_error_code(std::errc::invalid_argument);
}

llvm::Error capi::makeError(NormcStatus status, const llvm::Twine &text) {
  return llvm::make_error<StatusError>(status, text.str());
}

llvm::Error capi::withStatus(NormcStatus status, llvm::Error error) {
  if (!error)
    return error;
  if (error.isA<NoDeviceError>())
    status = NORMC_NO_DEVICE;
  else if (error.isA<DeviceError>())
    status = NORMC_DEVICE_ERROR;
  else if (error.isA<StatusError>())
    return error;
  llvm::handleAllErrors(
      llvm::handleErrors(
          std::move(error),
          [&](std::unique_ptr<jit::MissError> miss) -> llvm::Error {
            status = miss->isPending() ? NORMC_PENDING : NORMC_MISS;
            return llvm::Error(std::move(miss));
          }),
      [&](const llvm::ErrorInfoBase &info) {
        error = makeError(status, info.message());
      });
  return error;
}

llvm::Error capi::checkPointer(const void *pointer, llvm::StringRef name) {
  if (pointer)
    return llvm::Error::success();
  return makeError(NORMC_INVALID_ARGUMENT,
                   "expects " + name + " but got a null pointer");
}

char *capi::copyText(llvm::StringRef text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

NormcStatus capi::report(llvm::Error error, char **message) {
  if (!error)
    return NORMC_SUCCESS;
  NormcStatus status = NORMC_INTERNAL_ERROR;
  std::string text;
  llvm::handleAllErrors(withStatus(NORMC_INTERNAL_ERROR, std::move(error)),
                        [&](const StatusError &known) {
                          status = known.status;
                          text = known.text;
                        });
  if (message)
    *message = copyText(text);
  return status;
}

NormcStatus capi::reportException(char **message) {
  NormcStatus status = NORMC_INTERNAL_ERROR;
  try {
    std::string text = "an exception of an unknown type";
    try {
      throw;
    } catch (const std::bad_alloc &) {
      return NORMC_OUT_OF_MEMORY;
    } catch (const std::exception &exception) {
      text = exception.what();
    } catch (...) {
    }
    if (message)
      *message = copyText(text);
  } catch (...) {
    status = NORMC_OUT_OF_MEMORY;
  }
  return status;
}

uint32_t normcGetAbiVersion(void) {
  return uint32_t(NORMC_ABI_MAJOR) << 16 | NORMC_ABI_MINOR;
}

const char *normcGetVersionString(void) { return versionString().data(); }

void normcFree(void *memory) { std::free(memory); }
