//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Fuzz/Program.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;
using namespace norm::fuzz;

unsigned Space::count(bool columns) const {
  return unsigned(llvm::count_if(
      dims, [&](const Dim &dim) { return dim.isColumn == columns; }));
}

int64_t Space::size(bool columns) const {
  int64_t result = 1;
  for (const Dim &dim : dims)
    result *= dim.isColumn == columns ? dim.extent : 1;
  return result;
}

llvm::SmallVector<Space::Axis, 5> Space::axes(const Value &value) const {
  llvm::SmallVector<Axis, 5> result;
  switch (value.support) {
  case Support::Scalar:
    return result;
  case Support::Channel:
    return {{channel, false}};
  case Support::Instance:
    return {{0, false}, {channel, false}};
  case Support::Groups:
    return {{0, false}, {kGroupAxis, false}};
  case Support::Number:
    return result;
  case Support::Scales:
    return scaleAxes(value);
  case Support::Leading:
    for (unsigned dim = 0; dim < value.part; ++dim)
      result.push_back({dim, false});
    return result;
  case Support::Row:
  case Support::Column:
  case Support::Full:
    break;
  }
  for (unsigned i = 0; i < rank(); ++i) {
    unsigned dim = value.transposed ? order[i] : i;
    if (value.support == Support::Full ||
        dims[dim].isColumn == (value.support == Support::Column))
      result.push_back({dim, bool(value.part >> dim & 1)});
  }
  result.erase(result.begin(), result.begin() + value.dropped);
  return result;
}

int64_t Space::countGroups(const Group &group, unsigned dim) const {
  return group[dim] < 0 ? 1 : dims[dim].extent / group[dim];
}

llvm::SmallVector<Space::Axis, 5> Space::scaleAxes(const Value &value) const {
  auto axis = [&](unsigned dim) -> Axis {
    int64_t group = value.group[dim];
    return group == 1  ? Axis{dim, false}
           : group < 0 ? Axis{dim, true}
                       : Axis{kGroupAxis, false, countGroups(value.group, dim)};
  };
  auto given = [](int64_t extent) { return Axis{kGroupAxis, false, extent}; };
  llvm::SmallVector<Axis, 5> result;
  switch (value.layout) {
  case ScaleLayout::RowMajor:
    for (unsigned dim = 0; dim < rank(); ++dim)
      result.push_back(axis(dim));
    return result;
  case ScaleLayout::ColumnMajor:
    return {axis(1), axis(0)};
  case ScaleLayout::Packed:
    return {given(countGroups(value.group, 1) / 4), axis(0), given(4)};
  case ScaleLayout::Swizzled:
    return {given(countGroups(value.group, 0) / 128),
            given(countGroups(value.group, 1) / 4), given(32), given(4),
            given(4)};
  }
  return result;
}

llvm::SmallVector<int64_t, 5> Space::shape(const Value &value) const {
  llvm::SmallVector<int64_t, 5> result;
  for (Axis axis : axes(value))
    result.push_back(axis.isUnit              ? 1
                     : axis.dim != kGroupAxis ? dims[axis.dim].extent
                     : axis.extent >= 0       ? axis.extent
                                              : groups);
  return result;
}

bool fuzz::isFirstDimFree(const Graph &graph, const Space &space) {
  if (space.dims.empty() || space.dims[0].isColumn)
    return false;
  return llvm::none_of(graph.ops, [&](const Op &op) {
    switch (op.kind) {
    case Op::Kind::BatchNorm:
    // A number belongs to a place.
    case Op::Kind::Dropout:
      return true;
    case Op::Kind::Custom:
      return llvm::any_of(op.body->ops, [](const Op &inner) {
        return inner.kind == Op::Kind::Random;
      });
    case Op::Kind::Quantize:
    case Op::Kind::Dequantize:
      return op.group[0] != 1 ||
             llvm::StringRef(op.attributes).contains("scale_layout");
    case Op::Kind::Softmax:
      return (op.axes & 1) || llvm::StringRef(op.attributes).contains("causal");
    default:
      return bool(op.axes & 1);
    }
  });
}

std::set<unsigned> fuzz::sumsOfRows(const Graph &graph) {
  std::set<unsigned> sums;
  for (const Op &op : graph.ops)
    if (op.ofRows || llvm::any_of(op.operands, [&](unsigned operand) {
          return sums.count(operand) != 0;
        }))
      sums.insert(op.results.begin(), op.results.end());
  return sums;
}

bool fuzz::isFixed(const Graph &graph, const Space &space, unsigned dim) {
  auto isTiled = [&](const Value &value) {
    if (isPacked(value.dtype) && value.support == Support::Full)
      return dim + 1 == space.rank();
    return value.support == Support::Scales &&
           (value.group[dim] > 1 || value.layout == ScaleLayout::Swizzled ||
            (value.layout == ScaleLayout::Packed && dim == 1));
  };
  return llvm::any_of(graph.values, isTiled) ||
         llvm::any_of(graph.ops, [&](const Op &op) {
           return !op.group.empty() && op.group[dim] > 1;
         });
}

void fuzz::removeDead(Graph &graph, std::vector<unsigned> *kept) {
  std::set<unsigned> used(graph.outputs.begin(), graph.outputs.end());
  std::vector<Op> ops;
  for (Op &op : llvm::reverse(graph.ops)) {
    if (llvm::none_of(op.results,
                      [&](unsigned value) { return used.count(value); }))
      continue;
    used.insert(op.operands.begin(), op.operands.end());
    ops.push_back(std::move(op));
  }
  graph.ops.assign(std::make_move_iterator(ops.rbegin()),
                   std::make_move_iterator(ops.rend()));
  std::vector<unsigned> arguments;
  for (auto [position, argument] : llvm::enumerate(graph.arguments))
    if (position == 0 || used.count(argument)) {
      arguments.push_back(argument);
      if (kept)
        kept->push_back(unsigned(position));
    }
  graph.arguments = std::move(arguments);
}
