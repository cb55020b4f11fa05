//===- StorageTypes.h - How elements lie in memory --------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM has no 8-bit floats, and packs vectors of i1 into bits. Kernels move
// both as bytes.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_CONVERSION_STORAGETYPES_H
#define NORM_CONVERSION_STORAGETYPES_H

#include "mlir/IR/Types.h"

namespace mlir {
namespace norm_tile {
class KernelOp;
} // namespace norm_tile

namespace norm {

/// Whether buffers may hold elements of a type: f16, bf16, f32, f64, f8E4M3FN,
/// f8E5M2, f8E8M0FNU, f4E2M1FN (two to a byte), i1 (a byte, 0 or 1) and
/// integers of 8, 16, 32 or 64 bits.
bool isStorable(Type type);

/// The type that LLVM keeps an element in: i8 for the 8-bit floats and i1, i4
/// for f4E2M1FN, else the type itself.
Type storageTypeOf(Type type);

/// Rewrites a kernel so that its operands, and all values that ops of norm_tile
/// load, store or keep, have types that LLVM has: conversions to and from the
/// bytes come to stand beside those ops. What is kept of f4E2M1FN is i8. The
/// kernel's launches keep their types.
void useStorageTypes(norm_tile::KernelOp kernel);

} // namespace norm
} // namespace mlir

#endif // NORM_CONVERSION_STORAGETYPES_H
