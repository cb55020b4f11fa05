//===- ReportTest.cpp - Tests of reports and what they draw ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Ceiling.h"
#include "norm/Bench/HtmlReport.h"
#include "norm/Bench/Intensity.h"
#include "norm/Bench/Operands.h"
#include "gtest/gtest.h"

using namespace norm;
using namespace norm::bench;

namespace {

Result makeResult(int64_t columns, double microseconds, double copy) {
  Result result;
  result.cell = {"forward", "rms_norm", DType::BF16, 8, columns, "", 1};
  result.traffic = {uint64_t(columns) * 16, uint64_t(columns) * 16};
  result.microseconds = summarize({microseconds});
  result.ceiling = summarize({copy});
  result.ceilingBytes = result.traffic.total();
  result.share = summarizeRatios({copy}, {microseconds}, 1);
  result.operations = 1000;
  return result;
}

size_t count(llvm::StringRef text, llvm::StringRef part) {
  return text.count(part);
}

TEST(Report, BandsAreMeansAndTheLeast) {
  Report report;
  report.results = {makeResult(64, 2, 1), makeResult(128, 8, 1),
                    makeResult(65536, 1, 1), makeResult(127, 1, 1)};
  std::vector<BandSummary> bands = summarizeBands(report);
  ASSERT_EQ(bands.size(), 3u);
  EXPECT_EQ(bands[1].band, "to 262144");
  EXPECT_EQ(bands[2].band, "to 32768");
  EXPECT_EQ(bands[2].cells, 2u);
  EXPECT_NEAR(bands[2].geometricMean, 0.25, 1e-12);
  EXPECT_DOUBLE_EQ(bands[2].least, 0.125);
  EXPECT_EQ(bands[2].leastColumns, 128);
}

TEST(Report, WrongFailsAndSkippedDoesNot) {
  Report report;
  report.results = {makeResult(64, 2, 1)};
  report.results[0].status = Result::Status::Skipped;
  EXPECT_TRUE(report.passed());
  report.results[0].status = Result::Status::Wrong;
  EXPECT_FALSE(report.passed());
}

TEST(Report, PageHasWhatWasMeasured) {
  Report report;
  report.device = "cuda:0";
  report.description = "a <fast> & new device";
  report.target = "sm_90";
  report.facts = {1 << 20, 132, 1980};
  report.results = {makeResult(64, 2, 1), makeResult(128, 8, 1)};
  report.results[0].peers.push_back({"theirs", summarize({3}), ""});
  Result wrong = makeResult(256, 1, 1);
  wrong.status = Result::Status::Wrong;
  wrong.message = "result 0: \"off\"";
  report.results.push_back(wrong);
  std::string page = toHtml(report);
  EXPECT_EQ(count(page, "a &lt;fast&gt; &amp; new device"), 1u);
  EXPECT_EQ(count(page, "<circle"), 2u + 1u); // points, and a legend
  EXPECT_EQ(count(page, "<rect"), 3u + 1u);   // cells, and a bar
  EXPECT_NE(page.find("1.50"), std::string::npos);
  EXPECT_NE(page.find("&quot;off&quot;"), std::string::npos);
  EXPECT_EQ(count(page, "<svg"), count(page, "</svg>"));
  EXPECT_EQ(count(page, "<table"), count(page, "</table>"));
  for (const char *outside : {"src=", "href=", "@import", "url("})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
}

TEST(CopyKernel, OneAccessAVectorAndStream) {
  std::string text = copyKernelPtx({{3, 2}, 128, 4});
  EXPECT_EQ(count(text, "ld.global.nc.v4.u32"), 12u);
  EXPECT_EQ(count(text, "st.global.v4.u32"), 8u);
  EXPECT_EQ(count(text, "cache_hint"), 0u);
  EXPECT_EQ(count(text, ".maxntid 128, 1, 1"), 1u);
  EXPECT_EQ(count(text, "setp.lt.u64 %q"), 0u);
  EXPECT_EQ(
      count(copyKernelPtx({{1, 1}, 256, 4, false, true}), "setp.lt.u64 %q"),
      4u);
  EXPECT_EQ(count(copyKernelPtx({{1, 1}, 256, 4, true}), "ld.global.nc.L2::cache_hint.v4.u32"),
            4u);
}

TEST(Intensity, CountsWhatVariesByColumn) {
  // x - max, exp, its sum, and the quotient; the mean's division is by row.
  EXPECT_EQ(operationsPerElement(R"(
    %1 = norm.generic (row, col)
        ins(%arg1 = %arg0[row, col] : tensor<?x8xbf16>, %arg2 = %w[row] : f32)
        outs(%arg3 = %0[row, col] : tensor<?x8xbf16>) {
      %2 = arith.extf %arg1 : bf16 to f32
      %3 = norm.reduce max %2 over [col] : f32
      %4 = arith.subf %2, %3 : f32
      %5 = math.exp %4 : f32
      %6 = norm.reduce add %5 over [col] : f32
      %7 = norm.extent col : f32
      %8 = arith.divf %6, %7 : f32
      %9 = arith.mulf %8, %arg2 : f32
      %10 = arith.divf %5, %9 : f32
      %11 = arith.truncf %10 : f32 to bf16
      norm.yield %11 : bf16
    })"),
            5u);
}

TEST(Pattern, GoesOnFromItsStart) {
  Pattern pattern{DType::I8, 3, {1, 2, 3}};
  uint8_t to[7];
  pattern.copy(5, 7, to);
  EXPECT_EQ(std::vector<uint8_t>(to, to + 7),
            (std::vector<uint8_t>{3, 1, 2, 3, 1, 2, 3}));
}

} // namespace
