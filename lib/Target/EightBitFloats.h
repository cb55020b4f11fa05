//===- EightBitFloats.h - Floats of at most 8 bits as bytes -----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_TARGET_EIGHTBITFLOATS_H
#define NORM_LIB_TARGET_EIGHTBITFLOATS_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class Operation;

namespace norm {

/// Writes arithmetic on f8E4M3FN and f8E5M2 below `root` in f32.
LogicalResult emulateEightBitArithmetic(Operation *root);

/// Writes conversions to and from f8E4M3FN and f8E5M2 below `root`: in integer
/// arithmetic on the target `host`, and with the instructions of a GPU of
/// compute capability 8.9 or newer. All else that is done with such values must
/// only move them; they become i8. Fails with a diagnostic on another op and
/// where the GPU `target` has no such instructions.
///
/// Rounds once, to nearest even. Beyond the largest number, after rounding,
/// f8E4M3FN gets its NaN and f8E5M2 an infinity. A NaN becomes 0x7f.
///
/// So do f8E8M0FNU and f4E2M1FN, in integer arithmetic on all targets, rounded
/// as `roundToMicroFloat` says; a value of f4E2M1FN is held in the low half of
/// an i8 whose high half is zero.
LogicalResult expandEightBitFloats(Operation *root, StringRef target);

} // namespace norm
} // namespace mlir

#endif // NORM_LIB_TARGET_EIGHTBITFLOATS_H
