//===- HostDeviceTest.cpp - Tests of the host as a device -----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/HostDevice.h"
#include "norm/Runtime/Device.h"
#include "norm/Runtime/Workers.h"
#include "llvm/ADT/bit.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cmath>

using namespace norm;

namespace {

/// Two kernels over (x, x's stride, y, columns, s): y[r, c] = s * x[r, c],
/// rounded to bf16 by a routine that no processor has; the second variant
/// gives -1 everywhere.
constexpr llvm::StringLiteral kProgram = R"(
define void @main_0(ptr %p, i64 %begin, i64 %end) {
  br label %next
next:
  %row = phi i64 [ %begin, %0 ], [ %row.next, %step ]
  %more = icmp slt i64 %row, %end
  br i1 %more, label %columns, label %exit
columns:
  %column = phi i64 [ 0, %next ], [ %column.next, %body ]
  %n.slot = getelementptr i64, ptr %p, i64 3
  %n = load i64, ptr %n.slot
  %inside = icmp slt i64 %column, %n
  br i1 %inside, label %body, label %step
body:
  %x = load ptr, ptr %p
  %stride.slot = getelementptr i64, ptr %p, i64 1
  %stride = load i64, ptr %stride.slot
  %y.slot = getelementptr i64, ptr %p, i64 2
  %y = load ptr, ptr %y.slot
  %s.slot = getelementptr i64, ptr %p, i64 4
  %s = load float, ptr %s.slot
  %x.row = mul i64 %row, %stride
  %x.index = add i64 %x.row, %column
  %x.address = getelementptr float, ptr %x, i64 %x.index
  %value = load float, ptr %x.address
  %product = fmul float %s, %value
  %rounded = fptrunc float %product to bfloat
  %y.row = mul i64 %row, %n
  %y.index = add i64 %y.row, %column
  %y.address = getelementptr bfloat, ptr %y, i64 %y.index
  store bfloat %rounded, ptr %y.address
  %column.next = add i64 %column, 1
  br label %columns
step:
  %row.next = add i64 %row, 1
  br label %next
exit:
  ret void
}

declare ptr @memset(ptr, i32, i64)

define void @main_1(ptr %p, i64 %begin, i64 %end) {
  %y.slot = getelementptr i64, ptr %p, i64 2
  %y = load ptr, ptr %y.slot
  %n.slot = getelementptr i64, ptr %p, i64 3
  %n = load i64, ptr %n.slot
  %first = mul i64 %begin, %n
  %rows = sub i64 %end, %begin
  %count = mul i64 %rows, %n
  %bytes = mul i64 %count, 2
  %address = getelementptr bfloat, ptr %y, i64 %first
  %ignored = call ptr @memset(ptr %address, i32 191, i64 %bytes)
  ret void
}
)";

constexpr llvm::StringLiteral kUnlinkable = R"(
declare void @norm_no_such_function()

define void @unlinkable(ptr %p, i64 %begin, i64 %end) {
  call void @norm_no_such_function()
  ret void
}
)";

/// The program as an object for a processor without 16-bit conversions.
std::string compile(llvm::StringRef assembly) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(assembly, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  EXPECT_TRUE(target) << error;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, "", "", llvm::TargetOptions(), llvm::Reloc::PIC_));
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  EXPECT_FALSE(machine->addPassesToEmitFile(passes, stream, nullptr,
                                            llvm::CodeGenFileType::ObjectFile));
  passes.run(*module);
  return object.str().str();
}

Manifest hostManifest() {
  Manifest m;
  m.norm = "0.1.0";
  m.entry = "main";
  m.target = "host";
  m.arguments = {
      {"x",
       ArgumentRole::Input,
       DType::F32,
       {kDynamic, kDynamic},
       {kDynamic, 1},
       4,
       {},
       {}},
      {"s", ArgumentRole::Scalar, DType::F32, {}, {}, 1, {}, {}},
      {"y",
       ArgumentRole::Output,
       DType::BF16,
       {kDynamic, kDynamic},
       {kDynamic, 1},
       2,
       {},
       {BufferDim{0, 0}, BufferDim{0, 1}}},
  };
  Variant aligned, any;
  aligned.symbol = "main_0";
  aligned.requirements = {{2, 4}};
  any.symbol = "main_1";
  Kernel kernel;
  kernel.program = "scale";
  kernel.reads = {0};
  kernel.writes = {2};
  kernel.rows = {0, {0}};
  kernel.columns = {0, {1}};
  kernel.params = {Param::pointer(0), Param::stride(0, 0), Param::pointer(2),
                   Param::extent(0, {1}), Param::scalar(1)};
  kernel.variants = {aligned, any};
  m.kernels = {kernel};
  return m;
}

class HostDeviceTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::Expected<std::unique_ptr<Device>> opened = openHostDevice(3);
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    device = std::move(*opened);
  }
  std::unique_ptr<Device> device;
};

TEST_F(HostDeviceTest, RunsEveryRowOnce) {
  auto executable = device->load(compile(kProgram), hostManifest());
  ASSERT_TRUE(bool(executable)) << llvm::toString(executable.takeError());
  // Enough rows to be spread over the threads.
  constexpr int64_t kRows = 3000, kColumns = 200, kPitch = 203;
  auto x = device->allocate(kRows * kPitch * 4);
  auto y = device->allocate(kRows * kColumns * 2 + 2);
  ASSERT_TRUE(x && y);
  std::vector<float> in(kRows * kPitch);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i % 257) * 0.37f - 40.0f;
  llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(in.data()),
                                in.size() * 4);
  ASSERT_FALSE(bool(device->copyIn(**x, 0, bytes)));
  ASSERT_FALSE(bool(device->fill(**y, 0xff)));
  BoundArgument input =
      BoundArgument::contiguous(DType::F32, (*x)->address(), {kRows, kColumns});
  input.strides[0] = kPitch;
  BoundArgument output = BoundArgument::contiguous(DType::BF16, (*y)->address(),
                                                   {kRows, kColumns});
  BoundArgument scale = BoundArgument::makeScalar(DType::F32, 1.25);
  llvm::Error error = (*executable)->launch({input, scale, output});
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  std::vector<uint16_t> out(kRows * kColumns + 1);
  ASSERT_FALSE(bool(device->copyOut(
      {reinterpret_cast<uint8_t *>(out.data()), out.size() * 2}, **y, 0)));
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column) {
      float product = 1.25f * in[size_t(row * kPitch + column)];
      ASSERT_EQ(decode(DType::BF16, &out[size_t(row * kColumns + column)]),
                roundTo(DType::BF16, product))
          << row << " " << column;
    }
  EXPECT_EQ(out.back(), 0xffff);

  // Two bytes further the other variant is launched.
  output.address += 2;
  error = (*executable)->launch({input, scale, output});
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  ASSERT_FALSE(bool(device->copyOut(
      {reinterpret_cast<uint8_t *>(out.data()), out.size() * 2}, **y, 0)));
  EXPECT_EQ(out[1], 0xbfbf);
  EXPECT_EQ(out.back(), 0xbfbf);
}

TEST_F(HostDeviceTest, NoElementsIsSuccess) {
  auto executable = device->load(compile(kProgram), hostManifest());
  ASSERT_TRUE(bool(executable)) << llvm::toString(executable.takeError());
  auto prepare = [&](llvm::ArrayRef<int64_t> shape) {
    return (*executable)
        ->prepare({BoundArgument::contiguous(DType::F32, 0, shape),
                   BoundArgument::makeScalar(DType::F32, 1),
                   BoundArgument::contiguous(DType::BF16, 0, shape)});
  };
  auto noRows = prepare({0, 8});
  ASSERT_TRUE(bool(noRows)) << llvm::toString(noRows.takeError());
  EXPECT_TRUE((*noRows)->plan().kernels[0].empty());
  EXPECT_FALSE(bool((*noRows)->run()));
  llvm::Expected<Timing> timing = (*noRows)->time(0, {});
  ASSERT_TRUE(bool(timing));
  EXPECT_EQ(timing->median(), 0.0);
  // Rows without columns are launched, for their statistics.
  auto noColumns = prepare({8, 0});
  ASSERT_TRUE(bool(noColumns)) << llvm::toString(noColumns.takeError());
  EXPECT_FALSE((*noColumns)->plan().kernels[0].empty());
  EXPECT_FALSE(bool((*noColumns)->run()));
}

TEST_F(HostDeviceTest, WrongCodeIsRefused) {
  std::string object = compile(kProgram);
  auto loadError = [&](llvm::StringRef code, auto change) {
    Manifest manifest = hostManifest();
    change(manifest);
    auto executable = device->load(code, manifest);
    return executable ? "" : llvm::toString(executable.takeError());
  };
  auto same = [](Manifest &) {};
  EXPECT_NE(
      loadError("not an object", same).find("cannot link the host object: "),
      std::string::npos);
  std::string missing = loadError(
      object, [](Manifest &m) { m.kernels[0].variants[0].symbol = "main_7"; });
  EXPECT_NE(missing.find("main_7"), std::string::npos) << missing;
  std::string undefined = loadError(compile(kUnlinkable), [](Manifest &m) {
    m.kernels[0].variants[0].symbol = "unlinkable";
  });
  EXPECT_NE(undefined.find("norm_no_such_function"), std::string::npos)
      << undefined;
  EXPECT_EQ(loadError(object, [](Manifest &m) { m.target = "sm_90"; }),
            "device host expects code for target host but got sm_90");
}

TEST_F(HostDeviceTest, AllocatesWithMisalignment) {
  for (uint64_t misalignment : {0, 2, 48}) {
    auto buffer = device->allocate(100, misalignment);
    ASSERT_TRUE(bool(buffer));
    EXPECT_EQ((*buffer)->address() % 256, misalignment);
    EXPECT_EQ((*buffer)->bytes(), 100u);
  }
  EXPECT_EQ(llvm::toString(device->allocate(~uint64_t(0), 8).takeError()),
            "expects 18446744073709551615 bytes of host memory but got none");
}

TEST_F(HostDeviceTest, MeasuresCopies) {
  llvm::Expected<CopyRate> rate = device->measureCopyRate(0);
  ASSERT_TRUE(bool(rate)) << llvm::toString(rate.takeError());
  EXPECT_EQ(rate->bytes, uint64_t(64) << 20);
  EXPECT_GT(rate->gigabytesPerSecond, 0.1);
}

TEST(OpenDeviceTest, NamesAreChecked) {
  llvm::Expected<std::unique_ptr<Device>> host = openDevice("host");
  ASSERT_TRUE(bool(host));
  EXPECT_EQ((*host)->name(), "host");
  for (llvm::StringRef name : {"cuda", "cuda:", "cuda:x", "gpu", ""})
    EXPECT_EQ(
        llvm::toString(openDevice(name).takeError()),
        ("expects device auto, host, emulated or cuda:N but got '" + name + "'")
            .str());
}

TEST(TimingTest, QuantilesInterpolate) {
  Timing timing{{4, 1, 3, 2}};
  EXPECT_EQ(timing.quantile(0), 1);
  EXPECT_EQ(timing.quantile(1), 4);
  EXPECT_EQ(timing.median(), 2.5);
  EXPECT_NEAR(timing.quantile(0.1), 1.3, 1e-12);
  EXPECT_TRUE(std::isnan(Timing().median()));
}

TEST(WorkersTest, RangesCoverEverythingOnce) {
  for (unsigned threads : {1, 2, 5})
    for (int64_t count : {0, 1, 7, 1000, 100003})
      for (int64_t grain : {1, 10, 5000}) {
        Workers workers(threads);
        std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
        workers.forRanges(count, grain, [&](int64_t begin, int64_t end) {
          EXPECT_LT(begin, end);
          for (int64_t i = begin; i < end; ++i)
            ++seen[size_t(i)];
        });
        for (const std::atomic<int> &times : seen)
          ASSERT_EQ(times, 1);
      }
}

} // namespace
