//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of the differential fuzzer as a value: a graph of ops over tensors
// of four kinds of support, independent of the extents, that prints as MLIR
// text. Generator and shrinker work on it; no MLIR is needed.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_FUZZ_PROGRAM_H
#define NORM_FUZZ_PROGRAM_H

#include "norm/Support/DType.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <string>
#include <vector>

namespace norm::fuzz {

/// Which dims a value has: none, the row dims, the column dims, or both.
enum class Support : uint8_t { Scalar, Row, Column, Full };

struct Value {
  Support support = Support::Full;
  DType dtype = DType::F32;
  bool operator==(const Value &) const = default;
};

struct Graph;

struct Op {
  enum class Kind : uint8_t {
    Elementwise, ///< `name`, same support for operands and result
    Select,      ///< `select(cmpf name a, b), a, b`
    Cast,        ///< `name`, to the result's type
    Constant,    ///< a splat of `number`
    Broadcast,   ///< to Full; `name` is the form: splat, linalg, generic, norm
    LayerNorm,
    RmsNorm,
    Softmax,
    Custom, ///< norm.generic with `body`
    Reduce, ///< in a body: `name` is the kind
    Extent, ///< in a body: the number of columns
    Index,  ///< in a body: the column, as i32
  };

  Kind kind = Kind::Elementwise;
  std::string name;
  std::vector<unsigned> operands;
  std::vector<unsigned> results;
  double number = 0; ///< constant, or eps
  double offset = 0; ///< of a scale
  bool hasScale = false, hasBias = false, hasMean = false, hasRstd = false;
  std::shared_ptr<const Graph> body;
};

/// Values by number. The arguments are the ones without an op; `outputs` are
/// returned, or yielded from a body.
struct Graph {
  std::vector<Value> values;
  std::vector<unsigned> arguments;
  std::vector<Op> ops;
  std::vector<unsigned> outputs;

  unsigned add(Value value) {
    values.push_back(value);
    return unsigned(values.size() - 1);
  }
};

/// Extents of the row dims and of the column dims; `dynamicRows` leaves the
/// first row dim open in the text, `dynamicColumns` all column dims.
struct Space {
  llvm::SmallVector<int64_t, 2> rows;
  llvm::SmallVector<int64_t, 2> columns;
  bool dynamicRows = false;
  bool dynamicColumns = false;

  llvm::SmallVector<int64_t, 4> shape(Support support) const;
};

/// The text of `func.func @main`.
std::string print(const Graph &graph, const Space &space);

/// Drops ops whose results nothing uses, and arguments without a use other
/// than the first one, which has all dims. `kept` gets the old positions of
/// the arguments that stay.
void removeDead(Graph &graph, std::vector<unsigned> *kept = nullptr);

} // namespace norm::fuzz

#endif // NORM_FUZZ_PROGRAM_H
