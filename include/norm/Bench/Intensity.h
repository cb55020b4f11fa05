//===- Intensity.h - Arithmetic of a program --------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_INTENSITY_H
#define NORM_BENCH_INTENSITY_H

#include "llvm/ADT/StringRef.h"

namespace norm::bench {

/// Floating point operations for each element of a row, in the text of programs
/// at `Level::Program`: every op of `arith` and `math` on values that differ by
/// column counts as one, a reduction too; conversions and what is done once for
/// each row count as none. An estimate, for a roofline: functions and divisions
/// are many instructions.
unsigned operationsPerElement(llvm::StringRef programs);

} // namespace norm::bench

#endif // NORM_BENCH_INTENSITY_H
