//===- ProgramText.cpp - Writes one function of tensors -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdio>

using namespace norm;

/// A literal of MLIR, which wants a point, with all digits that a double has.
static std::string literal(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.16e", value);
  return text;
}

std::string ProgramText::tensor(std::vector<int64_t> extents,
                                llvm::StringRef element) {
  std::string type = "tensor<";
  for (int64_t extent : extents)
    type +=
        (extent == ProgramFieldValues::kAny ? "?" : std::to_string(extent)) +
        "x";
  return type + element.str() + ">";
}

std::string ProgramText::image() const {
  return tensor(
      {ProgramFieldValues::kAny, *values.channels, ProgramFieldValues::kAny},
      dtype());
}

std::string ProgramText::perChannel() const {
  return tensor({*values.channels}, paramDType());
}

std::string ProgramText::statsType() const {
  return tensor({rows()}, dtype() == "f64" ? "f64" : "f32");
}

std::string ProgramText::eps() const {
  return "eps = " + literal(values.eps.value_or(values.isRms ? 1e-6 : 1e-5));
}

std::string ProgramText::scale() const {
  if (!values.offset || *values.offset == 0)
    return "scale(%weight)";
  return "scale(%weight, offset = " + literal(*values.offset) + ")";
}

void ProgramText::argument(llvm::StringRef argument, const std::string &type) {
  arguments.push_back(("%" + argument + ": " + type).str());
}

void ProgramText::residual() {
  // The sum is the result after the codes and their scales.
  unsigned result = 1;
  if (values.quantize && values.quantize->scale != QuantizeForm::Given)
    result = 2;
  argument("residual",
           matrix() + (values.isInPlace
                           ? " {norm.in_place = " + std::to_string(result) + "}"
                           : ""));
}

void ProgramText::unary(llvm::StringRef result, llvm::StringRef op,
                        llvm::StringRef operand) {
  line(llvm::formatv("%{0} = {1} %{2} : {3}", result, op, operand, mainType()));
}

void ProgramText::binary(llvm::StringRef result, llvm::StringRef op,
                         llvm::StringRef lhs, llvm::StringRef rhs) {
  line(llvm::formatv("%{0} = {1} %{2}, %{3} : {4}", result, op, lhs, rhs,
                     mainType()));
}

std::string ProgramText::rmsNorm(llvm::StringRef operand) {
  std::string more;
  if (values.hasStats)
    stats = {{"rstd", statsType()}};
  line(llvm::formatv("%normed{0} = norm.rms_norm %{1} {2}{3} axes = [1] {4} : "
                     "{5}, {6} -> {5}{7}",
                     values.hasStats ? ", %rstd" : "", operand, scale(),
                     values.hasStats ? " stats(rstd)" : "", eps(), matrix(),
                     perColumn(), values.hasStats ? ", " + statsType() : ""));
  return "normed";
}

std::string ProgramText::layerNorm(llvm::StringRef operand) {
  if (values.hasStats)
    stats = {{"mean", statsType()}, {"rstd", statsType()}};
  line(llvm::formatv(
      "%normed{0} = norm.layer_norm %{1} {2} bias(%bias){3} axes = [1] {4} : "
      "{5}, {6}, {6} -> {5}{7}",
      values.hasStats ? ", %mean, %rstd" : "", operand, scale(),
      values.hasStats ? " stats(mean, rstd)" : "", eps(), matrix(), perColumn(),
      values.hasStats ? ", " + statsType() + ", " + statsType() : ""));
  return "normed";
}

std::string ProgramText::groupNorm(llvm::StringRef operand) {
  line(llvm::formatv("%normed = norm.group_norm %{0} {1} bias(%bias) groups = "
                     "{2} channel_axis = 1 {3} : {4}, {5}, {5} -> {4}",
                     operand, scale(), *values.groups, eps(), image(),
                     perChannel()));
  return "normed";
}

std::string ProgramText::overColumns(llvm::StringRef op,
                                     llvm::StringRef operand) {
  line(llvm::formatv("%normed = {0} %{1} axes = [1] : {2} -> {2}", op, operand,
                     matrix()));
  return "normed";
}

void ProgramText::quantize(llvm::StringRef value) {
  const QuantizeForm &form = *values.quantize;
  int64_t scales = form.group < 0 ? 1 : columns() / form.group;
  std::string codes = tensor({rows(), columns()}, form.type);
  std::string scaleType = tensor({rows(), scales}, form.scaleType);
  std::string group = "group = [1, " + std::to_string(form.group) + "]";
  if (form.scale == QuantizeForm::Given) {
    argument("scale", "tensor<f32>");
    line(llvm::formatv("%codes = norm.quantize %{0} scale(%scale) group = [-1, "
                       "-1] : {1}, tensor<f32> -> {2}",
                       value, matrix(), codes));
    results = {{"codes", codes}};
    return;
  }
  bool hasTensorScale = form.scale == QuantizeForm::TensorScale;
  if (hasTensorScale)
    argument("tensor_scale", "tensor<f32>");
  line(llvm::formatv(
      "%codes, %scales = norm.quantize %{0}{1} {2}{3} : {4}{5} "
      "-> {6}, {7}",
      value, hasTensorScale ? " tensor_scale(%tensor_scale)" : "", group,
      form.roundsUp ? " scale_rounding = ceil" : "", matrix(),
      hasTensorScale ? ", tensor<f32>" : "", codes, scaleType));
  results = {{"codes", codes}, {"scales", scaleType}};
}

void ProgramText::finish(llvm::StringRef value, llvm::StringRef second) {
  if (values.quantize)
    quantize(value);
  else
    results = {{value.str(), mainType()}};
  if (!second.empty())
    results.emplace_back(second.str(), mainType());
  results.insert(results.end(), stats.begin(), stats.end());
}

std::string ProgramText::take() {
  std::vector<std::string> names, types;
  for (const auto &[result, type] : results) {
    names.push_back("%" + result);
    types.push_back(type);
  }
  return "func.func @" + name + "(" + llvm::join(arguments, ", ") +
         ")\n    -> (" + llvm::join(types, ", ") + ") {\n" + body +
         "  return " + llvm::join(names, ", ") + " : " +
         llvm::join(types, ", ") + "\n}\n";
}
