//===- KernelHints.h - What kernels say about themselves ---------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel marks the loads of what it needs for one row only as `nontemporal`.
// What becomes of that is the target's affair: see the pass `norm-hint-caches`.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_CONVERSION_KERNELHINTS_H
#define NORM_CONVERSION_KERNELHINTS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir::norm {

/// An i64 on a kernel: the bytes that one CTA reads and writes of operands with
/// both rows and columns. For dynamic columns those of a row of 4096.
constexpr llvm::StringLiteral kCtaBytesAttr = "norm_tile.cta_bytes";

/// An i64 on a kernel: with up to so many CTAs it may be launched while the grids
/// before it run; see the pass `norm-wait-for-grids`.
constexpr llvm::StringLiteral kDependentLaunchAttr =
    "norm_tile.dependent_launch";

/// What kernels have as that: more CTAs than a few take places from the grid
/// before them, and a grid of many is launched at half the rate (both measured on
/// an H200).
constexpr int64_t kMostWaitingCtas = 32;

} // namespace mlir::norm

#endif // NORM_CONVERSION_KERNELHINTS_H
