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
    Pointer,   ///< address of operand's first element
    Stride,    ///< stride of `axis` of operand, in elements
    Scalar,    ///< the operand itself
    Rows,      ///< number of rows; across memory, of their elements
    Columns,   ///< number of columns, only where it is known at launch only
    Extent,    ///< extent of dim `axis` of the space
    Split,     ///< CTAs that share their rows
    Workspace, ///< where they meet, or draw rows
  };
  Kind kind;
  unsigned operand = 0;
  unsigned axis = 0;
};

/// The parameters of a kernel in order: for each operand, a pointer and the
/// strides that its type leaves open, or the scalar; the rows; the columns and
/// the extents of other dims that are known at launch only; for an order across
/// memory the split and the workspace; for a cluster the workspace.
SmallVector<KernelParam> getKernelParams(TypeRange operands, SpaceAttr space,
                                         norm::OrderAttr order,
                                         norm::ScheduleAttr schedule);

} // namespace mlir::norm_tile

#endif // NORM_DIALECT_NORMTILE_IR_NORMTILE_H
