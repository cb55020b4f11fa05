//===- DerivativeOptions.cpp - Options of a derivative --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Compiler/Derivative.h"
#include "llvm/ADT/StringExtras.h"

using namespace norm;

static llvm::Error readNumbers(llvm::StringRef name, llvm::StringRef text,
                               std::vector<unsigned> &numbers) {
  for (llvm::StringRef one : llvm::split(text, ',')) {
    unsigned number = 0;
    if (one.getAsInteger(10, number))
      return llvm::createStringError(
          "option '" + name +
          "' expects numbers of arguments, as in 0,1, but got '" + text + "'");
    numbers.push_back(number);
  }
  return llvm::Error::success();
}

static llvm::Error readOne(llvm::StringRef option, DerivativeOptions &options) {
  auto [name, value] = option.split('=');
  if (name == "wrt")
    return readNumbers(name, value, options.wrt);
  if (name == "accumulate")
    return readNumbers(name, value, options.accumulate);
  if (name == "save") {
    if (value != "none" && value != "statistics")
      return llvm::createStringError(
          "option 'save' expects none or statistics but got '" + value + "'");
    options.savesStatistics = value == "statistics";
    return llvm::Error::success();
  }
  if (name == "gradient-type") {
    for (llvm::StringRef one : llvm::split(value, ','))
      options.gradientTypes.push_back(one.str());
    return llvm::Error::success();
  }
  if (name == "function") {
    options.function = value.str();
    return llvm::Error::success();
  }
  return llvm::createStringError("expects an option of wrt, save, "
                                 "gradient-type, accumulate, function for the "
                                 "backward but got '" +
                                 name + "'");
}

llvm::Expected<DerivativeOptions>
norm::parseDerivativeOptions(llvm::StringRef text) {
  DerivativeOptions options;
  for (llvm::StringRef option : llvm::split(text, ' '))
    if (!option.empty())
      if (llvm::Error error = readOne(option, options))
        return std::move(error);
  return options;
}
