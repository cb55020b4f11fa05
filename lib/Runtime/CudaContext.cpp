//===- CudaContext.cpp - An opened CUDA device and its stream -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaContext.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <vector>

using namespace norm;
using namespace norm::cuda;

namespace {

/// CU_STREAM_NON_BLOCKING: no order with the legacy default stream.
constexpr unsigned kNonBlocking = 1;

/// Bytes of each of the two logs asked of the driver's compiler.
constexpr size_t kLogBytes = 16 << 10;

constexpr uint64_t kAlignment = 256;

/// The same message, as the error that says there is no device.
llvm::Error asNoDevice(llvm::Error error) {
  if (!error)
    return error;
  return llvm::make_error<NoDeviceError>("no CUDA device: " +
                                         llvm::toString(std::move(error)));
}

} // namespace

llvm::Expected<std::shared_ptr<DeviceContext>>
DeviceContext::open(unsigned ordinal, llvm::StringRef library) {
  llvm::Expected<std::shared_ptr<const Driver>> driver = Driver::load(library);
  if (!driver)
    return driver.takeError();
  std::shared_ptr<DeviceContext> context(new DeviceContext(*driver));
  const Driver &cu = context->driver();
  if (llvm::Error error = asNoDevice(cu.check(cu.init(0), "cuInit")))
    return error;
  int count = 0;
  if (llvm::Error error =
          asNoDevice(cu.check(cu.deviceGetCount(&count), "cuDeviceGetCount")))
    return error;
  if (ordinal >= unsigned(std::max(count, 0)))
    return llvm::make_error<NoDeviceError>(
        "no device cuda:" + std::to_string(ordinal) + ": the driver has " +
        std::to_string(count) + (count == 1 ? " device" : " devices"));
  if (llvm::Error error =
          cu.check(cu.deviceGet(&context->device, int(ordinal)), "cuDeviceGet"))
    return error;
  if (llvm::Error error = context->readProperties())
    return error;
  if (llvm::Error error =
          cu.check(cu.primaryCtxRetain(&context->context, context->device),
                   "cuDevicePrimaryCtxRetain"))
    return error;
  if (llvm::Error error = context->createStream())
    return error;
  return context;
}

llvm::Expected<std::shared_ptr<DeviceContext>>
DeviceContext::borrow(Context borrowed, llvm::StringRef library) {
  llvm::Expected<std::shared_ptr<const Driver>> driver = Driver::load(library);
  if (!driver)
    return driver.takeError();
  std::shared_ptr<DeviceContext> context(new DeviceContext(*driver));
  context->context = borrowed;
  context->isBorrowed = true;
  CurrentContext current(*context);
  if (llvm::Error error = current.enter())
    return error;
  const Driver &cu = context->driver();
  if (llvm::Error error =
          cu.check(cu.ctxGetDevice(&context->device), "cuCtxGetDevice"))
    return error;
  if (llvm::Error error = context->readProperties())
    return error;
  if (llvm::Error error = context->createStream())
    return error;
  return context;
}

llvm::Error DeviceContext::createStream() {
  CurrentContext current(*this);
  if (llvm::Error error = current.enter())
    return error;
  return table->check(table->streamCreate(&queue, kNonBlocking),
                      "cuStreamCreate");
}

// Destructors have nobody to report to; what fails in them has failed, and was
// reported, in the launch before.
DeviceContext::~DeviceContext() {
  if (!context)
    return;
  if (queue) {
    CurrentContext current(*this);
    llvm::consumeError(current.enter());
    (void)table->streamDestroy(queue);
  }
  if (!isBorrowed)
    (void)table->primaryCtxRelease(device);
}

llvm::Error DeviceContext::readProperties() {
  char text[256] = {};
  if (llvm::Error error =
          table->check(table->deviceGetName(text, sizeof(text) - 1, device),
                       "cuDeviceGetName"))
    return error;
  props.name = text;
  if (llvm::Error error = table->check(table->driverGetVersion(&props.driver),
                                       "cuDriverGetVersion"))
    return error;
  const std::pair<DeviceAttribute, int *> attributes[] = {
      {kComputeCapabilityMajor, &props.major},
      {kComputeCapabilityMinor, &props.minor},
      {kMultiprocessorCount, &props.multiprocessors},
      {kClockRate, &props.clock},
      {kMemoryClockRate, &props.memoryClock},
      {kGlobalMemoryBusWidth, &props.busWidth},
      {kL2CacheSize, &props.l2Bytes},
      {kMaxSharedMemoryPerBlockOptin, &props.sharedBytes},
      {kCooperativeLaunch, &props.cooperative},
  };
  for (auto [attribute, value] : attributes)
    if (llvm::Error error =
            table->check(table->deviceGetAttribute(value, attribute, device),
                         "cuDeviceGetAttribute"))
      return error;
  return llvm::Error::success();
}

CurrentContext::~CurrentContext() {
  if (isChanged)
    (void)context.driver().ctxSetCurrent(before);
}

llvm::Error CurrentContext::enter() {
  const Driver &cu = context.driver();
  if (llvm::Error error =
          cu.check(cu.ctxGetCurrent(&before), "cuCtxGetCurrent"))
    return error;
  if (before == context.handle())
    return llvm::Error::success();
  if (llvm::Error error =
          cu.check(cu.ctxSetCurrent(context.handle()), "cuCtxSetCurrent"))
    return error;
  isChanged = true;
  return llvm::Error::success();
}

llvm::Error DeviceContext::synchronize() const {
  return table->check(table->streamSynchronize(queue), "cuStreamSynchronize");
}

llvm::Expected<std::unique_ptr<CudaBuffer>>
CudaBuffer::create(std::shared_ptr<DeviceContext> context, uint64_t bytes,
                   uint64_t misalignment) {
  const Driver &cu = context->driver();
  CurrentContext current(*context);
  if (llvm::Error error = current.enter())
    return error;
  // The driver refuses 0 bytes, and aligns to 256 or more.
  uint64_t total =
      llvm::SaturatingAdd(std::max<uint64_t>(bytes, 1),
                          llvm::SaturatingAdd(misalignment, kAlignment));
  Address memory = 0;
  if (llvm::Error error =
          cu.check(cu.memAlloc(&memory, size_t(total)),
                   "cuMemAlloc of " + std::to_string(total) + " bytes"))
    return error;
  return std::unique_ptr<CudaBuffer>(
      new CudaBuffer(std::move(context), memory, misalignment, bytes));
}

CudaBuffer::~CudaBuffer() {
  CurrentContext current(*context);
  llvm::consumeError(current.enter());
  (void)context->driver().memFree(memory);
}

llvm::Expected<std::unique_ptr<LoadedModule>>
LoadedModule::load(std::shared_ptr<DeviceContext> context,
                   llvm::StringRef image) {
  const Driver &cu = context->driver();
  CurrentContext current(*context);
  if (llvm::Error error = current.enter())
    return error;
  // PTX must end in a NUL, which a StringRef needn't.
  std::string terminated = image.str();
  std::vector<char> infoLog(kLogBytes), errorLog(kLogBytes);
  JitOption options[] = {kInfoLogBuffer, kInfoLogBufferSizeBytes,
                         kErrorLogBuffer, kErrorLogBufferSizeBytes};
  // Sizes are passed in the pointers themselves.
  void *values[] = {infoLog.data(), reinterpret_cast<void *>(kLogBytes),
                    errorLog.data(), reinterpret_cast<void *>(kLogBytes)};
  Module loaded = nullptr;
  Status status =
      cu.moduleLoadDataEx(&loaded, terminated.c_str(),
                          unsigned(std::size(options)), options, values);
  if (llvm::Error error = cu.check(status, "cuModuleLoadDataEx")) {
    errorLog.back() = infoLog.back() = '\0';
    std::string message = llvm::toString(std::move(error));
    for (const std::vector<char> *log : {&errorLog, &infoLog}) {
      llvm::StringRef text = llvm::StringRef(log->data()).trim();
      if (!text.empty())
        message += "\n" + text.str();
    }
    return llvm::make_error<DeviceError>(std::move(message));
  }
  return std::unique_ptr<LoadedModule>(
      new LoadedModule(std::move(context), loaded));
}

LoadedModule::~LoadedModule() {
  CurrentContext current(*context);
  llvm::consumeError(current.enter());
  (void)context->driver().moduleUnload(loaded);
}

llvm::Expected<Function>
LoadedModule::function(const std::string &symbol) const {
  const Driver &cu = context->driver();
  Function function = nullptr;
  if (llvm::Error error =
          cu.check(cu.moduleGetFunction(&function, loaded, symbol.c_str()),
                   "cuModuleGetFunction of '" + symbol + "'"))
    return error;
  return function;
}
