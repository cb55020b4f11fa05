//===- OrderTest.cpp - One tree per row, whatever the schedule ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a row as each target's code does, for a TilePlan, with trees in place
// of numbers, and compares with the tree that `#norm.order` defines. Trees are
// interned: two of them are the same exactly if their numbers are.
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/TilePlan.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

#include "gtest/gtest.h"

#include <vector>

using namespace norm;

namespace {
/// A tree over columns; 0 is the identity, which combining leaves out, since it
/// changes no bit.
using Tree = int64_t;

class Forest {
public:
  Tree element(int64_t column) { return column + 1; }
  Tree combine(Tree first, Tree second) {
    if (!first || !second)
      return first ? first : second;
    auto [it, isNew] = nodes.try_emplace({first, second}, next);
    next += isNew;
    return it->second;
  }
  /// Halving: `i` with `i + size/2`, then `size/4`, and so on.
  Tree halve(std::vector<Tree> trees) {
    for (size_t half = trees.size() / 2; half >= 1; half /= 2)
      for (size_t i = 0; i < half; ++i)
        trees[i] = combine(trees[i], trees[i + half]);
    return trees.empty() ? 0 : trees.front();
  }

private:
  llvm::DenseMap<std::pair<Tree, Tree>, Tree> nodes;
  Tree next = int64_t(1) << 32;
};

/// The leaf from `first`, without the columns beyond the row.
Tree leafAt(Forest &forest, const TilePlan &plan, int64_t first) {
  std::vector<Tree> elements(plan.leaf, 0);
  for (int64_t i = 0; i < plan.leaf; ++i)
    if (first + i < plan.columns)
      elements[i] = forest.element(first + i);
  return forest.halve(elements);
}

/// What the description of `#norm.order` says.
Tree defined(Forest &forest, const TilePlan &plan) {
  std::vector<Tree> lanes(plan.lanes, 0);
  for (int64_t leaf = 0; leaf * plan.leaf < plan.columns; ++leaf) {
    Tree &lane = lanes[leaf % plan.lanes];
    lane = forest.combine(lane, leafAt(forest, plan, leaf * plan.leaf));
  }
  return forest.halve(lanes);
}

//===----------------------------------------------------------------------===//
// GPU
//===----------------------------------------------------------------------===//

/// A thread's blocks of lanes by halving; blocks that never hold a column are
/// not there.
Tree combineBlocks(Forest &forest, std::vector<Tree> blocks) {
  int64_t count = blocks.size();
  for (int64_t half = llvm::PowerOf2Ceil(count) / 2; half >= 1; half /= 2)
    for (int64_t block = 0; block < half && block + half < count; ++block)
      blocks[block] = forest.combine(blocks[block], blocks[block + half]);
  return count ? blocks.front() : 0;
}

/// Steps one after the other, as where values stay in registers.
Tree unrolledThread(Forest &forest, const TilePlan &plan, int64_t thread) {
  std::vector<Tree> blocks(plan.liveBlocks(), 0);
  for (int64_t step = 0; step < plan.steps(); ++step) {
    int64_t iteration = step / plan.blocks(), block = step % plan.blocks();
    blocks[block] = forest.combine(
        blocks[block],
        leafAt(forest, plan, plan.column(iteration, block, thread)));
  }
  return combineBlocks(forest, blocks);
}

/// A loop over whole iterations, and a masked one after it. The code for
/// columns known at launch walks all blocks.
Tree rolledThread(Forest &forest, const TilePlan &plan, int64_t thread,
                  bool isDynamic) {
  std::vector<Tree> blocks(isDynamic ? plan.blocks() : plan.liveBlocks(), 0);
  int64_t iterations = llvm::divideCeil(plan.columns, plan.iterationSize());
  for (int64_t iteration = 0; iteration < iterations; ++iteration)
    for (size_t block = 0; block < blocks.size(); ++block)
      blocks[block] = forest.combine(
          blocks[block],
          leafAt(forest, plan, plan.column(iteration, block, thread)));
  return combineBlocks(forest, blocks);
}

/// Halves the threads' trees in shared memory until a warp's are left.
std::vector<Tree> halveInShared(Forest &forest, std::vector<Tree> threads) {
  for (size_t half = threads.size() / 2; half >= 32; half /= 2)
    for (size_t thread = 0; thread < half; ++thread)
      threads[thread] = forest.combine(threads[thread], threads[thread + half]);
  threads.resize(32);
  return threads;
}

/// Each thread of a warp reads the trees of its lane in all warps.
std::vector<Tree> readAllWarps(Forest &forest,
                               const std::vector<Tree> &threads) {
  std::vector<Tree> result;
  for (size_t lane = 0; lane < 32; ++lane) {
    std::vector<Tree> warps;
    for (size_t thread = lane; thread < threads.size(); thread += 32)
      warps.push_back(threads[thread]);
    result.push_back(forest.halve(warps));
  }
  return result;
}

/// Butterfly shuffles; the lower lane's tree comes first on both sides. All
/// threads end with the same tree, or -1 is returned.
Tree acrossWarp(Forest &forest, std::vector<Tree> lanes) {
  for (size_t half = lanes.size() / 2; half >= 1; half /= 2) {
    std::vector<Tree> next;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      Tree mine = lanes[lane], theirs = lanes[lane ^ half];
      bool isUpper = lane & half;
      next.push_back(isUpper ? forest.combine(theirs, mine)
                             : forest.combine(mine, theirs));
    }
    lanes = next;
  }
  for (Tree tree : lanes)
    if (tree != lanes.front())
      return -1;
  return lanes.front();
}

enum class Walk { Unrolled, Rolled, Dynamic };

Tree onGPU(Forest &forest, const TilePlan &plan, Walk walk, bool inShared) {
  std::vector<Tree> threads;
  for (int64_t thread = 0; thread < plan.schedule.threads; ++thread)
    threads.push_back(
        walk == Walk::Unrolled
            ? unrolledThread(forest, plan, thread)
            : rolledThread(forest, plan, thread, walk == Walk::Dynamic));
  if (threads.size() > 32)
    threads = inShared ? halveInShared(forest, threads)
                       : readAllWarps(forest, threads);
  return acrossWarp(forest, threads);
}

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

/// A block of lanes is a vector; each block walks its full chunks, then the
/// tail is combined into its block; lanes are halved in memory, those of a
/// vector in registers.
Tree onHost(Forest &forest, const TilePlan &plan, bool isDynamic) {
  int64_t vector = plan.schedule.vector;
  int64_t used = plan.lanes;
  if (!isDynamic) {
    int64_t leaves =
        llvm::divideCeil(std::max<int64_t>(plan.columns, 1), plan.leaf);
    used = std::max<int64_t>(
        vector, std::min<int64_t>(plan.lanes, llvm::PowerOf2Ceil(leaves)));
  }
  std::vector<Tree> lanes(used, 0);
  auto add = [&](int64_t chunk) {
    int64_t block = chunk % plan.blocks();
    for (int64_t i = 0; i < vector; ++i) {
      Tree &lane = lanes[block * vector + i];
      lane = forest.combine(
          lane, leafAt(forest, plan, chunk * plan.chunkSize() + i * plan.leaf));
    }
  };
  int64_t fullChunks = plan.columns / plan.chunkSize();
  for (int64_t block = 0; block < used / vector; ++block)
    for (int64_t chunk = block; chunk < fullChunks; chunk += plan.blocks())
      add(chunk);
  if (plan.columns % plan.chunkSize() != 0)
    add(fullChunks);
  for (int64_t half = used / 2; half >= vector; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane)
      lanes[lane] = forest.combine(lanes[lane], lanes[lane + half]);
  lanes.resize(vector);
  return forest.halve(lanes);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

void expectOneTree(int64_t columns, int64_t leaf, int64_t lanes = 1024) {
  Forest forest;
  TilePlan plan;
  plan.columns = columns;
  plan.leaf = leaf;
  plan.lanes = lanes;
  Tree expected = defined(forest, plan);
  ASSERT_NE(expected, 0);
  for (int64_t threads = 1; threads <= lanes; threads *= 2) {
    plan.schedule.threads = threads;
    for (Walk walk : {Walk::Unrolled, Walk::Rolled, Walk::Dynamic})
      for (bool inShared : {false, true})
        ASSERT_EQ(onGPU(forest, plan, walk, inShared), expected)
            << columns << " columns, leaf " << leaf << ", " << lanes
            << " lanes, " << threads << " threads, walk "
            << static_cast<int>(walk) << ", in shared " << inShared;
  }
  plan.schedule.threads = 1;
  for (int64_t vector = 1; vector <= lanes; vector *= 2) {
    plan.schedule.vector = vector;
    for (bool isDynamic : {false, true})
      ASSERT_EQ(onHost(forest, plan, isDynamic), expected)
          << columns << " columns, leaf " << leaf << ", " << lanes
          << " lanes, vector " << vector << ", dynamic " << isDynamic;
  }
}
} // namespace

TEST(Order, OneTreeForNarrowRows) {
  for (int64_t leaf : {1, 4, 8})
    for (int64_t columns = 1; columns <= 129; ++columns)
      expectOneTree(columns, leaf);
}

TEST(Order, OneTreeForUsualWidths) {
  for (int64_t columns : {384, 768, 1000, 1001, 1024, 2049, 4096, 4097, 5120})
    for (int64_t leaf : {2, 4, 8, 16})
      expectOneTree(columns, leaf);
}

TEST(Order, OneTreeForSeveralIterations) {
  for (int64_t columns : {8191, 8192, 8193, 16384, 20001})
    for (int64_t leaf : {1, 8})
      expectOneTree(columns, leaf);
}

TEST(Order, OneTreeForFewLanes) {
  for (int64_t lanes : {1, 2, 32, 256})
    for (int64_t columns = 1; columns <= 2000; columns += 97)
      expectOneTree(columns, 4, lanes);
}

// What the comparison would not see if trees were not told apart.
TEST(Order, OrdersDiffer) {
  Forest forest;
  TilePlan narrow, wide, few;
  narrow.columns = wide.columns = few.columns = 1000;
  narrow.leaf = 4;
  wide.leaf = few.leaf = 8;
  few.lanes = 32;
  Tree tree = defined(forest, wide);
  EXPECT_NE(defined(forest, narrow), tree);
  EXPECT_NE(defined(forest, few), tree);
  wide.columns = 1001;
  EXPECT_NE(defined(forest, wide), tree);
}

// Four columns: ((0 . 2) . (1 . 3)).
TEST(Order, LeafIsHalved) {
  Forest forest;
  TilePlan plan;
  plan.columns = 4;
  plan.leaf = 4;
  Tree even = forest.combine(forest.element(0), forest.element(2));
  Tree odd = forest.combine(forest.element(1), forest.element(3));
  EXPECT_EQ(defined(forest, plan), forest.combine(even, odd));
}
