//===- MathMode.cpp - How functions are computed --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Support/MathMode.h"

using namespace norm;

llvm::StringRef norm::toString(MathMode mode) {
  return mode == MathMode::Hardware ? "hardware" : "exact";
}

llvm::Expected<MathMode> norm::parseMathMode(llvm::StringRef text) {
  for (MathMode mode : {MathMode::Exact, MathMode::Hardware})
    if (text == toString(mode))
      return mode;
  return llvm::createStringError("expects exact or hardware but got '" + text +
                                 "'");
}
