//===- CudaLaunch.cpp - Loaded kernels and their launches -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaLaunch.h"
#include "llvm/ADT/Twine.h"

using namespace norm;
using namespace norm::cuda;

namespace {

constexpr uint64_t kMaxGrid = (uint64_t(1) << 31) - 1;

/// The first driver for kernels that wait for the grids before them, as
/// `cuDriverGetVersion` tells: CUDA 12.0.
constexpr int kDependentLaunchDriver = 12000;

/// CU_STREAM_CAPTURE_STATUS_NONE
constexpr int kNotCaptured = 0;

} // namespace

llvm::Error KernelCall::prepare(const CudaCode &code, KernelLaunch &kernel,
                                cuda::Stream stream) {
  if (kernel.empty())
    return llvm::Error::success();
  variant = &code.manifest.kernels[kernel.kernel].variants[kernel.variant];
  function = code.kernels[kernel.kernel][kernel.variant].function;
  if (kernel.groups > kMaxGrid / variant->cluster)
    return llvm::createStringError(
        "kernel '" + variant->symbol + "': expects a grid of at most " +
        llvm::Twine(kMaxGrid) + " CTAs but got " + llvm::Twine(kernel.groups) +
        " times a cluster of " + llvm::Twine(variant->cluster));
  const DeviceContext &context = *code.context;
  int driver = context.properties().driver;
  bool isExtensible = context.driver().launchKernelEx != nullptr;
  if (variant->cluster > 1 && !isExtensible)
    return llvm::createStringError(
        "kernel '" + variant->symbol +
        "': expects a driver with clusters (CUDA 11.8) but got " +
        llvm::Twine(driver));

  bool isCooperative = kernel.split > 1;
  unsigned grid = unsigned(kernel.groups * variant->cluster);
  bool waits = grid <= variant->waits && !isCooperative && isExtensible &&
               driver >= kDependentLaunchDriver;
  unsigned shared = unsigned(variant->dynamicShared);
  config = {grid, 1, 1, variant->block, 1, 1, shared, stream, nullptr, 0};
  if (variant->cluster > 1 || waits) {
    entry = Entry::Extended;
    addAttributes(isCooperative, waits);
  } else {
    entry = isCooperative ? Entry::Cooperative : Entry::Plain;
  }
  for (uint64_t &slot : kernel.params)
    params.push_back(&slot);
  return llvm::Error::success();
}

void KernelCall::addAttributes(bool isCooperative, bool waits) {
  auto add = [&](LaunchAttributeId id) -> LaunchAttribute::Value & {
    LaunchAttribute &attribute = attributes[config.numAttributes++];
    attribute.id = id;
    return attribute.value;
  };
  config.attributes = attributes;
  if (variant->cluster > 1)
    add(kLaunchClusterDimension).clusterDim = {variant->cluster, 1, 1};
  if (isCooperative)
    add(kLaunchCooperative).cooperative = 1;
  else if (waits)
    add(kLaunchProgrammaticSerialization).programmaticSerialization = 1;
}

llvm::Error KernelCall::launch(const Driver &cu) {
  Status status = kSuccess;
  const char *name = "";
  switch (entry) {
  case Entry::None:
    break;
  case Entry::Plain:
    name = "cuLaunchKernel";
    status = cu.launchKernel(function, config.gridDimX, 1, 1, config.blockDimX,
                             1, 1, config.sharedMemBytes, config.stream,
                             params.data(), nullptr);
    break;
  case Entry::Cooperative:
    name = "cuLaunchCooperativeKernel";
    status = cu.launchCooperative(function, config.gridDimX, 1, 1,
                                  config.blockDimX, 1, 1, config.sharedMemBytes,
                                  config.stream, params.data());
    break;
  case Entry::Extended:
    name = "cuLaunchKernelEx";
    status = cu.launchKernelEx(&config, function, params.data(), nullptr);
    break;
  }
  // No text is made unless it's needed.
  if (status == kSuccess)
    return llvm::Error::success();
  return cu.check(status,
                  (llvm::Twine(name) + " of '" + variant->symbol + "'").str());
}

llvm::Error CudaCalls::prepare() {
  calls = std::vector<KernelCall>(plan.kernels.size());
  for (unsigned i = 0; i < calls.size(); ++i)
    if (llvm::Error error = calls[i].prepare(code, plan.kernels[i], stream))
      return error;
  return llvm::Error::success();
}

llvm::Error CudaCalls::run(WorkspaceMemory *workspace) {
  if (workspace)
    if (llvm::Error error = clearCounters(*workspace))
      return error;
  for (KernelCall &call : calls)
    if (llvm::Error error = call.launch(cu)) {
      if (workspace)
        workspace->invalidate();
      return error;
    }
  return llvm::Error::success();
}

/// Whether what is enqueued now becomes part of a graph. A driver without
/// graphs captures nothing.
llvm::Expected<bool> CudaCalls::isCaptured() const {
  if (!cu.streamIsCapturing)
    return false;
  int status = kNotCaptured;
  if (llvm::Error error = cu.check(cu.streamIsCapturing(stream, &status),
                                   "cuStreamIsCapturing"))
    return error;
  return status != kNotCaptured;
}

llvm::Error CudaCalls::clearCounters(WorkspaceMemory &workspace) {
  if (plan.workspaceBytes == 0)
    return llvm::Error::success();
  llvm::Expected<bool> captured = isCaptured();
  if (!captured)
    return captured.takeError();
  if (*captured)
    workspace.shareWithGraph();
  return workspace.enter(plan, [&](uint64_t address, uint64_t bytes) {
    return cu.check(cu.memsetD8Async(address, 0, size_t(bytes), stream),
                    "cuMemsetD8Async");
  });
}
