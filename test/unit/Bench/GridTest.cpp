//===- GridTest.cpp - Tests of shapes and cells ---------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Cells.h"
#include "norm/Bench/Ops.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace norm;
using namespace norm::bench;

namespace {

std::string messageOf(llvm::StringRef text) {
  llvm::Expected<Grid> grid = parseGrid(text, "g.json");
  return grid ? "" : llvm::toString(grid.takeError());
}

Grid defaultGrid() {
  llvm::Expected<Grid> grid = parseGrid(defaultGridText(), "grid.json");
  EXPECT_TRUE(bool(grid));
  if (grid)
    return *grid;
  llvm::consumeError(grid.takeError());
  return {};
}

std::vector<Cell> cellsOf(const CellChoice &choice) {
  llvm::Expected<std::vector<Cell>> cells = makeCells(defaultGrid(), choice);
  if (cells)
    return *cells;
  ADD_FAILURE() << llvm::toString(cells.takeError());
  return {};
}

TEST(Grid, DefaultHasAllSuites) {
  Grid grid = defaultGrid();
  for (llvm::StringRef suite : suiteNames())
    EXPECT_TRUE(grid.suites.count(suite.str())) << suite.str();
  EXPECT_EQ(grid.elements16, int64_t(1) << 28);
  EXPECT_EQ(grid.elements32, int64_t(1) << 27);
  const Shapes &forward = grid.suites["forward"].front();
  EXPECT_EQ(forward.ops.size(), 5u);
  EXPECT_EQ(forward.dtypes.size(), 3u);
  EXPECT_TRUE(llvm::is_sorted(forward.columns));
  EXPECT_TRUE(llvm::is_contained(forward.columns, 1048576));
  EXPECT_TRUE(llvm::is_contained(forward.columns, 50257));
}

TEST(Grid, RowsAreRounded) {
  Grid grid;
  grid.elements16 = 1000;
  grid.elements32 = 500;
  EXPECT_EQ(grid.rowsFor(DType::BF16, 300), 3);
  EXPECT_EQ(grid.rowsFor(DType::BF16, 400), 3); // 2.5
  EXPECT_EQ(grid.rowsFor(DType::F32, 400), 1);
  EXPECT_EQ(grid.rowsFor(DType::F32, 100000), 1);
}

TEST(Grid, ErrorsNameTheField) {
  EXPECT_EQ(messageOf("{}"),
            "g.json: elements: expects a number of elements but got none");
  EXPECT_EQ(messageOf(R"({"elements": {"16-bit": 8}})"),
            "g.json: elements.32-bit: expects a number but got none");
  std::string head = R"({"elements": {"16-bit": 8, "32-bit": 8}, )";
  EXPECT_EQ(messageOf(head + R"("forwards": {}})"),
            "g.json: forwards: isn't a field of a grid");
  EXPECT_EQ(messageOf(head + R"("forward": 1})"),
            "g.json: forward: expects an object");
  EXPECT_EQ(messageOf(head + R"("forward": {"ops": ["rms_norm"]}})"),
            "g.json: forward: expects ops, dtypes, and either columns or "
            "shapes");
  EXPECT_EQ(messageOf(head + R"("forward": {"columns": [64, 0]}})"),
            "g.json: forward.columns: expects a number from 1 to 1073741824 "
            "but got 0");
  EXPECT_EQ(messageOf(head + R"("forward": {"dtypes": ["f64"]}})"),
            "g.json: forward.dtypes: expects bf16, f16 or f32 but got \"f64\"");
  EXPECT_EQ(messageOf(head + R"("published": [{"shapes": [[1]]}]})"),
            "g.json: published[0].shapes: expects [rows, columns] but got "
            "[1]");
  EXPECT_NE(messageOf("{").find("g.json: "), std::string::npos);
}

TEST(Cells, ForwardCoversTheGrid) {
  CellChoice choice;
  choice.suites = {"forward"};
  EXPECT_EQ(cellsOf(choice).size(), 5u * 3u * 47u);
  choice.ops = {"softmax"};
  choice.dtypes = {DType::F32};
  choice.columns = {4096};
  std::vector<Cell> cells = cellsOf(choice);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].id(), "forward/softmax/f32/32768x4096");
}

TEST(Cells, ChosenColumnsReplaceTheGrids) {
  CellChoice choice;
  choice.suites = {"forward"};
  choice.ops = {"rms_norm"};
  choice.dtypes = {DType::BF16};
  choice.columns = {4097};
  choice.elements = 10000;
  std::vector<Cell> cells = cellsOf(choice);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].id(), "forward/rms_norm/bf16/2x4097");
}

TEST(Cells, ElementsCutRowsAndLeaveEachOnce) {
  CellChoice choice;
  choice.suites = {"prefill"};
  choice.ops = {"rms_norm"};
  choice.columns = {2048};
  choice.elements = 4096;
  std::vector<Cell> cells = cellsOf(choice);
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].id(), "prefill/rms_norm/bf16/2x2048/cold");
  EXPECT_EQ(cells[1].id(), "prefill/rms_norm/bf16/2x2048/hot");
}

TEST(Cells, BlocksNeedWholeBlocks) {
  CellChoice choice;
  choice.suites = {"fused"};
  choice.ops = {"rms_norm_fp8_block128"};
  choice.columns = {1000, 1024};
  std::vector<Cell> cells = cellsOf(choice);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].columns, 1024);
}

TEST(Cells, FilterIsARegularExpression) {
  CellChoice choice;
  choice.suites = {"decode"};
  choice.filter = "/rms_norm/.*/16x4096/chain$";
  std::vector<Cell> cells = cellsOf(choice);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].launches, 200u);
  choice.filter = "(";
  llvm::Expected<std::vector<Cell>> wrong = makeCells(defaultGrid(), choice);
  ASSERT_FALSE(bool(wrong));
  EXPECT_NE(llvm::toString(wrong.takeError()).find("--filter: expects"),
            std::string::npos);
  choice.filter = "nothing like it";
  llvm::Expected<std::vector<Cell>> none = makeCells(defaultGrid(), choice);
  ASSERT_FALSE(bool(none));
  EXPECT_EQ(llvm::toString(none.takeError()),
            "expects something to measure but the options choose nothing");
}

TEST(Cells, Bands) {
  EXPECT_EQ(bandOf(127), "odd");
  EXPECT_EQ(bandOf(65535), "odd");
  EXPECT_EQ(bandOf(64), "to 32768");
  EXPECT_EQ(bandOf(32768), "to 32768");
  EXPECT_EQ(bandOf(65536), "to 262144");
  EXPECT_EQ(bandOf(262144), "to 262144");
  EXPECT_EQ(bandOf(1048576), "beyond");
}

TEST(Ops, ProgramsNameTheirTypes) {
  const Op *op = findOp("add_rms_norm_fp8_row");
  ASSERT_TRUE(op);
  EXPECT_EQ(op->roles().size(), 3u);
  EXPECT_EQ(programText(*op, DType::F16, 256),
            "func.func @add_rms_norm_fp8_row(%x: tensor<?x256xf16>, %r: "
            "tensor<?x256xf16>, %w: tensor<256xf16>) -> "
            "(tensor<?x256xf8E4M3FN>, tensor<?x1xf32>, tensor<?x256xf16>) {\n"
            "  %h = arith.addf %x, %r : tensor<?x256xf16>\n"
            "  %n = norm.rms_norm %h scale(%w) axes = [1] eps = 1.0e-6 : "
            "tensor<?x256xf16>, tensor<256xf16> -> tensor<?x256xf16>\n"
            "  %q, %t = norm.quantize %n group = [1, -1] : tensor<?x256xf16> "
            "-> tensor<?x256xf8E4M3FN>, tensor<?x1xf32>\n"
            "  return %q, %t, %h : tensor<?x256xf8E4M3FN>, tensor<?x1xf32>, "
            "tensor<?x256xf16>\n}\n");
  EXPECT_FALSE(findOp("rms"));
}

} // namespace
