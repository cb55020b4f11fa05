//===- Derivative.h - The backward of a text --------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `Compiler::differentiate` takes and gives. docs/Backward.md describes
// the functions. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_COMPILER_DERIVATIVE_H
#define NORM_COMPILER_DERIVATIVE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace norm {

/// The options of `norm-differentiate`.
struct DerivativeOptions {
  /// The function; empty: by the rules of `CompileOptions::entry`.
  std::string function;
  /// Arguments of which gradients are wanted; empty: all tensors of floats of
  /// 16 bits or more.
  std::vector<unsigned> wrt;
  /// Whether a forward function keeps statistics for the backward.
  bool savesStatistics = false;
  /// `f32` for all gradients, or `1:f32` for that of argument 1.
  std::vector<std::string> gradientTypes;
  /// Arguments whose gradients are added to what is in their destinations.
  std::vector<unsigned> accumulate;
};

/// Reads `wrt=0,1 save=statistics gradient-type=1:f32 accumulate=1 function=f`,
/// with any of them in any order. An error quotes what isn't understood.
llvm::Expected<DerivativeOptions> parseDerivativeOptions(llvm::StringRef text);

/// An argument or result of a derived function.
struct DerivedValue {
  /// `input N`, `saved N`, `cotangent N` or `previous N` of an argument;
  /// `gradient N`, `result N` or `saved N` of a result. N counts the arguments
  /// or results of the function that was differentiated, and what was saved.
  std::string name;
  std::string type; ///< `tensor<?x64xbf16>`
};

struct DerivedFunction {
  std::string name;
  std::vector<DerivedValue> arguments, results;
};

/// A text with the functions that were added.
struct Derivative {
  std::string text;
  DerivedFunction backward;
  /// The forward that saves, where that was asked for.
  std::optional<DerivedFunction> forward;
};

} // namespace norm

#endif // NORM_COMPILER_DERIVATIVE_H
