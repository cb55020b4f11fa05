//===- Ops.h - The programs that are measured -------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_OPS_H
#define NORM_BENCH_OPS_H

#include "norm/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace norm::bench {

/// What an argument holds, which tells its shape and its numbers.
enum class Role : uint8_t {
  Input,     ///< rows x columns: mean 0.25, deviation 1.5
  Residual,  ///< rows x columns: mean 0, deviation 1
  Scale,     ///< columns: mean 1, deviation 0.02
  Shift,     ///< columns: mean 0, deviation 0.02
  Step,      ///< one f32: 0.02
  Cotangent, ///< rows x columns: mean 0, deviation 1
  Mean,      ///< rows: mean 0.25, deviation 0.02
  Rstd,      ///< rows: mean 0.66, deviation 0.02
};

/// An operation on a tensor of rows and columns, as a program of norm's.
struct Op {
  llvm::StringRef name;
  llvm::StringRef arguments; ///< their names, one letter each
  llvm::StringRef results;   ///< `name:type`, separated by commas
  llvm::StringRef body;
  /// Which number of columns the program takes: multiples of this.
  int64_t multiple = 1;
  /// Of the backward of a function, which `body` is then the body of: options
  /// of norm-differentiate, and that function's arguments and results.
  llvm::StringRef derivative = "";
  llvm::StringRef primalArguments = "", primalResults = "";

  bool isBackward() const { return !derivative.empty(); }
  llvm::SmallVector<Role, 4> roles() const;
};

/// All ops, those of the forward suite first.
llvm::ArrayRef<Op> allOps();

/// The op of that name, null for any other name.
const Op *findOp(llvm::StringRef name);

/// `layer_norm, rms_norm, ...`
std::string listOps();

/// Whether ops take elements of this type: bf16, f16 and f32.
bool isBenchDType(DType dtype);

/// The text of a module with one function, named as the op, or as what it is
/// the backward of. Rows are dynamic.
std::string programText(const Op &op, DType dtype, int64_t columns);

} // namespace norm::bench

#endif // NORM_BENCH_OPS_H
