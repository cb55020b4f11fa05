//===- Random.cpp - Random numbers by a counter ---------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Random.h"

#include "ScalarOps.h"

using namespace mlir;
using namespace ::norm;
using namespace ::norm::reference;

namespace {
/// Philox 4x32 with 10 rounds (Salmon et al., SC 2011), a word at a time.
struct Philox {
  uint32_t counter[4], key[2];

  void round() {
    uint64_t first = uint64_t(0xD2511F53) * counter[0];
    uint64_t second = uint64_t(0xCD9E8D57) * counter[2];
    uint32_t next[4] = {
        uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
        uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    std::copy(next, next + 4, counter);
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
};

/// The number of column `j` in row `i`, as `norm.random` defines it.
struct Numbers {
  uint64_t seed, offset;

  uint32_t at(uint64_t i, uint64_t j) const {
    Philox philox{{uint32_t(j / 4), uint32_t(i), uint32_t(offset),
                   uint32_t(offset >> 32)},
                  {uint32_t(seed), uint32_t(seed >> 32) ^ uint32_t(i >> 32)}};
    for (int round = 0; round != 10; ++round)
      philox.round();
    return philox.counter[j % 4];
  }
};
} // namespace

static llvm::Error checkExact(Operation *op, const Array &seed,
                              const Array &offset) {
  if (seed.bound.empty() && offset.bound.empty())
    return llvm::Error::success();
  return errorAt(op, "expects a seed and an offset of at most 2^53 in "
                     "magnitude for the reference");
}

/// What each dim adds to the position on some of them.
static Shape stridesOf(mlir::norm::GenericOp program,
                       llvm::ArrayRef<Attribute> names,
                       llvm::ArrayRef<int64_t> extents) {
  Shape strides(extents.size(), 0);
  int64_t stride = 1;
  for (Attribute name : llvm::reverse(names)) {
    unsigned dim = *program.getDimNumber(cast<StringAttr>(name));
    strides[dim] = stride;
    stride *= extents[dim];
  }
  return strides;
}

llvm::Expected<Array> reference::evaluateRandom(
    mlir::norm::RandomOp op, mlir::norm::GenericOp program, const Array &seed,
    const Array &offset, llvm::ArrayRef<int64_t> extents) {
  if (llvm::Error error = checkExact(op, seed, offset))
    return std::move(error);
  Shape shape;
  for (auto [a, b] : llvm::zip_equal(seed.shape, offset.shape))
    shape.push_back(a == 1 ? b : a);
  for (StringRef name : op.getDims().getAsValueRange<StringAttr>()) {
    unsigned dim = *program.getDimNumber(name);
    shape[dim] = extents[dim];
  }
  if (isTooLarge(shape))
    return errorAt(op, "expects at most 2^30 elements for the reference");
  Array seeds = broadcast(seed, shape), offsets = broadcast(offset, shape);
  Shape outer = stridesOf(program, op.getOuterDims(), extents);
  Shape inner = stridesOf(program, op.getInnerDims(), extents);
  Shape own = rowMajorStrides(shape);
  Array result(DType::I32, shape);
  for (int64_t point = 0, e = result.size(); point != e; ++point) {
    int64_t i = 0, j = 0;
    for (size_t dim = 0; dim != shape.size(); ++dim) {
      int64_t at = point / own[dim] % shape[dim];
      i += at * outer[dim];
      j += at * inner[dim];
    }
    Numbers numbers{uint64_t(int64_t(seeds.value[point])),
                    uint64_t(int64_t(offsets.value[point]))};
    result.value[point] = double(int32_t(numbers.at(i, j)));
  }
  return result;
}

llvm::Expected<Arrays>
reference::evaluateDropout(mlir::norm::DropoutOp op,
                           llvm::ArrayRef<const Array *> in) {
  const Array &x = *in[0];
  if (llvm::Error error = checkExact(op, *in[1], *in[2]))
    return std::move(error);
  DType type = mlir::norm::usesF64(op) ? DType::F64 : DType::F32;
  DType yType = *dtypeOf(op.getY().getType());
  double p = op.getP().convertToDouble();
  double factor = 1 / (1 - p);
  // Three roundings of float64 are more than two of its ulps.
  Element scale = rounded(type, {factor, std::ldexp(factor, -50)});
  double least = std::min(std::round(std::ldexp(p, 32)), 4294967295.0);
  Numbers numbers{uint64_t(int64_t(in[1]->value[0])),
                  uint64_t(int64_t(in[2]->value[0]))};
  Array y(yType, x.shape);
  int64_t columns = x.shape.back();
  for (int64_t at = 0, e = x.size(); at != e; ++at) {
    if (double(numbers.at(at / columns, at % columns)) < least)
      continue;
    Element scaled = p == 0 ? x.at(at) : loose(type, multiply(x.at(at), scale));
    y.set(at,
          yType == type ? overflowed(yType, scaled) : rounded(yType, scaled));
  }
  Arrays results;
  results.push_back(std::move(y));
  return results;
}
