//===- Reference.h - Reference evaluator ------------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates functions on tensors in float64, independently of the lowering,
// and bounds what a correct implementation may return. docs/Reference.md
// derives the bounds.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_REFERENCE_REFERENCE_H
#define NORM_REFERENCE_REFERENCE_H

#include "norm/Support/DType.h"
#include "norm/Support/MathMode.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace norm::reference {

/// A tensor (shape {} for a scalar), row-major. A correct implementation's
/// element `i` lies within `bound[i]` of `value[i]`; an empty `bound` means
/// that all are exact. An infinite bound says that nothing is known of the
/// element (for instance whether a sum overflows depends on its order). A NaN
/// `value` with a finite bound is a NaN for sure. Values of integer types are
/// integers of at most 2^53; an i1 is 0 or 1, and a bound of 1 leaves it open.
struct Tensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<double> value;
  std::vector<double> bound;
};

/// Evaluates the function `entry` of the module `text`; an empty `entry` stands
/// for the only function. `fileName` is for diagnostics. `inputs` have the
/// arguments' element types, and shapes that fit theirs; returns one tensor for
/// each result. Fails with the diagnostic on text that doesn't parse or verify,
/// on inputs that don't fit, and on an op that it can't evaluate. The bounds
/// are wider where code was compiled with `MathMode::Hardware`.
llvm::Expected<std::vector<Tensor>>
evaluate(llvm::StringRef text, llvm::StringRef fileName, llvm::StringRef entry,
         llvm::ArrayRef<Tensor> inputs, MathMode math = MathMode::Exact);

/// The same, of a verified module, for `MathMode::Exact`.
llvm::Expected<std::vector<Tensor>> evaluate(mlir::ModuleOp module,
                                             llvm::StringRef entry,
                                             llvm::ArrayRef<Tensor> inputs);

/// How values agree with the reference.
struct Comparison {
  /// The largest |got - value|, in units of the last place of the element type
  /// at the expected value; infinite where a NaN or an infinity differs.
  double maxUlp = 0;
  /// The largest |got - value| / bound, 0 for equal values; infinite for a
  /// difference where the bound is 0, or where a NaN or an infinity differs.
  double maxRatio = 0;
  /// Elements beyond their bound.
  int64_t mismatches = 0;
  /// Elements that were not compared, since nothing is known of them.
  int64_t unknown = 0;
  /// The first element beyond its bound, -1 if there is none; what was
  /// expected there, and what was got.
  int64_t firstIndex = -1;
  double firstValue = 0, firstBound = 0, firstGot = 0;
  /// The element that maxUlp stands for, -1 if all are equal.
  int64_t maxUlpIndex = -1;

  bool isMatch() const { return mismatches == 0; }
};

/// Compares `got`, values of the element type of `expected` in the same order,
/// with it. NaNs match each other whatever their bits, an infinity matches the
/// same infinity only, and the sign of a zero doesn't count. Values that are
/// missing or too many are mismatches.
Comparison compare(const Tensor &expected, llvm::ArrayRef<double> got);

} // namespace norm::reference

#endif // NORM_REFERENCE_REFERENCE_H
