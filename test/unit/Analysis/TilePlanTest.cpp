//===- TilePlanTest.cpp - Every column has one owner ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/TilePlan.h"

#include "gtest/gtest.h"

#include <vector>

using namespace norm;

namespace {
TilePlan makePlan(int64_t columns, int64_t leaf, int64_t threads,
                  int64_t vector, int64_t lanes = 1024) {
  TilePlan plan;
  plan.columns = columns;
  plan.leaf = leaf;
  plan.lanes = lanes;
  plan.schedule.threads = threads;
  plan.schedule.vector = vector;
  return plan;
}

/// Calls `fn` with every split of the lanes into threads and vectors.
template <typename Fn>
void forEachSplit(int64_t lanes, Fn fn) {
  for (int64_t threads = 1; threads <= lanes; threads *= 2)
    for (int64_t vector = 1; threads * vector <= lanes; vector *= 2)
      fn(threads, vector);
}

/// Walks a plan's steps as the targets do and counts the owners of each column.
/// Returns a description of the first thing that is wrong, or nothing.
std::string checkOwners(const TilePlan &plan) {
  std::vector<int> owners(plan.columns, 0);
  for (int64_t step = 0; step < plan.steps(); ++step) {
    int64_t iteration = step / plan.blocks(), block = step % plan.blocks();
    if (!plan.isLive(iteration, block))
      return "step " + std::to_string(step) + " is dead";
    if (iteration == 0 && block >= plan.liveBlocks())
      return "block " + std::to_string(block) + " counts as dead";
    bool full = true;
    for (int64_t thread = 0; thread < plan.schedule.threads; ++thread) {
      int64_t first = plan.column(iteration, block, thread);
      full &= first + plan.chunkSize() <= plan.columns;
      for (int64_t i = first; i < first + plan.chunkSize(); ++i)
        if (i < plan.columns)
          ++owners[i];
    }
    if (full != plan.isFull(iteration, block))
      return "isFull is wrong at step " + std::to_string(step);
  }
  for (int64_t i = 0; i < plan.columns; ++i)
    if (owners[i] != 1)
      return "column " + std::to_string(i) + " has " +
             std::to_string(owners[i]) + " owners";
  int64_t next = plan.steps();
  if (plan.isLive(next / plan.blocks(), next % plan.blocks()))
    return "a live step is left out";
  return "";
}
} // namespace

TEST(TilePlan, OwnsEachColumnOnce) {
  for (int64_t leaf : {1, 8})
    forEachSplit(1024, [&](int64_t threads, int64_t vector) {
      for (int64_t columns = 1; columns <= 5000; columns += leaf == 8 ? 1 : 7) {
        TilePlan plan = makePlan(columns, leaf, threads, vector);
        ASSERT_EQ(checkOwners(plan), "")
            << columns << " columns, leaf " << leaf << ", " << threads
            << " threads, vector " << vector;
      }
    });
}

TEST(TilePlan, OwnsEachColumnOnceForEveryWidth) {
  for (int64_t threads : {1, 32, 128, 1024})
    for (int64_t columns = 1; columns <= 5000; ++columns) {
      TilePlan plan = makePlan(columns, 4, threads, 1);
      ASSERT_EQ(checkOwners(plan), "")
          << columns << " columns, " << threads << " threads";
    }
}

TEST(TilePlan, OwnsEachColumnOnceOfWideRows) {
  for (int64_t columns : {8191, 8192, 8193, 65536, 100003, 1048575, 1048576})
    for (int64_t threads : {32, 256, 1024})
      ASSERT_EQ(checkOwners(makePlan(columns, 8, threads, 1)), "")
          << columns << " columns, " << threads << " threads";
}

// The lane of a column is a function of the order alone.
TEST(TilePlan, LaneOfAColumnIsTheOrders) {
  for (int64_t leaf : {1, 2, 8})
    forEachSplit(64, [&](int64_t threads, int64_t vector) {
      TilePlan plan = makePlan(1000, leaf, threads, vector, /*lanes=*/64);
      for (int64_t iteration = 0; iteration < 3; ++iteration)
        for (int64_t block = 0; block < plan.blocks(); ++block)
          for (int64_t thread = 0; thread < threads; ++thread)
            for (int64_t i = 0; i < vector; ++i) {
              int64_t column = plan.column(iteration, block, thread) + i * leaf;
              int64_t lane = (block * threads + thread) * vector + i;
              ASSERT_EQ(column / leaf % plan.lanes, lane);
              ASSERT_EQ(column / leaf / plan.lanes, iteration);
              ASSERT_EQ(lane / vector % threads, thread);
            }
    });
}

TEST(TilePlan, Sizes) {
  TilePlan plan = makePlan(4096, 8, 128, 1);
  EXPECT_EQ(plan.chunkSize(), 8);
  EXPECT_EQ(plan.stepSize(), 1024);
  EXPECT_EQ(plan.iterationSize(), 8192);
  EXPECT_EQ(plan.blocks(), 8);
  EXPECT_EQ(plan.liveBlocks(), 4);
  EXPECT_EQ(plan.steps(), 4);
  EXPECT_FALSE(plan.hasPartialChunk());
  EXPECT_TRUE(makePlan(4097, 8, 128, 1).hasPartialChunk());
  EXPECT_EQ(makePlan(4097, 8, 128, 1).steps(), 5);
  EXPECT_EQ(makePlan(8193, 8, 128, 1).liveBlocks(), 8);
}

TEST(TilePlan, NoColumnIsNoStep) {
  TilePlan plan = makePlan(0, 8, 128, 1);
  EXPECT_EQ(plan.steps(), 0);
  EXPECT_EQ(plan.liveBlocks(), 0);
  EXPECT_FALSE(plan.isLive(0, 0));
  EXPECT_FALSE(plan.hasPartialChunk());
}

TEST(TilePlan, DynamicColumnsMayEndAnywhere) {
  TilePlan plan = makePlan(-1, 8, 256, 1);
  EXPECT_TRUE(plan.isDynamic());
  EXPECT_TRUE(plan.hasPartialChunk());
  EXPECT_EQ(plan.liveBlocks(), plan.blocks());
  EXPECT_EQ(plan.blocks(), 4);
  EXPECT_FALSE(plan.isFull(0, 0));
}
