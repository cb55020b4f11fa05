//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The norm dialect: its ops, attributes and the classes they need.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_DIALECT_NORM_IR_NORM_H
#define NORM_DIALECT_NORM_IR_NORM_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/IndexingMapOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "norm/Dialect/Norm/IR/NormDialect.h.inc"
#include "norm/Dialect/Norm/IR/NormEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "norm/Dialect/Norm/IR/NormAttrs.h.inc"

#define GET_OP_CLASSES
#include "norm/Dialect/Norm/IR/NormOps.h.inc"

namespace mlir::norm {

/// Whether a reduction gives the mean and the sum of squared deviations.
inline bool isWelford(ReduceKind kind) {
  return kind == ReduceKind::Welford || kind == ReduceKind::WelfordExact;
}

/// Whether a named op computes in f64: an operand or the first result does.
/// Otherwise in f32.
bool usesF64(Operation *op);

/// The axes of an `x` of `rank` axes with which those of a broadcast operand of
/// `operandRank` axes are aligned: the last of the normalized `axes`, or the
/// last ones of `x` where the operand has more axes than are normalized.
SmallVector<int64_t> alignAxes(int64_t operandRank, ArrayRef<int64_t> axes,
                               int64_t rank);

} // namespace mlir::norm

#endif // NORM_DIALECT_NORM_IR_NORM_H
