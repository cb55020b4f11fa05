//===- GradientCheck.cpp - Derived gradients and differences --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"

#include "norm/Dialect/Norm/IR/Norm.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace mlir;
using namespace mlir::norm;
using ::norm::DType;
using ::norm::reference::Tensor;
using ::norm::test::GradientCheck;

GradientCheck::GradientCheck() : context(MLIRContext::Threading::DISABLED) {
  context.loadDialect<arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect, NormDialect,
                      tensor::TensorDialect>();
}

OwningOpRef<ModuleOp> GradientCheck::derive(const std::string &text,
                                            const std::string &wrt,
                                            const char *save) {
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return {};
  PassManager manager(&context);
  NormDifferentiatePassOptions options;
  options.function = "f";
  options.save = save;
  llvm::SmallVector<llvm::StringRef> indices;
  llvm::StringRef(wrt).split(indices, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef index : indices)
    options.wrt.push_back(std::stoi(index.str()));
  manager.addPass(createNormDifferentiatePass(options));
  if (failed(manager.run(*module)))
    return {};
  return module;
}

GradientCheck::Tensors GradientCheck::makeInputs(func::FuncOp function,
                                                 const Options &options) {
  Tensors tensors;
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    Tensor tensor;
    int64_t count = 1;
    if (auto shaped = dyn_cast<RankedTensorType>(type))
      for (int64_t extent : shaped.getShape()) {
        tensor.shape.push_back(ShapedType::isDynamic(extent) ? 3 : extent);
        count *= tensor.shape.back();
      }
    Type element = getElementTypeOrSelf(type);
    std::string name;
    llvm::raw_string_ostream(name) << element;
    tensor.dtype = *::norm::parseDType(name);
    auto least = options.least.find(i);
    for (int64_t k = 0; k < count; ++k)
      tensor.value.push_back(
          element.isInteger(1)        ? double(random() % 2)
          : isa<IntegerType>(element) ? double(options.integer)
          : least != options.least.end()
              ? ::norm::roundTo(tensor.dtype, least->second + uniform(random))
              : ::norm::roundTo(tensor.dtype, normal(random)));
    tensors.push_back(tensor);
  }
  return tensors;
}

GradientCheck::Tensors GradientCheck::evaluate(ModuleOp module,
                                               const char *entry,
                                               const Tensors &given) {
  auto results = ::norm::reference::evaluate(module, entry, given);
  if (results)
    return std::move(*results);
  ADD_FAILURE() << llvm::toString(results.takeError());
  return {};
}

double GradientCheck::objective(ModuleOp module, const Tensors &given,
                                const std::vector<unsigned> &results) {
  Tensors values = evaluate(module, "f", given);
  double sum = 0;
  for (auto [i, result] : llvm::enumerate(results))
    for (auto [value, cotangent] :
         llvm::zip_equal(values[result].value, cotangents[i].value))
      sum += value * cotangent;
  return sum;
}

/// The numbers in names like "cotangent 1".
static std::vector<unsigned> numbersOf(ArrayAttr names, StringRef kind) {
  std::vector<unsigned> numbers;
  for (StringRef name : names.getAsValueRange<StringAttr>())
    if (name.consume_front(kind))
      numbers.push_back(std::stoi(name.str()));
  return numbers;
}

static ArrayAttr namesOf(ModuleOp module, StringRef which) {
  auto function = module.lookupSymbol<func::FuncOp>("f_backward");
  auto names = function->getAttrOfType<DictionaryAttr>("norm.backward");
  return cast<ArrayAttr>(names.get(which));
}

void GradientCheck::compare(ModuleOp module, unsigned argument,
                            const Tensor &gradient, const Options &options) {
  std::vector<unsigned> results =
      numbersOf(namesOf(module, "arguments"), "cotangent ");
  ASSERT_EQ(gradient.shape, inputs[argument].shape);
  ASSERT_EQ(gradient.dtype, inputs[argument].dtype);
  double largest = 1e-3;
  for (double value : gradient.value) {
    largest = std::max(largest, std::fabs(value));
    isFinite &= std::isfinite(value);
  }
  // The reference knows less where two values that are compared may be equal.
  for (double bound : gradient.bound)
    isFinite &= bound <= options.mostBound * largest;
  if (!isFinite)
    return;
  size_t size = gradient.value.size();
  std::normal_distribution<double> normal;
  for (size_t k = 0, e = options.directions ? options.directions : size; k < e;
       ++k) {
    std::vector<double> direction(size, 0.0);
    double expected = 0, length = 0;
    for (size_t i = 0; i < size; ++i) {
      direction[i] = options.directions ? normal(random) : i == k;
      length += std::fabs(direction[i]);
      expected += direction[i] * gradient.value[i];
    }
    double values[2];
    for (int side : {0, 1}) {
      Tensors moved = inputs;
      for (size_t i = 0; i < size; ++i)
        moved[argument].value[i] +=
            (side ? options.step : -options.step) * direction[i];
      values[side] = objective(module, moved, results);
    }
    double difference = (values[1] - values[0]) / (2 * options.step);
    if (!std::isfinite(difference)) {
      isFinite = false;
      return;
    }
    // What the difference of nearly equal numbers loses.
    double noise = 1e-14 * (std::fabs(values[0]) + 1) / options.step;
    EXPECT_NEAR(difference, expected,
                options.tolerance * largest * std::max(length, 1.0) + noise)
        << "of argument " << argument << ", direction " << k;
  }
}

/// What the forward of a training pair returns beside the results, which are
/// the function's.
GradientCheck::Tensors GradientCheck::getSaved(ModuleOp module,
                                               const Tensors &results) {
  if (!module.lookupSymbol("f_forward"))
    return {};
  Tensors values = evaluate(module, "f_forward", inputs);
  if (values.size() < results.size())
    return {};
  for (size_t i = 0; i < results.size(); ++i)
    if (llvm::all_of(values[i].bound,
                     [](double bound) { return std::isfinite(bound); }))
      EXPECT_TRUE(reference::compare(results[i], values[i].value).isMatch());
  Tensors saved(values.begin() + results.size(), values.end());
  for (Tensor &tensor : saved) {
    tensor.bound.clear();
    for (double &value : tensor.value)
      value = ::norm::roundTo(tensor.dtype, value);
  }
  return saved;
}

bool GradientCheck::check(const std::string &text, const Options &options) {
  bool none = checkSaving(text, options, "none");
  bool statistics = checkSaving(text, options, "statistics");
  return none && statistics;
}

bool GradientCheck::checkSaving(const std::string &text, const Options &options,
                                const char *save) {
  SCOPED_TRACE(std::string("save=") + save + text);
  OwningOpRef<ModuleOp> module = derive(text, options.wrt, save);
  EXPECT_TRUE(module);
  if (!module)
    return false;
  random.seed(options.seed);
  isFinite = true;
  auto function = module->lookupSymbol<func::FuncOp>("f");
  inputs = makeInputs(function, options);
  cotangents.clear();
  ArrayAttr names = namesOf(*module, "arguments");
  Tensors arguments, values = evaluate(*module, "f", inputs);
  if (values.empty())
    return false;
  for (unsigned index : numbersOf(names, "input "))
    arguments.push_back(inputs[index]);
  Tensors saved = getSaved(*module, values);
  EXPECT_EQ(saved.size(), numbersOf(names, "saved ").size());
  arguments.insert(arguments.end(), saved.begin(), saved.end());
  std::normal_distribution<double> normal;
  for (unsigned index : numbersOf(names, "cotangent ")) {
    Tensor cotangent{values[index].dtype, values[index].shape, {}, {}};
    for (double value : values[index].value) {
      isFinite &= std::isfinite(value);
      cotangent.value.push_back(
          ::norm::roundTo(cotangent.dtype, normal(random)));
    }
    cotangents.push_back(cotangent);
    arguments.push_back(cotangent);
  }
  Tensors gradients = evaluate(*module, "f_backward", arguments);
  std::vector<unsigned> wanted =
      numbersOf(namesOf(*module, "results"), "gradient ");
  EXPECT_EQ(gradients.size(), wanted.size());
  for (size_t i = 0; isFinite && i < gradients.size(); ++i)
    compare(*module, wanted[i], gradients[i], options);
  return isFinite && !HasFailure();
}
