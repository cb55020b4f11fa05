//===- PackedElements.h - Elements that share bytes -------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements of four bits lie two to a byte, the one of the lower index in the
// low half. Kernels load and store whole bytes only: chunks begin with an even
// element and have an even number of them. Where LLVM would do such accesses
// itself, each target has its own way with them, and most go through the stack.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_CONVERSION_PACKEDELEMENTS_H
#define NORM_CONVERSION_PACKEDELEMENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::norm {

/// Whether a value of `type`, as ops on memory have it, or its elements share
/// bytes.
inline bool isPacked(Type type) {
  return getElementTypeOrSelf(type).isInteger(4);
}

/// The bytes in memory of elements of `type`, `vector<Nxi4>`: `vector<N/2xi8>`.
VectorType packedBytes(VectorType type);

/// `vector<N/2xi8>` as `vector<Nxi4>`.
Value unpackBytes(OpBuilder &b, Location loc, Value bytes);

/// `vector<Nxi4>` as `vector<N/2xi8>`.
Value packBytes(OpBuilder &b, Location loc, Value value);

} // namespace mlir::norm

#endif // NORM_CONVERSION_PACKEDELEMENTS_H
