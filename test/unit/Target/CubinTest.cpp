//===- CubinTest.cpp - Tests of assembling PTX ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Target/Cubin.h"

#include "gtest/gtest.h"

using namespace norm;

namespace {

TEST(Cubin, ParsesUsage) {
  std::vector<KernelUsage> kernels = parseUsage(R"(
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 512 bytes smem
ptxas info    : Compile time = 23.340 ms
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 31 registers, used 0 barriers, 376 bytes cmem[0]
)");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].symbol, "first");
  EXPECT_EQ(kernels[0].registers, 64u);
  EXPECT_EQ(kernels[0].stackBytes, 16u);
  EXPECT_EQ(kernels[0].spillBytes, 20u);
  EXPECT_EQ(kernels[0].staticShared, 512u);
  EXPECT_EQ(kernels[1].symbol, "second");
  EXPECT_EQ(kernels[1].registers, 31u);
  EXPECT_EQ(kernels[1].spillBytes, 0u);
  EXPECT_EQ(kernels[1].staticShared, 0u);
}

TEST(Cubin, ParsesNothing) {
  EXPECT_TRUE(parseUsage("").empty());
  EXPECT_TRUE(parseUsage("Used 3 registers\n").empty());
}

TEST(Cubin, ReportsTheAssemblersErrors) {
  if (!findPtxas())
    GTEST_SKIP() << "no assembler here";
  llvm::Expected<Cubin> cubin = assembleCubin("nonsense", "sm_90");
  ASSERT_FALSE(bool(cubin));
  std::string message = llvm::toString(cubin.takeError());
  EXPECT_NE(message.find("ptxas failed: "), std::string::npos) << message;
  EXPECT_NE(message.find("error"), std::string::npos) << message;
}

TEST(Cubin, ReportsAMissingAssembler) {
  llvm::Expected<Cubin> cubin =
      assembleCubin(".version 8.0", "sm_90", "/nonexistent/ptxas");
  ASSERT_FALSE(bool(cubin));
  std::string message = llvm::toString(cubin.takeError());
  EXPECT_NE(message.find("/nonexistent/ptxas failed: "), std::string::npos)
      << message;
}

TEST(Cubin, Assembles) {
  if (!findPtxas())
    GTEST_SKIP() << "no assembler here";
  llvm::Expected<Cubin> cubin =
      assembleCubin(".version 8.0\n.target sm_90\n.address_size 64\n"
                    ".visible .entry nothing() { ret; }\n",
                    "sm_90");
  ASSERT_TRUE(bool(cubin)) << llvm::toString(cubin.takeError());
  EXPECT_TRUE(llvm::StringRef(cubin->code)
                  .starts_with("\x7f"
                               "ELF"));
  ASSERT_TRUE(cubin->find("nothing"));
  EXPECT_EQ(cubin->find("nothing")->spillBytes, 0u);
  EXPECT_FALSE(cubin->find("something"));
}

} // namespace
