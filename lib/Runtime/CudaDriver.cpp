//===- CudaDriver.cpp - The CUDA driver, loaded at run time ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/CudaDriver.h"
#include "norm/Runtime/Device.h"
#include <dlfcn.h>

using namespace norm;
using namespace norm::cuda;

llvm::Expected<std::shared_ptr<const Driver>>
Driver::load(llvm::StringRef library) {
  void *handle = dlopen(library.str().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return llvm::make_error<NoDeviceError>(
        "no CUDA driver: " + std::string(reason ? reason : library.str()));
  }
  auto driver = std::make_shared<Driver>();
  std::string missing;
  auto find = [&](const char *name, bool optional) {
    void *address = dlsym(handle, name);
    if (!address && !optional && missing.empty())
      missing = name;
    return address;
  };
  // NOLINTBEGIN(bugprone-macro-parentheses)
#define NORM_CUDA_FIND(MEMBER, NAME, PARAMETERS)                               \
  driver->MEMBER =                                                             \
      reinterpret_cast<Status(*) PARAMETERS>(find(NAME, /*optional=*/false));
#define NORM_CUDA_FIND_OPTIONAL(MEMBER, NAME, PARAMETERS)                      \
  driver->MEMBER =                                                             \
      reinterpret_cast<Status(*) PARAMETERS>(find(NAME, /*optional=*/true));
  NORM_CUDA_CALLS(NORM_CUDA_FIND)
  NORM_CUDA_OPTIONAL_CALLS(NORM_CUDA_FIND_OPTIONAL)
#undef NORM_CUDA_FIND
#undef NORM_CUDA_FIND_OPTIONAL
  // NOLINTEND(bugprone-macro-parentheses)
  if (!missing.empty())
    return llvm::make_error<NoDeviceError>(
        "no usable CUDA driver: " + library.str() + " lacks " + missing);
  return driver;
}

std::string Driver::describe(Status status) const {
  const char *text = nullptr, *symbol = nullptr;
  if (getErrorString(status, &text) != kSuccess || !text)
    text = "unknown error";
  if (getErrorName(status, &symbol) != kSuccess || !symbol)
    return std::string(text) + " (status " + std::to_string(status) + ")";
  return std::string(text) + " (" + symbol + ")";
}

llvm::Error Driver::check(Status status, llvm::StringRef call) const {
  if (status == kSuccess)
    return llvm::Error::success();
  return llvm::make_error<DeviceError>(
      (call + llvm::Twine(" failed: ") + describe(status)).str());
}
