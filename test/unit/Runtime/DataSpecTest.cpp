//===- DataSpecTest.cpp - Tests of named data -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/DataSpec.h"
#include "TemporaryFile.h"
#include "norm/Runtime/Npy.h"
#include "norm/Runtime/Random.h"
#include "norm/Runtime/Workers.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace norm;

namespace {

std::string parseError(llvm::StringRef text) {
  llvm::Expected<DataSpec> spec = DataSpec::parse(text);
  return spec ? "" : llvm::toString(spec.takeError());
}

HostTensor make(llvm::StringRef text, DType dtype, unsigned threads = 1) {
  Workers workers(threads);
  llvm::Expected<DataSpec> spec = DataSpec::parse(text);
  if (!spec) {
    ADD_FAILURE() << llvm::toString(spec.takeError());
    return HostTensor();
  }
  llvm::Expected<HostTensor> tensor = spec->make(dtype, workers);
  if (!tensor) {
    ADD_FAILURE() << llvm::toString(tensor.takeError());
    return HostTensor();
  }
  return std::move(*tensor);
}

TEST(DataSpecTest, TwoElementsShareAByte) {
  HostTensor tensor = make("iota:3x8:pitch=10:offset=2", DType::F4E2M1FN);
  EXPECT_EQ(tensor.row(0)[0], 0x20); // 0, 1
  EXPECT_EQ(tensor.row(0)[1], 0x54); // 2, 3
  EXPECT_EQ(tensor.row(0)[2], 0x66); // 4, 5 to even
  EXPECT_EQ(tensor.row(0)[3], 0x77); // 6, 7
  EXPECT_EQ(tensor.row(1) - tensor.row(0), 5);
  EXPECT_EQ(tensor.value(0, 3), 3.0);
  EXPECT_TRUE(tensor.guardsIntact());
  tensor.row(1)[4] = 0;
  EXPECT_FALSE(tensor.guardsIntact());
  // The same however many threads fill it.
  HostTensor one = make("random:2x70000:std=2", DType::F4E2M1FN, 1);
  HostTensor four = make("random:2x70000:std=2", DType::F4E2M1FN, 4);
  EXPECT_EQ(one.bytes(), four.bytes());
}

TEST(DataSpecTest, RefusesRowsThatShareAByte) {
  auto error = [](llvm::StringRef text) {
    llvm::Expected<DataSpec> spec = DataSpec::parse(text);
    if (!spec)
      return llvm::toString(spec.takeError());
    Workers workers(1);
    return llvm::toString(spec->make(DType::F4E2M1FN, workers).takeError());
  };
  EXPECT_EQ(error("zeros:3x7"), "expects an even last extent of f4E2M1FN, two "
                                "of which share a byte, but got 3x7");
  EXPECT_EQ(error("zeros:scalar"), "expects an even last extent of f4E2M1FN, "
                                   "two of which share a byte, but got scalar");
  EXPECT_EQ(error("zeros:3x8:pitch=9"),
            "expects even strides of f4E2M1FN, two of which share a byte, but "
            "got 9 in dim 0");
  EXPECT_EQ(
      error("zeros:3x8:offset=1"),
      "expects an even offset of f4E2M1FN, two of which share a byte, but "
      "got 1");
}

TEST(DataSpecTest, ParsesForms) {
  llvm::Expected<DataSpec> spec = DataSpec::parse("3.5");
  ASSERT_TRUE(bool(spec));
  EXPECT_EQ(spec->kind, DataSpec::Kind::Scalar);
  EXPECT_EQ(spec->value, 3.5);
  spec = DataSpec::parse("/a:b/x.npy:pitch=12:offset=3");
  ASSERT_TRUE(bool(spec));
  EXPECT_EQ(spec->kind, DataSpec::Kind::File);
  EXPECT_EQ(spec->path, "/a:b/x.npy");
  EXPECT_EQ(spec->placement.pitch, 12);
  EXPECT_EQ(spec->placement.offset, 3);
  spec = DataSpec::parse("random:16x4096:seed=7:dist=uniform:low=0:high=2");
  ASSERT_TRUE(bool(spec));
  EXPECT_EQ(spec->kind, DataSpec::Kind::Random);
  EXPECT_EQ(spec->shape, (llvm::SmallVector<int64_t, 4>{16, 4096}));
  EXPECT_EQ(spec->seed, 7u);
  EXPECT_EQ(spec->high, 2.0);
}

TEST(DataSpecTest, WrongFormsAreQuoted) {
  EXPECT_EQ(parseError("x.txt"),
            "expects a .npy file, random:, ones:, zeros:, full:, iota:, empty: "
            "or a number but got 'x.txt'");
  EXPECT_EQ(parseError(""),
            "expects a .npy file, random:, ones:, zeros:, full:, iota:, empty: "
            "or a number but got ''");
  EXPECT_EQ(parseError("random"),
            "expects a shape after random: but got 'random'");
  EXPECT_EQ(parseError("random:"),
            "expects a shape such as 16x4096 but got ''");
  EXPECT_EQ(parseError("random:4x-2"),
            "expects a shape such as 16x4096 but got '4x-2'");
  EXPECT_EQ(parseError("random:4:seed=x"),
            "expects an integer of 0 or more for seed but got 'x'");
  EXPECT_EQ(parseError("random:4:dist=cauchy"),
            "expects dist normal or uniform but got 'cauchy'");
  EXPECT_EQ(parseError("random:4:sigma=2"),
            "expects option seed, dist, mean, std, low, high, dtype, pitch, "
            "strides or offset but got 'sigma'");
  EXPECT_EQ(parseError("ones:4:seed=2"),
            "expects option dtype, pitch, strides or offset but got 'seed'");
  EXPECT_EQ(parseError("full:4"),
            "expects option value for full: but got 'full:4'");
  EXPECT_EQ(parseError("full:4:value=abc"),
            "expects a number for value but got 'abc'");
  EXPECT_EQ(parseError("ones:4:value=2"),
            "expects option dtype, pitch, strides or offset but got 'value'");
  EXPECT_EQ(parseError("x.npy:pitch=-1"),
            "expects an integer of 0 or more for pitch but got '-1'");
  EXPECT_EQ(parseError("ones:4x8:strides=8x-1"),
            "expects strides such as 4096x64x1 but got '8x-1'");
  EXPECT_EQ(parseError("ones:4x8:strides="),
            "expects strides such as 4096x64x1 but got ''");
  EXPECT_EQ(parseError("x.npy:seed=1"),
            "expects option dtype, pitch, strides or offset but got 'seed'");
}

TEST(DataSpecTest, PlacesByStrides) {
  // Head-major memory of a token-major tensor; between heads lie two elements.
  HostTensor tensor = make("iota:2x3x4:strides=4x10x1", DType::F32);
  EXPECT_EQ(tensor.strides(), (llvm::ArrayRef<int64_t>{4, 10, 1}));
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t column = 0; column < 4; ++column) {
      EXPECT_EQ(tensor.value(row, column), double(row * 4 + column));
      EXPECT_EQ(tensor.row(row) - tensor.row(0),
                (row / 3 * 4 + row % 3 * 10) * 4);
    }
  EXPECT_TRUE(tensor.guardsIntact());
  tensor.row(1)[-1] = 0;
  EXPECT_FALSE(tensor.guardsIntact());

  // Nobody steps along a dim of size 1.
  HostTensor unit = make("iota:3x1x1:strides=2x0x7", DType::F32);
  EXPECT_EQ(unit.value(2, 0), 2.0);
  EXPECT_TRUE(unit.guardsIntact());
}

TEST(DataSpecTest, RefusesStrides) {
  auto error = [](llvm::StringRef text) {
    llvm::Expected<DataSpec> spec = DataSpec::parse(text);
    if (!spec)
      return llvm::toString(spec.takeError());
    Workers workers(1);
    return llvm::toString(spec->make(DType::F32, workers).takeError());
  };
  EXPECT_EQ(error("ones:4x8:strides=8"),
            "expects 2 strides for shape 4x8 but got 1");
  EXPECT_EQ(error("ones:4x8:strides=1x4"),
            "expects stride 1 along the last dim but got 4");
  EXPECT_EQ(error("ones:2x4x8:strides=24x8x1"),
            "expects a place of its own for every element but got stride 24 "
            "along dim 0, where 32 elements lie between");
  EXPECT_EQ(error("ones:4x8:strides=8x1:pitch=9"),
            "expects a pitch or strides but got both");
}

TEST(DataSpecTest, MakesConstantsAndCounts) {
  HostTensor full = make("full:2x3:value=2.5:pitch=4", DType::BF16);
  HostTensor iota = make("iota:2x3", DType::I32);
  HostTensor rankZero = make("ones:scalar", DType::F64);
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 3; ++column) {
      EXPECT_EQ(full.value(row, column), 2.5);
      EXPECT_EQ(iota.value(row, column), row * 3 + column);
    }
  EXPECT_TRUE(full.guardsIntact());
  EXPECT_EQ(rankZero.rows(), 1);
  EXPECT_EQ(rankZero.value(0, 0), 1.0);
}

TEST(DataSpecTest, RandomNumbersDependOnSeedAndIndexAlone) {
  HostTensor one = make("random:300x1000:seed=7", DType::F32, 1);
  HostTensor many = make("random:300x1000:seed=7:pitch=1001", DType::F32, 3);
  HostTensor other = make("random:300x1000:seed=8", DType::F32, 1);
  int64_t equal = 0;
  for (int64_t row = 0; row < 300; ++row)
    for (int64_t column = 0; column < 1000; ++column) {
      ASSERT_EQ(one.value(row, column), many.value(row, column));
      ASSERT_EQ(one.value(row, column),
                float(randomNormal(7, uint64_t(row * 1000 + column))));
      equal += one.value(row, column) == other.value(row, column);
    }
  EXPECT_LT(equal, 100);
}

TEST(DataSpecTest, RandomNumbersHaveTheMomentsAskedFor) {
  auto moments = [](const HostTensor &tensor) {
    double sum = 0, squares = 0, fourth = 0;
    double count = double(tensor.numElements());
    for (int64_t i = 0; i < tensor.columns(); ++i)
      sum += tensor.value(0, i);
    double mean = sum / count;
    for (int64_t i = 0; i < tensor.columns(); ++i) {
      double centred = tensor.value(0, i) - mean;
      squares += centred * centred;
      fourth += centred * centred * centred * centred;
    }
    double variance = squares / count;
    return std::tuple(mean, std::sqrt(variance),
                      fourth / count / (variance * variance));
  };
  auto [mean, deviation, kurtosis] =
      moments(make("random:1000000:mean=3:std=2", DType::F64));
  // Five standard errors.
  EXPECT_NEAR(mean, 3.0, 0.01);
  EXPECT_NEAR(deviation, 2.0, 0.01);
  EXPECT_NEAR(kurtosis, 2.85, 0.03);
  auto [middle, spread, flatness] =
      moments(make("random:1000000:dist=uniform", DType::F64));
  EXPECT_NEAR(middle, 0.0, 0.003);
  EXPECT_NEAR(spread, std::sqrt(1.0 / 3), 0.002);
  EXPECT_NEAR(flatness, 1.8, 0.01);
}

TEST(DataSpecTest, RandomNumbersStayTheSame) {
  // Files made from seeds are compared across machines and versions.
  EXPECT_EQ(randomBits(0, 0), 0xa706dd2f4d197e6fu);
  EXPECT_EQ(randomBits(7, 1), 0x64fb272cc21ad71cu);
}

TEST(DataSpecTest, ReadsFiles) {
  norm::test::TemporaryFile file;
  HostTensor iota = make("iota:3x5", DType::F16);
  ASSERT_FALSE(bool(writeNpy(file.path(), iota)));
  HostTensor again = make((file.path() + ":offset=1").str(), DType::F16);
  EXPECT_EQ(again.shape(), llvm::ArrayRef<int64_t>({3, 5}));
  EXPECT_EQ(again.value(2, 4), 14.0);
}

} // namespace
