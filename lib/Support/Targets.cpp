//===- Targets.cpp - What can be compiled for -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Support/Targets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace norm;

static constexpr unsigned KiB = 1024, MiB = 1024 * KiB;

static constexpr GPUTarget kGPUTargets[] = {
    // name, PTX, shared/CTA, shared/SM, threads/SM, CTAs/SM, L2
    {"sm_80", 80, 163 * KiB, 164 * KiB, 2048, 32, 40 * MiB},
    {"sm_86", 80, 99 * KiB, 100 * KiB, 1536, 16, 6 * MiB},
    {"sm_87", 80, 163 * KiB, 164 * KiB, 1536, 16, 4 * MiB},
    {"sm_89", 81, 99 * KiB, 100 * KiB, 1536, 24, 96 * MiB},
    {"sm_90", 81, 227 * KiB, 228 * KiB, 2048, 32, 60 * MiB},
    {"sm_100", 86, 227 * KiB, 228 * KiB, 2048, 32, 126 * MiB},
    {"sm_103", 88, 227 * KiB, 228 * KiB, 2048, 32, 126 * MiB},
    {"sm_120", 87, 99 * KiB, 100 * KiB, 1536, 24, 128 * MiB},
    {"sm_121", 88, 99 * KiB, 100 * KiB, 1536, 24, 24 * MiB},
};

namespace {
struct PtxRelease {
  unsigned driver;
  unsigned ptx;
};
} // namespace

// Newest first.
static constexpr PtxRelease kPtxReleases[] = {
    {13000, 90}, {12090, 88}, {12080, 87}, {12070, 86}, {12050, 85},
    {12040, 84}, {12030, 83}, {12020, 82}, {12010, 81}, {12000, 80},
    {11080, 78}, {11070, 77}, {11060, 76}, {11050, 75}, {11040, 74},
    {11030, 73}, {11020, 72}, {11010, 71}, {11000, 70}};

llvm::ArrayRef<GPUTarget> norm::gpuTargets() { return kGPUTargets; }

const GPUTarget *norm::findGPUTarget(llvm::StringRef name) {
  const GPUTarget *found =
      llvm::find_if(kGPUTargets, [&](const GPUTarget &target) {
        return target.name == name;
      });
  return found == std::end(kGPUTargets) ? nullptr : found;
}

llvm::Error norm::checkTargetName(llvm::StringRef name) {
  if (name == "host" || findGPUTarget(name))
    return llvm::Error::success();
  auto names = llvm::map_range(
      kGPUTargets, [](const GPUTarget &target) { return target.name.str(); });
  return llvm::createStringError("unknown target '" + name.str() +
                                 "', expects host or one of " +
                                 llvm::join(names, ", "));
}

unsigned GPUTarget::capability() const {
  unsigned number = 0;
  name.drop_front(llvm::StringRef("sm_").size()).getAsInteger(10, number);
  return number;
}

llvm::Error norm::checkDType(DType type, llvm::StringRef role,
                             llvm::StringRef target) {
  constexpr unsigned kFirstEightBit = 89;
  const GPUTarget *gpu = findGPUTarget(target);
  bool isEightBit = type == DType::F8E4M3FN || type == DType::F8E5M2;
  if (!gpu || !isEightBit || gpu->capability() >= kFirstEightBit)
    return llvm::Error::success();
  return llvm::createStringError(
      llvm::formatv("'{0}' {1} needs sm_{2} or newer but target is {3}",
                    ::norm::name(type), role, kFirstEightBit, target));
}

unsigned norm::minDriverForPtx(unsigned ptxVersion) {
  for (PtxRelease release : kPtxReleases)
    if (release.ptx == ptxVersion)
      return release.driver;
  return 0;
}

unsigned norm::newestPtxForDriver(unsigned driverVersion) {
  for (PtxRelease release : kPtxReleases)
    if (driverVersion >= release.driver)
      return release.ptx;
  return 0;
}

llvm::Expected<unsigned> norm::choosePtxVersion(const GPUTarget &target,
                                                unsigned wanted,
                                                unsigned driverVersion) {
  unsigned version = wanted ? wanted : target.ptxVersion;
  if (!minDriverForPtx(version))
    return llvm::createStringError("unknown PTX version " +
                                   printPtxVersion(version));
  if (version < target.ptxVersion)
    return llvm::createStringError(llvm::formatv(
        "target {0} expects PTX {1} or newer but got {2}", target.name,
        printPtxVersion(target.ptxVersion), printPtxVersion(version)));
  if (driverVersion && newestPtxForDriver(driverVersion) < version)
    return llvm::createStringError(llvm::formatv(
        "target {0} in PTX {1} expects driver {2} or newer but got {3}",
        target.name, printPtxVersion(version), minDriverForPtx(version),
        driverVersion));
  return version;
}

std::string norm::printPtxVersion(unsigned ptxVersion) {
  return llvm::formatv("{0}.{1}", ptxVersion / 10, ptxVersion % 10);
}
