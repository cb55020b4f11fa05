//===- NpyTest.cpp - Tests of NumPy files ---------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/Npy.h"
#include "TemporaryFile.h"
#include "norm/Runtime/Workers.h"
#include "gtest/gtest.h"

using namespace norm;
using norm::test::TemporaryFile;

namespace {

/// A version 1 file with the given header text and data.
std::string npy(llvm::StringRef header, llvm::StringRef data, char major = 1) {
  std::string text = header.str() + "\n";
  std::string file = "\x93NUMPY";
  file += major;
  file += '\0';
  file += char(text.size() & 0xff);
  file += char(text.size() >> 8);
  if (major > 1)
    file.append(2, '\0');
  return file + text + data.str();
}

std::string openError(llvm::StringRef content) {
  TemporaryFile file(content);
  llvm::Expected<NpyFile> opened = NpyFile::open(file.path());
  if (opened)
    return "";
  std::string message = llvm::toString(opened.takeError());
  llvm::StringRef rest = message;
  EXPECT_TRUE(rest.consume_front(file.path())) << message;
  EXPECT_TRUE(rest.consume_front(": ")) << message;
  return rest.str();
}

constexpr llvm::StringLiteral kHeader =
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

std::string floats(std::initializer_list<float> values) {
  return std::string(reinterpret_cast<const char *>(values.begin()),
                     values.size() * sizeof(float));
}

TEST(NpyTest, ReadsIntoAnyPlacement) {
  Workers workers(1);
  TemporaryFile file(npy(kHeader, floats({0, 1, 2, 3, 4, 5})));
  llvm::Expected<NpyFile> opened = NpyFile::open(file.path());
  ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
  EXPECT_EQ(opened->shape(), llvm::ArrayRef<int64_t>({2, 3}));
  Placement placement;
  placement.pitch = 5;
  placement.offset = 1;
  llvm::Expected<HostTensor> tensor =
      opened->tensor(DType::F32, placement, workers);
  ASSERT_TRUE(bool(tensor)) << llvm::toString(tensor.takeError());
  EXPECT_EQ(tensor->strides(), llvm::ArrayRef<int64_t>({5, 1}));
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 3; ++column)
      EXPECT_EQ(tensor->value(row, column), row * 3 + column);
  EXPECT_TRUE(tensor->guardsIntact());
  EXPECT_EQ(tensor->elementOffset(), HostTensor::kGuard + 4);
  // The gap between the rows is watched.
  tensor->row(0)[3 * 4] = 0;
  EXPECT_FALSE(tensor->guardsIntact());
}

TEST(NpyTest, RoundTripsEveryType) {
  Workers workers(1);
  for (DType type : allDTypes())
    for (llvm::SmallVector<int64_t, 4> shape :
         {llvm::SmallVector<int64_t, 4>{}, {5}, {2, 3}, {2, 1, 3}, {0, 4}}) {
      Placement placement;
      if (shape.size() > 1)
        placement.pitch = 8;
      // Two elements that share a byte are one of the file.
      llvm::SmallVector<int64_t, 4> extents = shape;
      if (isPacked(type)) {
        if (shape.empty())
          continue;
        extents.back() *= 2;
      }
      llvm::Expected<HostTensor> tensor =
          HostTensor::create(type, extents, placement, workers);
      ASSERT_TRUE(bool(tensor)) << llvm::toString(tensor.takeError());
      for (int64_t row = 0; row < tensor->rows(); ++row)
        for (int64_t column = 0; column < tensor->columns(); ++column)
          encodeAt(type, double(row - 2 * column), tensor->row(row),
                   uint64_t(column));
      TemporaryFile file;
      llvm::Error error = writeNpy(file.path(), *tensor);
      ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
      llvm::Expected<NpyFile> opened = NpyFile::open(file.path());
      ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
      EXPECT_EQ(opened->shape(), llvm::ArrayRef<int64_t>(shape));
      llvm::Expected<HostTensor> again = opened->tensor(type, {}, workers);
      ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
      for (int64_t row = 0; row < tensor->rows(); ++row)
        for (int64_t column = 0; column < tensor->columns(); ++column)
          EXPECT_EQ(again->value(row, column), tensor->value(row, column));
    }
}

TEST(NpyTest, HeaderFormsAreAccepted) {
  std::string data = floats({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(openError(npy(kHeader, data, 2)), "");
  EXPECT_EQ(openError(npy("{\"shape\":(6,),\"descr\":\"<f4\","
                          "\"fortran_order\":False}",
                          data)),
            "");
  // Fortran order of one dim is C order.
  EXPECT_EQ(openError(npy("{'descr': '<f4', 'fortran_order': True, "
                          "'shape': (6,), }",
                          data)),
            "");
  EXPECT_EQ(openError(npy("{'descr': '<f4', 'fortran_order': False, "
                          "'shape': (), }",
                          data)),
            "");
}

TEST(NpyTest, OtherFilesAreRefused) {
  std::string data = floats({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(openError(""), "expects a .npy file but got other content");
  EXPECT_EQ(openError("PK\3\4, a zip archive"),
            "expects a .npy file but got other content");
  EXPECT_EQ(openError(npy(kHeader, data, 9)),
            "expects .npy version 1, 2 or 3 but got 9");
  EXPECT_EQ(openError(npy(kHeader, data.substr(1))),
            "expects 6 elements of 4 bytes but got 23 bytes");
  EXPECT_EQ(openError(npy("{'descr': '>f4', 'fortran_order': False, "
                          "'shape': (2, 3), }",
                          data)),
            "expects little endian elements but got '>f4'");
  EXPECT_EQ(openError(npy("{'descr': '<f4', 'fortran_order': True, "
                          "'shape': (2, 3), }",
                          data)),
            "expects C order but got Fortran order");
  EXPECT_EQ(openError(npy("{'descr': '<c8', 'fortran_order': False, "
                          "'shape': (2, 3), }",
                          data)),
            "expects elements of type f2, f4, f8, i1 to i8, u1, u2 or b1 but "
            "got '<c8'");
  EXPECT_EQ(openError(npy("{'descr': [('a', '<f4')], }", data)),
            "expects a string in the header but got '[('a', '<f4')],'");
  EXPECT_EQ(openError(npy("{'descr': '<f4', 'shape': (2, 3), }", data)),
            "expects 'fortran_order' in the header but got none");
  EXPECT_EQ(openError(npy("{'descr': '<f4', 'fortran_order': False, "
                          "'shape': (-2, 3), }",
                          data)),
            "expects an extent in the header but got '-2, 3), }'");
  EXPECT_EQ(openError(npy("{'descr': '<f4', 'fortran_order': False, "
                          "'shape': (9223372036854775807, 3), }",
                          data)),
            "expects fewer than 2^63 elements but got shape "
            "9223372036854775807x3");
  // A header longer than the file.
  EXPECT_EQ(openError(llvm::StringRef("\x93NUMPY\1\0\x76\0{'descr'", 18)),
            "expects a .npy header of 118 bytes but got 8");
}

TEST(NpyTest, TypesMustAgree) {
  Workers workers(1);
  auto read = [&](llvm::StringRef descr, DType type) -> std::string {
    TemporaryFile file(npy(("{'descr': '" + descr +
                            "', 'fortran_order': "
                            "False, 'shape': (2,), }")
                               .str(),
                           std::string(16, '\0')));
    llvm::Expected<NpyFile> opened = NpyFile::open(file.path());
    if (!opened)
      return llvm::toString(opened.takeError());
    llvm::Expected<HostTensor> tensor = opened->tensor(type, {}, workers);
    if (tensor)
      return "";
    std::string message = llvm::toString(tensor.takeError());
    return message.substr(file.path().size() + 2);
  };
  EXPECT_EQ(read("<u2", DType::BF16), "");
  EXPECT_EQ(read("|u1", DType::F8E4M3FN), "");
  EXPECT_EQ(read("|u1", DType::F8E5M2), "");
  EXPECT_EQ(read("|b1", DType::I1), "");
  EXPECT_EQ(read("<f4", DType::BF16), "expects bf16 ('<u2') but got '<f4'");
  EXPECT_EQ(read("<u2", DType::F16), "expects f16 ('<f2') but got '<u2'");
  EXPECT_EQ(read("<f2", DType::BF16), "expects bf16 ('<u2') but got '<f2'");
  EXPECT_EQ(read("<i8", DType::I32), "expects i32 ('<i4') but got '<i8'");
  EXPECT_EQ(read("<u4", DType::I32), "expects i32 ('<i4') but got '<u4'");
}

TEST(NpyTest, MissingFilesAreNamed) {
  llvm::Expected<NpyFile> opened = NpyFile::open("/nonexistent/x.npy");
  ASSERT_FALSE(bool(opened));
  EXPECT_EQ(llvm::toString(opened.takeError()),
            "/nonexistent/x.npy: cannot read: No such file or directory");
  Workers workers(1);
  llvm::Expected<HostTensor> tensor =
      HostTensor::create(DType::F32, {1}, {}, workers);
  ASSERT_TRUE(bool(tensor));
  EXPECT_EQ(llvm::toString(writeNpy("/nonexistent/y.npy", *tensor)),
            "/nonexistent/y.npy: cannot write: No such file or directory");
}

TEST(HostTensorTest, WrongPlacementsAreRefused) {
  Workers workers(1);
  auto error = [&](llvm::ArrayRef<int64_t> shape, std::optional<int64_t> pitch,
                   int64_t offset) -> std::string {
    Placement placement;
    placement.pitch = pitch;
    placement.offset = offset;
    llvm::Expected<HostTensor> tensor =
        HostTensor::create(DType::F32, shape, placement, workers);
    return tensor ? "" : llvm::toString(tensor.takeError());
  };
  EXPECT_EQ(error({2, 8}, 8, 0), "");
  EXPECT_EQ(error({2, 8}, 7, 0),
            "expects a pitch of at least the row's 8 elements but got 7");
  EXPECT_EQ(error({8}, 8, 0),
            "expects rank 2 or more for a pitch but got shape 8");
  EXPECT_EQ(error({8}, std::nullopt, -1),
            "expects an offset of 0 or more but got -1");
  EXPECT_EQ(error({int64_t(1) << 40, int64_t(1) << 20}, std::nullopt, 0),
            "expects a tensor that fits into memory but got shape "
            "1099511627776x1048576");
}

} // namespace
