//===- ByteModelTest.cpp - Tests of the least bytes of a call -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/ByteModel.h"
#include "gtest/gtest.h"

using namespace norm;
using namespace norm::bench;

namespace {

/// `y, h = f(x, r, w)` in two kernels, which hand each other temporary 5, and
/// the second of which reads x again.
Manifest twoKernels() {
  Manifest manifest;
  Kernel first, second;
  first.reads = {0, 1};
  first.writes = {4, 5};
  second.reads = {5, 2, 0};
  second.writes = {3};
  manifest.kernels = {first, second};
  return manifest;
}

std::vector<BoundArgument> arguments() {
  return {BoundArgument::contiguous(DType::BF16, 0, {10, 64}),
          BoundArgument::contiguous(DType::BF16, 0, {10, 64}),
          BoundArgument::contiguous(DType::F32, 0, {64}),
          BoundArgument::contiguous(DType::F8E4M3FN, 0, {10, 64}),
          BoundArgument::contiguous(DType::BF16, 0, {10, 64})};
}

TEST(ByteModel, EveryTensorOnce) {
  Traffic traffic = minimalTraffic(twoKernels(), arguments());
  EXPECT_EQ(traffic.read, 2 * 10 * 64 * 2u + 64 * 4u);
  EXPECT_EQ(traffic.written, 10 * 64 * 1u + 10 * 64 * 2u);
  EXPECT_EQ(traffic.total(), traffic.read + traffic.written);
}

TEST(ByteModel, WhatNoKernelReadsCountsNothing) {
  Manifest manifest = twoKernels();
  manifest.kernels.pop_back();
  Traffic traffic = minimalTraffic(manifest, arguments());
  EXPECT_EQ(traffic.read, 2 * 10 * 64 * 2u);
  EXPECT_EQ(traffic.written, 10 * 64 * 2u);
}

TEST(ByteModel, InPlaceCountsTwice) {
  Manifest manifest;
  Kernel kernel;
  kernel.reads = {0};
  kernel.writes = {0};
  manifest.kernels = {kernel};
  Traffic traffic = minimalTraffic(
      manifest, BoundArgument::contiguous(DType::F32, 0, {3, 5}));
  EXPECT_EQ(traffic.read, 60u);
  EXPECT_EQ(traffic.written, 60u);
}

TEST(ByteModel, PackedElementsShareBytes) {
  Manifest manifest;
  Kernel kernel;
  kernel.writes = {0};
  manifest.kernels = {kernel};
  EXPECT_EQ(minimalTraffic(manifest, BoundArgument::contiguous(DType::F4E2M1FN,
                                                               0, {4, 32}))
                .written,
            64u);
}

TEST(ByteModel, Mixes) {
  EXPECT_EQ(mixOf({1000, 1000}), (Mix{1, 1}));
  // A row of weights beside them doesn't change it.
  EXPECT_EQ(mixOf({100100, 100000}), (Mix{1, 1}));
  EXPECT_EQ(mixOf({2000, 1000}), (Mix{2, 1}));
  EXPECT_EQ(mixOf({4000, 3004}), (Mix{4, 3}));
  EXPECT_EQ(mixOf({1000, 3000}), (Mix{1, 3}));
  // Beyond what streams express, the closest.
  EXPECT_EQ(mixOf({100000, 1}), (Mix{6, 1}));
  EXPECT_EQ(mixOf({0, 0}), (Mix{1, 1}));
}

} // namespace
