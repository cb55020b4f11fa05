//===- DataSpec.h - Data named by a line of text ----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_DATASPEC_H
#define NORM_RUNTIME_DATASPEC_H

#include "norm/Runtime/HostTensor.h"
#include "llvm/ADT/StringRef.h"

namespace norm {

/// Where an argument's data comes from. The text forms:
///
///     x.npy                      a file
///     random:4096x4096:seed=7    normal (mean=0, std=1), or dist=uniform in
///                                [low=-1, high=1); docs in Random.h
///     ones:4096  zeros:4096      a constant
///     full:16x8:value=2.5        a constant
///     iota:16x8                  0, 1, 2, ... in C order
///     empty:16x8                 no data: an output
///     3.5                        a scalar
///
/// Every tensor form also takes `:pitch=P` (elements from one row to the next)
/// or `:strides=4096x64x1` (elements from one index to the next, for each dim),
/// `:offset=K` (elements of base misalignment) and `:dtype=T`. The shape of a
/// rank 0 tensor is `scalar`.
struct DataSpec {
  enum class Kind : uint8_t { File, Random, Constant, Iota, Empty, Scalar };
  enum class Distribution : uint8_t { Normal, Uniform };

  Kind kind = Kind::Random;
  std::string path;
  llvm::SmallVector<int64_t, 4> shape;
  Placement placement;
  std::optional<DType> dtype; ///< where the text names one
  Distribution distribution = Distribution::Normal;
  uint64_t seed = 0;
  double mean = 0, deviation = 1;
  double low = -1, high = 1;
  double value = 0; ///< of a constant or a scalar

  /// Reads a text form; an error quotes the part that isn't understood.
  static llvm::Expected<DataSpec> parse(llvm::StringRef text);

  static DataSpec random(llvm::ArrayRef<int64_t> shape, uint64_t seed);

  /// Makes the tensor, of element type `type`. An error for a scalar or no
  /// data, another `dtype` in the text, a file that doesn't read as `type`, or
  /// a tensor that cannot be made.
  llvm::Expected<HostTensor> make(DType type, Workers &workers) const;
};

/// Reads `16x4096` (or `scalar`, for rank 0).
llvm::Expected<llvm::SmallVector<int64_t, 4>> parseShape(llvm::StringRef text);

/// Reads `key=value` pairs of a placement: `pitch`, `strides` and `offset`.
/// False for another key.
llvm::Expected<bool> parsePlacement(llvm::StringRef key, llvm::StringRef value,
                                    Placement &placement);

} // namespace norm

#endif // NORM_RUNTIME_DATASPEC_H
