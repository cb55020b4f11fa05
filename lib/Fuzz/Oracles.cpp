//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Fuzz/Oracles.h"
#include "Execution.h"
#include "Inputs.h"
#include "norm/Runtime/EmulatedDevice.h"
#include "norm/Runtime/HostDevice.h"
#include "norm/Runtime/Workers.h"
#include "norm/Tools/NormRunCheck.h"
#include "norm/Tools/NormRunData.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>

using namespace norm;
using namespace norm::fuzz;

llvm::StringRef fuzz::toString(Outcome::Kind kind) {
  switch (kind) {
  case Outcome::Kind::Passed:
    return "passed";
  case Outcome::Kind::Refused:
    return "refused";
  case Outcome::Kind::Differed:
    return "differed";
  case Outcome::Kind::Faulty:
    return "found faulty";
  case Outcome::Kind::Crashed:
    return "crashed";
  case Outcome::Kind::TimedOut:
    return "timed out";
  }
  llvm_unreachable("covered switch");
}

llvm::Expected<std::unique_ptr<Device>>
fuzz::openNamedDevice(llvm::StringRef name, unsigned hostThreads) {
  if (name == "host")
    return openHostDevice(hostThreads);
  if (name == "emulated") {
    EmulatedOptions options;
    options.threads = hostThreads;
    return openEmulatedDevice(options);
  }
  return openDevice(name);
}

namespace {

struct Results {
  Manifest manifest;
  /// Of each kernel that the compiler scheduled, the strands that sum rows.
  std::vector<int64_t> strands;
  tools::CallData data;
  std::vector<HostTensor> tensors;
};

/// Adds the time of its life to a step.
class StepTimer {
public:
  StepTimer(std::map<std::string, double> &steps, std::string name)
      : total(steps[std::move(name)]) {}
  ~StepTimer() {
    total +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
  }

private:
  double &total;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

/// Why an execution has no result.
struct Refusal {
  std::string text;
  Outcome::Kind kind = Outcome::Kind::Refused;
  /// The target has too little of something for the schedule: no fault.
  bool noRoom = false;
};

/// A program on a device.
struct Loaded {
  std::shared_ptr<const Artifact> artifact;
  std::shared_ptr<Executable> executable;
};

} // namespace

/// Host threads mean nothing to a GPU.
static std::string deviceKey(llvm::StringRef name, unsigned threads) {
  bool isGPU = name != "host" && name != "emulated";
  return llvm::formatv("{0}/{1}", name, isGPU ? 0 : threads);
}

class Oracles::Impl {
public:
  explicit Impl(unsigned hostThreads) : hostThreads(hostThreads) {}

  Outcome run(const Case &made, llvm::function_ref<void(llvm::StringRef)> tell);

private:
  llvm::Expected<Device *> device(const Execution &execution);
  llvm::Expected<std::shared_ptr<const Artifact>>
  compile(const Execution &execution, const CompileOptions &options);
  llvm::Expected<Loaded> load(const Execution &execution, Device &device);
  std::optional<Refusal> launch(const Execution &execution,
                                const Loaded &loaded, Device &device,
                                Results &results);
  std::optional<Refusal> execute(const Execution &execution, Results &results);
  std::string compareWithReference(const Execution &execution,
                                   llvm::StringRef text,
                                   const Results &results);

  Compiler compiler;
  unsigned hostThreads;
  Workers workers{1};
  llvm::StringMap<std::unique_ptr<Device>> devices;
  std::set<unsigned> extraThreads; ///< of devices other than `hostThreads`
  // Of the case at hand. Artifacts by device, schedule, steps and text.
  std::map<std::tuple<std::string, std::string, uint64_t, std::string>,
           std::shared_ptr<const Artifact>>
      artifacts;
  std::map<std::pair<Device *, std::shared_ptr<const Artifact>>,
           std::shared_ptr<Executable>>
      executables;
  std::map<std::string, double> steps;
};

llvm::Expected<Device *> Oracles::Impl::device(const Execution &execution) {
  unsigned threads =
      execution.hostThreads ? execution.hostThreads : hostThreads;
  std::unique_ptr<Device> &entry =
      devices[deviceKey(execution.device, threads)];
  if (entry)
    return entry.get();
  if (threads != hostThreads)
    extraThreads.insert(threads);
  StepTimer timer(steps, execution.device + " open");
  if (llvm::Error error =
          openNamedDevice(execution.device, threads).moveInto(entry))
    return std::move(error);
  return entry.get();
}

/// The execution without rows apart where the function has fixed strides.
static Execution withPossibleLayouts(Execution execution,
                                     const Manifest &manifest) {
  for (auto [layout, argument] :
       llvm::zip(execution.layouts, manifest.arguments))
    if (argument.strides.empty() || argument.contiguous ||
        argument.strides.front() != kDynamic)
      layout.padding = 0;
  return execution;
}

/// Whether a schedule can't be had for this size, which the compiler may say.
static bool isNoRoom(llvm::StringRef message) {
  return message.contains("schedule needs") ||
         message.contains("expects residency stream") ||
         message.contains("lanes per step") ||
         message.contains("of a group in a step") ||
         message.contains("threads per CTA but got") ||
         message.contains("expects whole warps per CTA") ||
         message.contains("expects one thread, and whole groups") ||
         message.contains("expects 'residency' to be stream on the host") ||
         message.contains("expects 'threads' and 'rows_per_cta' to be 1") ||
         message.contains("expects 'threads' to be a power of two from 1") ||
         message.contains("expects 'vector' to") ||
         message.contains("expects 'rows_per_cta' to be a multiple") ||
         message.contains("expects 'split' to be") ||
         message.contains("the strands of a worker that sums rows") ||
         message.contains("expects residency registers where rows are") ||
         message.contains("expects 'cluster' to be 1") ||
         message.contains("static columns for a cluster") ||
         message.contains("of one row in a cluster") ||
         message.contains("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
}

/// Boundaries of the compiler's: some programs access single nibbles; a
/// backward may keep channels in groups of an unknown size in memory, or need
/// an unknown extent in a program without the dim.
static bool isBoundary(llvm::StringRef message, bool backward) {
  if (backward && message.contains("of a kernel to have row dim"))
    return true;
  return message.contains("share a byte") ||
         message.contains("extents of a temporary to be those of arguments");
}

/// Bytes of PTX that the driver compiles in a few seconds.
static constexpr size_t kLongCode = 1 << 20;

static Refusal refuse(const Execution &execution, llvm::Error error) {
  Refusal refusal;
  if (error.isA<EmulationError>())
    refusal.kind = Outcome::Kind::Faulty;
  refusal.text = llvm::toString(std::move(error));
  refusal.noRoom = (!execution.schedule.empty() || execution.steps) &&
                   isNoRoom(refusal.text);
  return refusal;
}

llvm::Expected<std::shared_ptr<const Artifact>>
Oracles::Impl::compile(const Execution &execution,
                       const CompileOptions &options) {
  uint64_t steps = options.tuning ? execution.steps : 0;
  std::shared_ptr<const Artifact> &artifact =
      artifacts[{execution.device, execution.schedule, steps, execution.text}];
  if (artifact)
    return artifact;
  StepTimer timer(this->steps, execution.device + " compile");
  llvm::Expected<Artifact> made =
      compiler.compile(execution.text, "fuzz.mlir", options);
  if (!made)
    return made.takeError();
  artifact = std::make_shared<const Artifact>(std::move(*made));
  return artifact;
}

/// The program of an execution; one that was compiled or loaded for this case
/// already is taken again.
llvm::Expected<Loaded> Oracles::Impl::load(const Execution &execution,
                                           Device &device) {
  CompileOptions options = optionsFor(execution, device);
  std::shared_ptr<const Artifact> artifact;
  if (llvm::Error error = compile(execution, options).moveInto(artifact))
    return std::move(error);
  if (execution.steps) {
    options.tuning = std::make_shared<const TuningFile>(
        drawSchedules(execution, device, *artifact));
    options.device = device.product();
    if (llvm::Error error = compile(execution, options).moveInto(artifact))
      return std::move(error);
  }
  // The time that the driver's compiler takes grows faster than the code.
  if ((!execution.schedule.empty() || execution.steps) && !options.emulate &&
      options.target != "host" && artifact->code.size() > kLongCode)
    return llvm::createStringError("schedule needs too much code");
  std::shared_ptr<Executable> &executable = executables[{&device, artifact}];
  if (!executable) {
    StepTimer timer(steps, execution.device + " load");
    llvm::Expected<std::unique_ptr<Executable>> made =
        device.load(artifact->code, artifact->manifest);
    if (!made)
      return made.takeError();
    executable = std::move(*made);
  }
  return Loaded{artifact, executable};
}

/// Launches a loaded program as often as the execution says.
std::optional<Refusal> Oracles::Impl::launch(const Execution &execution,
                                             const Loaded &loaded,
                                             Device &device, Results &results) {
  for (unsigned launch = 0; launch < execution.launches; ++launch) {
    llvm::Expected<tools::DeviceCall> call =
        tools::DeviceCall::create(device, results.manifest, results.data);
    if (!call)
      return refuse(execution, call.takeError());
    if (llvm::Error error = loaded.executable->launch(call->arguments()))
      return refuse(execution, std::move(error));
    llvm::Expected<std::vector<HostTensor>> tensors =
        call->readResults(workers);
    if (!tensors)
      return refuse(execution, tensors.takeError());
    for (auto [i, tensor] : llvm::enumerate(*tensors)) {
      if (!tensor.guardsIntact())
        return Refusal{
            llvm::formatv("bytes beside the elements of result {0} were "
                          "written",
                          i),
            Outcome::Kind::Differed};
      if (launch == 0)
        continue;
      tools::ResultCheck check = tools::checkBits(tensor, results.tensors[i]);
      if (!check.passed)
        return Refusal{llvm::formatv("launch {0} gives other bits than the "
                                     "first: result {1}, {2}",
                                     launch, i, check.line),
                       Outcome::Kind::Differed};
    }
    if (launch == 0)
      results.tensors = std::move(*tensors);
  }
  return std::nullopt;
}

std::optional<Refusal> Oracles::Impl::execute(const Execution &execution,
                                              Results &results) {
  llvm::Expected<Device *> device = this->device(execution);
  if (!device)
    return refuse(execution, device.takeError());
  llvm::Expected<Loaded> loaded = load(execution, **device);
  if (!loaded)
    return refuse(execution, loaded.takeError());
  results.manifest = loaded->artifact->manifest;
  for (const ScheduleDecision &decision : loaded->artifact->schedules)
    results.strands.push_back(decision.facts.strands);
  {
    StepTimer timer(steps, "data");
    llvm::Expected<tools::CallData> data =
        makeCall(withPossibleLayouts(execution, results.manifest), workers);
    if (!data)
      return refuse(execution, data.takeError());
    results.data = std::move(*data);
  }
  StepTimer timer(steps, execution.device + " run");
  return launch(execution, *loaded, **device, results);
}

std::string Oracles::Impl::compareWithReference(const Execution &execution,
                                                llvm::StringRef text,
                                                const Results &results) {
  StepTimer timer(steps, "reference");
  llvm::Expected<std::vector<tools::ResultCheck>> checks =
      tools::checkReference(text, "fuzz.mlir", execution.entry,
                            results.manifest, results.data, results.tensors);
  if (!checks)
    return "the reference says: " + llvm::toString(checks.takeError());
  for (auto [i, check] : llvm::enumerate(*checks))
    if (!check.passed)
      return llvm::formatv("result {0}: {1}", i, check.line);
  return "";
}

namespace {
/// One element, by its number in C order.
struct Element {
  const HostTensor &tensor;
  int64_t row, column;

  Element(const HostTensor &tensor, int64_t flat)
      : tensor(tensor), row(flat / tensor.columns()),
        column(flat % tensor.columns()) {}
  double value() const { return tensor.value(row, column); }
  const uint8_t *bytes() const {
    return tensor.row(row) + column * int64_t(byteSize(tensor.dtype()));
  }
  /// The same bits, or two NaNs. Each value of a packed type has one pattern.
  bool operator==(const Element &other) const {
    if (isPacked(tensor.dtype()))
      return llvm::bit_cast<uint64_t>(value()) ==
             llvm::bit_cast<uint64_t>(other.value());
    return std::memcmp(bytes(), other.bytes(), byteSize(tensor.dtype())) == 0 ||
           (std::isnan(value()) && std::isnan(other.value()));
  }
};
} // namespace

static std::string digits(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", value);
  return text;
}

/// Compares a variant's result, the leading indices from `firstIndex` on, with
/// the first run's.
static std::string compareBits(const HostTensor &first, const HostTensor &other,
                               int64_t firstIndex) {
  int64_t skipped =
      firstIndex == 0
          ? 0
          : firstIndex * (first.numElements() / first.shape().front());
  int64_t different = 0;
  std::string text;
  for (int64_t flat = 0; flat < other.numElements(); ++flat) {
    Element a(first, flat + skipped), b(other, flat);
    if (!(a == b) && different++ == 0)
      text = "first " + tools::printIndex(first.shape(), flat + skipped) +
             ": " + digits(b.value()) + " but the first run has " +
             digits(a.value());
  }
  if (different == 0)
    return "";
  return llvm::formatv("{0} of {1} elements have other bits, {2}", different,
                       other.numElements(), text);
}

/// Whether both runs have the same reductions. A further result may change
/// what is fused, and with that the narrowest streamed input.
static bool haveSameOrders(const Manifest &a, const Manifest &b) {
  return llvm::equal(
      a.kernels, b.kernels,
      [](const Kernel &x, const Kernel &y) { return x.order == y.order; });
}

/// Whether an order across memory stands beside another order: it depends on
/// which extents the program knows, as rows that are columns' neighbours and
/// dims of one element do.
static bool haveOtherLayouts(const Manifest &a, const Manifest &b) {
  auto isAcross = [](const Kernel &kernel) {
    return llvm::StringRef(kernel.order).contains("inner");
  };
  return !haveSameOrders(a, b) && (llvm::any_of(a.kernels, isAcross) ||
                                   llvm::any_of(b.kernels, isAcross));
}

static bool changesColumns(const Space &space, const Rerun &variant) {
  for (auto [i, dim] : llvm::enumerate(space.dims))
    if (dim.isColumn && (variant.flipDynamic >> i & 1))
      return true;
  return false;
}

Outcome Oracles::Impl::run(const Case &made,
                           llvm::function_ref<void(llvm::StringRef)> tell) {
  Outcome outcome;
  auto start = std::chrono::steady_clock::now();
  steps.clear();
  // What was loaded goes before the artifacts whose addresses tell them apart.
  executables.clear();
  artifacts.clear();
  // Nor do devices with other numbers of threads stay, each with its stacks.
  for (unsigned threads : extraThreads)
    for (llvm::StringRef name : {"host", "emulated"})
      devices.erase(deviceKey(name, threads));
  extraThreads.clear();
  auto finish = [&](Outcome::Kind kind, int variant, std::string text) {
    outcome.kind = kind;
    outcome.variant = variant;
    outcome.text = std::move(text);
    outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    outcome.steps = steps;
    return outcome;
  };
  Execution base = makeExecution(made, nullptr);
  Results first;
  if (made.backward) {
    if (tell)
      tell("the derivative");
    llvm::Expected<bool> derived = takeBackward(compiler, base);
    if (!derived)
      return finish(Outcome::Kind::Refused, -1,
                    llvm::toString(derived.takeError()));
    if (!*derived) {
      outcome.underived = true;
      return finish(Outcome::Kind::Passed, -1, "");
    }
  }
  if (tell)
    tell("device " + base.device);
  if (std::optional<Refusal> refusal = execute(base, first)) {
    if (!isBoundary(refusal->text, made.backward))
      return finish(refusal->kind, -1, refusal->text);
    ++outcome.skipped;
    return finish(Outcome::Kind::Passed, -1, "");
  }
  ++outcome.runs;
  // The mean of a sum that is certain is too, and so are deviations from it:
  // but the compiler knows better ones.
  auto compare = [&](const Execution &execution, const Results &results) {
    std::string wrong =
        compareWithReference(execution, execution.text, results);
    if (!wrong.empty() && made.backward)
      wrong = compareWithReference(execution, rewriteMeans(execution.text),
                                   results);
    return wrong;
  };
  std::string wrong = compare(base, first);
  if (!wrong.empty())
    return finish(Outcome::Kind::Differed, -1, wrong);
  for (auto [index, variant] : llvm::enumerate(made.variants)) {
    Execution execution = makeExecution(made, &variant);
    Results other;
    if (tell)
      tell(describe(variant));
    if (made.backward) {
      llvm::Expected<bool> derived = takeBackward(compiler, execution);
      if (!derived)
        return finish(Outcome::Kind::Refused, int(index),
                      describe(variant) + ": " +
                          llvm::toString(derived.takeError()));
      // What is nothing for known extents may need a derivative for others.
      if (!*derived) {
        ++outcome.skipped;
        continue;
      }
    }
    if (std::optional<Refusal> refusal = execute(execution, other)) {
      if (!refusal->noRoom && !isBoundary(refusal->text, made.backward))
        return finish(refusal->kind, int(index),
                      describe(variant) + ": " + refusal->text);
      ++outcome.skipped;
      continue;
    }
    outcome.runs += execution.launches;
    // A backward for known extents is another program, with numbers for what
    // follows from them.
    if (made.backward && variant.flipDynamic) {
      wrong = compare(execution, other);
      if (!wrong.empty())
        return finish(Outcome::Kind::Differed, int(index),
                      describe(variant) + ": " + wrong);
      continue;
    }
    if (variant.extraOutput && !haveSameOrders(first.manifest, other.manifest))
      continue;
    if ((variant.flipDynamic || variant.rows) &&
        haveOtherLayouts(first.manifest, other.manifest))
      continue;
    // Sums over rows depend on all of them, and how they are taken on whether
    // the columns are known.
    bool sumsDiffer = variant.rows || first.strands != other.strands ||
                      changesColumns(made.space, variant);
    for (unsigned i = 0; i < first.tensors.size(); ++i) {
      if (sumsDiffer && base.sumsRows[i])
        continue;
      std::string text =
          compareBits(first.tensors[i], other.tensors[i],
                      other.tensors[i].shape() == first.tensors[i].shape()
                          ? 0
                          : execution.firstRow);
      if (!text.empty())
        return finish(
            Outcome::Kind::Differed, int(index),
            llvm::formatv("{0}: result {1}: {2}", describe(variant), i, text));
    }
  }
  return finish(Outcome::Kind::Passed, -1, "");
}

Oracles::Oracles(unsigned hostThreads)
    : impl(std::make_unique<Impl>(hostThreads)) {}
Oracles::~Oracles() = default;
Outcome Oracles::run(const Case &made,
                     llvm::function_ref<void(llvm::StringRef)> tell) {
  return impl->run(made, tell);
}
