//===- LaunchPlan.h - A checked launch of a manifest's kernels --*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lies between a manifest and a device: the arguments of one call are
// checked against the manifest, each kernel's variant is chosen, the workspace
// is laid out, and the parameter slots are filled. Nothing here touches memory
// or a device.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_LAUNCHPLAN_H
#define NORM_RUNTIME_LAUNCHPLAN_H

#include "norm/Support/Manifest.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace norm {

/// What a caller passes for one argument: a strided tensor in memory of the
/// device, or a scalar.
struct BoundArgument {
  DType dtype = DType::F32;
  /// Address of element 0 in bytes; any value for a tensor without elements.
  uint64_t address = 0;
  llvm::SmallVector<int64_t, 4> shape;
  llvm::SmallVector<int64_t, 4> strides; // in elements, 0 or more
  /// The same memory as whole bytes, where elements share them: a tensor of i8
  /// with half the columns. Extents and strides must be even.
  BoundArgument inBytes() const;

  /// The bits of a scalar, in the low `byteSize(dtype)` bytes.
  uint64_t scalar = 0;

  /// A contiguous (row-major) tensor.
  static BoundArgument contiguous(DType dtype, uint64_t address,
                                  llvm::ArrayRef<int64_t> shape);
  static BoundArgument makeScalar(DType dtype, double value);
};

/// Row-major strides of `shape`, in elements.
llvm::SmallVector<int64_t, 4> contiguousStrides(llvm::ArrayRef<int64_t> shape);

/// `16x4096`, `?x4096`, or `scalar` for rank 0.
std::string printShape(llvm::ArrayRef<int64_t> shape);

/// The product of `extents`; an error beyond 2^63 - 1.
llvm::Expected<int64_t> numElements(llvm::ArrayRef<int64_t> extents);

/// One kernel of a launch.
struct KernelLaunch {
  unsigned kernel = 0;  ///< index into `Manifest::kernels`
  unsigned variant = 0; ///< index into its variants
  int64_t rows = 0;
  int64_t columns = 0;
  /// CTAs of the grid, or clusters of them; 0 for a kernel that isn't launched.
  uint64_t groups = 0;
  /// CTAs that share a row; more than 1 takes a cooperative launch.
  uint64_t split = 1;
  /// Bytes the kernel must move: the elements of each buffer read or written,
  /// once.
  uint64_t minimalBytes = 0;
  llvm::SmallVector<uint64_t, 12> params;

  /// A kernel without rows has nothing to do and isn't launched. Rows without
  /// columns still have statistics.
  bool empty() const { return rows == 0; }
};

struct LaunchPlan {
  llvm::SmallVector<KernelLaunch, 2> kernels;
  /// Address and size of the workspace.
  uint64_t workspace = 0;
  uint64_t workspaceBytes = 0;
  /// The temporaries, at the end of the workspace, from byte `temporaryOffset`.
  llvm::SmallVector<BoundArgument, 2> temporaries;
  uint64_t temporaryOffset = 0;
  /// The parts of it, without empty ones, that must be zero before the launch.
  llvm::SmallVector<ByteRange, 2> counters;
};

/// Gives the address of `bytes` bytes, aligned to 256 or more.
using AllocateBytes =
    llvm::function_ref<llvm::Expected<uint64_t>(uint64_t bytes)>;

/// What a launch takes of a device.
struct LaunchResources {
  /// Asked once for the whole workspace, with 0 if there is none.
  AllocateBytes workspace;
  /// CTAs of a kernel's variant that are resident on the device at once; 0
  /// where it has no cooperative launches, or no room for a cluster. Null where rows aren't shared at
  /// all, which makes every split 1.
  llvm::function_ref<uint64_t(unsigned kernel, unsigned variant)> residentCtas =
      nullptr;
  /// CTAs of a kernel that may run at once, 0 for any number.
  uint64_t maxCtas = 0;
};

/// Checks `arguments` against `manifest` and makes the launch plan. An error,
/// naming the argument, the expectation and what was given, for: a wrong
/// number of arguments, dtype, rank, static extent or stride; extents that the
/// manifest says are equal but aren't; a base address that isn't aligned as
/// required; an output that overlaps itself or, undeclared, any other tensor;
/// no variant that takes the given alignment and fits the device, or runs in as
/// few CTAs as asked for; sizes beyond 64 bits. Nothing is allocated unless all checks of the arguments passed.
llvm::Expected<LaunchPlan> planLaunch(const Manifest &manifest,
                                      llvm::ArrayRef<BoundArgument> arguments,
                                      const LaunchResources &resources);

} // namespace norm

#endif // NORM_RUNTIME_LAUNCHPLAN_H
