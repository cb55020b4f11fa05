//===- ClusterTest.cpp - Clusters, mbarriers and bulk copies --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace norm;
using namespace norm::test;

namespace {

/// Two CTAs of 64 threads share row `%row` of 256 columns. CTA `%rank` has 128
/// of them in `%slot`; `%full` waits for its copy, `%words` for two words at
/// `%sums`, `%done` for two warps.
constexpr const char *kHead = R"(
%ti = gpu.thread_id x
%bi = gpu.block_id x
%t = arith.index_cast %ti : index to i64
%b = arith.index_cast %bi : index to i64
%c0 = arith.constant 0 : i64
%c1 = arith.constant 1 : i64
%c2 = arith.constant 2 : i64
%c64 = arith.constant 64 : i64
%c128 = arith.constant 128 : i64
%c256 = arith.constant 256 : i64
%i0 = arith.constant 0 : i32
%i1 = arith.constant 1 : i32
%i2 = arith.constant 2 : i32
%i8 = arith.constant 8 : i32
%i512 = arith.constant 512 : i32
%zero = arith.constant 0.0 : f32
%row = arith.divui %b, %c2 : i64
%rank = arith.remui %b, %c2 : i64
%rank32 = arith.trunci %rank : i64 to i32
%o0 = arith.muli %row, %c256 : i64
%o1 = arith.muli %rank, %c128 : i64
%o = arith.addi %o0, %o1 : i64
%xs = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%ys = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
%slot = llvm.mlir.addressof @norm_shared : !llvm.ptr<3>
%full = llvm.getelementptr %slot[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%words = llvm.getelementptr %slot[520] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%done = llvm.getelementptr %slot[528] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%sums = llvm.getelementptr %slot[536] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
%isFirst = arith.cmpi eq, %t, %c0 : i64
%e0 = llvm.getelementptr %slot[%t] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
%t1 = arith.addi %t, %c64 : i64
%e1 = llvm.getelementptr %slot[%t1] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
)";

// Steps of the kernel; `//name` marks the line that a finding is at.
constexpr const char *kInit = R"(scf.if %isFirst {
  norm_tile.mbarrier_init %full count 1 : !llvm.ptr<3>
  norm_tile.mbarrier_init %words count 1 : !llvm.ptr<3>
  norm_tile.mbarrier_init %done count 2 : !llvm.ptr<3>
}
)";
constexpr const char *kMeet = "norm_tile.cluster_barrier\n";
constexpr const char *kLoad = R"(scf.if %isFirst {
  norm_tile.mbarrier_expect %full, %i512 : !llvm.ptr<3> //expect
  norm_tile.bulk_load %slot, %xs, %i512, %full : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3> //load
}
)";
constexpr const char *kWait =
    "norm_tile.mbarrier_wait %full, %i0 : !llvm.ptr<3> //wait\n";
constexpr const char *kSum = R"(scf.if %isFirst {
  %sum = scf.for %i = %c0 to %c128 step %c1 iter_args(%a = %zero) -> f32 : i64 {
    %p = llvm.getelementptr %slot[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    %v = llvm.load %p : !llvm.ptr<3> -> f32 //read
    %w = arith.addf %a, %v : f32
    scf.yield %w : f32
  }
  %mine = llvm.getelementptr %sums[%rank] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
  norm_tile.mbarrier_expect %words, %i8 : !llvm.ptr<3>
  norm_tile.send %sum, %mine, %words to %i0 : f32, !llvm.ptr<3>, !llvm.ptr<3> //send
  norm_tile.send %sum, %mine, %words to %i1 : f32, !llvm.ptr<3>, !llvm.ptr<3>
}
)";
constexpr const char *kWaitForWords =
    "norm_tile.mbarrier_wait %words, %i0 : !llvm.ptr<3> //words\n";
constexpr const char *kAdd =
    R"(%s1 = llvm.getelementptr %sums[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
%a0 = llvm.load %sums : !llvm.ptr<3> -> f32 //total
%a1 = llvm.load %s1 : !llvm.ptr<3> -> f32
%total = arith.addf %a0, %a1 : f32
%v0 = llvm.load %e0 : !llvm.ptr<3> -> f32
%v1 = llvm.load %e1 : !llvm.ptr<3> -> f32
%w0 = arith.addf %v0, %total : f32
%w1 = arith.addf %v1, %total : f32
llvm.store %w0, %e0 : f32, !llvm.ptr<3> //write
llvm.store %w1, %e1 : f32, !llvm.ptr<3>
)";
constexpr const char *kFence = "norm_tile.proxy_fence\n";
constexpr const char *kArrive =
    "norm_tile.mbarrier_arrive %done : !llvm.ptr<3> //arrive\n";
constexpr const char *kWaitForAll =
    "norm_tile.mbarrier_wait %done, %i0 : !llvm.ptr<3> //all\n";
constexpr const char *kStore = R"(scf.if %isFirst {
  norm_tile.bulk_store %ys, %slot, %i512 : !llvm.ptr<1>, !llvm.ptr<3> //store
  norm_tile.bulk_commit
)";
constexpr const char *kWaitForStore = "  norm_tile.bulk_wait 0\n";
constexpr const char *kEnd = "}\n";

using Steps = std::vector<std::string>;

Steps sums() {
  return {kInit,         kMeet,         kLoad,  kWait,   kSum,
          kWaitForWords, kAdd,          kFence, kArrive, kWaitForAll,
          kStore,        kWaitForStore, kEnd};
}

Example example(const Steps &steps) {
  Example example;
  example.body = kHead;
  for (const std::string &step : steps)
    example.body += step;
  example.threads = 64;
  example.rows = 3;
  example.columns = 256;
  example.cluster = 2;
  example.dynamicShared = 544;
  return example;
}

Steps without(const char *step) {
  Steps steps = sums();
  llvm::erase(steps, step);
  return steps;
}

Steps changed(const std::string &from, const std::string &to) {
  Steps steps = sums();
  for (std::string &step : steps)
    if (size_t at = step.find(from); at != std::string::npos) {
      step.replace(at, from.size(), to);
      return steps;
    }
  ADD_FAILURE() << "no step has " << from;
  return steps;
}

/// Whether some finding of the kind is at the line that `mark` marks, for each
/// of several orders of threads.
testing::AssertionResult finds(const Steps &steps, FindingKind kind,
                               const std::string &mark, llvm::StringRef part) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Example one = example(steps);
    one.seed = seed;
    llvm::StringRef body = one.body;
    size_t at = body.find("//" + mark + "\n");
    if (at == llvm::StringRef::npos)
      return testing::AssertionFailure() << "no line is marked " << mark;
    // The body begins on line 2.
    std::string place =
        "k.mlir:" + std::to_string(body.take_front(at).count('\n') + 2) + ":";
    Outcome outcome = run(one);
    bool isFound = llvm::any_of(outcome.findings, [&](const Finding &finding) {
      return finding.kind == kind &&
             llvm::StringRef(finding.location).starts_with(place) &&
             llvm::StringRef(finding.text).contains(part);
    });
    if (!isFound)
      return testing::AssertionFailure()
             << "expects " << name(kind).str() << " at " << place << " with '"
             << part.str() << "' for seed " << seed << " but got "
             << outcome.print();
  }
  return testing::AssertionSuccess();
}

} // namespace

TEST(EmulatedCluster, CtasOfAClusterSumARow) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Example one = example(sums());
    one.seed = seed;
    one.hostThreads = seed % 2 + 1;
    Outcome outcome = run(one);
    ASSERT_EQ(outcome.y.size(), 768u) << outcome.print();
    for (size_t i = 0; i < outcome.y.size(); ++i) {
      float row = float(i / 256);
      ASSERT_EQ(outcome.y[i], float(i) + 256 * 256 * row + 255 * 128) << i;
    }
  }
}

TEST(EmulatedCluster, ReadsWaitForCopies) {
  EXPECT_TRUE(finds(without(kWait), FindingKind::SharedRace, "read",
                    "a copy wrote it in 'norm_tile.bulk_load'"));
}

TEST(EmulatedCluster, ReadsWaitForWords) {
  EXPECT_TRUE(finds(without(kWaitForWords), FindingKind::SharedRace, "write",
                    "thread 0 of CTA"));
}

TEST(EmulatedCluster, CopiesWaitForWrites) {
  EXPECT_TRUE(finds(without(kWaitForAll), FindingKind::SharedRace, "store",
                    "wrote it in 'llvm.store'"));
}

TEST(EmulatedCluster, CopiesOfWritesNeedAFence) {
  EXPECT_TRUE(finds(without(kFence), FindingKind::MissingFence, "store",
                    "by a proxy fence"));
  Steps late = without(kFence);
  late.insert(llvm::find(late, kWaitForAll), kFence);
  EXPECT_TRUE(
      finds(late, FindingKind::MissingFence, "store", "by a proxy fence"));
}

TEST(EmulatedCluster, ASlotIsNotFilledWhileItIsRead) {
  Steps steps =
      changed("  norm_tile.bulk_commit",
              "  norm_tile.mbarrier_expect %full, %i512 : !llvm.ptr<3>\n"
              "  norm_tile.bulk_load %slot, %xs, %i512, %full : !llvm.ptr<3>, "
              "!llvm.ptr<1>, !llvm.ptr<3> //refill\n  norm_tile.bulk_commit");
  EXPECT_TRUE(finds(steps, FindingKind::SharedRace, "refill",
                    "a copy read it in 'norm_tile.bulk_store'"));
}

TEST(EmulatedCluster, ASlotIsNotFilledWhileThreadsReadIt) {
  Steps steps = sums();
  steps.insert(llvm::find(steps, kSum), changed("%full", "%full")[2]);
  EXPECT_TRUE(finds(steps, FindingKind::SharedRace, "read",
                    "a copy wrote it in 'norm_tile.bulk_load'"));
}

TEST(EmulatedCluster, MissingBytesAreADeadlock) {
  EXPECT_TRUE(finds(changed("%full, %i512 :", "%full, %i8 :"),
                    FindingKind::Deadlock, "wait", "no thread"));
}

TEST(EmulatedCluster, CopiesHaveWholePieces) {
  EXPECT_TRUE(finds(changed("%xs, %i512", "%xs, %i8"), FindingKind::Misaligned,
                    "load", "16 bytes"));
}

TEST(EmulatedCluster, CopiesLieWithinTheirMemory) {
  EXPECT_TRUE(finds(changed("bulk_load %slot", "bulk_load %done"),
                    FindingKind::OutOfBounds, "load", "544 bytes"));
  EXPECT_TRUE(finds(changed("bulk_store %ys", "bulk_store %xs"),
                    FindingKind::ReadOnly, "store", "which is no output"));
}

TEST(EmulatedCluster, MbarriersAreMade) {
  EXPECT_TRUE(
      finds(without(kInit), FindingKind::Mbarrier, "wait", "none was made"));
  EXPECT_TRUE(finds(without(kMeet), FindingKind::Mbarrier, "send",
                    "of dynamic shared memory"));
}

TEST(EmulatedCluster, ArrivalsAreCounted) {
  EXPECT_TRUE(finds(changed("%done count 2", "%done count 3"),
                    FindingKind::Deadlock, "all", "no thread"));
  // The store doesn't wait for the other warp, or somebody for a phase that is
  // over when the next one is.
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Example one = example(changed("%done count 2", "%done count 1"));
    one.seed = seed;
    Outcome outcome = run(one);
    EXPECT_TRUE(outcome.find(FindingKind::SharedRace) ||
                outcome.find(FindingKind::Deadlock))
        << outcome.print();
  }
}

TEST(EmulatedCluster, StoresEndBeforeTheirThread) {
  EXPECT_TRUE(finds(without(kWaitForStore), FindingKind::Mbarrier, "store",
                    "exits before"));
}

TEST(EmulatedCluster, SendsStayInTheCluster) {
  EXPECT_TRUE(finds(changed("%words to %i1", "%words to %i2"),
                    FindingKind::Deadlock, "words", "no thread"));
}

TEST(EmulatedCluster, OtherKernelsHaveNone) {
  Example one = example(sums());
  one.cluster = 1;
  one.rows = 2;
  one.columns = 256;
  const Finding *found = run(one).find(FindingKind::Mbarrier);
  ASSERT_TRUE(found);
}

namespace {
/// One thread of each cluster writes its row's number to the row, and then that
/// of rows that it draws.
Example drawing(const std::string &more = "") {
  Example one = example({R"(
%g = gpu.grid_dim x
%gi = arith.index_cast %g : index to i64
%n = arith.divui %gi, %c2 : i64
%own = arith.cmpi eq, %rank, %c0 : i64
%leads = arith.andi %isFirst, %own : i1
scf.if %leads {
  %end = scf.while (%r = %row) : (i64) -> i64 {
    %in = arith.cmpi ult, %r, %rows : i64
    scf.condition(%in) %r : i64
  } do {
  ^bb0(%r: i64):
    %f = arith.uitofp %r : i64 to f32
    scf.for %e = %c0 to %c256 step %c1 : i64 {
      %base = arith.muli %r, %c256 : i64
      %at = arith.addi %base, %e : i64
      %p = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      llvm.store %f, %p : f32, !llvm.ptr<1>
    }
    %d = norm_tile.ticket %ws, %rows of %n : !llvm.ptr<1> //draw
    %next = arith.addi %n, %d : i64
    scf.yield %next : i64
  }
)" + more + "}\n"});
  one.rows = 13;
  one.persistent = true;
  one.declaresRead = false;
  one.hasCounters = true;
  one.residentCtas = 8;
  return one;
}

const Finding *findTicket(const Example &one) {
  static Outcome outcome;
  outcome = run(one);
  return outcome.find(FindingKind::Ticket);
}
} // namespace

TEST(EmulatedCluster, EachRowIsDrawnOnce) {
  for (auto [resident, threads] : {std::pair(2u, 1u), {8u, 2u}, {64u, 2u}}) {
    Example one = drawing();
    one.residentCtas = resident;
    one.hostThreads = threads;
    Outcome outcome = run(one);
    ASSERT_EQ(outcome.y.size(), 13u * 256) << outcome.print();
    for (size_t i = 0; i < outcome.y.size(); ++i)
      ASSERT_EQ(outcome.y[i], float(i / 256)) << i;
  }
}

TEST(EmulatedCluster, DrawsEndTogether) {
  const Finding *found = findTicket(drawing(
      "  %x1 = norm_tile.ticket %ws, %rows of %n : !llvm.ptr<1> //again\n"));
  ASSERT_TRUE(found);
  EXPECT_TRUE(llvm::StringRef(found->text).contains("draws again"));

  Example few = drawing();
  size_t at = few.body.find("arith.cmpi ult, %r, %rows");
  few.body.replace(at, 25, "arith.cmpi ult, %r, %c2  ");
  found = findTicket(few);
  ASSERT_TRUE(found);
  EXPECT_TRUE(llvm::StringRef(found->text).contains("exits after number"))
      << found->text;
}

TEST(EmulatedCluster, DrawsAreByAllClustersFromACounter) {
  auto changedTo = [](const std::string &from, const std::string &to) {
    Example one = drawing();
    one.body.replace(one.body.find(from), from.size(), to);
    return one;
  };
  const Finding *found = findTicket(
      changedTo("ticket %ws, %rows of %n", "ticket %y, %rows of %n"));
  ASSERT_TRUE(found);
  EXPECT_TRUE(llvm::StringRef(found->text).contains("address of a counter"));
  found = findTicket(
      changedTo("ticket %ws, %rows of %n", "ticket %ws, %rows of %c2"));
  ASSERT_TRUE(found);
  EXPECT_TRUE(llvm::StringRef(found->text).contains("by 2 clusters"));
}

TEST(EmulatedCluster, PersistentGridsAreResident) {
  // Every element of y is the number of CTAs.
  const char *count = R"(
%g = gpu.grid_dim x
%gi = arith.index_cast %g : index to i64
%gf = arith.uitofp %gi : i64 to f32
%n = arith.divui %gi, %c2 : i64
%c5 = arith.constant 5 : i64
scf.for %r = %row to %c5 step %n : i64 {
  %base = arith.muli %r, %c256 : i64
  %first = arith.addi %base, %o1 : i64
  %p = llvm.getelementptr %y[%first] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %q = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %q1 = llvm.getelementptr %p[%t1] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  llvm.store %gf, %q : f32, !llvm.ptr<1>
  llvm.store %gf, %q1 : f32, !llvm.ptr<1>
}
)";
  for (auto [resident, ctas] :
       {std::pair(4u, 4.0f), {6u, 6.0f}, {64u, 10.0f}}) {
    Example one = example({count});
    one.rows = 5;
    one.persistent = true;
    one.declaresRead = false;
    one.residentCtas = resident;
    Outcome outcome = run(one);
    ASSERT_EQ(outcome.y.size(), 1280u) << outcome.print();
    for (float value : outcome.y)
      ASSERT_EQ(value, ctas);
  }
}
