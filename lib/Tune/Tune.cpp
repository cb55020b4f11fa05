//===- Tune.cpp - The schedule that is fastest on a device ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Tune/Tune.h"

#include "Trial.h"

#include "norm/Support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>
#include <chrono>

using namespace norm;
using Clock = std::chrono::steady_clock;

/// Schedules whose neighbours are tried next, and those that are timed long.
static constexpr size_t kBeam = 3, kFinalists = 4;
/// Schedules that are compiled and timed side by side.
static constexpr size_t kBatch = 8;
/// A schedule that takes longer than the best by this share has no neighbours
/// worth a try.
static constexpr double kHopeless = 1.25;
/// Milliseconds that a measurement takes at most, for each schedule.
static constexpr double kShortBudget = 60, kLongBudget = 500;

double TuneProgress::share() const {
  double byCount = most ? double(tried) / most : 0;
  double byTime = limit > 0 ? seconds / limit : 0;
  return (program + std::clamp(std::max(byCount, byTime), 0.0, 1.0)) /
         std::max(programs, 1u);
}

static TuningFile collect(llvm::ArrayRef<TunedProgram> programs, bool areKept) {
  TuningFile file;
  for (const TunedProgram &program : programs)
    if (program.isKept == areKept)
      file.add(program.entry);
  return file;
}

TuningFile TuneOutcome::found() const { return collect(programs, true); }
TuningFile TuneOutcome::superseded() const { return collect(programs, false); }

llvm::Error norm::checkTunable(const Device &device) {
  if (device.target() != "host")
    return llvm::Error::success();
  return llvm::createStringError(
      "expects a GPU or the emulated device for tuning but got " +
      device.name() + ", whose schedules have nothing to tune");
}

namespace {

/// A schedule of the program that is being tuned.
struct Candidate {
  Schedule schedule;
  std::unique_ptr<Trial> trial; ///< null for the model's
  double ratio = 1;
  bool isExpanded = false;
};

/// The search for all programs of a text.
class Search {
public:
  Search(TrialBench &bench, const TuneOptions &options)
      : bench(bench), options(options) {}

  llvm::Expected<TuneOutcome> execute(llvm::ArrayRef<ScheduleDecision> all);

private:
  llvm::Expected<TunedProgram> tuneProgram(const ScheduleDecision &decision);
  /// Tries schedules; the ones that run become candidates.
  llvm::Error tryAll(llvm::ArrayRef<Schedule> schedules);
  llvm::Error tryBatch(llvm::ArrayRef<Schedule> schedules);
  /// What is worth a try next.
  llvm::Expected<std::vector<Schedule>> expand();
  std::vector<Schedule> known() const;
  llvm::Expected<TunedProgram> choose();
  /// Takes what was chosen so far for what others are compared with.
  llvm::Error rebase();

  /// Whether the program was compiled with this schedule.
  bool hasSchedule(const Artifact &artifact, const Schedule &schedule) const {
    return llvm::any_of(
        artifact.schedules, [&](const ScheduleDecision &decision) {
          return decision.program == program->program &&
                 toString(decision.schedule) == toString(schedule);
        });
  }
  TuningEntry makeEntry(const Schedule &schedule) const;
  bool isOver() const { return tried >= options.candidates || isLate(); }
  bool isLate() const { return elapsed() >= deadline; }
  double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  void report();

  TrialBench &bench;
  const TuneOptions &options;
  Clock::time_point start = Clock::now();
  TuneOutcome outcome;
  /// What was chosen for the programs before.
  TuningFile chosen;
  // Of the program at hand.
  const ScheduleDecision *program = nullptr;
  std::vector<Candidate> candidates; ///< the best first; the model's among them
  llvm::StringSet<> seen;
  unsigned tried = 0;
  double began = 0, deadline = 0; ///< seconds since the start
  unsigned numPrograms = 1;
};

} // namespace

TuningEntry Search::makeEntry(const Schedule &schedule) const {
  TuningEntry entry;
  entry.device = bench.compileOptions().device;
  entry.target = bench.compileOptions().target;
  entry.norm = versionString().str();
  entry.program = program->program;
  entry.what = program->what;
  entry.order = program->order;
  entry.model = toString(program->schedule);
  entry.schedule = toString(schedule);
  return entry;
}

void Search::report() {
  if (!options.progress)
    return;
  TuneProgress progress;
  progress.tried = tried;
  progress.most = options.candidates;
  progress.program = unsigned(outcome.programs.size());
  progress.programs = numPrograms;
  progress.seconds = elapsed() - began;
  progress.limit = deadline - began;
  if (!candidates.empty())
    progress.gain = std::max(0.0, 1 - candidates.front().ratio);
  options.progress(progress);
}

llvm::Error Search::tryBatch(llvm::ArrayRef<Schedule> schedules) {
  std::vector<TuningFile> files;
  for (const Schedule &schedule : schedules) {
    files.push_back(chosen);
    files.back().add(makeEntry(schedule));
  }
  std::vector<std::optional<Artifact>> artifacts = bench.compile(files);
  std::vector<Candidate> fresh;
  for (auto [schedule, artifact] : llvm::zip(schedules, artifacts)) {
    // What takes long shouldn't be done eight times.
    if (isLate() && !fresh.empty())
      break;
    ++tried;
    if (!artifact || !hasSchedule(*artifact, schedule)) {
      ++outcome.refused;
      continue;
    }
    std::string fault;
    llvm::Expected<std::unique_ptr<Trial>> trial = bench.load(*artifact, fault);
    if (!trial)
      return trial.takeError();
    if (!fault.empty()) {
      outcome.faults.push_back("schedule '" + toString(schedule) + "' of " +
                               program->what + ": " + fault);
      continue;
    }
    if (!*trial) {
      ++outcome.refused;
      continue;
    }
    ++outcome.tried;
    fresh.push_back({schedule, std::move(*trial)});
  }
  std::vector<Trial *> trials;
  for (Candidate &candidate : fresh)
    trials.push_back(candidate.trial.get());
  if (trials.empty())
    return llvm::Error::success();
  if (llvm::Error error = bench.time(trials, options.shortRounds,
                                     kShortBudget * double(trials.size() + 1)))
    return error;
  for (Candidate &candidate : fresh) {
    candidate.ratio = candidate.trial->ratio();
    candidates.push_back(std::move(candidate));
  }
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    return std::pair(a.ratio, toString(a.schedule)) <
           std::pair(b.ratio, toString(b.schedule));
  });
  // Code and graphs of those that won't be chosen needn't be kept.
  for (Candidate &candidate :
       llvm::MutableArrayRef(candidates)
           .drop_front(std::min(candidates.size(), 2 * kFinalists)))
    candidate.trial.reset();
  return llvm::Error::success();
}

llvm::Error Search::tryAll(llvm::ArrayRef<Schedule> schedules) {
  while (!schedules.empty() && !isOver()) {
    size_t count = std::min<size_t>(
        {kBatch, schedules.size(), size_t(options.candidates - tried)});
    if (llvm::Error error = tryBatch(schedules.take_front(count)))
      return error;
    schedules = schedules.drop_front(count);
    report();
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<Schedule>> Search::expand() {
  std::vector<Schedule> next;
  for (Candidate &candidate :
       llvm::MutableArrayRef(candidates)
           .take_front(std::min(candidates.size(), kBeam))) {
    if (candidate.isExpanded ||
        candidate.ratio > kHopeless * candidates.front().ratio)
      continue;
    candidate.isExpanded = true;
    llvm::Expected<std::vector<Schedule>> neighbours = neighbouringSchedules(
        candidate.schedule, program->facts, program->limits,
        bench.compileOptions().target, options.compile.schedule);
    if (!neighbours)
      return neighbours.takeError();
    for (const Schedule &schedule : *neighbours)
      if (seen.insert(toString(schedule)).second)
        next.push_back(schedule);
  }
  return next;
}

/// The schedules that tuning files have for the program.
std::vector<Schedule> Search::known() const {
  const CompileOptions &compile = options.compile;
  TuningKey key{bench.compileOptions().device, bench.compileOptions().target,
                program->program};
  std::vector<std::string> texts;
  if (compile.tuning)
    if (const TuningEntry *entry = compile.tuning->find(key))
      texts.push_back(entry->schedule);
  if (compile.usesShippedTuning)
    if (std::optional<TuningEntry> entry = findInTexts(shippedTunings(), key))
      texts.push_back(entry->schedule);
  std::vector<Schedule> schedules;
  for (const std::string &text : texts) {
    Schedule schedule;
    llvm::Error error = overrideSchedule(schedule, text);
    if (!error)
      error = overrideSchedule(schedule, compile.schedule);
    if (!error)
      error =
          checkSchedule(schedule, program->facts, program->limits, key.target);
    if (!error)
      schedules.push_back(schedule);
    llvm::consumeError(std::move(error));
  }
  return schedules;
}

llvm::Expected<TunedProgram> Search::choose() {
  TunedProgram result;
  result.entry = makeEntry(program->schedule);
  std::vector<Trial *> trials;
  std::vector<const Candidate *> finalists;
  for (const Candidate &candidate : candidates)
    if (candidate.trial && trials.size() < (bench.isSlow() ? 1 : kFinalists)) {
      trials.push_back(candidate.trial.get());
      finalists.push_back(&candidate);
    }
  if (llvm::Error error = bench.time(trials, options.longRounds,
                                     kLongBudget * double(trials.size() + 1)))
    return std::move(error);
  const Candidate *best = nullptr;
  for (const Candidate *candidate : finalists) {
    const Trial &trial = *candidate->trial;
    // Faster by more than noise, and slower nowhere.
    bool isSlower = llvm::any_of(trial.ratios, [&](double ratio) {
      return ratio > 1 + options.leastGain;
    });
    if (!isSlower && trial.ratio() < 1 - options.leastGain &&
        (!best || trial.ratio() < best->trial->ratio()))
      best = candidate;
  }
  const std::vector<double> &models = bench.model().microseconds;
  llvm::ArrayRef<double> tuned = models;
  if (best) {
    result.entry = makeEntry(best->schedule);
    result.isFaster = true;
    result.gain = 1 - best->trial->ratio();
    tuned = best->trial->microseconds;
  }
  // Who wants the model's in spite of a shipped one has to say so.
  result.isKept = best || findInTexts(shippedTunings(),
                                      {result.entry.device, result.entry.target,
                                       result.entry.program});
  for (unsigned call = 0; call < bench.numCalls(); ++call)
    result.entry.times.push_back(
        {bench.describeCall(call), models[call], tuned[call]});
  return result;
}

llvm::Expected<TunedProgram>
Search::tuneProgram(const ScheduleDecision &decision) {
  program = &decision;
  tried = 0;
  seen.clear();
  seen.insert(toString(decision.schedule));
  candidates.clear();
  candidates.push_back({decision.schedule, nullptr});
  std::vector<Schedule> next;
  for (const Schedule &schedule : known())
    if (seen.insert(toString(schedule)).second)
      next.push_back(schedule);
  report();
  while (true) {
    if (llvm::Error error = tryAll(next))
      return std::move(error);
    if (isOver())
      break;
    if (llvm::Error error = expand().moveInto(next))
      return std::move(error);
    if (next.empty())
      break;
  }
  outcome.hasTimedOut |= isLate();
  return choose();
}

llvm::Error Search::rebase() {
  std::vector<std::optional<Artifact>> artifacts = bench.compile(chosen);
  std::string fault;
  if (!artifacts.front())
    return llvm::Error::success();
  llvm::Expected<std::unique_ptr<Trial>> trial =
      bench.load(*artifacts.front(), fault);
  if (!trial)
    return trial.takeError();
  if (*trial && fault.empty())
    bench.rebase(std::move(*trial));
  return llvm::Error::success();
}

llvm::Expected<TuneOutcome>
Search::execute(llvm::ArrayRef<ScheduleDecision> all) {
  llvm::StringSet<> hashes;
  llvm::SmallVector<const ScheduleDecision *> programs;
  for (const ScheduleDecision &decision : all)
    // Programs that are the same have one schedule.
    if (decision.source != ScheduleSource::Given &&
        hashes.insert(decision.program).second)
      programs.push_back(&decision);
  numPrograms = unsigned(programs.size());
  for (const auto &[index, decision] : llvm::enumerate(programs)) {
    // What one program doesn't need of its share is left to the others.
    began = elapsed();
    deadline =
        began + (options.seconds - began) / double(programs.size() - index);
    llvm::Expected<TunedProgram> tuned = tuneProgram(*decision);
    if (!tuned)
      return tuned.takeError();
    if (tuned->isFaster) {
      chosen.add(tuned->entry);
      if (llvm::Error error = rebase())
        return std::move(error);
    }
    outcome.programs.push_back(std::move(*tuned));
  }
  if (outcome.programs.empty())
    return llvm::createStringError(
        "expects a program without a schedule for tuning but got none");
  return std::move(outcome);
}

llvm::Expected<TuneOutcome> norm::tune(
    Device &device, llvm::StringRef text, llvm::StringRef fileName,
    llvm::function_ref<llvm::Expected<std::vector<std::unique_ptr<TunedCall>>>(
        const Manifest &)>
        makeCalls,
    const TuneOptions &options) {
  if (llvm::Error error = checkTunable(device))
    return std::move(error);
  CompileOptions compile = options.compile;
  // The default is no target that could be meant here.
  if (compile.target.empty() || compile.target == "host")
    compile.target = device.target();
  if (compile.driverVersion == 0)
    compile.driverVersion = device.driverVersion();
  if (compile.device.empty())
    compile.device = device.product();
  compile.emulate = device.isEmulated();
  compile.explain = false;
  TrialBench bench(device, text, fileName, compile);
  llvm::Expected<Artifact> model = bench.compileModel();
  if (!model)
    return model.takeError();
  llvm::Expected<std::vector<std::unique_ptr<TunedCall>>> calls =
      makeCalls(model->manifest);
  if (!calls)
    return calls.takeError();
  if (llvm::Error error = bench.begin(*model, std::move(*calls)))
    return std::move(error);
  return Search(bench, options).execute(model->schedules);
}
