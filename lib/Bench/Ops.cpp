//===- Ops.cpp - The programs that are measured ---------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Ops.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace norm;
using namespace norm::bench;

namespace {

// Arguments: x input, r residual or gate, w scale, b shift, s the step of a
// quantization; d the cotangent of y, m and v what the forward saved of rows.
// In bodies {x}, {w}, ... are types: {x} rows of the op's dtype, {w} and {b}
// one row of it, {f} rows of f32, {q} rows of f8E4M3FN, {i} rows of i8, {t} an
// f32 for each row, {g} one for each 128 columns of a row, {s} one.
constexpr Op kOps[] = {
    {"layer_norm", "xwb", "y:x",
     "  %y = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-5"
     " : {x}, {w}, {w} -> {x}\n"},
    {"rms_norm", "xw", "y:x",
     "  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6"
     " : {x}, {w} -> {x}\n"},
    {"softmax", "x", "y:x", "  %y = norm.softmax %x axes = [1] : {x} -> {x}\n"},
    {"add_rms_norm", "xrw", "y:x,h:x",
     "  %h = arith.addf %x, %r : {x}\n"
     "  %y = norm.rms_norm %h scale(%w) axes = [1] eps = 1.0e-6"
     " : {x}, {w} -> {x}\n"},
    {"add_layer_norm", "xrwb", "y:x,h:x",
     "  %h = arith.addf %x, %r : {x}\n"
     "  %y = norm.layer_norm %h scale(%w) bias(%b) axes = [1] eps = 1.0e-5"
     " : {x}, {w}, {w} -> {x}\n"},
    {"rms_norm_silu_gate", "xrw", "y:x",
     "  %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6"
     " : {x}, {w} -> {x}\n"
     "  %a = norm.silu %r : {x}\n"
     "  %y = arith.mulf %n, %a : {x}\n"},
    {"layer_norm_gelu", "xwb", "y:x",
     "  %n = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-5"
     " : {x}, {w}, {w} -> {x}\n"
     "  %y = norm.gelu %n : {x}\n"},
    {"layer_norm_modulate", "xwb", "y:x",
     "  %y = norm.layer_norm %x scale(%w, offset = 1.0) bias(%b) axes = [1]"
     " eps = 1.0e-6 : {x}, {w}, {w} -> {x}\n"},
    {"add_rms_norm_fp8_row", "xrw", "q:q,t:t,h:x",
     "  %h = arith.addf %x, %r : {x}\n"
     "  %n = norm.rms_norm %h scale(%w) axes = [1] eps = 1.0e-6"
     " : {x}, {w} -> {x}\n"
     "  %q, %t = norm.quantize %n group = [1, -1] : {x} -> {q}, {t}\n"},
    {"rms_norm_fp8_block128", "xw", "q:q,t:g",
     "  %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6"
     " : {x}, {w} -> {x}\n"
     "  %q, %t = norm.quantize %n group = [1, 128] : {x} -> {q}, {g}\n",
     128},
    {"rms_norm_int8_row", "xw", "q:i,t:t",
     "  %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6"
     " : {x}, {w} -> {x}\n"
     "  %q, %t = norm.quantize %n group = [1, -1] : {x} -> {i}, {t}\n"},
    {"rms_norm_fp8_tensor", "xws", "q:q",
     "  %n = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6"
     " : {x}, {w} -> {f}\n"
     "  %q = norm.quantize %n scale(%s) group = [-1, -1] : {f}, {s} -> {q}\n"},
    {"layer_norm_bwd", "xwmvd", "dx:x,dw:w,db:w",
     "  %y = norm.layer_norm %x scale(%w) bias(%b) axes = [1] eps = 1.0e-5"
     " : {x}, {w}, {w} -> {x}\n",
     1, "save=statistics", "xwb", "y:x"},
    {"rms_norm_bwd", "xwvd", "dx:x,dw:w",
     "  %y = norm.rms_norm %x scale(%w) axes = [1] eps = 1.0e-6"
     " : {x}, {w} -> {x}\n",
     1, "save=statistics", "xw", "y:x"},
    {"softmax_bwd", "xmvd", "dx:x",
     "  %y = norm.softmax %x axes = [1] : {x} -> {x}\n", 1, "save=statistics",
     "x", "y:x"},
};

std::string typeOf(char letter, DType dtype, int64_t columns) {
  std::string row = std::to_string(columns) + "x";
  std::string own = name(dtype).str();
  switch (letter) {
  case 'w':
  case 'b':
    return "tensor<" + row + own + ">";
  case 'f':
    return "tensor<?x" + row + "f32>";
  case 'q':
    return "tensor<?x" + row + "f8E4M3FN>";
  case 'i':
    return "tensor<?x" + row + "i8>";
  case 't':
    return "tensor<?x1xf32>";
  case 'g':
    return "tensor<?x" + std::to_string(columns / 128) + "xf32>";
  case 's':
    return "tensor<f32>";
  default:
    return "tensor<?x" + row + own + ">";
  }
}

/// The text with every `{letter}` replaced by that type.
std::string withTypes(llvm::StringRef text, DType dtype, int64_t columns) {
  std::string out;
  while (!text.empty()) {
    auto [before, rest] = text.split('{');
    out += before;
    if (rest.empty())
      break;
    out += typeOf(rest.front(), dtype, columns);
    text = rest.drop_front(2);
  }
  return out;
}

} // namespace

llvm::SmallVector<Role, 4> Op::roles() const {
  llvm::SmallVector<Role, 4> roles;
  for (char letter : arguments)
    roles.push_back(letter == 'x'   ? Role::Input
                    : letter == 'r' ? Role::Residual
                    : letter == 'w' ? Role::Scale
                    : letter == 'b' ? Role::Shift
                    : letter == 'd' ? Role::Cotangent
                    : letter == 'm' ? Role::Mean
                    : letter == 'v' ? Role::Rstd
                                    : Role::Step);
  return roles;
}

llvm::ArrayRef<Op> bench::allOps() { return kOps; }

const Op *bench::findOp(llvm::StringRef name) {
  const Op *found =
      llvm::find_if(kOps, [&](const Op &op) { return op.name == name; });
  return found == std::end(kOps) ? nullptr : found;
}

std::string bench::listOps() {
  return llvm::join(llvm::map_range(kOps, [](const Op &op) { return op.name; }),
                    ", ");
}

bool bench::isBenchDType(DType dtype) {
  return dtype == DType::BF16 || dtype == DType::F16 || dtype == DType::F32;
}

std::string bench::programText(const Op &op, DType dtype, int64_t columns) {
  std::string arguments, values, types;
  for (char letter : op.isBackward() ? op.primalArguments : op.arguments) {
    arguments += arguments.empty() ? "%" : ", %";
    arguments += letter;
    arguments += ": " + typeOf(letter, dtype, columns);
  }
  llvm::SmallVector<llvm::StringRef, 3> results;
  (op.isBackward() ? op.primalResults : op.results).split(results, ',');
  for (llvm::StringRef result : results) {
    auto [value, letter] = result.split(':');
    values += (values.empty() ? "%" : ", %") + value.str();
    types +=
        (types.empty() ? "" : ", ") + typeOf(letter.front(), dtype, columns);
  }
  llvm::StringRef name = op.name;
  name.consume_back("_bwd");
  return ("func.func @" + name + "(" + arguments + ") -> (" + types + ") {\n" +
          withTypes(op.body, dtype, columns) + "  return " + values + " : " +
          types + "\n}\n")
      .str();
}
