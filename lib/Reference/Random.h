//===- Random.h - Random numbers by a counter -------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_REFERENCE_RANDOM_H
#define NORM_LIB_REFERENCE_RANDOM_H

#include "Evaluator.h"
#include "norm/Dialect/Norm/IR/Norm.h"

namespace norm::reference {

/// The numbers of a program's `norm.random`, of type i32, over its space.
/// `seed` and `offset` are integers over the space, known exactly.
llvm::Expected<Array> evaluateRandom(mlir::norm::RandomOp op,
                                     mlir::norm::GenericOp program,
                                     const Array &seed, const Array &offset,
                                     llvm::ArrayRef<int64_t> extents);

llvm::Expected<Arrays> evaluateDropout(mlir::norm::DropoutOp op,
                                       llvm::ArrayRef<const Array *> in);

} // namespace norm::reference

#endif // NORM_LIB_REFERENCE_RANDOM_H
