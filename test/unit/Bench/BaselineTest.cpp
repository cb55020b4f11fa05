//===- BaselineTest.cpp - Tests of others' times --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Baseline.h"
#include "gtest/gtest.h"

using namespace norm;
using namespace norm::bench;

namespace {

std::string messageOf(llvm::StringRef text) {
  llvm::Expected<std::vector<BaselineTime>> times =
      parseBaseline(text, "b.json");
  return times ? "" : llvm::toString(times.takeError());
}

TEST(Baseline, FitsByWhatItSays) {
  llvm::Expected<std::vector<BaselineTime>> times =
      parseBaseline(R"({"name": "other", "results": [
        {"op": "rms_norm", "dtype": "bf16", "rows": 16, "columns": 4096,
         "microseconds": 2.5},
        {"op": "rms_norm", "dtype": "bf16", "rows": 16, "columns": 4096,
         "suite": "decode", "variant": "chain", "name": "third",
         "microseconds": {"p10": 1, "median": 2, "p90": 3, "count": 9}},
        {"op": "an_op_of_theirs", "dtype": "bf16", "rows": 1, "columns": 1},
        {"op": "rms_norm", "dtype": "bf16", "rows": 16, "columns": 4096,
         "status": "wrong"}]})",
                    "b.json");
  ASSERT_TRUE(bool(times));
  ASSERT_EQ(times->size(), 2u);
  Result result;
  result.cell = {"decode", "rms_norm", DType::BF16, 16, 4096, "chain", 200};
  addBaseline(*times, result);
  ASSERT_EQ(result.peers.size(), 2u);
  EXPECT_EQ(result.peers[0].name, "other");
  EXPECT_DOUBLE_EQ(result.peers[0].microseconds.p90, 2.5);
  EXPECT_EQ(result.peers[1].name, "third");
  EXPECT_DOUBLE_EQ(result.peers[1].microseconds.p10, 1);
  EXPECT_EQ(result.peers[1].microseconds.count, 9u);

  Result other;
  other.cell = {"prefill", "rms_norm", DType::BF16, 16, 4096, "hot", 1};
  addBaseline(*times, other);
  EXPECT_EQ(other.peers.size(), 1u);
  other.peers.clear();
  other.cell.rows = 17;
  addBaseline(*times, other);
  EXPECT_TRUE(other.peers.empty());
}

TEST(Baseline, AReportIsOne) {
  Report report;
  Result result;
  result.cell = {"forward", "softmax", DType::F32, 8, 1024, "", 1};
  result.microseconds = summarize({3, 4, 5});
  result.traffic = {100, 100};
  report.results.push_back(result);
  std::string text = llvm::formatv("{0}", toJSON(report)).str();
  llvm::Expected<std::vector<BaselineTime>> times =
      parseBaseline(text, "report.json");
  ASSERT_TRUE(bool(times));
  ASSERT_EQ(times->size(), 1u);
  EXPECT_EQ(times->front().name, "norm");
  EXPECT_TRUE(times->front().fits(result.cell));
  EXPECT_DOUBLE_EQ(times->front().microseconds.median, 4);
}

TEST(Baseline, ErrorsNameTheEntry) {
  EXPECT_EQ(messageOf("{}"), "b.json: expects a list 'results'");
  EXPECT_NE(messageOf("["), "");
  EXPECT_EQ(messageOf(R"({"results": [1]})"),
            "b.json: results[0]: expects 'op'");
  EXPECT_EQ(messageOf(R"({"results": [{"op": "softmax"}]})"),
            "b.json: results[0]: expects 'dtype'");
  EXPECT_EQ(
      messageOf(
          R"({"results": [{"op": "softmax", "dtype": "f32", "rows": 1}]})"),
      "b.json: results[0]: expects 'columns'");
  EXPECT_EQ(messageOf(R"({"results": [{"op": "softmax", "dtype": "f32",
                          "rows": 1, "columns": 2, "microseconds": -1}]})"),
            "b.json: results[0]: expects 'microseconds'");
}

} // namespace
