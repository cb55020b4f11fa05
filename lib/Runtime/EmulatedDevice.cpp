//===- EmulatedDevice.cpp - GPU kernels on the host, checked --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/EmulatedDevice.h"
#include "EmulatedCluster.h"
#include "EmulatedRoutines.h"
#include "EmulatedUnit.h"
#include "HostCode.h"
#include "Workspace.h"
#include "norm/Runtime/HostDevice.h"
#include "norm/Runtime/Workers.h"
#include "norm/Support/Targets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <chrono>
#include <cstring>
#include <mutex>

using namespace norm;
using namespace norm::emulated;

namespace {

/// Bytes before and after each buffer that belong to none.
constexpr uint64_t kGuard = 4096;
/// Host threads at most; each has stacks for all threads of a CTA.
constexpr unsigned kMaxHostThreads = 16;
/// Threads that are suspended at once: their stacks are mapped each by itself,
/// and systems allow 65530 mappings.
constexpr unsigned kMaxFibers = 16 << 10;

/// A buffer between guards.
class EmulatedBuffer final : public Buffer {
public:
  EmulatedBuffer(std::unique_ptr<Buffer> memory, uint64_t misalignment,
                 uint64_t bytes)
      : Buffer(memory->address() + kGuard + misalignment, bytes),
        memory(std::move(memory)), before(kGuard + misalignment) {}

  Buffer &host() const { return *memory; }
  uint64_t offset() const { return before; }

private:
  std::unique_ptr<Buffer> memory;
  uint64_t before;
};

/// What launches share with the device they come from.
struct Engine {
  explicit Engine(const EmulatedOptions &options)
      : options(options),
        workers(
            std::min(options.threads
                         ? options.threads
                         : llvm::hardware_concurrency().compute_thread_count(),
                     kMaxHostThreads)) {}

  llvm::Expected<std::unique_ptr<EmulatedBuffer>>
  allocate(uint64_t bytes, uint64_t misalignment = 0) {
    uint64_t total = llvm::SaturatingAdd(bytes, misalignment, 2 * kGuard);
    llvm::Expected<std::unique_ptr<Buffer>> memory = host->allocate(total);
    if (!memory)
      return memory.takeError();
    return std::make_unique<EmulatedBuffer>(std::move(*memory), misalignment,
                                            bytes);
  }

  /// CTAs of so many threads that can wait for each other.
  uint64_t residentCtas(unsigned threads) const {
    return std::min<uint64_t>(options.residentCtas, kMaxFibers / threads);
  }
  /// Frees what CTAs that wait for each other needed beyond the others: a
  /// process may have many devices, and their stacks add up.
  void trim() {
    std::lock_guard lock(mutex);
    if (idle.size() != ctas.size() || ctas.size() <= workers.count())
      return;
    ctas.resize(workers.count());
    idle.clear();
    for (const std::unique_ptr<Cta> &cta : ctas)
      idle.push_back(cta.get());
  }

  llvm::Expected<Cta *> take();
  void give(Cta *cta) {
    std::lock_guard lock(mutex);
    idle.push_back(cta);
  }

  EmulatedOptions options;
  std::unique_ptr<Device> host;
  Workers workers;
  std::mutex launching; ///< held by a launch that others may run beside
  std::mutex mutex;
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<Cta *> idle;
};

llvm::Expected<Cta *> Engine::take() {
  std::lock_guard lock(mutex);
  if (idle.empty()) {
    llvm::Expected<std::unique_ptr<Cta>> made = Cta::create();
    if (!made)
      return made.takeError();
    ctas.push_back(std::move(*made));
    idle.push_back(ctas.back().get());
  }
  Cta *cta = idle.back();
  idle.pop_back();
  return cta;
}

/// Some CTAs of the engine, which get them back.
class TakenCtas {
public:
  explicit TakenCtas(Engine &engine) : engine(engine) {}
  ~TakenCtas() {
    for (Cta *cta : ctas)
      engine.give(cta);
  }
  TakenCtas(const TakenCtas &) = delete;
  TakenCtas &operator=(const TakenCtas &) = delete;

  llvm::Error take(int64_t count, const KernelRun &launch) {
    while (int64_t(ctas.size()) < count) {
      llvm::Expected<Cta *> cta = engine.take();
      if (!cta)
        return cta.takeError();
      ctas.push_back(*cta);
      if (llvm::Error error = (*cta)->enter(launch))
        return error;
    }
    return llvm::Error::success();
  }
  llvm::ArrayRef<Cta *> get() const { return ctas; }

private:
  Engine &engine;
  std::vector<Cta *> ctas;
};

/// Loaded code.
struct Code {
  Manifest manifest;
  std::shared_ptr<HostCode> host;
  std::vector<Site> sites;
};

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

class EmulatedLaunch final : public PreparedLaunch {
public:
  EmulatedLaunch(std::shared_ptr<Engine> engine, std::shared_ptr<Code> code,
                 LaunchPlan plan, llvm::ArrayRef<BoundArgument> arguments,
                 std::shared_ptr<WorkspaceMemory> workspace)
      : engine(std::move(engine)), code(std::move(code)),
        workspace(std::move(workspace)),
        memory(this->code->manifest, arguments, plan) {
    launchPlan = std::move(plan);
  }

  llvm::Error run() override {
    memory.reset();
    moved.clear();
    if (llvm::Error error = clearCounters())
      return error;
    for (unsigned i = 0; i < launchPlan.kernels.size(); ++i)
      if (llvm::Error error = runKernel(i)) {
        workspace->invalidate();
        return error;
      }
    return llvm::Error::success();
  }

  llvm::Expected<Timing> time(unsigned index,
                              const TimingOptions &options) override;

  llvm::ArrayRef<KernelTraffic> traffic() const override { return moved; }

private:
  llvm::Error clearCounters() {
    return workspace->enter(launchPlan, [](uint64_t address, uint64_t bytes) {
      std::memset(reinterpret_cast<void *>(uintptr_t(address)), 0, bytes);
      return llvm::Error::success();
    });
  }
  llvm::Error runKernel(unsigned index);
  llvm::Error runCtas(const KernelRun &run, Findings &findings,
                      std::vector<AccessBytes> &totals);

  std::shared_ptr<Engine> engine;
  std::shared_ptr<Code> code;
  std::shared_ptr<WorkspaceMemory> workspace;
  GlobalMemory memory;
  std::vector<KernelTraffic> moved;
};

/// Spreads the CTAs over host threads.
llvm::Error EmulatedLaunch::runCtas(const KernelRun &run, Findings &findings,
                                    std::vector<AccessBytes> &totals) {
  std::mutex mutex;
  std::vector<AccessSpan> spans;
  std::vector<UsedCounter> counters;
  llvm::Error failure = llvm::Error::success();
  auto collect = [&](llvm::Error error) {
    std::lock_guard lock(mutex);
    failure = llvm::joinErrors(std::move(failure), std::move(error));
  };
  // Each host thread has the fibers of all CTAs that share a row.
  int64_t units = run.ctas / run.unit();
  int64_t most = std::max<int64_t>(1, kMaxFibers / (run.unit() * run.threads));
  int64_t grain =
      most < kMaxHostThreads ? llvm::divideCeil(units, most) : int64_t(1);
  engine->workers.forRanges(units, grain, [&](int64_t begin, int64_t end) {
    TakenCtas ctas(*engine);
    if (llvm::Error error = ctas.take(run.unit(), run))
      return collect(std::move(error));
    Unit unit(run, ctas.get());
    std::unique_ptr<Cluster> cluster;
    if (run.cluster > 1)
      if (llvm::Error error =
              Cluster::create(run, ctas.get()).moveInto(cluster))
        return collect(std::move(error));
    for (int64_t index = begin; index < end; ++index)
      cluster ? cluster->run(index) : unit.run(index);
    std::lock_guard lock(mutex);
    llvm::append_range(counters, unit.counters());
    for (Cta *cta : ctas.get()) {
      findings.merge(std::move(cta->findings));
      llvm::append_range(spans, cta->accesses.spans());
      for (auto [sum, part] : llvm::zip(totals, cta->totals)) {
        sum.read += part.read;
        sum.written += part.written;
      }
    }
  });
  engine->trim();
  reportSharedCounters(run, std::move(counters), findings);
  reportRacesBetweenCtas(run, std::move(spans), findings);
  return failure;
}

llvm::Error EmulatedLaunch::runKernel(unsigned index) {
  const KernelLaunch &launch = launchPlan.kernels[index];
  if (launch.empty()) {
    moved.emplace_back();
    return llvm::Error::success();
  }
  const Variant &variant =
      code->manifest.kernels[index].variants[launch.variant];
  memory.enter(index);
  KernelRun run;
  // The entries are found as those of host kernels; their type is another.
  run.entry = reinterpret_cast<EmulatedKernel *>(reinterpret_cast<void *>(
      code->host->kernel(launch.kernel, launch.variant)));
  run.params = launch.params.data();
  run.memory = &memory;
  run.sites = code->sites;
  run.threads = variant.block;
  run.ctas = int64_t(launch.groups * variant.cluster);
  run.cluster = int64_t(variant.cluster);
  run.split = int64_t(launch.split);
  run.dynamicShared = variant.dynamicShared;
  run.seed = engine->options.seed * 0x9e3779b97f4a7c15 + index;

  Findings findings;
  std::vector<AccessBytes> totals(memory.params().size());
  if (llvm::Error error = runCtas(run, findings, totals))
    return error;
  if (std::optional<uint64_t> byte = memory.firstUsedCounter())
    findings.add(FindingKind::UnitBarrier, Findings::kNoSite, -1, -1, [&] {
      return "doesn't leave the counters zero: byte " + llvm::utostr(*byte) +
             " of the workspace has another value";
    });
  // What a faulty kernel left undone follows from the fault.
  bool isFaulty = !findings.empty();
  Findings amounts;
  moved.push_back(memory.leave(launch, totals, amounts));
  if (!isFaulty)
    findings.merge(std::move(amounts));
  if (findings.empty())
    return llvm::Error::success();
  return llvm::make_error<EmulationError>(
      findings.take(variant.symbol, code->sites));
}

/// The time that the emulation takes, checks included.
llvm::Expected<Timing> EmulatedLaunch::time(unsigned index,
                                            const TimingOptions &options) {
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::duration<double, std::milli>;
  if (launchPlan.kernels[index].empty())
    return Timing{{0.0}};
  if (llvm::Error error = clearCounters())
    return error;
  std::vector<KernelTraffic> kept = moved;
  Timing timing;
  Clock::time_point start = Clock::now();
  for (unsigned i = 0; i < options.warmups + options.launches; ++i) {
    Clock::time_point begin = Clock::now();
    if (timing.milliseconds.size() >= 3 &&
        Milliseconds(begin - start).count() > options.budget)
      break;
    if (llvm::Error error = runKernel(index)) {
      workspace->invalidate();
      return error;
    }
    if (i >= options.warmups)
      timing.milliseconds.push_back(Milliseconds(Clock::now() - begin).count());
  }
  moved = std::move(kept);
  return timing;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

class EmulatedExecutable final : public Executable {
public:
  EmulatedExecutable(std::shared_ptr<Engine> engine,
                     std::shared_ptr<Code> loaded)
      : Executable(loaded->manifest), engine(std::move(engine)),
        code(std::move(loaded)) {}

  llvm::Expected<std::unique_ptr<PreparedLaunch>>
  prepare(llvm::ArrayRef<BoundArgument> arguments) override {
    std::shared_ptr<WorkspaceMemory> workspace;
    auto shared = [&](uint64_t bytes) -> llvm::Expected<uint64_t> {
      if (llvm::Error error =
              pool.get(bytes,
                       [&](uint64_t size) { return engine->allocate(size); })
                  .moveInto(workspace))
        return error;
      return workspace->address();
    };
    auto resident = [&](unsigned kernel, unsigned variant) {
      return residentCtas(kernel, variant);
    };
    LaunchResources resources;
    resources.workspace = shared;
    resources.residentCtas = resident;
    llvm::Expected<LaunchPlan> plan =
        planLaunch(description, arguments, resources);
    if (!plan)
      return plan.takeError();
    return std::make_unique<EmulatedLaunch>(engine, code, std::move(*plan),
                                            arguments, std::move(workspace));
  }

  llvm::Error enqueue(llvm::ArrayRef<BoundArgument> arguments,
                      const LaunchOptions &options) override {
    std::shared_ptr<WorkspaceMemory> workspace;
    auto own = [&](uint64_t bytes) -> llvm::Error {
      llvm::Expected<std::unique_ptr<EmulatedBuffer>> memory =
          engine->allocate(bytes);
      if (!memory)
        return memory.takeError();
      workspace = std::make_shared<WorkspaceMemory>(std::move(*memory));
      return llvm::Error::success();
    };
    llvm::Expected<LaunchPlan> plan =
        planWithWorkspace(arguments, options, own, workspace);
    if (!plan)
      return plan.takeError();
    if (!workspace)
      workspace = std::make_shared<WorkspaceMemory>(
          std::make_unique<BorrowedBuffer>(0, 0));
    std::lock_guard<std::mutex> lock(engine->launching);
    return EmulatedLaunch(engine, code, std::move(*plan), arguments,
                          std::move(workspace))
        .run();
  }

private:
  llvm::Error synchronize() override { return llvm::Error::success(); }
  uint64_t residentCtas(unsigned kernel, unsigned variant) const override {
    return engine->residentCtas(
        description.kernels[kernel].variants[variant].block);
  }

  std::shared_ptr<Engine> engine;
  std::shared_ptr<Code> code;
  WorkspacePool pool;
};

/// What the hardware would refuse to launch, of what manifests may say.
llvm::Error checkLimits(const Manifest &manifest, const GPUTarget &target) {
  for (const Kernel &kernel : manifest.kernels)
    for (const Variant &variant : kernel.variants) {
      uint64_t shared = variant.dynamicShared + variant.staticShared;
      if (shared > target.sharedPerCta ||
          variant.dynamicShared > SharedMemory::kDynamicBytes)
        return llvm::createStringError(
            "kernel '" + variant.symbol + "' needs " + llvm::Twine(shared) +
            " bytes of shared memory per CTA but " + target.name + " allows " +
            llvm::Twine(target.sharedPerCta));
      if (variant.cluster > target.mostClusterCtas())
        return llvm::createStringError(
            "kernel '" + variant.symbol + "' needs clusters of " +
            llvm::Twine(variant.cluster) + " CTAs but " + target.name +
            " allows " + llvm::Twine(target.mostClusterCtas()));
    }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

class EmulatedDevice final : public Device {
public:
  explicit EmulatedDevice(std::shared_ptr<Engine> engine)
      : engine(std::move(engine)) {}

  std::string name() const override { return "emulated"; }
  std::string target() const override { return engine->options.target; }
  bool isEmulated() const override { return true; }
  std::string description() const override {
    return "a GPU's threads on " + engine->host->description() + ", seed " +
           llvm::utostr(engine->options.seed);
  }

  llvm::Expected<std::unique_ptr<Buffer>>
  allocate(uint64_t bytes, uint64_t misalignment) override {
    return engine->allocate(bytes, misalignment);
  }
  llvm::Error fill(Buffer &buffer, uint8_t byte) override {
    // The guards hold nothing that a fill could spoil.
    return engine->host->fill(static_cast<EmulatedBuffer &>(buffer).host(),
                              byte);
  }
  llvm::Error copyIn(Buffer &buffer, uint64_t offset,
                     llvm::ArrayRef<uint8_t> bytes) override {
    if (llvm::Error error = checkRange(buffer, offset, bytes.size()))
      return error;
    auto &own = static_cast<EmulatedBuffer &>(buffer);
    return engine->host->copyIn(own.host(), own.offset() + offset, bytes);
  }
  llvm::Error copyOut(llvm::MutableArrayRef<uint8_t> bytes,
                      const Buffer &buffer, uint64_t offset) override {
    if (llvm::Error error = checkRange(buffer, offset, bytes.size()))
      return error;
    auto &own = static_cast<const EmulatedBuffer &>(buffer);
    return engine->host->copyOut(bytes, own.host(), own.offset() + offset);
  }
  llvm::Expected<std::unique_ptr<Executable>>
  load(llvm::StringRef code, const Manifest &manifest) override;
  llvm::Error synchronize() override { return llvm::Error::success(); }
  llvm::Expected<CopyRate> measureCopyRate(uint64_t bytes) override {
    return engine->host->measureCopyRate(bytes);
  }

private:
  static llvm::Error checkRange(const Buffer &buffer, uint64_t offset,
                                uint64_t bytes) {
    if (offset <= buffer.bytes() && bytes <= buffer.bytes() - offset)
      return llvm::Error::success();
    return llvm::createStringError("expects a copy within " +
                                   llvm::Twine(buffer.bytes()) +
                                   " bytes but got " + llvm::Twine(bytes) +
                                   " bytes at " + llvm::Twine(offset));
  }

  std::shared_ptr<Engine> engine;
};

llvm::Expected<std::unique_ptr<Executable>>
EmulatedDevice::load(llvm::StringRef code, const Manifest &manifest) {
  if (llvm::Error error = verifyManifest(manifest))
    return error;
  const GPUTarget *target = findGPUTarget(manifest.target);
  if (!target)
    return llvm::createStringError("the emulated device expects code for a "
                                   "GPU target but got " +
                                   manifest.target);
  if (llvm::Error error = checkLimits(manifest, *target))
    return error;
  auto loaded = std::make_shared<Code>();
  loaded->manifest = manifest;
  if (llvm::Error error = HostCode::link(code, manifest, emulatedRoutines())
                              .moveInto(loaded->host))
    return error;
  llvm::Expected<void *> sites = loaded->host->find("norm_emulated_sites");
  if (!sites)
    return sites.takeError();
  loaded->sites = readSites(static_cast<const char *>(*sites));
  return std::make_unique<EmulatedExecutable>(engine, std::move(loaded));
}

} // namespace

llvm::Expected<std::unique_ptr<Device>>
norm::openEmulatedDevice(const EmulatedOptions &options) {
  if (!findGPUTarget(options.target))
    return llvm::createStringError(
        "the emulated device expects a GPU target but got '" + options.target +
        "'");
  auto engine = std::make_shared<Engine>(options);
  if (llvm::Error error = openHostDevice().moveInto(engine->host))
    return error;
  return std::make_unique<EmulatedDevice>(std::move(engine));
}
