//===- CudaLaunch.h - Loaded kernels and their launches ---------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_CUDALAUNCH_H
#define NORM_LIB_RUNTIME_CUDALAUNCH_H

#include "CudaContext.h"
#include "Workspace.h"

namespace norm::cuda {

struct CudaVariant {
  Function function = nullptr;
  int registers = 0;
  int localBytes = 0;
  /// CTAs that the device holds at once, where they share rows or do one row
  /// after the other; else 0.
  uint64_t residentCtas = 0;
};

/// A module and its kernels' functions, `[kernel][variant]`.
struct CudaCode {
  Manifest manifest;
  std::shared_ptr<DeviceContext> context;
  std::unique_ptr<LoadedModule> module;
  std::vector<std::vector<CudaVariant>> kernels;
};

/// All that the driver is given for one kernel on one stream, made once, so
/// that a launch is one call of the driver and nothing else.
class KernelCall {
public:
  KernelCall() = default;
  // Points at itself.
  KernelCall(const KernelCall &) = delete;
  KernelCall &operator=(const KernelCall &) = delete;

  /// The slots of `kernel`, and `code`, are used by each launch. An error for
  /// a grid that is too large, or a driver without clusters if they are needed.
  llvm::Error prepare(const CudaCode &code, KernelLaunch &kernel,
                      cuda::Stream stream);
  /// The context must be current.
  llvm::Error launch(const Driver &cu);

private:
  /// The driver's function; none for a kernel without rows.
  enum class Entry { None, Plain, Cooperative, Extended };

  void addAttributes(bool isCooperative, bool waits);

  Entry entry = Entry::None;
  Function function = nullptr;
  const Variant *variant = nullptr;
  LaunchConfig config = {};
  LaunchAttribute attributes[2] = {};
  llvm::SmallVector<void *, 16> params;
};

/// The kernels of a checked call on one stream.
class CudaCalls {
public:
  /// Both must outlive this and stay where they are.
  CudaCalls(const CudaCode &code, LaunchPlan &plan, cuda::Stream stream)
      : code(code), cu(code.context->driver()), plan(plan), stream(stream) {}

  /// To be called once, before all else; see `KernelCall::prepare`.
  llvm::Error prepare();

  // The context must be current in what follows.

  /// Makes the plan's counters zero, unless they are known to be, and enqueues
  /// its kernels. No workspace will do where the plan needs none.
  llvm::Error run(WorkspaceMemory *workspace);
  llvm::Error clearCounters(WorkspaceMemory &workspace);
  llvm::Error launch(unsigned kernel) { return calls[kernel].launch(cu); }

private:
  llvm::Expected<bool> isCaptured() const;

  const CudaCode &code;
  const Driver &cu;
  LaunchPlan &plan;
  cuda::Stream stream;
  std::vector<KernelCall> calls;
};

} // namespace norm::cuda

#endif // NORM_LIB_RUNTIME_CUDALAUNCH_H
