//===- NormDialect.cpp - Norm dialect -------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

#include "norm/Dialect/Norm/IR/NormDialect.cpp.inc"
#include "norm/Dialect/Norm/IR/NormEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "norm/Dialect/Norm/IR/NormAttrs.cpp.inc"

void NormDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "norm/Dialect/Norm/IR/NormOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "norm/Dialect/Norm/IR/NormAttrs.cpp.inc"
      >();
}

Operation *NormDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

LogicalResult OrderAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t leaf, int64_t lanes, int64_t inner) {
  if (leaf < 1 || leaf > 64 || !llvm::isPowerOf2_64(leaf))
    return emitError()
           << "expects 'leaf' to be a power of two from 1 to 64 but got "
           << leaf;
  if (lanes < 1 || lanes > 1024 || !llvm::isPowerOf2_64(lanes))
    return emitError()
           << "expects 'lanes' to be a power of two from 1 to 1024 but got "
           << lanes;
  if (inner < 0 || inner > 1024)
    return emitError() << "expects 'inner' from 0 to 1024 but got " << inner;
  return success();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t threads, int64_t rowsPerCta,
                                   Residency, bool, int64_t vector,
                                   int64_t maxRegisters, int64_t split) {
  if (threads < 1 || threads > 1024 || !llvm::isPowerOf2_64(threads))
    return emitError()
           << "expects 'threads' to be a power of two from 1 to 1024 but got "
           << threads;
  if (rowsPerCta < 1 || rowsPerCta > 1024)
    return emitError() << "expects 'rows_per_cta' from 1 to 1024 but got "
                       << rowsPerCta;
  if (vector < 1 || !llvm::isPowerOf2_64(vector) || threads * vector > 1024)
    return emitError() << "expects 'vector' to be a power of two with at most "
                          "1024 lanes per step but got "
                       << threads << " x " << vector;
  if (maxRegisters < 0 || maxRegisters > 255)
    return emitError() << "expects 'max_registers' from 0 to 255 but got "
                       << maxRegisters;
  // Across memory, a thread works on `vector` of them.
  if (threads * rowsPerCta > 1024 * vector)
    return emitError() << "expects at most 1024 threads per CTA but got "
                       << threads << " x " << rowsPerCta;
  if (split < 0 || split > 128 || (split && !llvm::isPowerOf2_64(split)))
    return emitError()
           << "expects 'split' to be 0 or a power of two up to 128 but got "
           << split;
  return success();
}
