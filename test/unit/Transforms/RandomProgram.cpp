//===- RandomProgram.cpp - Random functions of norms ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

#include <random>
#include <sstream>
#include <vector>

namespace {

enum Kind { WholeBF16, WholeF32, Row, Column, NumKinds };

class Generator {
public:
  Generator(unsigned seed, int rows, int columns) : random(seed) {
    std::string height = seed % 2 ? "?" : std::to_string(rows);
    std::string width = std::to_string(columns);
    types[WholeBF16] = "tensor<" + height + "x" + width + "xbf16>";
    types[WholeF32] = "tensor<" + height + "x" + width + "xf32>";
    types[Row] = "tensor<" + height + "xf32>";
    types[Column] = "tensor<" + width + "xf32>";
    std::string parts = "x2x" + std::to_string(columns / 2) + "xf32>";
    split = "tensor<" + height + parts;
    transposed = "tensor<" + width + "x" + height + "xf32>";
    splitShape = std::string(seed % 2 ? "%rows" : std::to_string(rows)) +
                 ", 2, " + std::to_string(columns / 2);
    values[WholeBF16] = {"%x"};
    values[WholeF32] = {"%r"};
    values[Column] = {"%w"};
    dynamic = seed % 2;
  }

  std::string run() {
    for (int i = 0; i < 10; ++i)
      step();
    std::string operands, results;
    for (int i = 0, n = 1 + pick(3); i < n; ++i) {
      Kind kind = pick(4) == 0 && !values[Row].empty()
                      ? Row
                      : (pick(2) ? WholeF32 : WholeBF16);
      const char *comma = i ? ", " : "";
      // The last values hang on the most ops.
      operands += comma + values[kind].back();
      results += comma + types[kind];
      if (values[kind].size() > 1)
        values[kind].pop_back();
    }
    return "func.func @f(%x: " + types[WholeBF16] + ", %r: " + types[WholeF32] +
           ", %w: " + types[Column] + ", %s: f32) -> (" + results + ") {\n" +
           "  %zero = arith.constant 0 : index\n  %rows = tensor.dim %x, "
           "%zero : " +
           types[WholeBF16] + "\n" + body.str() + "  return " + operands +
           " : " + results + "\n}\n";
  }

private:
  unsigned pick(unsigned n) { return random() % n; }
  std::string any(Kind kind) {
    // Prefer what was made last, so that chains get long.
    auto &list = values[kind];
    return pick(2) ? list.back() : list[pick(list.size())];
  }
  std::string fresh(Kind kind) {
    std::string name = "%v" + std::to_string(counter++);
    values[kind].push_back(name);
    return name;
  }
  Kind wholeKind() { return pick(2) ? WholeF32 : WholeBF16; }

  void step() {
    switch (pick(10)) {
    case 0:
    case 1:
      return binary(wholeKind());
    case 2:
      return binary(pick(2) && !values[Row].empty() ? Row : Column);
    case 3:
      return convert();
    case 4:
    case 5:
      return norm();
    case 6:
      return broadcast();
    case 7:
      return throughSplit();
    case 8:
      return throughTranspose();
    default:
      return scaleBySplat();
    }
  }

  void binary(Kind kind) {
    static const char *const ops[] = {"addf", "subf", "mulf", "maximumf"};
    std::string a = any(kind), b = any(kind), op = ops[pick(4)];
    body << "  " << fresh(kind) << " = arith." << op << " " << a << ", " << b
         << " : " << types[kind] << "\n";
  }

  void convert() {
    if (pick(2)) {
      std::string a = any(WholeF32);
      body << "  " << fresh(WholeBF16) << " = arith.truncf " << a << " : "
           << types[WholeF32] << " to " << types[WholeBF16] << "\n";
      return;
    }
    std::string a = any(WholeBF16);
    body << "  " << fresh(WholeF32) << " = arith.extf " << a << " : "
         << types[WholeBF16] << " to " << types[WholeF32] << "\n";
  }

  void norm() {
    Kind from = wholeKind(), to = wholeKind();
    std::string a = any(from), w = any(Column);
    std::string inputs = types[from] + ", " + types[Column];
    std::string y = fresh(to);
    switch (pick(3)) {
    case 0: {
      std::string rstd = fresh(Row);
      body << "  " << y << ", " << rstd << " = norm.rms_norm " << a << " scale("
           << w << ") stats(rstd) axes = [1] eps = 1.0e-5 : " << inputs
           << " -> " << types[to] << ", " << types[Row] << "\n";
      return;
    }
    case 1:
      body << "  " << y << " = norm.layer_norm " << a << " bias(" << w
           << ") axes = [1] eps = 1.0e-5 : " << inputs << " -> " << types[to]
           << "\n";
      return;
    default:
      body << "  " << y << " = norm.softmax " << a
           << " axes = [1] : " << types[from] << " -> " << types[to] << "\n";
      return;
    }
  }

  void broadcast() {
    bool ofRow = pick(2) && !values[Row].empty();
    std::string a = any(WholeF32), b = any(ofRow ? Row : Column);
    std::string e = "%e" + std::to_string(counter);
    std::string y = fresh(WholeF32);
    const char *all = "affine_map<(i, j) -> (i, j)>";
    body << "  " << e << " = tensor.empty(" << (dynamic ? "%rows" : "")
         << ") : " << types[WholeF32] << "\n  " << y
         << " = linalg.generic {indexing_maps = [" << all
         << ", affine_map<(i, j) -> (" << (ofRow ? "i" : "j") << ")>, " << all
         << "], iterator_types = [\"parallel\", \"parallel\"]} ins(" << a
         << ", " << b << " : " << types[WholeF32] << ", "
         << types[ofRow ? Row : Column] << ") outs(" << e << " : "
         << types[WholeF32] << ") {\n  ^bb0(%p: f32, %q: f32, %o: f32):\n"
         << "    %m = arith.mulf %p, %q : f32\n"
         << "    linalg.yield %m : f32\n  } -> " << types[WholeF32] << "\n";
  }

  /// What is done to a value of type `type` elsewhere, over `axes`.
  std::string detour(const std::string &value, const std::string &type,
                     const char *axes) {
    std::string y = "%d" + std::to_string(counter);
    body << "  " << y << " = ";
    switch (pick(3)) {
    case 0:
      body << "math.absf " << value << " : " << type << "\n";
      break;
    case 1:
      body << "norm.rms_norm " << value << " axes = " << axes
           << " eps = 1.0e-5 : " << type << " -> " << type << "\n";
      break;
    default:
      body << "norm.softmax " << value << " axes = " << axes << " : " << type
           << " -> " << type << "\n";
    }
    return y;
  }

  void throughSplit() {
    static const char *const axes[] = {"[2]", "[1, 2]", "[0, 2]", "[1]"};
    std::string a = any(WholeF32), p = "%p" + std::to_string(counter);
    body << "  " << p << " = tensor.expand_shape " << a
         << " [[0], [1, 2]] output_shape [" << splitShape
         << "] : " << types[WholeF32] << " into " << split << "\n";
    std::string d = detour(p, split, axes[pick(4)]);
    body << "  " << fresh(WholeF32) << " = tensor.collapse_shape " << d
         << " [[0], [1, 2]] : " << split << " into " << types[WholeF32] << "\n";
  }

  void throughTranspose() {
    std::string a = any(WholeF32), p = "%p" + std::to_string(counter);
    transpose(p, a, types[WholeF32], transposed);
    std::string d = detour(p, transposed, pick(2) ? "[0]" : "[1]");
    transpose(fresh(WholeF32), d, transposed, types[WholeF32]);
  }

  void transpose(const std::string &to, const std::string &from,
                 const std::string &fromType, const std::string &toType) {
    std::string e = "%e" + to.substr(1);
    body << "  " << e << " = tensor.empty(" << (dynamic ? "%rows" : "")
         << ") : " << toType << "\n  " << to
         << " = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, "
            "affine_map<(i, j) -> (i, j)>], iterator_types = [\"parallel\", "
            "\"parallel\"]} ins("
         << from << " : " << fromType << ") outs(" << e << " : " << toType
         << ") {\n  ^bb0(%p: f32, %o: f32):\n    linalg.yield %p : f32\n  } -> "
         << toType << "\n";
  }

  void scaleBySplat() {
    std::string a = any(WholeF32), t = "%t" + std::to_string(counter);
    std::string y = fresh(WholeF32);
    body << "  " << t << " = tensor.splat %s" << (dynamic ? "[%rows]" : "")
         << " : " << types[WholeF32] << "\n  " << y << " = arith.mulf " << a
         << ", " << t << " : " << types[WholeF32] << "\n";
  }

  std::mt19937 random;
  std::string types[NumKinds];
  /// The types of a whole f32 value with columns in two parts, and transposed.
  std::string split, transposed;
  std::string splitShape;
  std::vector<std::string> values[NumKinds];
  std::ostringstream body;
  unsigned counter = 0;
  bool dynamic = false;
};

} // namespace

std::string norm::test::makeRandomProgram(unsigned seed, int rows,
                                          int columns) {
  return Generator(seed, rows, columns).run();
}
