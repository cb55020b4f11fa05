//===- TestDevice.cpp - A device whose times are made up ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestDevice.h"
#include "norm/Runtime/EmulatedDevice.h"
#include "norm/Runtime/Random.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;
using namespace norm::test;

namespace {

/// What launches tell the device.
struct Engine {
  Behaviour behaviour;
  std::unique_ptr<Device> device;
  double lastCost = 1;
};

class TestLaunch final : public PreparedLaunch {
public:
  TestLaunch(std::shared_ptr<Engine> engine,
             std::unique_ptr<PreparedLaunch> launch, std::string schedules,
             BoundArgument result)
      : engine(std::move(engine)), launch(std::move(launch)),
        schedules(std::move(schedules)), result(std::move(result)) {
    launchPlan = this->launch->plan();
  }

  llvm::Error run() override {
    const Behaviour &behaviour = engine->behaviour;
    if (behaviour.isRefused && behaviour.isRefused(schedules))
      return llvm::createStringError("too many registers");
    if (llvm::Error error = launch->run())
      return error;
    if (behaviour.isWrong && behaviour.isWrong(schedules))
      *reinterpret_cast<uint8_t *>(uintptr_t(result.address)) ^= 1;
    engine->lastCost = behaviour.cost ? behaviour.cost(schedules) : 1;
    return llvm::Error::success();
  }
  llvm::Expected<Timing> time(unsigned index,
                              const TimingOptions &options) override {
    return launch->time(index, options);
  }

private:
  std::shared_ptr<Engine> engine;
  std::unique_ptr<PreparedLaunch> launch;
  std::string schedules;
  BoundArgument result;
};

class TestExecutable final : public Executable {
public:
  TestExecutable(std::shared_ptr<Engine> engine,
                 std::unique_ptr<Executable> executable)
      : Executable(executable->manifest()), engine(std::move(engine)),
        executable(std::move(executable)) {}

  llvm::Expected<std::unique_ptr<PreparedLaunch>>
  prepare(llvm::ArrayRef<BoundArgument> arguments) override {
    llvm::Expected<std::unique_ptr<PreparedLaunch>> launch =
        executable->prepare(arguments);
    if (!launch)
      return launch.takeError();
    std::string schedules;
    for (const Kernel &kernel : manifest().kernels)
      schedules += kernel.schedule;
    return std::make_unique<TestLaunch>(engine, std::move(*launch), schedules,
                                        arguments.back());
  }
  llvm::Error enqueue(llvm::ArrayRef<BoundArgument> arguments,
                      const LaunchOptions &options) override {
    return executable->enqueue(arguments, options);
  }

private:
  llvm::Error synchronize() override { return engine->device->synchronize(); }
  uint64_t residentCtas(unsigned, unsigned) const override { return 64; }

  std::shared_ptr<Engine> engine;
  std::unique_ptr<Executable> executable;
};

class TestDevice final : public Device {
public:
  explicit TestDevice(std::shared_ptr<Engine> engine)
      : engine(std::move(engine)) {}

  std::string name() const override { return inner().name(); }
  std::string description() const override { return inner().description(); }
  std::string target() const override { return inner().target(); }
  bool isEmulated() const override { return true; }
  llvm::Expected<std::unique_ptr<Buffer>>
  allocate(uint64_t bytes, uint64_t misalignment) override {
    return inner().allocate(bytes, misalignment);
  }
  llvm::Error fill(Buffer &buffer, uint8_t byte) override {
    return inner().fill(buffer, byte);
  }
  llvm::Error copyIn(Buffer &buffer, uint64_t offset,
                     llvm::ArrayRef<uint8_t> bytes) override {
    return inner().copyIn(buffer, offset, bytes);
  }
  llvm::Error copyOut(llvm::MutableArrayRef<uint8_t> bytes,
                      const Buffer &buffer, uint64_t offset) override {
    return inner().copyOut(bytes, buffer, offset);
  }
  llvm::Expected<std::unique_ptr<Executable>>
  load(llvm::StringRef code, const Manifest &manifest) override {
    llvm::Expected<std::unique_ptr<Executable>> executable =
        inner().load(code, manifest);
    if (!executable)
      return executable.takeError();
    return std::make_unique<TestExecutable>(engine, std::move(*executable));
  }
  llvm::Error synchronize() override { return inner().synchronize(); }
  llvm::Expected<CopyRate> measureCopyRate(uint64_t bytes) override {
    return inner().measureCopyRate(bytes);
  }
  llvm::Expected<std::vector<Timing>>
  timeInTurns(llvm::ArrayRef<DeviceWork> works,
              const TurnOptions &options) override {
    std::vector<Timing> timings;
    for (const DeviceWork &work : works) {
      if (llvm::Error error = work())
        return error;
      timings.push_back({std::vector<double>(3, engine->lastCost)});
    }
    return timings;
  }

private:
  Device &inner() const { return *engine->device; }
  std::shared_ptr<Engine> engine;
};

class TestCall final : public TunedCall {
public:
  TestCall(Device &device, const Manifest &manifest, int64_t rows)
      : device(device), manifest(manifest), rows(rows) {}

  llvm::Error make();
  std::string describe() const override {
    return printShape(bound.front().shape);
  }
  llvm::ArrayRef<BoundArgument> arguments(unsigned) const override {
    return bound;
  }
  llvm::Error reset() override;
  llvm::Expected<std::vector<uint8_t>> results() override;

private:
  bool isResult(unsigned index) const {
    return manifest.arguments[index].role == ArgumentRole::Output;
  }

  Device &device;
  const Manifest manifest;
  int64_t rows;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<std::vector<uint8_t>> contents;
  std::vector<BoundArgument> bound;
};

llvm::Error TestCall::make() {
  for (const auto &[index, argument] : llvm::enumerate(manifest.arguments)) {
    std::vector<int64_t> shape(argument.shape.begin(), argument.shape.end());
    for (int64_t &extent : shape)
      extent = extent == kDynamic ? rows : extent;
    llvm::Expected<int64_t> count = numElements(shape);
    if (!count)
      return count.takeError();
    std::vector<uint8_t> content(bytesOf(argument.dtype, uint64_t(*count)),
                                 0xff);
    if (!isResult(unsigned(index)))
      for (int64_t i = 0; i < *count; ++i)
        encode(argument.dtype, 1 + randomNormal(index, uint64_t(i)),
               content.data() + uint64_t(i) * byteSize(argument.dtype));
    llvm::Expected<std::unique_ptr<Buffer>> buffer =
        device.allocate(content.size());
    if (!buffer)
      return buffer.takeError();
    if (llvm::Error error = device.copyIn(**buffer, 0, content))
      return error;
    bound.push_back(
        BoundArgument::contiguous(argument.dtype, (*buffer)->address(), shape));
    buffers.push_back(std::move(*buffer));
    contents.push_back(std::move(content));
  }
  return llvm::Error::success();
}

llvm::Error TestCall::reset() {
  for (auto [buffer, content] : llvm::zip(buffers, contents))
    if (llvm::Error error = device.copyIn(*buffer, 0, content))
      return error;
  return llvm::Error::success();
}

llvm::Expected<std::vector<uint8_t>> TestCall::results() {
  std::vector<uint8_t> all;
  for (unsigned index = 0; index < buffers.size(); ++index) {
    if (!isResult(index))
      continue;
    std::vector<uint8_t> bytes(contents[index].size());
    if (llvm::Error error = device.copyOut(bytes, *buffers[index], 0))
      return error;
    llvm::append_range(all, bytes);
  }
  return all;
}

} // namespace

llvm::Expected<std::unique_ptr<Device>>
test::openTestDevice(Behaviour behaviour) {
  llvm::Expected<std::unique_ptr<Device>> device = openEmulatedDevice();
  if (!device)
    return device.takeError();
  auto engine = std::make_shared<Engine>();
  engine->behaviour = std::move(behaviour);
  engine->device = std::move(*device);
  return std::make_unique<TestDevice>(std::move(engine));
}

llvm::Expected<std::vector<std::unique_ptr<TunedCall>>>
test::makeCalls(Device &device, const Manifest &manifest,
                llvm::ArrayRef<int64_t> rows) {
  std::vector<std::unique_ptr<TunedCall>> calls;
  for (int64_t count : rows) {
    auto call = std::make_unique<TestCall>(device, manifest, count);
    if (llvm::Error error = call->make())
      return error;
    calls.push_back(std::move(call));
  }
  return calls;
}
