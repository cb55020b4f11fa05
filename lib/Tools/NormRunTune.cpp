//===- NormRunTune.cpp - The fastest schedules for a run ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Tools/NormRunTune.h"

#include "norm/Tools/TuneReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace norm;
using namespace norm::tools;

namespace {

/// The call of a run, on several sets of the same data.
class RunCall final : public TunedCall {
public:
  RunCall(CallData data, Workers &workers)
      : data(std::move(data)), workers(workers) {}

  llvm::Error make(Device &device, const Manifest &manifest) {
    uint64_t bytes = 0;
    for (const CallArgument &value : data.values)
      if (!value.scalar)
        bytes += value.tensor.bytes().size();
    for (unsigned i = coldSets(device.facts(), bytes); i > 0; --i) {
      llvm::Expected<DeviceCall> call =
          DeviceCall::create(device, manifest, data);
      if (!call)
        return call.takeError();
      calls.push_back(std::move(*call));
    }
    return llvm::Error::success();
  }

  std::string describe() const override;
  unsigned sets() const override { return unsigned(calls.size()); }
  llvm::ArrayRef<BoundArgument> arguments(unsigned set) const override {
    return calls[set].arguments();
  }
  llvm::Error reset() override { return calls.front().reset(); }
  llvm::Expected<std::vector<uint8_t>> results() override;

private:
  CallData data;
  Workers &workers;
  std::vector<DeviceCall> calls;
};

} // namespace

std::string RunCall::describe() const {
  std::string text;
  for (const auto &[index, value] : llvm::enumerate(data.values)) {
    if (value.scalar || llvm::is_contained(data.results, unsigned(index)))
      continue;
    text += text.empty() ? "" : ", ";
    text += printShape(value.tensor.shape());
  }
  return text.empty() ? "no tensors" : text;
}

llvm::Expected<std::vector<uint8_t>> RunCall::results() {
  llvm::Expected<std::vector<HostTensor>> tensors =
      calls.front().readResults(workers);
  if (!tensors)
    return tensors.takeError();
  // What lies around the elements belongs to it: nobody may write there.
  std::vector<uint8_t> bytes;
  for (HostTensor &tensor : *tensors)
    llvm::append_range(bytes, tensor.bytes());
  return bytes;
}

llvm::Expected<TuneOutcome> tools::tuneRun(Device &device, llvm::StringRef text,
                                           llvm::StringRef fileName,
                                           const CompileOptions &compile,
                                           const RunOptions &options,
                                           Workers &workers) {
  if (llvm::Error error = checkTunable(device))
    return std::move(error);
  if (llvm::Error error = checkTuningOut(options.tuningOut))
    return std::move(error);
  TuneBar bar(/*always=*/false);
  TuneOptions tuning;
  tuning.compile = compile;
  tuning.seconds = options.tuneSeconds;
  tuning.progress = [&](const TuneProgress &progress) {
    bar.draw(progress, 0, 1, fileName);
  };
  auto makeCalls = [&](const Manifest &manifest)
      -> llvm::Expected<std::vector<std::unique_ptr<TunedCall>>> {
    llvm::Expected<CallData> data = makeCallData(manifest, options, workers);
    if (!data)
      return data.takeError();
    auto call = std::make_unique<RunCall>(std::move(*data), workers);
    if (llvm::Error error = call->make(device, manifest))
      return std::move(error);
    std::vector<std::unique_ptr<TunedCall>> calls;
    calls.push_back(std::move(call));
    return calls;
  };
  llvm::Expected<TuneOutcome> outcome =
      tune(device, text, fileName, makeCalls, tuning);
  bar.clear();
  if (!outcome)
    return outcome.takeError();
  printOutcome(llvm::outs(), *outcome, device);
  printFaults(llvm::errs(), "norm-run", *outcome);
  if (options.tuningOut.empty())
    return outcome;
  if (llvm::Error error = mergeIntoFile(options.tuningOut, outcome->found(),
                                        outcome->superseded()))
    return std::move(error);
  return outcome;
}
