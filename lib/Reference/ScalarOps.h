//===- ScalarOps.h - Elementwise ops on elements ----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an arith or math op does to one element of each operand.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_REFERENCE_SCALAROPS_H
#define NORM_LIB_REFERENCE_SCALAROPS_H

#include "Element.h"
#include "mlir/IR/Operation.h"
#include <functional>
#include <optional>

namespace norm::reference {

/// The DType of a scalar type or of a tensor's element type; an index counts as
/// an i64. Empty where there is none.
std::optional<DType> dtypeOf(mlir::Type type);

using ScalarFunction = std::function<Element(llvm::ArrayRef<Element>)>;

/// The function of an op with one result, or an empty one if the evaluator
/// doesn't know the op. All types of the op have a DType.
ScalarFunction scalarFunctionOf(mlir::Operation *op);

// The parts of scalarFunctionOf, by dialect and kind of type.
ScalarFunction floatFunctionOf(mlir::Operation *op);
ScalarFunction integerFunctionOf(mlir::Operation *op);
ScalarFunction conversionFunctionOf(mlir::Operation *op);
ScalarFunction mathFunctionOf(mlir::Operation *op);
ScalarFunction activationFunctionOf(mlir::Operation *op);

/// Marks the ops below `root`, which is the evaluator's own, whose bounds are
/// wider where a GPU's approximations are used.
void allowHardware(mlir::Operation *root);

} // namespace norm::reference

#endif // NORM_LIB_REFERENCE_SCALAROPS_H
