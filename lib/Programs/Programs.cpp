//===- Programs.cpp - Common fusions as text ------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Programs/Programs.h"
#include "ProgramText.h"
#include "norm/Support/DType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace norm;

namespace {

/// The fields that programs have.
enum Field : unsigned {
  Columns = 1 << 0,
  Rows = 1 << 1,
  DTypeField = 1 << 2,
  ParamDType = 1 << 3,
  Eps = 1 << 4,
  Offset = 1 << 5,
  Quantize = 1 << 6,
  InPlace = 1 << 7,
  Stats = 1 << 8,
  Channels = 1 << 9,
  Groups = 1 << 10,
};
constexpr unsigned kMatrix = Columns | Rows | DTypeField;
constexpr unsigned kNorm = kMatrix | ParamDType | Eps | Quantize;

struct FieldInfo {
  Field field;
  llvm::StringLiteral name;
  llvm::StringLiteral help;
};
constexpr FieldInfo kFields[] = {
    {Columns, "columns", "elements of a row, or ? for any number; required"},
    {Rows, "rows", "rows, or ? for any number, the default"},
    {DTypeField, "dtype", "f32, f16, bf16 or f64; by default bf16"},
    {ParamDType, "param-dtype", "of weight and bias; by default dtype"},
    {Eps, "eps", "under the root; by default 1e-5, of rms_norm 1e-6"},
    {Offset, "offset", "added to the weight, 1 in Gemma; by default 0"},
    {Quantize, "quantize",
     "TYPE:row, TYPE:N (groups of N columns) or TYPE:tensor (with a\n"
     "               given scale), TYPE one of f8E4M3FN, f8E5M2, i8; mxfp8; "
     "nvfp4.\n"
     "               y is then codes, followed by their scales"},
    {InPlace, "in-place",
     "yes: the sum is written over residual; by default "
     "no"},
    {Stats, "stats", "yes: also mean (of layer_norm) and rstd of each row"},
    {Channels, "channels", "number of channels; required"},
    {Groups, "groups", "groups of channels; required"},
};

using Writer = void (*)(ProgramText &);

struct ProgramInfo {
  llvm::StringLiteral name;
  llvm::StringLiteral signature;
  llvm::StringLiteral help;
  unsigned fields;
  Writer write;
};

void writeRmsNorm(ProgramText &text) {
  text.argument("x", text.matrix());
  text.argument("weight", text.perColumn());
  text.finish(text.rmsNorm("x"));
}
void writeLayerNorm(ProgramText &text) {
  text.argument("x", text.matrix());
  text.argument("weight", text.perColumn());
  text.argument("bias", text.perColumn());
  text.finish(text.layerNorm("x"));
}
void addResidual(ProgramText &text) {
  text.argument("x", text.matrix());
  text.residual();
}
void writeAddRmsNorm(ProgramText &text) {
  addResidual(text);
  text.argument("weight", text.perColumn());
  text.binary("sum", "arith.addf", "x", "residual");
  text.finish(text.rmsNorm("sum"), "sum");
}
void writeAddLayerNorm(ProgramText &text) {
  addResidual(text);
  text.argument("weight", text.perColumn());
  text.argument("bias", text.perColumn());
  text.binary("sum", "arith.addf", "x", "residual");
  text.finish(text.layerNorm("sum"), "sum");
}
void writeRmsNormSiluGate(ProgramText &text) {
  text.argument("x", text.matrix());
  text.argument("gate", text.matrix());
  text.argument("weight", text.perColumn());
  std::string normed = text.rmsNorm("x");
  text.unary("act", "norm.silu", "gate");
  text.binary("gated", "arith.mulf", normed, "act");
  text.finish("gated");
}
void writeRmsNormSilu(ProgramText &text) {
  text.argument("x", text.matrix());
  text.argument("weight", text.perColumn());
  std::string normed = text.rmsNorm("x");
  text.unary("act", "norm.silu", normed);
  text.finish("act");
}
void writeGated(ProgramText &text, llvm::StringRef op) {
  text.argument("gate", text.matrix());
  text.argument("up", text.matrix());
  text.unary("act", op, "gate");
  text.binary("product", "arith.mulf", "act", "up");
  text.finish("product");
}
void writeSiluAndMul(ProgramText &text) { writeGated(text, "norm.silu"); }
void writeGeluAndMul(ProgramText &text) { writeGated(text, "norm.gelu"); }
void writeSoftmax(ProgramText &text) {
  text.argument("x", text.matrix());
  text.finish(text.overColumns("norm.softmax", "x"));
}
void writeLogSoftmax(ProgramText &text) {
  text.argument("x", text.matrix());
  text.finish(text.overColumns("norm.log_softmax", "x"));
}
void writeQuantize(ProgramText &text) {
  text.argument("x", text.matrix());
  text.finish("x");
}
void addChannels(ProgramText &text) {
  text.argument("x", text.image());
  text.argument("weight", text.perChannel());
  text.argument("bias", text.perChannel());
}
void writeGroupNorm(ProgramText &text) {
  addChannels(text);
  text.finish(text.groupNorm("x"));
}
void writeGroupNormSilu(ProgramText &text) {
  addChannels(text);
  std::string normed = text.groupNorm("x");
  text.unary("act", "norm.silu", normed);
  text.finish("act");
}

constexpr unsigned kImage = Channels | Groups | DTypeField | ParamDType | Eps;
constexpr ProgramInfo kPrograms[] = {
    {"rms_norm", "(x, weight) -> y", "RMSNorm", kNorm | Offset | Stats,
     writeRmsNorm},
    {"layer_norm", "(x, weight, bias) -> y", "LayerNorm",
     kNorm | Offset | Stats, writeLayerNorm},
    {"add_rms_norm", "(x, residual, weight) -> y, sum",
     "RMSNorm of x + residual, and that sum", kNorm | Offset | InPlace | Stats,
     writeAddRmsNorm},
    {"add_layer_norm", "(x, residual, weight, bias) -> y, sum",
     "LayerNorm of x + residual, and that sum",
     kNorm | Offset | InPlace | Stats, writeAddLayerNorm},
    {"rms_norm_silu", "(x, weight) -> y", "SiLU of an RMSNorm", kNorm | Offset,
     writeRmsNormSilu},
    {"rms_norm_silu_gate", "(x, gate, weight) -> y",
     "RMSNorm of x times SiLU of gate", kNorm | Offset, writeRmsNormSiluGate},
    {"silu_and_mul", "(gate, up) -> y", "SiLU of gate times up",
     kMatrix | Quantize, writeSiluAndMul},
    {"gelu_and_mul", "(gate, up) -> y", "exact GELU of gate times up",
     kMatrix | Quantize, writeGeluAndMul},
    {"softmax", "(x) -> y", "softmax of each row", kMatrix, writeSoftmax},
    {"log_softmax", "(x) -> y", "logarithm of the softmax of each row", kMatrix,
     writeLogSoftmax},
    {"quantize", "(x) -> y", "codes and scales of x", kMatrix | Quantize,
     writeQuantize},
    {"group_norm", "(x, weight, bias) -> y",
     "GroupNorm of samples by channels by space", kImage, writeGroupNorm},
    {"group_norm_silu", "(x, weight, bias) -> y",
     "SiLU of a GroupNorm of samples by channels by space", kImage,
     writeGroupNormSilu},
};

const ProgramInfo *findProgram(llvm::StringRef name) {
  const auto *found = llvm::find_if(
      kPrograms, [&](const ProgramInfo &info) { return info.name == name; });
  return found == std::end(kPrograms) ? nullptr : found;
}

std::string fieldNames(unsigned fields) {
  std::vector<std::string> names;
  for (const FieldInfo &info : kFields)
    if (fields & info.field)
      names.push_back(info.name.str());
  return llvm::join(names, ", ");
}

//===----------------------------------------------------------------------===//
// Values of fields
//===----------------------------------------------------------------------===//

llvm::Error fail(llvm::StringRef field, llvm::StringRef expected,
                 llvm::StringRef got) {
  return llvm::createStringError("field '" + field + "' expects " + expected +
                                 " but got '" + got + "'");
}

llvm::Error setExtent(llvm::StringRef field, llvm::StringRef value,
                      bool isDynamic, std::optional<int64_t> &extent) {
  int64_t number = -1;
  if (isDynamic && value == "?")
    number = ProgramFieldValues::kAny;
  else if (value.getAsInteger(10, number) || number < 1 ||
           number > ProgramFieldValues::kMostExtent)
    return fail(field,
                isDynamic ? "? or a number from 1 to 1073741824"
                          : "a number from 1 to 1073741824",
                value);
  extent = number;
  return llvm::Error::success();
}

llvm::Error setDType(llvm::StringRef field, llvm::StringRef value,
                     std::optional<DType> &dtype) {
  dtype = parseDType(value);
  if (dtype && isFloat(*dtype) && bitSize(*dtype) >= 16)
    return llvm::Error::success();
  return fail(field, "f32, f16, bf16 or f64", value);
}

llvm::Error setNumber(llvm::StringRef field, llvm::StringRef value,
                      std::optional<double> &number) {
  double parsed = 0;
  // NaN and infinities aren't equal to or less than their bounds.
  if (value.getAsDouble(parsed) || !(parsed >= -1e30 && parsed <= 1e30))
    return fail(field, "a number", value);
  number = parsed;
  return llvm::Error::success();
}

llvm::Error setFlag(llvm::StringRef field, llvm::StringRef value, bool &flag) {
  if (value != "yes" && value != "no")
    return fail(field, "yes or no", value);
  flag = value == "yes";
  return llvm::Error::success();
}

llvm::Error setQuantize(llvm::StringRef value, QuantizeForm &form) {
  auto bad = [&] {
    return fail("quantize",
                "TYPE:row, TYPE:N, TYPE:tensor with a TYPE of f8E4M3FN, f8E5M2 "
                "or i8, mxfp8 or nvfp4",
                value);
  };
  if (value == "mxfp8")
    form = {"f8E4M3FN", "f8E8M0FNU", 32, QuantizeForm::Computed, true};
  else if (value == "nvfp4")
    form = {"f4E2M1FN", "f8E4M3FN", 16, QuantizeForm::TensorScale, false};
  else {
    auto [type, kind] = value.split(':');
    if (type != "f8E4M3FN" && type != "f8E5M2" && type != "i8")
      return bad();
    form = {type.str(), "f32", -1, QuantizeForm::Computed, false};
    if (kind == "tensor")
      form.scale = QuantizeForm::Given;
    else if (kind != "row" &&
             (kind.getAsInteger(10, form.group) || form.group < 1))
      return bad();
  }
  return llvm::Error::success();
}

llvm::Error setField(Field field, llvm::StringRef name, llvm::StringRef value,
                     ProgramFieldValues &values) {
  switch (field) {
  case Columns:
    return setExtent(name, value, true, values.columns);
  case Rows:
    return setExtent(name, value, true, values.rows);
  case Channels:
    return setExtent(name, value, false, values.channels);
  case Groups:
    return setExtent(name, value, false, values.groups);
  case DTypeField:
    return setDType(name, value, values.dtype);
  case ParamDType:
    return setDType(name, value, values.paramDType);
  case Eps:
    if (llvm::Error error = setNumber(name, value, values.eps))
      return error;
    return *values.eps < 0 ? fail(name, "a number of 0 or more", value)
                           : llvm::Error::success();
  case Offset:
    return setNumber(name, value, values.offset);
  case InPlace:
    return setFlag(name, value, values.isInPlace);
  case Stats:
    return setFlag(name, value, values.hasStats);
  case Quantize:
    return setQuantize(value, values.quantize.emplace());
  }
  return llvm::Error::success();
}

/// What no single field says.
llvm::Error checkTogether(const ProgramInfo &info, ProgramFieldValues &values) {
  auto need = [&](unsigned field, llvm::StringRef name,
                  bool isThere) -> llvm::Error {
    if (!(info.fields & field) || isThere)
      return llvm::Error::success();
    return llvm::createStringError("program '" + info.name +
                                   "' expects a field '" + name +
                                   "' but got none");
  };
  if (llvm::Error error = need(Columns, "columns", values.columns.has_value()))
    return error;
  if (llvm::Error error =
          need(Channels, "channels", values.channels.has_value()))
    return error;
  if (llvm::Error error = need(Groups, "groups", values.groups.has_value()))
    return error;
  if (values.groups && *values.channels % *values.groups != 0)
    return llvm::createStringError(
        "field 'groups' expects a divisor of " + llvm::Twine(*values.channels) +
        " channels but got '" + llvm::Twine(*values.groups) + "'");
  if (info.name == "quantize" && !values.quantize)
    return need(Quantize, "quantize", false);
  if (!values.quantize || values.quantize->group < 1)
    return llvm::Error::success();
  int64_t group = values.quantize->group;
  if (*values.columns == ProgramFieldValues::kAny ||
      *values.columns % group != 0)
    return llvm::createStringError(
        "field 'quantize' expects columns that are a multiple of " +
        llvm::Twine(group) + " but got " +
        (*values.columns == ProgramFieldValues::kAny
             ? llvm::Twine("?")
             : llvm::Twine(*values.columns)));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::string>
norm::buildProgram(llvm::StringRef program,
                   llvm::ArrayRef<std::pair<std::string, std::string>> fields) {
  const ProgramInfo *info = findProgram(program);
  if (!info)
    return llvm::createStringError("expects a program of " +
                                   llvm::join(programNames(), ", ") +
                                   " but got '" + program + "'");
  ProgramFieldValues values;
  llvm::StringRef familiar = info->name;
  values.isRms = familiar.contains("rms_norm");
  for (const auto &[name, value] : fields) {
    const auto *known = llvm::find_if(
        kFields, [&](const FieldInfo &field) { return field.name == name; });
    if (known == std::end(kFields) || !(info->fields & known->field))
      return llvm::createStringError(
          "program '" + program + "' expects fields of " +
          fieldNames(info->fields) + " but got '" + name + "'");
    if (llvm::Error error = setField(known->field, name, value, values))
      return std::move(error);
  }
  if (llvm::Error error = checkTogether(*info, values))
    return std::move(error);
  ProgramText text(info->name, values);
  info->write(text);
  return text.take();
}

llvm::Expected<ProgramFields> norm::parseProgramFields(llvm::StringRef text) {
  ProgramFields fields;
  for (llvm::StringRef part : llvm::split(text, ',')) {
    if (part.trim().empty())
      continue;
    if (!part.contains('='))
      return llvm::createStringError("expects fields as NAME=VALUE but got '" +
                                     part.trim() + "'");
    auto [name, value] = part.split('=');
    std::string key = name.trim().str();
    if (llvm::any_of(fields,
                     [&](const auto &seen) { return seen.first == key; }))
      return llvm::createStringError("expects each field once but got '" + key +
                                     "' again");
    fields.emplace_back(key, value.trim().str());
  }
  return fields;
}

std::string norm::listPrograms() {
  std::string text = "programs, of rows by columns unless said otherwise:\n";
  for (const ProgramInfo &info : kPrograms)
    text += llvm::formatv("  {0,-19} {1}: {2}\n    fields: {3}\n", info.name,
                          info.signature, info.help, fieldNames(info.fields));
  text += "fields:\n";
  for (const FieldInfo &info : kFields)
    text += llvm::formatv("  {0,-12} {1}\n", info.name, info.help);
  return text;
}

bool norm::isProgramField(llvm::StringRef name) {
  return llvm::any_of(
      kFields, [&](const FieldInfo &field) { return field.name == name; });
}

std::vector<llvm::StringRef> norm::programNames() {
  std::vector<llvm::StringRef> names;
  for (const ProgramInfo &info : kPrograms)
    names.push_back(info.name);
  return names;
}
