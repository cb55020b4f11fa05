//===- MathMode.h - How functions are computed ------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_SUPPORT_MATHMODE_H
#define NORM_SUPPORT_MATHMODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace norm {

/// How exponentials and the like are computed.
enum class MathMode : uint8_t {
  /// In exactly rounded arithmetic, with the same bits on every target.
  Exact,
  /// For f16 and bf16 by a GPU's own approximations of 2^x and 1 / x, which
  /// differ in bits from other targets.
  Hardware,
};

/// `exact` or `hardware`.
llvm::StringRef toString(MathMode mode);

/// The mode of that name; else an error that quotes `text`.
llvm::Expected<MathMode> parseMathMode(llvm::StringRef text);

} // namespace norm

#endif // NORM_SUPPORT_MATHMODE_H
