//===- WorkspaceContractTest.cpp - Who works in which workspace -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Streams and graphs at once. What they enqueue is carried out by the test: in
// order within a stream, and in a random order among them, so that launches
// overlap. A launch finds its counters zero, and until its end nobody else
// writes to its part of the workspace.
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "RowManifest.h"
#include "norm/Runtime/CudaDevice.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <random>

using namespace norm;
using norm::test::FakeCuda;
using norm::test::FakeLaunch;
using norm::test::splitRowManifest;

namespace {

constexpr llvm::StringLiteral kImage = "ptx with main_0";
constexpr unsigned kSeeds = 100;
/// More than any launch here needs.
constexpr uint64_t kWorkspaceBytes = 1 << 14;

/// A launch of `splitRowManifest` in two steps.
class RunningKernel {
public:
  RunningKernel(const FakeLaunch &launch, uint64_t tag) : tag(tag) {
    uint64_t rows = launch.grid[0] / launch.params[2];
    auto *begin = reinterpret_cast<uint64_t *>(uintptr_t(launch.params[3]));
    counters = {begin, size_t(rows)};
    results = {begin + (rows * 8 + 255) / 256 * 32, size_t(rows * 8)};
  }

  bool arrive() {
    bool isZero = llvm::all_of(counters, [](uint64_t c) { return c == 0; });
    llvm::fill(counters, tag);
    llvm::fill(results, tag);
    return isZero;
  }
  bool leave() {
    auto isOurs = [&](uint64_t word) { return word == tag; };
    bool isAlone =
        llvm::all_of(counters, isOurs) && llvm::all_of(results, isOurs);
    llvm::fill(counters, 0);
    return isAlone;
  }

private:
  uint64_t tag;
  llvm::MutableArrayRef<uint64_t> counters, results;
};

/// Carries out the work of several streams. Empty, or what went wrong.
std::string carryOut(llvm::ArrayRef<FakeLaunch> queue, unsigned seed) {
  std::map<void *, std::vector<FakeLaunch>> streams;
  for (const FakeLaunch &work : queue)
    streams[work.stream].push_back(work);
  struct Lane {
    std::vector<FakeLaunch> work;
    size_t next = 0;
    std::optional<RunningKernel> running = std::nullopt;
  };
  std::vector<Lane> lanes;
  for (auto &[stream, work] : streams)
    lanes.push_back({std::move(work)});
  std::mt19937 random(seed);
  uint64_t tag = 0;
  while (!lanes.empty()) {
    size_t chosen = random() % lanes.size();
    Lane &lane = lanes[chosen];
    const FakeLaunch &work = lane.work[lane.next];
    if (work.symbol == "memset") {
      std::memset(reinterpret_cast<void *>(uintptr_t(work.params[0])),
                  int(work.params[1]), work.params[2]);
      ++lane.next;
    } else if (!lane.running) {
      if (!lane.running.emplace(work, ++tag).arrive())
        return "counters weren't zero";
    } else {
      if (!lane.running->leave())
        return "somebody else wrote";
      lane.running.reset();
      ++lane.next;
    }
    if (lane.next == lane.work.size())
      lanes.erase(lanes.begin() + chosen);
  }
  return "";
}

/// Memory of a caller, whose content is left over from something else.
class Workspace {
public:
  Workspace() : bytes(kWorkspaceBytes + 256, 0xa5) {}
  uint64_t address() const {
    return (uint64_t(uintptr_t(bytes.data())) + 255) / 256 * 256;
  }
  void clear() { llvm::fill(bytes, 0); }

private:
  std::vector<uint8_t> bytes;
};

std::vector<BoundArgument> rowsOf(int64_t rows) {
  return {BoundArgument::contiguous(DType::F32, 0x10000, {rows, 8}),
          BoundArgument::contiguous(DType::F32, 0x20000, {rows, 8})};
}

class WorkspaceContractTest : public testing::Test {
protected:
  void SetUp() override {
    void *handle = dlopen(NORM_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(handle) << dlerror();
    fake = reinterpret_cast<FakeCuda *(*)()>(dlsym(handle, "fakeCuda"))();
    *fake = FakeCuda();
    fake->paramsPerKernel = 4;
    fake->borrowedStream = &stream;
    llvm::Expected<std::unique_ptr<Device>> opened =
        openCudaDevice(0, NORM_FAKE_CUDA);
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    device = std::move(*opened);
    llvm::Expected<std::unique_ptr<Executable>> loaded =
        device->load(kImage, splitRowManifest());
    ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
    executable = std::move(*loaded);
    fake->isQueueing = true;
  }
  void TearDown() override {
    executable.reset();
    device.reset();
    EXPECT_EQ(fake->memory, 0);
    EXPECT_EQ(fake->graphs, 0);
  }

  /// Two streams of the caller's.
  LaunchOptions first() {
    LaunchOptions options;
    options.stream = uint64_t(uintptr_t(&stream));
    return options;
  }
  LaunchOptions second() {
    LaunchOptions options;
    options.stream = uint64_t(uintptr_t(&fake->streams));
    return options;
  }
  static LaunchOptions with(LaunchOptions options, const Workspace &workspace) {
    options.workspace = workspace.address();
    options.workspaceBytes = kWorkspaceBytes;
    return options;
  }

  void enqueue(int64_t rows, const LaunchOptions &options) {
    EXPECT_EQ(llvm::toString(executable->enqueue(rowsOf(rows), options)), "");
  }

  /// What a call on the first stream puts into a graph.
  std::vector<FakeLaunch> capture(int64_t rows, const LaunchOptions &options) {
    fake->captured.clear();
    fake->capturing = &stream;
    enqueue(rows, options);
    fake->capturing = nullptr;
    return fake->captured;
  }
  void replay(llvm::ArrayRef<FakeLaunch> graph, void *on) {
    for (FakeLaunch work : graph) {
      work.stream = on;
      fake->queue.push_back(work);
    }
  }

  std::string finish(unsigned seed) {
    std::string wrong = carryOut(fake->queue, seed);
    fake->queue.clear();
    return wrong;
  }

  int stream = 0, graphStream = 0;
  FakeCuda *fake = nullptr;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executable> executable;
};

TEST_F(WorkspaceContractTest, TwoStreamsAndAGraphAtOnce) {
  Workspace workspace;
  std::vector<FakeLaunch> graph = capture(5, with(first(), workspace));
  ASSERT_EQ(graph.size(), 2u) << "a memset and a kernel";
  // Workspaces grow only while nothing runs in them here.
  enqueue(60, first());
  enqueue(60, second());
  EXPECT_EQ(finish(0), "");
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    for (int64_t rows : {3, 40, 3, 3, 60}) {
      enqueue(rows, first());
      enqueue(43 - rows % 40, second());
      replay(graph, &graphStream);
    }
    ASSERT_EQ(finish(seed), "") << "seed " << seed;
  }
}

TEST_F(WorkspaceContractTest, SharingOneIsSeen) {
  Workspace workspace;
  bool isSeen = false;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    for (int i = 0; i < 5; ++i) {
      enqueue(3, with(first(), workspace));
      enqueue(5, with(second(), workspace));
    }
    isSeen |= finish(seed) != "";
  }
  EXPECT_TRUE(isSeen);
}

TEST_F(WorkspaceContractTest, GivenWorkspacesOfTwoStreams) {
  Workspace one, two;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    for (int64_t rows : {3, 40, 3}) {
      enqueue(rows, with(first(), one));
      enqueue(50 - rows, with(second(), two));
    }
    ASSERT_EQ(finish(seed), "") << "seed " << seed;
  }
}

TEST_F(WorkspaceContractTest, AGraphInTheMemoryOfAStream) {
  enqueue(40, first());
  enqueue(3, first());
  EXPECT_EQ(finish(0), "");
  std::vector<FakeLaunch> graph = capture(3, first());
  ASSERT_EQ(graph.size(), 2u) << "a memset and a kernel";
  EXPECT_TRUE(fake->queue.empty()) << "nothing runs while it is captured";
  // Results of one launch lie where the other's counters are.
  enqueue(40, first());
  replay(graph, &stream);
  replay(graph, &stream);
  enqueue(40, first());
  enqueue(3, first());
  replay(graph, &stream);
  EXPECT_EQ(finish(0), "");

  // What the graph works in isn't freed when the stream needs more.
  int before = fake->memory;
  enqueue(400, first());
  EXPECT_EQ(fake->memory, before + 1);
  replay(graph, &stream);
  enqueue(400, first());
  EXPECT_EQ(finish(0), "");
  // New memory, in which no graph works: the second call zeroed nothing.
  enqueue(400, first());
  EXPECT_EQ(fake->queue.size(), 1u);
  EXPECT_EQ(finish(0), "");
}

TEST_F(WorkspaceContractTest, ClearedWorkspacesOfGraphsStayTheCallers) {
  Workspace workspace;
  workspace.clear();
  LaunchOptions options = with(first(), workspace);
  options.isCleared = true;
  std::vector<FakeLaunch> graph = capture(5, options);
  EXPECT_EQ(graph.size(), 1u);
  replay(graph, &graphStream);
  replay(graph, &graphStream);
  enqueue(60, first());
  EXPECT_EQ(finish(0), "");
}

TEST_F(WorkspaceContractTest, RecordedLaunchesAmongOthers) {
  auto prepare = [&](int64_t rows) -> std::shared_ptr<PreparedLaunch> {
    llvm::Expected<std::unique_ptr<PreparedLaunch>> prepared =
        executable->prepare(rowsOf(rows));
    EXPECT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
    return prepared ? std::move(*prepared) : nullptr;
  };
  // In one workspace, which is that of the larger.
  std::shared_ptr<PreparedLaunch> large = prepare(40), small = prepare(3);
  ASSERT_TRUE(large && small);
  EXPECT_EQ(llvm::toString(small->run()), "");
  llvm::Expected<DeviceWork> graph =
      device->record([small] { return small->run(); });
  ASSERT_TRUE(bool(graph)) << llvm::toString(graph.takeError());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(llvm::toString(large->run()), "");
    EXPECT_EQ(llvm::toString((*graph)()), "");
    EXPECT_EQ(llvm::toString(large->run()), "");
    EXPECT_EQ(llvm::toString(small->run()), "");
  }
  ASSERT_FALSE(fake->queue.empty());
  EXPECT_EQ(fake->queue.front().symbol, "memset");
  EXPECT_EQ(finish(0), "");
}

} // namespace
