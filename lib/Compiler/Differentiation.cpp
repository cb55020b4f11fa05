//===- Differentiation.cpp - The backward of a text -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace ::norm;

/// Pairs the names that an attribute of the new function has with types.
static std::vector<DerivedValue> describe(DictionaryAttr attribute,
                                          StringRef key, TypeRange types) {
  std::vector<DerivedValue> values;
  auto names = attribute.getAs<ArrayAttr>(key);
  for (auto [i, type] : llvm::enumerate(types)) {
    DerivedValue value;
    if (names)
      value.name = cast<StringAttr>(names[i]).getValue().str();
    llvm::raw_string_ostream(value.type) << type;
    values.push_back(std::move(value));
  }
  return values;
}

/// `input 0` is x where the first argument is %x.
static std::string nameOfDerived(StringRef name, ArrayRef<std::string> names,
                                 unsigned numArguments) {
  auto [role, text] = name.split(' ');
  unsigned number = 0;
  if (text.getAsInteger(10, number))
    return name.str();
  if (role == "saved")
    return "saved" + std::to_string(number);
  if (role == "cotangent")
    return "d_" + names[numArguments + number];
  return (role == "previous" ? "d_" : "") + names[number];
}

void Compilation::nameArguments(func::FuncOp derived, func::FuncOp function,
                                ArrayRef<DerivedValue> values) {
  std::vector<std::string> names = makeSignature(function).names;
  for (auto [argument, value] :
       llvm::zip_equal(derived.getArguments(), values)) {
    std::string name =
        nameOfDerived(value.name, names, function.getNumArguments());
    argument.setLoc(NameLoc::get(StringAttr::get(context, name)));
  }
}

llvm::Expected<Derivative>
Compilation::differentiate(const DerivativeOptions &wanted) {
  if (llvm::Error error = parse())
    return std::move(error);
  if (hasKernels(*module))
    return llvm::createStringError(
        "expects a program to differentiate but got kernels");
  llvm::Expected<func::FuncOp> function =
      findEntry(*module, wanted.function, [](func::FuncOp) { return true; });
  if (!function)
    return function.takeError();

  mlir::norm::NormDifferentiatePassOptions passOptions;
  passOptions.function = function->getName().str();
  passOptions.wrt.assign(wanted.wrt.begin(), wanted.wrt.end());
  passOptions.save = wanted.savesStatistics ? "statistics" : "none";
  passOptions.gradientType.assign(wanted.gradientTypes.begin(),
                                  wanted.gradientTypes.end());
  passOptions.accumulate.assign(wanted.accumulate.begin(),
                                wanted.accumulate.end());
  if (llvm::Error error = runPasses(*module, [&](OpPassManager &pm) {
        pm.addPass(mlir::norm::createNormDifferentiatePass(passOptions));
      }))
    return std::move(error);

  Derivative derivative;
  std::string name = function->getName().str();
  auto backward = module->lookupSymbol<func::FuncOp>(name + "_backward");
  auto attribute = backward->getAttrOfType<DictionaryAttr>("norm.backward");
  derivative.backward = {
      backward.getName().str(),
      describe(attribute, "arguments", backward.getArgumentTypes()),
      describe(attribute, "results", backward.getResultTypes())};
  nameArguments(backward, *function, derivative.backward.arguments);
  if (wanted.savesStatistics) {
    auto forward = module->lookupSymbol<func::FuncOp>(name + "_forward");
    attribute = forward->getAttrOfType<DictionaryAttr>("norm.forward");
    derivative.forward = {
        forward.getName().str(),
        describe(attribute, "arguments", forward.getArgumentTypes()),
        describe(attribute, "results", forward.getResultTypes())};
    for (auto [i, value] : llvm::enumerate(derivative.forward->arguments))
      value.name = "input " + std::to_string(i);
    nameArguments(forward, *function, derivative.forward->arguments);
  }
  llvm::raw_string_ostream stream(derivative.text);
  module->print(stream, OpPrintingFlags().printNameLocAsPrefix());
  return derivative;
}
