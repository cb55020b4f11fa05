//===- ExtentFacts.h - Which extents are equal ------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_COMPILER_EXTENTFACTS_H
#define NORM_LIB_COMPILER_EXTENTFACTS_H

#include "norm/Support/Manifest.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace norm {

/// For each extent of a tensor, where it's known from.
using ExtentSources = std::vector<std::optional<BufferDim>>;

/// For each argument and then each result of a function of programs on tensors,
/// for each dynamic extent, the dimension of an earlier argument or result that
/// it equals; none for static extents and where nothing is known.
std::vector<ExtentSources> findEqualExtents(mlir::func::FuncOp function);

} // namespace norm

#endif // NORM_LIB_COMPILER_EXTENTFACTS_H
