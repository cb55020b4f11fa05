//===- LaunchPlanTest.cpp - Tests of launch plans -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/LaunchPlan.h"
#include "gtest/gtest.h"
#include <optional>

using namespace norm;

namespace {

/// `y[r, c] = f(x[r, c], w[c], s)` through a temporary of one value per row;
/// the first variant wants 16 bytes.
Manifest rowManifest() {
  Manifest m;
  m.norm = "0.1.0";
  m.entry = "main";
  m.target = "host";
  m.arguments = {
      {"x",
       ArgumentRole::Input,
       DType::F32,
       {kDynamic, 8},
       {kDynamic, 1},
       4,
       {},
       {}},
      {"w", ArgumentRole::Input, DType::F32, {8}, {1}, 4, {}, {}},
      {"s", ArgumentRole::Scalar, DType::F32, {}, {}, 1, {}, {}},
      {"y",
       ArgumentRole::Output,
       DType::F32,
       {kDynamic, 8},
       {kDynamic, 1},
       4,
       {0},
       {BufferDim{0, 0}, std::nullopt}},
  };
  m.temporaries = {{DType::F64, {TemporaryExtent(BufferDim{0, 0}), 3}}};
  Variant aligned, any;
  aligned.symbol = "main_0";
  aligned.requirements = {{0, 16}, {3, 16}};
  any.symbol = "main_1";
  Kernel kernel;
  kernel.program = "test";
  kernel.reads = {0, 1};
  kernel.writes = {3, 4};
  kernel.rows = {0, {0}};
  kernel.columns = {0, {1}};
  kernel.params = {Param::pointer(0),        Param::stride(0, 0),
                   Param::extent(0, {0, 1}), Param::scalar(2),
                   Param::pointer(4),        Param::workspace()};
  kernel.variants = {aligned, any};
  m.kernels = {kernel};
  m.workspace.bytes = 64;
  return m;
}

struct Call {
  Manifest manifest = rowManifest();
  std::vector<BoundArgument> arguments = {
      BoundArgument::contiguous(DType::F32, 0x10000, {5, 8}),
      BoundArgument::contiguous(DType::F32, 0x20000, {8}),
      BoundArgument::makeScalar(DType::F32, 1.5),
      BoundArgument::contiguous(DType::F32, 0x30000, {5, 8}),
  };
  bool allocated = false;
  uint64_t workspaceBytes = 0;
  std::optional<uint64_t> resident; ///< CTAs; none where rows aren't shared

  llvm::Expected<LaunchPlan> plan() {
    auto workspace = [&](uint64_t bytes) -> llvm::Expected<uint64_t> {
      workspaceBytes = bytes;
      allocated = true;
      return 0x50000;
    };
    auto residentCtas = [&](unsigned, unsigned) { return *resident; };
    LaunchResources resources;
    resources.workspace = workspace;
    if (resident)
      resources.residentCtas = residentCtas;
    return planLaunch(manifest, arguments, resources);
  }
  std::string error() {
    llvm::Expected<LaunchPlan> result = plan();
    return result ? "" : llvm::toString(result.takeError());
  }
};

/// `y = f(x)` with elements that share bytes.
Call packedCall(int64_t rows, int64_t columns, int64_t pitch) {
  Call call;
  Manifest &m = call.manifest;
  for (unsigned i : {0, 3}) {
    m.arguments[i].dtype = DType::F4E2M1FN;
    m.arguments[i].shape = {kDynamic, kDynamic};
    m.arguments[i].alignment = 1;
    BoundArgument &argument = call.arguments[i];
    argument = BoundArgument::contiguous(
        DType::F4E2M1FN, i == 0 ? 0x10000 : 0x30000, {rows, columns});
    argument.strides[0] = pitch;
  }
  return call;
}

TEST(LaunchPlanTest, CountsBytesThatElementsShare) {
  Call call = packedCall(5, 64, 96);
  llvm::Expected<LaunchPlan> plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  // Rows of 32 bytes, 48 apart: aligned to 16. `w` has 8 f32, the temporary 15
  // f64.
  EXPECT_EQ(plan->kernels[0].variant, 0u);
  EXPECT_EQ(plan->kernels[0].minimalBytes, 2 * 5 * 32u + 8 * 4 + 15 * 8);
  EXPECT_EQ(plan->kernels[0].params[1], 96u);
  // 36 bytes apart.
  Call apart = packedCall(5, 64, 72);
  plan = apart.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->kernels[0].variant, 1u);
  // The last row ends a byte before the output begins, or in its first.
  Call beside = packedCall(5, 64, 96);
  beside.arguments[3].address = 0x10000 + 4 * 48 + 32;
  EXPECT_TRUE(bool(beside.plan()));
  beside.arguments[3].address -= 1;
  EXPECT_EQ(
      llvm::toString(beside.plan().takeError()),
      "argument 3 'y': expects to be the same memory as argument 0 'x' or "
      "apart from it but overlaps it in part");
}

TEST(LaunchPlanTest, RefusesRowsThatShareAByte) {
  EXPECT_EQ(llvm::toString(packedCall(5, 7, 8).plan().takeError()),
            "argument 0 'x': expects an even last extent of f4E2M1FN, two of "
            "which share a byte, but got 5x7");
  EXPECT_EQ(llvm::toString(packedCall(5, 8, 9).plan().takeError()),
            "argument 0 'x': expects even strides of f4E2M1FN, two of which "
            "share a byte, but got 9 in dim 0");
  // Never stepped by.
  EXPECT_TRUE(bool(packedCall(1, 8, 9).plan()));
  Call temporary;
  temporary.manifest.temporaries[0].dtype = DType::F4E2M1FN;
  EXPECT_EQ(
      llvm::toString(temporary.plan().takeError()),
      "temporary 0: expects an even last extent of f4E2M1FN, two of which "
      "share a byte, but got 5x3");
}

TEST(LaunchPlanTest, FillsParameters) {
  Call call;
  llvm::Expected<LaunchPlan> plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  ASSERT_EQ(plan->kernels.size(), 1u);
  const KernelLaunch &kernel = plan->kernels[0];
  EXPECT_EQ(kernel.rows, 5);
  EXPECT_EQ(kernel.columns, 8);
  EXPECT_EQ(kernel.variant, 0u);
  EXPECT_EQ(kernel.minimalBytes, 2 * 5 * 8 * 4 + 8 * 4 + 5 * 3 * 8u);
  llvm::SmallVector<uint64_t> want = {0x10000,    8,       40,
                                      0x3fc00000, 0x50100, 0x50000};
  EXPECT_EQ(kernel.groups, 5u);
  EXPECT_EQ(kernel.split, 1u);
  EXPECT_EQ(call.workspaceBytes, 256u + 256u);
  EXPECT_EQ(llvm::ArrayRef<uint64_t>(kernel.params), llvm::ArrayRef(want));
}

TEST(LaunchPlanTest, AlignmentChoosesTheVariant) {
  Call call;
  call.arguments[0].address += 4;
  llvm::Expected<LaunchPlan> plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->kernels[0].variant, 1u);

  // An odd pitch misaligns all rows but the first.
  call.arguments[0].address -= 4;
  call.arguments[3].strides[0] = 9;
  plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->kernels[0].variant, 1u);

  // With one row the pitch is never stepped by.
  call.arguments[0].shape[0] = call.arguments[3].shape[0] = 1;
  plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->kernels[0].variant, 0u);
}

TEST(LaunchPlanTest, NoVariantIsAnError) {
  Call call;
  call.manifest.kernels[0].variants.pop_back();
  call.arguments[0].address += 4;
  EXPECT_EQ(call.error(),
            "kernel 0 'test': expects one of 1 alignments but the arguments' "
            "addresses and strides meet none");
}

TEST(LaunchPlanTest, NothingToDoIsNoLaunch) {
  Call call;
  call.arguments[0] = BoundArgument::contiguous(DType::F32, 0, {0, 8});
  call.arguments[3] = BoundArgument::contiguous(DType::F32, 0, {0, 8});
  llvm::Expected<LaunchPlan> plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_TRUE(plan->kernels[0].empty());
  EXPECT_EQ(plan->kernels[0].minimalBytes, 32u);
}

TEST(LaunchPlanTest, WrongArgumentsAreRefused) {
  auto broken = [](auto change) {
    Call call;
    change(call.arguments);
    std::string message = call.error();
    EXPECT_FALSE(call.allocated) << message;
    return message;
  };
  using Arguments = std::vector<BoundArgument>;
  EXPECT_EQ(broken([](Arguments &a) { a.pop_back(); }),
            "expects 4 arguments but got 3");
  EXPECT_EQ(broken([](Arguments &a) { a[0].dtype = DType::BF16; }),
            "argument 0 'x': expects f32 but got bf16");
  EXPECT_EQ(broken([](Arguments &a) { a[2].dtype = DType::F64; }),
            "argument 2 's': expects f32 but got f64");
  EXPECT_EQ(broken([](Arguments &a) {
              a[1] = BoundArgument::contiguous(DType::F32, 64, {8, 1});
            }),
            "argument 1 'w': expects rank 1 (8) but got 8x1");
  EXPECT_EQ(broken([](Arguments &a) { a[0].shape[1] = 7; }),
            "argument 0 'x': expects shape ?x8 but got 5x7");
  EXPECT_EQ(broken([](Arguments &a) { a[3].shape[0] = 4; }),
            "argument 3 'y': expects extent 5 in dim 0, that of dim 0 of "
            "argument 0 'x', but got 4");
  EXPECT_EQ(broken([](Arguments &a) { a[0].strides[1] = 2; }),
            "argument 0 'x': expects stride 1 in dim 1 but got 2");
  EXPECT_EQ(broken([](Arguments &a) { a[0].strides[0] = -8; }),
            "argument 0 'x': expects strides of 0 or more but got -8 in dim 0");
  EXPECT_EQ(broken([](Arguments &a) { a[0].address = 0; }),
            "argument 0 'x': expects memory but got a null address");
  EXPECT_EQ(broken([](Arguments &a) { a[0].address += 2; }),
            "argument 0 'x': expects an address aligned to 4 bytes but got "
            "0x10002");
  EXPECT_EQ(broken([](Arguments &a) { a[0].address = ~uint64_t(3); }),
            "argument 0 'x': expects a tensor within the address space but got "
            "shape 5x8");
  EXPECT_EQ(broken([](Arguments &a) { a[0].strides[0] = INT64_MAX; }),
            "argument 0 'x': expects a tensor within the address space but got "
            "shape 5x8");
}

TEST(LaunchPlanTest, OverlapIsRefused) {
  auto overlap = [](auto change) {
    Call call;
    change(call.arguments);
    return call.error();
  };
  using Arguments = std::vector<BoundArgument>;
  // In place is declared for x and y, if they are the very same memory.
  EXPECT_EQ(overlap([](Arguments &a) { a[3].address = a[0].address; }), "");
  EXPECT_EQ(overlap([](Arguments &a) { a[3].address = a[0].address + 32; }),
            "argument 3 'y': expects to be the same memory as argument 0 'x' "
            "or apart from it but overlaps it in part");
  EXPECT_EQ(overlap([](Arguments &a) {
              a[3].address = a[0].address;
              a[3].strides[0] = 16;
            }),
            "argument 3 'y': expects to be the same memory as argument 0 'x' "
            "or apart from it but overlaps it in part");
  // w and y are not declared.
  EXPECT_EQ(overlap([](Arguments &a) { a[1].address = a[3].address + 128; }),
            "argument 3 'y': expects memory of its own but overlaps argument 1 "
            "'w'");
  // The last byte of one, the first of the other.
  EXPECT_EQ(overlap([](Arguments &a) { a[1].address = a[3].address + 160; }),
            "");
  EXPECT_EQ(overlap([](Arguments &a) { a[1].address = a[3].address + 156; }),
            "argument 3 'y': expects memory of its own but overlaps argument 1 "
            "'w'");
  // Side by side in one array of 16 columns.
  auto sideBySide = [](int64_t distance) {
    return [distance](Arguments &a) {
      a[0].strides[0] = a[3].strides[0] = 16;
      a[3].address = a[0].address + uint64_t(distance * 4);
    };
  };
  EXPECT_EQ(overlap(sideBySide(8)), "");
  EXPECT_NE(overlap(sideBySide(7)), "");
  EXPECT_NE(overlap(sideBySide(9)), "");
  // Inputs may share memory.
  EXPECT_EQ(overlap([](Arguments &a) { a[1].address = a[0].address; }), "");
}

/// The queries of 2 x 5 tokens with 4 heads of 8, normalized by head: slices of
/// memory that holds queries, keys and values of each token side by side.
Call headsCall() {
  Call call;
  Manifest &m = call.manifest;
  m.temporaries.clear();
  m.workspace.bytes = 0;
  m.arguments.clear();
  for (const char *name : {"x", "y"})
    m.arguments.push_back(
        {name,
         *name == 'x' ? ArgumentRole::Input : ArgumentRole::Output,
         DType::F32,
         {kDynamic, kDynamic, 4, 8},
         {kDynamic, kDynamic, kDynamic, 1},
         4,
         {},
         {}});
  Kernel kernel;
  kernel.program = "heads";
  kernel.reads = {0};
  kernel.writes = {1};
  kernel.rows = {0, {0, 1, 2}};
  kernel.columns = {0, {3}};
  kernel.params = {Param::stride(0, 0), Param::stride(0, 1),
                   Param::stride(1, 2)};
  Variant any;
  any.symbol = "main_0";
  kernel.variants = {any};
  m.kernels = {kernel};
  BoundArgument slice =
      BoundArgument::contiguous(DType::F32, 0x10000, {2, 5, 4, 8});
  slice.strides = {480, 96, 8, 1};
  call.arguments = {slice, slice};
  call.arguments[1].address += 32 * 4;
  return call;
}

TEST(LaunchPlanTest, StridesOfEveryDim) {
  Call call = headsCall();
  llvm::Expected<LaunchPlan> plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  llvm::SmallVector<uint64_t> want = {480, 96, 8};
  EXPECT_EQ(llvm::ArrayRef<uint64_t>(plan->kernels[0].params),
            llvm::ArrayRef(want));

  // Any stride, but along the last dim.
  call.arguments[0].strides = {7, 0, 1000, 2};
  EXPECT_EQ(call.error(),
            "argument 0 'x': expects stride 1 in dim 3 but got 2");
  call.arguments[0].strides[3] = 1;
  EXPECT_EQ(call.error(), "");
}

TEST(LaunchPlanTest, UnitDimsHaveAnyStride) {
  Call call = headsCall();
  for (BoundArgument &argument : call.arguments)
    argument.shape = {1, 5, 4, 8};
  call.arguments[0].strides[0] = 3;
  call.arguments[1].strides[0] = 0;
  EXPECT_EQ(call.error(), "");
  // Also where it's fixed.
  call.manifest.arguments[0].shape[0] = 1;
  call.manifest.arguments[0].strides[0] = 160;
  EXPECT_EQ(call.error(), "");
}

TEST(LaunchPlanTest, SlicesOfOneArrayLieApart) {
  auto error = [](int64_t distance) {
    Call call = headsCall();
    call.arguments[1].address =
        call.arguments[0].address + uint64_t(distance * 4);
    return call.error();
  };
  EXPECT_EQ(error(32), "");
  EXPECT_EQ(error(64), "");
  std::string shared = "argument 1 'y': expects memory of its own but overlaps "
                       "argument 0 'x'";
  EXPECT_EQ(error(31), shared);
  EXPECT_EQ(error(65), shared);
  EXPECT_EQ(error(0), shared);
  EXPECT_EQ(error(96), shared);
}

TEST(LaunchPlanTest, AnOutputMustNotOverlapItself) {
  Call call;
  call.arguments[3].strides[0] = 7;
  EXPECT_EQ(call.error(),
            "argument 3 'y': expects distinct elements in an output but its "
            "strides make some overlap");
  call.arguments[3].strides[0] = 0;
  EXPECT_NE(call.error(), "");
  // An input may be broadcast.
  call.arguments[3].strides[0] = 8;
  call.arguments[0].strides[0] = 0;
  EXPECT_EQ(call.error(), "");
}

/// Two kernels whose rows are cut into 8 slices: the first one's aligned
/// variant always by 4 CTAs, the other as many as fit.
Call splitCall() {
  Call call;
  Kernel &kernel = call.manifest.kernels[0];
  kernel.slices = 8;
  kernel.counterBytes = 8;
  kernel.unitBytes = 100;
  kernel.rows.factor = 3;
  kernel.params = {Param::extent(0, {0}, 3), Param::split(),
                   Param::workspace()};
  kernel.variants[0].split = 4;
  kernel.variants[1].split = 0;
  call.manifest.kernels.push_back(kernel);
  call.manifest.workspace = {300, {{0, 16}, {32, 0}}};
  call.resident = 60;
  return call;
}

TEST(LaunchPlanTest, RowsAreSharedByCtas) {
  Call call = splitCall();
  auto first = [&]() -> KernelLaunch {
    llvm::Expected<LaunchPlan> plan = call.plan();
    if (!plan) {
      ADD_FAILURE() << llvm::toString(plan.takeError());
      return {};
    }
    return plan->kernels[0];
  };
  KernelLaunch launch = first();
  EXPECT_EQ(launch.rows, 15);
  EXPECT_EQ(launch.variant, 0u);
  EXPECT_EQ(launch.split, 4u);
  EXPECT_EQ(launch.groups, 60u);
  EXPECT_EQ(launch.params[0], 15u);
  EXPECT_EQ(launch.params[1], 4u);

  // Not all of 60 CTAs at once: the next variant, by 2 CTAs a row.
  call.resident = 59;
  launch = first();
  EXPECT_EQ(launch.variant, 1u);
  EXPECT_EQ(launch.split, 2u);
  EXPECT_EQ(launch.groups, 30u);

  // Never more than slices.
  call.arguments[0].address += 4;
  call.resident = 100000;
  launch = first();
  EXPECT_EQ(launch.variant, 1u);
  EXPECT_EQ(launch.split, 8u);

  // Alone, a CTA needs nobody to be resident.
  for (uint64_t resident : {14, 0}) {
    call.resident = resident;
    launch = first();
    EXPECT_EQ(launch.variant, 1u);
    EXPECT_EQ(launch.split, 1u);
    EXPECT_EQ(launch.groups, 15u);
  }

  // Several rows per CTA, the last of fewer.
  call.manifest.kernels[0].variants[1].rowsPerCta = 4;
  call.resident = 31;
  launch = first();
  EXPECT_EQ(launch.split, 4u);
  EXPECT_EQ(launch.groups, 16u);
}

TEST(LaunchPlanTest, OnTheHostNobodySharesRows) {
  Call call = splitCall();
  call.resident.reset();
  llvm::Expected<LaunchPlan> plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->kernels[0].variant, 0u);
  EXPECT_EQ(plan->kernels[0].split, 1u);
  EXPECT_EQ(plan->kernels[0].groups, 15u);
  EXPECT_EQ(plan->kernels[0].params[1], 1u);
}

TEST(LaunchPlanTest, PersistentGridsAreResident) {
  Call call = splitCall();
  Variant &variant = call.manifest.kernels[0].variants[0];
  variant.split = 1;
  variant.cluster = 4;
  variant.persistent = true;
  // 15 rows, with a cluster for each of them where there is room.
  for (auto [resident, groups] : {std::pair<uint64_t, uint64_t>(100, 15),
                                  {60, 15},
                                  {59, 14},
                                  {8, 2},
                                  {4, 1}}) {
    call.resident = resident;
    llvm::Expected<LaunchPlan> plan = call.plan();
    ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
    EXPECT_EQ(plan->kernels[0].variant, 0u);
    EXPECT_EQ(plan->kernels[0].groups, groups);
  }
  // Not for one: the next variant.
  call.resident = 3;
  llvm::Expected<LaunchPlan> plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->kernels[0].variant, 1u);
  call.resident.reset();
  plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->kernels[0].variant, 0u);
  EXPECT_EQ(plan->kernels[0].groups, 15u);
}

TEST(LaunchPlanTest, NoVariantThatFitsIsAnError) {
  Call call = splitCall();
  call.manifest.kernels[0].variants.pop_back();
  call.resident = 59;
  EXPECT_EQ(call.error(),
            "kernel 0 'test': expects all CTAs to be resident at once but 15 "
            "rows take more of them than the device runs");
}

TEST(LaunchPlanTest, LaysOutTheWorkspace) {
  Call call = splitCall();
  llvm::Expected<LaunchPlan> plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  // 300 bytes for all; then 15 times 8 and 15 times 100 bytes, twice.
  EXPECT_EQ(call.workspaceBytes, 512u + 2 * (256 + 1536) + 256);
  EXPECT_EQ(plan->workspaceBytes, call.workspaceBytes);
  EXPECT_EQ(plan->workspace, 0x50000u);
  std::vector<ByteRange> want = {{0, 16}, {512, 120}, {512 + 256 + 1536, 120}};
  EXPECT_EQ(
      std::vector<ByteRange>(plan->counters.begin(), plan->counters.end()),
      want);
  EXPECT_EQ(plan->kernels[0].params[2], 0x50000u + 512);
  EXPECT_EQ(plan->kernels[1].params[2], 0x50000u + 512 + 256 + 1536);

  // Of 2 rows per CTA, there are 8 groups.
  Call wide = splitCall();
  for (Kernel &kernel : wide.manifest.kernels)
    kernel.variants[0].rowsPerCta = 2;
  plan = wide.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->kernels[0].groups, 32u);
  EXPECT_EQ(wide.workspaceBytes, 512u + 2 * (256 + 1024) + 256);
  want = {{0, 16}, {512, 64}, {512 + 256 + 1024, 64}};
  EXPECT_EQ(
      std::vector<ByteRange>(plan->counters.begin(), plan->counters.end()),
      want);

  // A kernel without rows needs nothing.
  call.arguments[0] = BoundArgument::contiguous(DType::F32, 0, {0, 8});
  call.arguments[3] = BoundArgument::contiguous(DType::F32, 0, {0, 8});
  plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(call.workspaceBytes, 512u);

  call = splitCall();
  call.manifest.kernels[0].unitBytes = uint64_t(1) << 62;
  EXPECT_EQ(call.error(),
            "expects a workspace of fewer than 2^64 bytes but got "
            "4611686018427387904 bytes for each of 15 groups of rows");
}

TEST(LaunchPlanTest, ContiguousArguments) {
  Call call;
  Argument &x = call.manifest.arguments[0];
  x.shape = {kDynamic, kDynamic, 8};
  x.strides = {kDynamic, 8, 1};
  x.contiguous = true;
  call.manifest.kernels[0].params[1] = Param::stride(0, 1);
  call.arguments[0] = BoundArgument::contiguous(DType::F32, 0x10000, {5, 1, 8});
  // The rows are one extent apart, whatever the stride of the dim of extent 1.
  call.arguments[0].strides = {8, 77, 1};
  llvm::Expected<LaunchPlan> plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->kernels[0].params[1], 8u);

  call.arguments[0].strides = {16, 8, 1};
  EXPECT_EQ(call.error(),
            "argument 0 'x': expects stride 8 in dim 0 but got 16");
}

TEST(LaunchPlanTest, SmallHelpers) {
  EXPECT_EQ(printShape({kDynamic, 4096}), "?x4096");
  EXPECT_EQ(printShape({}), "scalar");
  EXPECT_EQ(contiguousStrides({2, 0, 3}),
            (llvm::SmallVector<int64_t, 4>{3, 3, 1}));
  llvm::Expected<int64_t> empty = numElements({INT64_MAX, INT64_MAX, 0});
  ASSERT_TRUE(bool(empty));
  EXPECT_EQ(*empty, 0);
  llvm::Expected<int64_t> huge = numElements({INT64_MAX, 2});
  ASSERT_FALSE(bool(huge));
  EXPECT_EQ(llvm::toString(huge.takeError()),
            "expects fewer than 2^63 elements but got shape "
            "9223372036854775807x2");
}

/// The manifest with temporaries of `slots`, each written by one kernel and
/// read by the next.
Manifest chainManifest(std::vector<std::optional<unsigned>> slots) {
  Manifest m = rowManifest();
  Temporary temporary = m.temporaries.front();
  Kernel kernel = m.kernels.front();
  m.temporaries.clear();
  m.kernels.clear();
  for (unsigned i = 0; i <= slots.size(); ++i) {
    kernel.reads = {i == 0 ? 0 : 3 + i};
    kernel.writes = {i == slots.size() ? 3 : 4 + i};
    kernel.params = {Param::pointer(kernel.reads[0]),
                     Param::pointer(kernel.writes[0])};
    m.kernels.push_back(kernel);
    if (i == slots.size())
      break;
    // 24, 48, 72 ... bytes a row.
    temporary.shape[1] = 3 * (i + 1);
    temporary.slot = slots[i];
    m.temporaries.push_back(temporary);
  }
  return m;
}

TEST(LaunchPlanTest, TemporariesOfOneSlotAreTheSameMemory) {
  Call call;
  call.manifest = chainManifest({0, 1, 0, 1});
  for (BoundArgument &argument : call.arguments)
    if (!argument.shape.empty() && argument.shape.size() == 2)
      argument =
          BoundArgument::contiguous(argument.dtype, argument.address, {100, 8});
  call.arguments[3].address = 0x31000;
  llvm::Expected<LaunchPlan> plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  // After 64 bytes for all kernels: 7200 and 9600 bytes, in steps of 256.
  EXPECT_EQ(call.workspaceBytes, 256u + 7424 + 9728);
  EXPECT_EQ(plan->temporaryOffset, 256u);
  ASSERT_EQ(plan->temporaries.size(), 4u);
  EXPECT_EQ(plan->temporaries[0].address, 0x50100u);
  EXPECT_EQ(plan->temporaries[1].address, 0x50100u + 7424);
  EXPECT_EQ(plan->temporaries[2].address, plan->temporaries[0].address);
  EXPECT_EQ(plan->temporaries[3].address, plan->temporaries[1].address);
  EXPECT_EQ(plan->kernels[3].params[0], plan->temporaries[2].address);
  EXPECT_EQ(plan->kernels[3].params[1], plan->temporaries[3].address);
}

TEST(LaunchPlanTest, TemporariesWithoutASlotAreApart) {
  Call call;
  call.manifest = chainManifest({std::nullopt, 0, std::nullopt});
  llvm::Expected<LaunchPlan> plan = call.plan();
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->temporaries[1].address, 0x50100u);
  EXPECT_EQ(plan->temporaries[0].address, 0x50200u);
  EXPECT_EQ(plan->temporaries[2].address, 0x50300u);
  EXPECT_EQ(call.workspaceBytes, 0x500u);
}

TEST(LaunchPlanTest, InPlaceIsTheMemoryOfTheInput) {
  Call call;
  call.manifest.arguments[3].inPlace = 0;
  EXPECT_EQ(call.error(),
            "argument 3 'y': expects the memory of argument 0 'x', in place of "
            "which it is written, but got another address or other strides");
  call.arguments[3].address = call.arguments[0].address;
  EXPECT_EQ(call.error(), "");
  call.arguments[3].strides[0] = 16;
  EXPECT_EQ(call.error(),
            "argument 3 'y': expects the memory of argument 0 'x', in place of "
            "which it is written, but got another address or other strides");
  // Nowhere else either.
  call.arguments[3].strides[0] = 8;
  call.arguments[1].address = call.arguments[0].address + 16;
  EXPECT_EQ(call.error(), "argument 3 'y': expects memory of its own but "
                          "overlaps argument 1 'w'");
}

} // namespace
