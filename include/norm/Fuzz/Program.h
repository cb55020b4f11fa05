//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of the differential fuzzer as a value: a graph of ops over tensors
// over parts of one space, independent of the extents, that prints as MLIR
// text. Generator and shrinker work on it; no MLIR is needed.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_FUZZ_PROGRAM_H
#define NORM_FUZZ_PROGRAM_H

#include "norm/Support/DType.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace norm::fuzz {

/// Which dims of the space a value has.
enum class Support : uint8_t {
  Scalar,
  Row,
  Column,
  Full,
  Channel,  ///< the channels
  Instance, ///< the first dim and the channels
  Groups,   ///< the first dim and the groups
  Leading,  ///< the first `part` dims
  Scales,   ///< the grid of `group`, as it lies in `layout`
  Number,   ///< a tensor of rank 0
};

/// Where the scales of a quantized tensor lie.
enum class ScaleLayout : uint8_t { RowMajor, ColumnMajor, Packed, Swizzled };

/// Of each dim the extent of a group with one scale, -1 for all of it.
using Group = llvm::SmallVector<int64_t, 5>;

struct Value {
  Support support = Support::Full;
  DType dtype = DType::F32;
  /// Dims of the space, by bit, that have the extent 1 here: a parameter or
  /// mask that is repeated. Of `Leading`, the number of dims.
  uint8_t part = 0;
  uint8_t dropped = 0;     ///< leading axes that a parameter does without
  bool transposed = false; ///< an argument in the space's other order
  ScaleLayout layout = ScaleLayout::RowMajor;
  Group group = {};
  bool operator==(const Value &) const = default;

  bool isWhole() const { return !part && !dropped && !transposed; }
};

struct Graph;

struct Op {
  enum class Kind : uint8_t {
    Elementwise, ///< `name`, same support for operands and result
    Select,      ///< `select(cmpf name a, b), a, b`
    Choose,      ///< `select(c, a, b)`, c of i1
    Transpose,   ///< of an argument in the other order
    Cast,        ///< `name`, to the result's type
    Constant,    ///< a splat of `number`
    Broadcast,   ///< to Full; `name` is the form: splat, linalg, generic, norm
    LayerNorm,
    RmsNorm,
    Softmax,
    LogSoftmax,
    LogSumExp,
    L2Normalize,
    GroupNorm,
    InstanceNorm,
    BatchNorm,
    Quantize, ///< to codes, and scales if none are given
    Dequantize,
    Dropout,
    Custom, ///< norm.generic with `body`
    Reduce, ///< in a body: `name` is the kind
    Extent, ///< in a body: the number of columns
    Index,  ///< in a body: the column, as i32
    Random, ///< in a body: `operands` are seed and offset
  };

  Kind kind = Kind::Elementwise;
  std::string name;
  std::vector<unsigned> operands;
  std::vector<unsigned> results;
  double number = 0; ///< constant, eps, or share of what is dropped
  double offset = 0; ///< of a scale
  bool hasScale = false, hasBias = false, hasMean = false, hasRstd = false;
  bool hasMask = false, hasLengths = false, hasRunning = false;
  bool hasTensorScale = false, hasAmax = false;
  bool training = false;
  /// Of a reduction or extent in a body, and of the op around it: of the rows.
  bool ofRows = false;
  uint8_t axes = 0;       ///< by bit, where not the space's columns
  std::string attributes; ///< printed as they are
  Group group;            ///< of a quantization
  std::shared_ptr<const Graph> body;
};

/// Values by number. The arguments are the ones without an op; `outputs` are
/// returned, or yielded from a body.
struct Graph {
  std::vector<Value> values;
  std::vector<unsigned> arguments;
  std::vector<Op> ops;
  std::vector<unsigned> outputs;
  /// Arguments and outputs whose strides are left open (`norm.layout`).
  std::vector<unsigned> strided;

  unsigned add(Value value) {
    values.push_back(value);
    return unsigned(values.size() - 1);
  }
};

struct Dim {
  int64_t extent = 1;
  bool isColumn = false;
  bool dynamic = false; ///< left open in the text
};

/// The dims of a program in memory order; those that are columns are
/// normalized, in whatever places they are.
struct Space {
  llvm::SmallVector<Dim, 5> dims;
  unsigned channel = 0; ///< the dim of the channels
  int64_t groups = 1;   ///< a divisor of its extent
  /// Dim `k` of a transposed argument is this one.
  llvm::SmallVector<unsigned, 5> order;

  unsigned rank() const { return unsigned(dims.size()); }
  unsigned count(bool columns) const;
  bool hasRows() const { return count(false) > 0; }
  /// The product of the extents of the columns or of the other dims.
  int64_t size(bool columns) const;
  /// Whether neighbours in memory belong to different rows.
  bool isAcross() const { return !dims.empty() && !dims.back().isColumn; }

  /// One axis of a value: its dim, or `kGroupAxis` for a number of groups.
  struct Axis {
    unsigned dim = 0;
    bool isUnit = false; ///< of extent 1
    int64_t extent = -1; ///< of a group axis; -1 for the groups of channels
  };
  static constexpr unsigned kGroupAxis = ~0u;
  llvm::SmallVector<Axis, 5> axes(const Value &value) const;
  llvm::SmallVector<int64_t, 5> shape(const Value &value) const;
  /// How many groups there are along a dim.
  int64_t countGroups(const Group &group, unsigned dim) const;

private:
  llvm::SmallVector<Axis, 5> scaleAxes(const Value &value) const;
};

/// Whether an index of the first dim can be left out without a change to the
/// others: the dim is no column, and no op reduces or counts along it.
bool isFirstDimFree(const Graph &graph, const Space &space);

/// The values that depend on all rows: sums over them and what is made of
/// those.
std::set<unsigned> sumsOfRows(const Graph &graph);

/// Whether the extent of a dim has to be known: what is cut into groups of a
/// scale, and what lies in tiles or shares bytes.
bool isFixed(const Graph &graph, const Space &space, unsigned dim);

/// The text of `func.func @main`.
std::string print(const Graph &graph, const Space &space);

/// Drops ops whose results nothing uses, and arguments without a use other
/// than the first one, which has all dims. `kept` gets the old positions of
/// the arguments that stay.
void removeDead(Graph &graph, std::vector<unsigned> *kept = nullptr);

} // namespace norm::fuzz

#endif // NORM_FUZZ_PROGRAM_H
