//===- NormTile.h - The norm_tile dialect ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORMTILE_IR_NORMTILE_H
#define NORM_DIALECT_NORMTILE_IR_NORMTILE_H

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/IR/SymbolTable.h"

#include "norm/Dialect/NormTile/IR/NormTileDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "norm/Dialect/NormTile/IR/NormTileTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "norm/Dialect/NormTile/IR/NormTileAttrs.h.inc"

#define GET_OP_CLASSES
#include "norm/Dialect/NormTile/IR/NormTileOps.h.inc"

namespace mlir::norm_tile {

/// One 8-byte parameter slot of a compiled kernel.
struct KernelParam {
  enum Kind {
    Pointer, ///< address of operand's first element
    Stride,  ///< elements between rows of operand
    Scalar,  ///< the operand itself
    Rows,    ///< number of rows
    Columns, ///< number of columns, only where it is known at launch only
  };
  Kind kind;
  unsigned operand = 0;
};

/// The parameters of a kernel in order, from the types of its operands: for
/// each, a pointer and, with two dims, a stride, or the scalar; then the rows
/// and, where `columns` is -1, the columns.
SmallVector<KernelParam> getKernelParams(TypeRange operands, int64_t columns);

} // namespace mlir::norm_tile

#endif // NORM_DIALECT_NORMTILE_IR_NORMTILE_H
