//===- TargetsTest.cpp - Tests of the table of targets --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Support/Targets.h"
#include "gtest/gtest.h"

using namespace norm;

namespace {

TEST(TargetsTest, PtxVersionsFollowTheDriver) {
  EXPECT_EQ(newestPtxForDriver(13000), 90u);
  EXPECT_EQ(newestPtxForDriver(14000), 90u);
  EXPECT_EQ(newestPtxForDriver(12000), 80u);
  EXPECT_EQ(newestPtxForDriver(12060), 85u);
  EXPECT_EQ(newestPtxForDriver(11080), 78u);
  EXPECT_EQ(newestPtxForDriver(10020), 0u);
}

TEST(TargetsTest, EveryTargetLoadsSomewhere) {
  for (const GPUTarget &target : gpuTargets()) {
    unsigned driver = minDriverForPtx(target.ptxVersion);
    EXPECT_NE(driver, 0u) << target.name.str();
    EXPECT_GE(newestPtxForDriver(driver), target.ptxVersion);
    EXPECT_EQ(findGPUTarget(target.name), &target);
  }
  EXPECT_EQ(findGPUTarget("host"), nullptr);
}

TEST(TargetsTest, EightBitFloatsNeedTheirInstructions) {
  auto message = [](DType type, llvm::StringRef role, llvm::StringRef target) {
    return llvm::toString(checkDType(type, role, target));
  };
  EXPECT_EQ(message(DType::F8E4M3FN, "result", "sm_80"),
            "'f8E4M3FN' result needs sm_89 or newer but target is sm_80");
  EXPECT_EQ(message(DType::F8E5M2, "operand", "sm_87"),
            "'f8E5M2' operand needs sm_89 or newer but target is sm_87");
  for (const GPUTarget &target : gpuTargets()) {
    EXPECT_EQ(message(DType::BF16, "result", target.name), "");
    EXPECT_EQ(message(DType::F8E4M3FN, "result", target.name) == "",
              target.capability() >= 89);
    // The least PTX version has the conversions.
    if (target.capability() == 89)
      EXPECT_EQ(target.ptxVersion, 81u);
  }
  EXPECT_EQ(message(DType::F8E4M3FN, "result", "host"), "");
}

} // namespace
