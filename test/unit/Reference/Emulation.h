//===- Emulation.h - f32 emulations of the norms ----------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Normalizations of a row in f32, in several orders, as an implementation may
// compute them; random rows; and shorthands for evaluating text.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TEST_UNIT_REFERENCE_EMULATION_H
#define NORM_TEST_UNIT_REFERENCE_EMULATION_H

#include "norm/Reference/Reference.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace norm::reference::test {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

inline Doubles widened(const Floats &x) { return Doubles(x.begin(), x.end()); }

inline Tensor tensorOf(DType type, std::vector<int64_t> shape, Doubles value) {
  return {type, std::move(shape), std::move(value), {}};
}

/// Evaluates the only function of `text`; a failure fails the test.
inline std::vector<Tensor> run(llvm::StringRef text,
                               llvm::ArrayRef<Tensor> inputs) {
  auto results = evaluate(text, "test.mlir", "", inputs);
  if (results)
    return std::move(*results);
  ADD_FAILURE() << llvm::toString(results.takeError());
  return std::vector<Tensor>(4);
}

/// The error of an evaluation that must fail.
inline std::string errorOf(llvm::StringRef text, llvm::ArrayRef<Tensor> inputs,
                           llvm::StringRef entry = "") {
  auto results = evaluate(text, "test.mlir", entry, inputs);
  return results ? "no error" : llvm::toString(results.takeError());
}

enum class Order { Sequential, Pairwise, Lanes };

inline float sumSequential(const Floats &x) {
  float total = -0.0f;
  for (float v : x)
    total += v;
  return total;
}

/// Halves: element i with i + n / 2, and so on.
inline float sumPairwise(Floats x) {
  if (x.empty())
    return -0.0f;
  for (size_t n = x.size(); n > 1; n = (n + 1) / 2)
    for (size_t i = 0; i < n / 2; ++i)
      x[i] += x[i + (n + 1) / 2];
  return x[0];
}

/// Leaves of 4, dealt to 1024 lanes that add them one after the other.
inline float sumLanes(const Floats &x) {
  Floats lanes(1024, -0.0f);
  for (size_t i = 0, leaf = 0; i < x.size(); i += 4, ++leaf) {
    Floats part(x.begin() + i, x.begin() + std::min(i + 4, x.size()));
    lanes[leaf % 1024] += sumPairwise(part);
  }
  return sumPairwise(lanes);
}

inline float sumBy(Order order, const Floats &x) {
  return order == Order::Sequential ? sumSequential(x)
         : order == Order::Pairwise ? sumPairwise(x)
                                    : sumLanes(x);
}

/// While it is merged, `mean` is the sum.
struct WelfordState {
  float mean = 0, m2 = 0;
  int count = 0;
};

inline WelfordState merge(WelfordState a, WelfordState b) {
  if (a.count == 0 || b.count == 0)
    return a.count == 0 ? b : a;
  float scale = 1.0f / float(std::bit_floor(unsigned(b.count)));
  float first = float(b.count) * scale, second = float(a.count) * scale;
  if (a.count == b.count)
    first = second = 1;
  int count = a.count + b.count;
  float factor = 1.0f / (first * second * float(count));
  float delta = std::fma(b.mean, -second, a.mean * first);
  return {a.mean + b.mean, std::fma(delta, delta * factor, a.m2 + b.m2), count};
}

inline WelfordState mergeHalves(const Floats &x, size_t begin, size_t end) {
  if (end - begin == 1)
    return {x[begin], 0, 1};
  size_t middle = begin + (end - begin + 1) / 2;
  return merge(mergeHalves(x, begin, middle), mergeHalves(x, middle, end));
}

/// The mean and the sum of squares around it, two passes or merged.
inline WelfordState momentsBy(Order order, bool isMerged, const Floats &x) {
  WelfordState state;
  if (isMerged) {
    if (order != Order::Sequential)
      state = mergeHalves(x, 0, x.size());
    else
      for (float v : x)
        state = merge(state, {v, 0, 1});
    state.mean /= float(x.size());
    return state;
  }
  state.mean = sumBy(order, x) / float(x.size());
  Floats squares;
  for (float v : x)
    squares.push_back((v - state.mean) * (v - state.mean));
  state.m2 = sumBy(order, squares);
  return state;
}

struct Wrong {
  bool forgetsEps = false;
  bool isUnbiased = false;
};

inline Floats layerNorm(Order order, bool isMerged, const Floats &x,
                        const Floats &scale, const Floats &bias, float eps,
                        Wrong wrong = {}) {
  WelfordState state = momentsBy(order, isMerged, x);
  float count = float(x.size()) - (wrong.isUnbiased ? 1.0f : 0.0f);
  float rstd =
      1.0f / std::sqrt(state.m2 / count + (wrong.forgetsEps ? 0.0f : eps));
  Floats y;
  for (size_t i = 0; i < x.size(); ++i)
    y.push_back((x[i] - state.mean) * rstd * scale[i] + bias[i]);
  return y;
}

inline Floats rmsNorm(Order order, const Floats &x, const Floats &scale,
                      float offset, float eps) {
  Floats squares, y;
  for (float v : x)
    squares.push_back(v * v);
  float rstd = 1.0f / std::sqrt(sumBy(order, squares) / float(x.size()) + eps);
  for (size_t i = 0; i < x.size(); ++i)
    y.push_back(x[i] * rstd * (scale[i] + offset));
  return y;
}

inline Floats softmax(Order order, const Floats &x) {
  float max = *std::max_element(x.begin(), x.end());
  Floats terms, y;
  for (float v : x)
    terms.push_back(std::exp(v - max));
  float total = sumBy(order, terms);
  for (float v : terms)
    y.push_back(v / total);
  return y;
}

inline Doubles roundedTo(DType type, const Floats &x) {
  Doubles result;
  for (float v : x)
    result.push_back(roundTo(type, v));
  return result;
}

/// `size` numbers around `mean`, rounded to `type`.
inline Floats normalRow(std::mt19937 &random, size_t size, double mean = 0,
                        double deviation = 1, DType type = DType::F32) {
  std::normal_distribution<double> distribution(mean, deviation);
  Floats x(size);
  for (float &v : x)
    v = float(roundTo(type, distribution(random)));
  return x;
}

/// Numbers of both signs between 2^low and 2^high.
inline Floats mixedRow(std::mt19937 &random, size_t size, int low, int high) {
  std::uniform_real_distribution<double> exponent(low, high);
  Floats x(size);
  for (float &v : x)
    v = float(std::exp2(exponent(random))) * (random() & 1 ? 1.0f : -1.0f);
  return x;
}

} // namespace norm::reference::test

#endif // NORM_TEST_UNIT_REFERENCE_EMULATION_H
