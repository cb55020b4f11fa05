//===- Targets.h - What can be compiled for ---------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The targets by name, with the limits and versions that a compiler has to
// know. The only place where a GPU's numbers are written. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_SUPPORT_TARGETS_H
#define NORM_SUPPORT_TARGETS_H

#include "norm/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace norm {

/// A GPU architecture. Limits: table "Technical Specifications per Compute
/// Capability" of the CUDA C++ Programming Guide; PTX versions: table "Target
/// architectures" of the PTX ISA manual.
struct GPUTarget {
  llvm::StringLiteral name; ///< `sm_90`
  /// The PTX version that code is written in unless another is asked for: the
  /// first one that knows the architecture, all its conversions and what
  /// clusters send words by, but 8.0 at least. 80 is PTX 8.0.
  unsigned ptxVersion;
  unsigned sharedPerCta; ///< bytes of shared memory that a CTA may ask for
  unsigned sharedPerSm;  ///< bytes of shared memory of an SM
  unsigned threadsPerSm; ///< resident threads
  unsigned ctasPerSm;    ///< resident CTAs
  unsigned l2Bytes;      ///< L2 cache of the largest such chip
  unsigned threadsPerCta = 1024;
  unsigned registersPerSm = 65536;

  /// Ten times the compute capability: 90 for `sm_90`.
  unsigned capability() const;
  /// Whether a kernel can wait for the grids before it. Source: target notes of
  /// `griddepcontrol` in the PTX ISA manual.
  bool hasDependentLaunch() const { return capability() >= 90; }
  /// CTAs of the largest cluster, 1 where there are none: 8 everywhere, 16 on
  /// chips for data centers. Source: "Thread Block Clusters" in the CUDA C++
  /// Programming Guide.
  unsigned mostClusterCtas() const {
    return capability() < 90 ? 1 : capability() < 120 ? 16 : 8;
  }
};

/// All GPU targets, by rising compute capability.
llvm::ArrayRef<GPUTarget> gpuTargets();

/// The GPU target `name`, null for any other name, `host` among them.
const GPUTarget *findGPUTarget(llvm::StringRef name);

/// Success for `host` and the GPU targets; else the error
/// `unknown target 'sm_999', expects host or one of sm_80, ...`.
llvm::Error checkTargetName(llvm::StringRef name);

/// Success where `target` (one of those above) converts elements of `type`,
/// else the error `'f8E4M3FN' result needs sm_89 or newer but target is sm_80`,
/// with `role` (`result`, `operand`) for what the element is. Source: target
/// notes of `cvt` in the PTX ISA manual.
llvm::Error checkDType(DType type, llvm::StringRef role,
                       llvm::StringRef target);

/// The first driver, as `cuDriverGetVersion` counts (12000 is CUDA 12.0), that
/// takes PTX version `ptxVersion` (80 is 8.0); 0 for a version not known.
/// Source: the release history in the PTX ISA manual.
unsigned minDriverForPtx(unsigned ptxVersion);

/// The newest PTX version that a driver takes; 0 for one older than CUDA 11.0.
/// Drivers after those known count as the newest known.
unsigned newestPtxForDriver(unsigned driverVersion);

/// The PTX version to write for `target`: `wanted`, or the target's own where
/// that is 0. An error where `wanted` isn't known or doesn't know the target,
/// and where the driver `driverVersion` (0: any) doesn't take the version.
llvm::Expected<unsigned> choosePtxVersion(const GPUTarget &target,
                                          unsigned wanted,
                                          unsigned driverVersion);

/// `8.0` for 80.
std::string printPtxVersion(unsigned ptxVersion);

} // namespace norm

#endif // NORM_SUPPORT_TARGETS_H
