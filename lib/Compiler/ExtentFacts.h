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

/// What a function of programs on tensors tells of the extents of its arguments
/// and then its results, in order. Empty for what is no tensor.
struct ExtentFacts {
  /// For each extent the dimension of an earlier argument or result that it
  /// equals; none for known extents and where nothing is known.
  std::vector<ExtentSources> equals;
  /// For each extent its size, also where only another tensor's type tells it;
  /// ShapedType::kDynamic where it isn't known.
  std::vector<llvm::SmallVector<int64_t>> shapes;
};

/// Fails with a diagnostic where an extent would have two sizes.
mlir::FailureOr<ExtentFacts> findExtentFacts(mlir::func::FuncOp function);

} // namespace norm

#endif // NORM_LIB_COMPILER_EXTENTFACTS_H
