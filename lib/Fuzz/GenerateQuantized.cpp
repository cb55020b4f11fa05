//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws ops on codes and scales, and random ones.
//
//===----------------------------------------------------------------------===//

#include "Generator.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;
using namespace norm::fuzz;

/// Whether neighbours of a row that share bytes can be accessed together.
bool Generator::canPack() const {
  return !space.isAcross() && space.dims.back().extent % 2 == 0;
}

DType Generator::chooseCodes() {
  DType dtype = choose.pick({DType::F8E4M3FN, DType::F8E4M3FN, DType::F8E5M2,
                             DType::I8, DType::F4E2M1FN});
  return isPacked(dtype) && !canPack() ? DType::F8E4M3FN : dtype;
}

/// The scales of a tensor with all dims.
Value Generator::chooseScales() {
  Value scale{
      Support::Scales,
      choose.pick({DType::F32, DType::F32, DType::F8E8M0FNU, DType::F8E4M3FN})};
  for (const Dim &dim : space.dims) {
    llvm::SmallVector<int64_t> divisors;
    for (int64_t size : {2, 3, 4, 5, 8, 16, 32, 64, 128})
      if (dim.extent > 0 && dim.extent % size == 0)
        divisors.push_back(size);
    uint64_t kind = choose.below(100);
    if (kind < (dim.isColumn ? 50u : 15u) && !divisors.empty())
      scale.group.push_back(choose.pick<int64_t>(divisors));
    else
      scale.group.push_back(kind < (dim.isColumn ? 85u : 28u) ? -1 : 1);
  }
  if (space.rank() != 2 || choose.chance(50))
    return scale;
  int64_t rows = space.countGroups(scale.group, 0);
  int64_t groups = space.countGroups(scale.group, 1);
  scale.layout = ScaleLayout::ColumnMajor;
  if (groups > 0 && groups % 4 == 0 && choose.chance(65))
    scale.layout = rows > 0 && rows % 128 == 0 && choose.chance(70)
                       ? ScaleLayout::Swizzled
                       : ScaleLayout::Packed;
  return scale;
}

void Generator::printLayout(Op &op, const Value &scale) {
  switch (scale.layout) {
  case ScaleLayout::RowMajor:
    return;
  case ScaleLayout::ColumnMajor:
    op.attributes += " scale_layout = column_major";
    return;
  case ScaleLayout::Packed:
    op.attributes += " scale_layout = packed";
    return;
  case ScaleLayout::Swizzled:
    op.attributes += " scale_layout = swizzle_128x4";
    return;
  }
}

/// One for each group, or for all of them.
unsigned Generator::givenScale(const Value &scale) {
  if (choose.chance(25))
    return argument({Support::Number, scale.dtype});
  return argument(scale);
}

void Generator::addQuantize() {
  unsigned x = pickInput();
  if (graph.values[x].dtype == DType::F64)
    x = cast(x, choose.pick({DType::F32, DType::BF16}));
  Op op;
  op.kind = Op::Kind::Quantize;
  op.operands = {x};
  Value scale = chooseScales();
  op.group = scale.group;
  printLayout(op, scale);
  DType codes = chooseCodes();
  if ((op.hasScale = choose.chance(25)))
    op.operands.push_back(givenScale(scale));
  if ((op.hasTensorScale = choose.chance(15)))
    op.operands.push_back(argument({Support::Number, DType::F32}));
  op.results.push_back(graph.add({Support::Full, codes}));
  if (!op.hasScale) {
    op.results.push_back(graph.add(scale));
    if (scale.dtype == DType::F8E8M0FNU && choose.chance(50))
      op.attributes += " scale_rounding = ceil";
    if (choose.chance(25))
      op.attributes += choose.pick({" min_scale = 1.0e-2", " min_scale = 1.0",
                                    " min_scale = 0.001953125"});
  }
  if ((op.hasAmax = choose.chance(25))) {
    Value amax{Support::Scales, DType::F32};
    amax.group = scale.group;
    op.results.push_back(graph.add(amax));
  }
  if (llvm::is_contained(kNarrow, codes) && choose.chance(20))
    op.attributes += " saturate = false";
  if (choose.chance(20))
    op.attributes += " nan = group";
  graph.ops.push_back(std::move(op));
}

void Generator::addDequantize() {
  Op op;
  op.kind = Op::Kind::Dequantize;
  // Codes that were made here, with their scales.
  for (const Op &made : graph.ops)
    if (made.kind == Op::Kind::Quantize && !made.hasScale &&
        !made.hasTensorScale && choose.chance(60)) {
      op.operands = {made.results[0], made.results[1]};
      op.group = made.group;
      printLayout(op, graph.values[made.results[1]]);
      break;
    }
  if (op.operands.empty()) {
    Value scale = chooseScales();
    op.operands = {argument({Support::Full, chooseCodes()}), givenScale(scale)};
    op.group = scale.group;
    printLayout(op, scale);
    if ((op.hasTensorScale = choose.chance(15)))
      op.operands.push_back(argument({Support::Number, DType::F32}));
  }
  op.hasScale = true;
  op.results.push_back(graph.add({Support::Full, chooseType(DType::F32, 30)}));
  graph.ops.push_back(std::move(op));
}

void Generator::addDropout() {
  unsigned x = pickInput();
  Op op;
  op.kind = Op::Kind::Dropout;
  op.operands = {x, find(Support::Scalar, DType::I64),
                 find(Support::Scalar, DType::I64)};
  op.number = choose.pick({0.0, 0.1, 0.25, 0.5, 0.9});
  op.results.push_back(
      graph.add({Support::Full, chooseResult(graph.values[x].dtype)}));
  graph.ops.push_back(std::move(op));
}
