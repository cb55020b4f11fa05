//===- ProgramText.h - Writes one function of tensors -----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_PROGRAMS_PROGRAMTEXT_H
#define NORM_LIB_PROGRAMS_PROGRAMTEXT_H

#include "norm/Support/DType.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace norm {

/// How a result is quantized.
struct QuantizeForm {
  enum Scale {
    Computed,    ///< a result
    Given,       ///< an argument, one for the tensor
    TensorScale, ///< a result, beside an argument for the tensor
  };
  std::string type;      ///< of codes
  std::string scaleType; ///< of scales
  int64_t group = -1;    ///< columns; -1 for all
  Scale scale = Computed;
  bool roundsUp = false; ///< scales, to powers of two
};

/// The fields of a program, taken apart.
struct ProgramFieldValues {
  static constexpr int64_t kAny = -1;
  static constexpr int64_t kMostExtent = int64_t(1) << 30;

  std::optional<int64_t> columns, rows, channels, groups;
  std::optional<DType> dtype, paramDType;
  std::optional<double> eps, offset;
  std::optional<QuantizeForm> quantize;
  bool isInPlace = false;
  bool hasStats = false;
  bool isRms = false;
};

/// A function in the making. Values are named without `%`; all but arguments of
/// other types are of the type of the main argument.
class ProgramText {
public:
  ProgramText(llvm::StringRef name, const ProgramFieldValues &values)
      : name(name.str()), values(values) {}

  std::string matrix() const { return tensor({rows(), columns()}, dtype()); }
  std::string perColumn() const { return tensor({columns()}, paramDType()); }
  std::string image() const;
  std::string perChannel() const;

  void argument(llvm::StringRef argument, const std::string &type);
  /// The argument `residual`, over which the sum may be written.
  void residual();
  void unary(llvm::StringRef result, llvm::StringRef op,
             llvm::StringRef operand);
  void binary(llvm::StringRef result, llvm::StringRef op, llvm::StringRef lhs,
              llvm::StringRef rhs);
  /// Norms of a value with the arguments `weight` and `bias`; the result's
  /// name. Statistics become results.
  std::string rmsNorm(llvm::StringRef operand);
  std::string layerNorm(llvm::StringRef operand);
  std::string groupNorm(llvm::StringRef operand);
  std::string overColumns(llvm::StringRef op, llvm::StringRef operand);

  /// Returns `value`, quantized if asked for, then `second` where there is one,
  /// then the statistics.
  void finish(llvm::StringRef value, llvm::StringRef second = "");

  std::string take();

private:
  using Named = std::pair<std::string, std::string>; ///< a value and its type

  int64_t rows() const {
    return values.rows.value_or(ProgramFieldValues::kAny);
  }
  int64_t columns() const { return *values.columns; }
  llvm::StringRef dtype() const {
    return norm::name(values.dtype.value_or(DType::BF16));
  }
  llvm::StringRef paramDType() const {
    return values.paramDType ? norm::name(*values.paramDType) : dtype();
  }
  std::string statsType() const;
  std::string mainType() const { return values.channels ? image() : matrix(); }
  std::string eps() const;
  std::string scale() const;
  static std::string tensor(std::vector<int64_t> extents,
                            llvm::StringRef element);
  void line(const std::string &text) { body += "  " + text + "\n"; }
  void quantize(llvm::StringRef value);

  std::string name;
  const ProgramFieldValues &values;
  std::vector<std::string> arguments;
  std::vector<Named> results, stats;
  std::string body;
};

} // namespace norm

#endif // NORM_LIB_PROGRAMS_PROGRAMTEXT_H
