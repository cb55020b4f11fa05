//===- ManifestBuilder.h - The manifest of compiled launches ----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_COMPILER_MANIFESTBUILDER_H
#define NORM_LIB_COMPILER_MANIFESTBUILDER_H

#include "ExtentFacts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace norm {

/// A result that is written to the memory of an argument.
struct InPlaceFact {
  unsigned argument;
  bool isRead; ///< whether the argument's content is
};

/// What is known of the entry before its results became arguments.
struct EntrySignature {
  std::vector<std::string> names; ///< of the arguments, then of the results
  unsigned numArguments = 0;
  ExtentFacts extents;
  std::vector<std::optional<InPlaceFact>> inPlace; ///< by result
};

/// What `norm.in_place` of the arguments of a function on tensors says.
std::vector<std::optional<InPlaceFact>>
findInPlace(mlir::func::FuncOp function);

/// Fills the arguments, temporaries and kernels of `manifest` from the launches
/// in `entry`, whose kernels have been converted for the target. Fails, with a
/// diagnostic, where a launch can't be described.
mlir::LogicalResult buildManifest(mlir::func::FuncOp entry,
                                  const EntrySignature &signature,
                                  Manifest &manifest);

/// The element type of a manifest for an MLIR type; none if there is none.
std::optional<DType> toDType(mlir::Type type);

} // namespace norm

#endif // NORM_LIB_COMPILER_MANIFESTBUILDER_H
