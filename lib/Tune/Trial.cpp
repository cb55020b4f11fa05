//===- Trial.cpp - One schedule, compiled and timed -----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trial.h"

#include "norm/Runtime/EmulatedDevice.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/ThreadPool.h"
#include <algorithm>
#include <chrono>
#include <cmath>

using namespace norm;

/// A call of so many times the cache evicts its own traces.
static constexpr uint64_t kStreamingFactor = 4;
/// Memory that calls go through before they come back to a set, in sizes of the
/// cache.
static constexpr uint64_t kRotationFactor = 3;
static constexpr unsigned kMostSets = 64;
/// Milliseconds from which a call is slow.
static constexpr double kSlow = 20;
/// Short calls that are timed together, at least: events are too coarse for
/// one.
static constexpr unsigned kGraphCalls = 16;

TunedCall::~TunedCall() = default;

unsigned norm::coldSets(const DeviceFacts &facts, uint64_t bytes) {
  if (facts.cacheBytes == 0 || bytes >= kStreamingFactor * facts.cacheBytes)
    return 1;
  return unsigned(
      std::clamp<uint64_t>(llvm::divideCeil(kRotationFactor * facts.cacheBytes,
                                            std::max<uint64_t>(bytes, 1)),
                           1, kMostSets));
}

double Trial::ratio() const {
  double sum = 0;
  for (double one : ratios)
    sum += std::log(one);
  return std::exp(sum / double(std::max<size_t>(ratios.size(), 1)));
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

llvm::Expected<Artifact> TrialBench::compileModel() {
  CompileOptions model = options;
  model.tuning = nullptr;
  model.usesShippedTuning = false;
  return compilers.compile(text, fileName, model);
}

std::vector<std::optional<Artifact>>
TrialBench::compile(llvm::ArrayRef<TuningFile> files) {
  std::vector<std::optional<Artifact>> artifacts(files.size());
  llvm::DefaultThreadPool pool;
  for (size_t i = 0; i < files.size(); ++i)
    pool.async([&, i] {
      CompileOptions with = options;
      with.tuning = std::make_shared<const TuningFile>(files[i]);
      with.usesShippedTuning = false;
      llvm::Expected<Artifact> artifact =
          compilers.compile(text, fileName, with);
      if (artifact)
        artifacts[i] = std::move(*artifact);
      else
        llvm::consumeError(artifact.takeError());
    });
  pool.wait();
  return artifacts;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

llvm::Expected<std::unique_ptr<Trial>>
TrialBench::prepare(const Artifact &artifact) {
  auto trial = std::make_unique<Trial>();
  llvm::Expected<std::unique_ptr<Executable>> executable =
      device.load(artifact.code, artifact.manifest);
  if (!executable)
    return executable.takeError();
  trial->executable = std::move(*executable);
  return trial;
}

/// The results of one call on fresh memory.
llvm::Expected<std::vector<uint8_t>> TrialBench::run(Trial &trial,
                                                     unsigned call) {
  if (llvm::Error error = calls[call]->reset())
    return error;
  if (llvm::Error error = trial.executable->launch(calls[call]->arguments(0)))
    return error;
  return calls[call]->results();
}

llvm::Expected<DeviceWork> TrialBench::makeWork(Trial &trial, unsigned call) {
  std::vector<std::shared_ptr<PreparedLaunch>> launches;
  for (unsigned set = 0; set < calls[call]->sets(); ++set) {
    llvm::Expected<std::unique_ptr<PreparedLaunch>> prepared =
        trial.executable->prepare(calls[call]->arguments(set));
    if (!prepared)
      return prepared.takeError();
    launches.push_back(std::move(*prepared));
  }
  unsigned count = repeats[call];
  // The code must outlive its launches.
  DeviceWork work = [executable = trial.executable,
                     launches = std::move(launches), count]() -> llvm::Error {
    for (unsigned i = 0; i < count; ++i)
      if (llvm::Error error = launches[i % launches.size()]->run())
        return error;
    return llvm::Error::success();
  };
  if (count == 1)
    return work;
  if (llvm::Error error = work())
    return error;
  if (llvm::Error error = device.synchronize())
    return error;
  return device.record(std::move(work));
}

llvm::Error TrialBench::makeWorks(Trial &trial) {
  for (unsigned call = 0; call < calls.size(); ++call)
    if (llvm::Error error =
            makeWork(trial, call).moveInto(trial.works.emplace_back()))
      return error;
  return llvm::Error::success();
}

llvm::Error
TrialBench::begin(const Artifact &artifact,
                  std::vector<std::unique_ptr<TunedCall>> madeCalls) {
  calls = std::move(madeCalls);
  llvm::Expected<std::unique_ptr<Trial>> trial = prepare(artifact);
  if (!trial)
    return trial.takeError();
  modelTrial = std::move(*trial);
  for (unsigned call = 0; call < calls.size(); ++call) {
    auto start = std::chrono::steady_clock::now();
    if (llvm::Error error =
            run(*modelTrial, call).moveInto(wanted.emplace_back()))
      return error;
    // A GPU's first call takes long too, but that is over then.
    std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - start;
    slow |= device.isEmulated() && took.count() > kSlow;
    llvm::Expected<std::unique_ptr<PreparedLaunch>> prepared =
        modelTrial->executable->prepare(calls[call]->arguments(0));
    if (!prepared)
      return prepared.takeError();
    uint64_t bytes = 0, cache = device.facts().cacheBytes;
    for (const KernelLaunch &kernel : (*prepared)->plan().kernels)
      bytes += kernel.minimalBytes;
    bool isLong = bytes >= kStreamingFactor * cache;
    repeats.push_back(
        isLong ? 1 : unsigned(llvm::alignTo(kGraphCalls, calls[call]->sets())));
  }
  return makeWorks(*modelTrial);
}

/// Compares every byte with what the model's schedules give.
llvm::Error TrialBench::check(Trial &trial, std::string &fault) {
  for (unsigned call = 0; call < calls.size(); ++call) {
    llvm::Expected<std::vector<uint8_t>> got = run(trial, call);
    if (!got)
      return got.takeError();
    const std::vector<uint8_t> &want = wanted[call];
    if (*got == want)
      continue;
    size_t at =
        std::mismatch(got->begin(), got->end(), want.begin(), want.end())
            .first -
        got->begin();
    fault = ("other bits than with the model's schedule, from byte " +
             llvm::Twine(at) + " of the results of " + calls[call]->describe())
                .str();
    return llvm::Error::success();
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Trial>>
TrialBench::load(const Artifact &artifact, std::string &fault) {
  llvm::Expected<std::unique_ptr<Trial>> trial = prepare(artifact);
  llvm::Error error = trial.takeError();
  if (!error)
    error = check(**trial, fault);
  if (!error && fault.empty())
    error = makeWorks(**trial);
  if (!error)
    return trial;
  // A fault that the emulated device finds is one of ours.
  error =
      llvm::handleErrors(std::move(error), [&](const EmulationError &found) {
        fault = llvm::StringRef(found.message()).split('\n').first.str();
      });
  llvm::consumeError(std::move(error));
  // Somebody's limit; but a device that has failed fails from then on.
  if (llvm::Error broken = device.synchronize())
    return std::move(broken);
  return nullptr;
}

llvm::Error TrialBench::time(llvm::ArrayRef<Trial *> trials, unsigned rounds,
                             double budget) {
  for (Trial *trial : trials) {
    trial->microseconds.clear();
    trial->ratios.clear();
  }
  modelTrial->microseconds.clear();
  for (unsigned call = 0; call < calls.size(); ++call) {
    std::vector<DeviceWork> works = {modelTrial->works[call]};
    for (Trial *trial : trials)
      works.push_back(trial->works[call]);
    TurnOptions turns;
    turns.warmups = slow ? 0 : 2;
    turns.launches = rounds;
    turns.budget = budget;
    llvm::Expected<std::vector<Timing>> timings =
        device.timeInTurns(works, turns);
    if (!timings)
      return timings.takeError();
    double each = 1e3 / repeats[call];
    const Timing &model = timings->front();
    modelTrial->microseconds.push_back(model.median() * each);
    for (auto [trial, timing] :
         llvm::zip(trials, llvm::ArrayRef(*timings).drop_front())) {
      Timing shares;
      for (auto [own, models] :
           llvm::zip(timing.milliseconds, model.milliseconds))
        shares.milliseconds.push_back(models > 0 ? own / models : 1);
      trial->microseconds.push_back(timing.median() * each);
      trial->ratios.push_back(shares.median());
    }
  }
  return llvm::Error::success();
}
