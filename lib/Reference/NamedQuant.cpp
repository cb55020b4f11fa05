//===- NamedQuant.cpp - quantize and dequantize ---------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedOps.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

using mlir::norm::NaNScope;
using mlir::norm::ScaleLayout;
using mlir::norm::ScaleRounding;

namespace {
/// The groups of a tensor.
class Groups {
public:
  Groups(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> group)
      : strides(rowMajorStrides(shape)), shape(shape), group(group) {
    for (auto [extent, count] : llvm::zip(shape, group))
      grid.push_back(count < 0 ? 1 : extent / count);
    gridStrides = rowMajorStrides(grid);
  }

  Shape grid;
  int64_t count() const { return countElements(grid); }
  /// The number of the group that element `i` is in.
  int64_t of(int64_t i) const {
    int64_t result = 0;
    for (size_t axis = 0; axis != shape.size(); ++axis) {
      int64_t at = i / strides[axis];
      i %= strides[axis];
      result += (group[axis] < 0 ? 0 : at / group[axis]) * gridStrides[axis];
    }
    return result;
  }
  /// Where the scale of group `g` is stored.
  int64_t placeOf(int64_t g, ScaleLayout layout) const;

private:
  Shape strides, gridStrides;
  llvm::ArrayRef<int64_t> shape, group;
};
} // namespace

int64_t Groups::placeOf(int64_t g, ScaleLayout layout) const {
  if (layout == ScaleLayout::RowMajor)
    return g;
  int64_t rows = grid[0], columns = grid[1];
  int64_t m = g / columns, k = g % columns;
  switch (layout) {
  case ScaleLayout::RowMajor:
    break;
  case ScaleLayout::ColumnMajor:
    return k * rows + m;
  case ScaleLayout::Packed:
    return (k / 4 * rows + m) * 4 + k % 4;
  case ScaleLayout::Swizzle128x4:
    return (m / 128 * (columns / 4) + k / 4) * 512 + m % 32 * 16 +
           m % 128 / 32 * 4 + k % 4;
  }
  return g;
}

static Shape shapeOfScales(const Groups &groups, ScaleLayout layout) {
  if (layout == ScaleLayout::RowMajor)
    return groups.grid;
  int64_t rows = groups.grid[0], columns = groups.grid[1];
  if (layout == ScaleLayout::ColumnMajor)
    return {columns, rows};
  if (layout == ScaleLayout::Packed)
    return {columns / 4, rows, 4};
  return {rows / 128, columns / 4, 32, 4, 4};
}

/// A magnitude within bounds; a NaN is one for its group, or is left out.
static Element atLeast(NaNScope scope, Element x, double least) {
  return scope == NaNScope::Group ? maximum(x, {least, 0})
                                  : maximumNumber(x, {least, 0});
}

static Element finite(NaNScope scope, Element x) {
  x = atLeast(scope, x, 0);
  Element most{maxFinite(DType::F32), 0};
  return scope == NaNScope::Group ? minimum(x, most) : minimumNumber(x, most);
}

/// The largest magnitude of a group, finite, 0 without one.
static std::vector<Element> largestOf(const Array &x, const Groups &groups,
                                      NaNScope scope) {
  std::vector<Element> amax(groups.count(), Element{0, 0});
  for (int64_t i = 0; i < x.size(); ++i) {
    Element &most = amax[groups.of(i)];
    Element magnitude = absolute(x.at(i));
    most = scope == NaNScope::Group ? maximum(most, magnitude)
                                    : maximumNumber(most, magnitude);
  }
  for (Element &most : amax)
    most = finite(scope, most);
  return amax;
}

/// A function on floats that rises by steps, on an interval.
template <typename Fn>
static Element rising(Element x, Fn function) {
  if (x.isUnknown() || std::isnan(x.value))
    return unknown(x.value);
  double value = function(x.value);
  return {value, std::max(function(x.high()) - value,
                          value - function(std::max(x.low(), 0.0)))};
}

/// The largest power of two that isn't above a magnitude.
static double floorToPower(double x) {
  return x == 0 ? 0 : std::ldexp(1.0, std::ilogb(x));
}

static double ceilToPower(double x) {
  double power = floorToPower(x);
  return power == x ? x : 2 * power;
}

static Element scaleOf(mlir::norm::QuantizeOp op, Element amax,
                       std::optional<Element> tensorScale) {
  DType stored = elementTypeOf(op.getScale());
  DType code = elementTypeOf(op.getQ());
  // Of a signed integer, the magnitude both signs have.
  double largest = maxFinite(code);
  NaNScope scope = op.getNan();
  if (tensorScale)
    amax = finite(scope, rounded(DType::F32, divide(amax, *tensorScale)));
  if (amax.isNaN())
    return amax;
  if (stored == DType::F8E8M0FNU) {
    Element power =
        op.getScaleRounding() == ScaleRounding::Floor
            ? rising(amax,
                     [&](double x) {
                       return floorToPower(x) / floorToPower(largest);
                     })
            : rising(rounded(DType::F32, divide(amax, {largest, 0})),
                     ceilToPower);
    return maximumNumber(power, {floorToPower(op.getLeastScale()), 0});
  }
  Element scale = rounded(DType::F32, divide(amax, {largest, 0}));
  scale = maximumNumber(scale, rounded(DType::F32, {op.getLeastScale(), 0}));
  if (stored == DType::F32)
    return scale;
  return rounded(stored, minimumNumber(scale, {maxFinite(stored), 0}));
}

/// 1 / (scale * tensor scale), at most the largest finite number.
static Element inverseOf(Element scale, std::optional<Element> tensorScale) {
  if (tensorScale)
    scale = rounded(DType::F32, multiply(scale, *tensorScale));
  return minimum(rounded(DType::F32, divide({1, 0}, scale)),
                 {maxFinite(DType::F32), 0});
}

static Element codeOf(DType type, Element value, bool saturates) {
  if (!saturates)
    return rounded(type, value);
  bool hasNaN = type == DType::F8E4M3FN || type == DType::F8E5M2;
  if (value.isNaN())
    return hasNaN ? Element{kNaN, 0} : Element{0, 0};
  double most = maxFinite(type);
  double least = isFloat(type) ? -most : -most - 1;
  return rounded(type, minimum(maximum(value, {least, 0}), {most, 0}));
}

llvm::Expected<Arrays>
reference::evaluateQuantize(mlir::norm::QuantizeOp op,
                            llvm::ArrayRef<const Array *> in) {
  const Array &x = *in[0];
  Groups groups(x.shape, op.getGroup());
  ScaleLayout layout = op.getScaleLayout();
  size_t next = 1;
  const Array *given = op.getGivenScale() ? in[next++] : nullptr;
  std::optional<Element> tensorScale;
  if (op.getTensorScale())
    tensorScale = in[next++]->at(0);
  Shape scaleShape = shapeOfScales(groups, layout);
  if (given && !given->shape.empty() && given->shape != scaleShape)
    return errorAt(op, "has scales that don't fit its groups");

  Arrays results{Array(elementTypeOf(op.getQ()), x.shape)};
  std::vector<Element> amax;
  if (op.getScale() || op.getAmax())
    amax = largestOf(x, groups, op.getNan());
  std::vector<Element> inverses(groups.count());
  if (op.getScale())
    results.emplace_back(elementTypeOf(op.getScale()), scaleShape);
  for (int64_t g = 0; g < groups.count(); ++g) {
    int64_t place = groups.placeOf(g, layout);
    Element scale = given ? given->at(given->shape.empty() ? 0 : place)
                          : scaleOf(op, amax[g], tensorScale);
    if (!given)
      results[1].set(place, scale);
    inverses[g] = inverseOf(scale, tensorScale);
  }
  for (int64_t i = 0; i < x.size(); ++i)
    results[0].set(i, codeOf(results[0].type,
                             rounded(DType::F32,
                                     multiply(x.at(i), inverses[groups.of(i)])),
                             op.getSaturate()));
  if (op.getAmax()) {
    results.emplace_back(DType::F32, groups.grid);
    for (int64_t g = 0; g < groups.count(); ++g)
      results.back().set(g, amax[g]);
  }
  return results;
}

llvm::Expected<Arrays>
reference::evaluateDequantize(mlir::norm::DequantizeOp op,
                              llvm::ArrayRef<const Array *> in) {
  const Array &q = *in[0], &scales = *in[1];
  Groups groups(q.shape, op.getGroup());
  ScaleLayout layout = op.getScaleLayout();
  if (!scales.shape.empty() && scales.shape != shapeOfScales(groups, layout))
    return errorAt(op, "has scales that don't fit its groups");
  DType type = elementTypeOf(op.getY());
  DType compute = type == DType::F64 ? DType::F64 : DType::F32;
  Arrays results{Array(type, q.shape)};
  for (int64_t i = 0; i < q.size(); ++i) {
    Element scale = scales.at(
        scales.shape.empty() ? 0 : groups.placeOf(groups.of(i), layout));
    if (op.getTensorScale())
      scale = rounded(compute, multiply(scale, in[2]->at(0)));
    results[0].set(i,
                   rounded(type, rounded(compute, multiply(q.at(i), scale))));
  }
  return results;
}
