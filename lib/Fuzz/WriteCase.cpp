//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"
#include "Inputs.h"
#include "norm/Fuzz/Shrink.h"
#include "norm/Runtime/Npy.h"
#include "norm/Runtime/Workers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace norm;
using namespace norm::fuzz;

namespace {

class CaseWriter {
public:
  CaseWriter(llvm::StringRef folder, llvm::StringRef name)
      : folder(folder), name(name) {}

  llvm::Expected<std::string> write(const Case &failing,
                                    const Outcome &failure);

private:
  llvm::Error writeText(llvm::StringRef file, llvm::StringRef text);
  llvm::Expected<Execution> prepare(const Case &failing, const Rerun *variant);
  llvm::Error writeSchedules(const Execution &execution, llvm::StringRef file);
  llvm::Error writeRun(const Execution &execution, llvm::StringRef prefix,
                       std::string &command);
  std::string path(const llvm::Twine &file) const {
    llvm::SmallString<128> result(folder);
    llvm::sys::path::append(result, file);
    return std::string(result);
  }

  llvm::StringRef folder;
  llvm::StringRef name;
  Workers workers{1};
  Compiler compiler;
};

llvm::Expected<Execution> CaseWriter::prepare(const Case &failing,
                                              const Rerun *variant) {
  Execution execution = makeExecution(failing, variant);
  if (!failing.backward)
    return execution;
  llvm::Expected<bool> derived = takeBackward(compiler, execution);
  if (!derived)
    return derived.takeError();
  if (!*derived)
    return llvm::createStringError("the function has no backward");
  return execution;
}

/// What `Execution::steps` stands for, as a tuning file.
llvm::Error CaseWriter::writeSchedules(const Execution &execution,
                                       llvm::StringRef file) {
  llvm::Expected<std::unique_ptr<Device>> device =
      openNamedDevice(execution.device, /*hostThreads=*/1);
  if (!device)
    return device.takeError();
  llvm::Expected<Artifact> artifact = compiler.compile(
      execution.text, "fuzz.mlir", optionsFor(execution, **device));
  if (!artifact)
    return artifact.takeError();
  return writeText(file, drawSchedules(execution, **device, *artifact).print());
}

llvm::Error CaseWriter::writeText(llvm::StringRef file, llvm::StringRef text) {
  std::error_code failed;
  llvm::raw_fd_ostream os(path(file), failed, llvm::sys::fs::OF_Text);
  if (!failed) {
    os << text;
    os.close();
    failed = os.error();
    os.clear_error();
  }
  if (failed)
    return llvm::createStringError(path(file) +
                                   ": cannot write: " + failed.message());
  return llvm::Error::success();
}

std::string placementText(const Placement &placement) {
  std::string text;
  if (placement.pitch)
    text += ":pitch=" + std::to_string(*placement.pitch);
  if (placement.strides) {
    text += ":strides=";
    for (auto [i, stride] : llvm::enumerate(*placement.strides))
      text += (i ? "x" : "") + std::to_string(stride);
  }
  if (placement.offset)
    text += ":offset=" + std::to_string(placement.offset);
  return text;
}

/// Writes program and data of an execution; `command` becomes the norm-run
/// command of it.
llvm::Error CaseWriter::writeRun(const Execution &execution,
                                 llvm::StringRef prefix, std::string &command) {
  std::string file = (prefix + ".mlir").str();
  if (llvm::Error error =
          writeText(file, print(execution.graph, execution.space)))
    return error;
  command = "norm-run " + file + " --device=" + execution.device;
  if (!execution.schedule.empty())
    command += " --schedule=" + execution.schedule;
  if (execution.entry != "main")
    command += " --backward";
  if (execution.steps) {
    std::string tuning = (prefix + "-tuning.json").str();
    if (llvm::Error error = writeSchedules(execution, tuning))
      return error;
    command += " --tuning=" + tuning;
  }
  unsigned numArguments = unsigned(execution.arguments.size());
  for (unsigned i = 0; i < numArguments; ++i) {
    command += " --arg " + std::to_string(i) + "=";
    if (execution.arguments[i].support == Support::Scalar) {
      llvm::raw_string_ostream(command)
          << llvm::format("%.17g", scalarOf(execution, i));
      continue;
    }
    llvm::Expected<HostTensor> tensor = makeArgument(execution, i, workers);
    if (!tensor)
      return tensor.takeError();
    std::string data = (prefix + "-arg" + llvm::Twine(i) + ".npy").str();
    if (llvm::Error error = writeNpy(path(data), *tensor))
      return error;
    command += data + placementText(placementOf(execution, i));
  }
  for (unsigned i = 0; i < execution.results.size(); ++i) {
    std::string placed =
        placementText(placementOf(execution, numArguments + i));
    if (!placed.empty())
      command += " --place out" + std::to_string(i) + placed;
  }
  return llvm::Error::success();
}

llvm::Expected<std::string> CaseWriter::write(const Case &failing,
                                              const Outcome &failure) {
  if (std::error_code failed = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(folder +
                                   ": cannot make: " + failed.message());
  std::string script = "#!/bin/sh\n# " + toString(failure.kind).str() + ": ";
  for (char c : llvm::StringRef(failure.text).take_front(1500))
    script += c == '\n' ? std::string("\n# ") : std::string(1, c);
  script += "\ncd \"$(dirname \"$0\")\"\n";
  std::string command;
  llvm::Expected<Execution> first = prepare(failing, nullptr);
  if (!first)
    return first.takeError();
  if (llvm::Error error = writeRun(*first, name, command))
    return std::move(error);
  const Rerun *variant =
      failure.variant >= 0 && size_t(failure.variant) < failing.variants.size()
          ? &failing.variants[size_t(failure.variant)]
          : nullptr;
  script += command + " --check";
  std::string expected;
  for (unsigned i = 0; variant && i < first->results.size(); ++i) {
    std::string file = (name + "-out" + llvm::Twine(i) + ".npy").str();
    script += " --out " + std::to_string(i) + "=" + file;
    // Some rows can't be compared with a file of all of them.
    if (!variant->rows)
      expected += " --expect " + std::to_string(i) + "=" + file + ":atol=0";
  }
  script += "\n";
  if (variant) {
    llvm::Expected<Execution> other = prepare(failing, variant);
    if (!other)
      return other.takeError();
    if (llvm::Error error =
            writeRun(*other, (name + "-variant").str(), command))
      return std::move(error);
    script += "# " + describe(*variant) + "\n" + command + " --check" +
              expected + "\n";
  }
  std::string file = (name + ".sh").str();
  if (llvm::Error error = writeText(file, script))
    return std::move(error);
  return path(file);
}

} // namespace

llvm::Expected<std::string> fuzz::writeCase(const Case &failing,
                                            const Outcome &failure,
                                            llvm::StringRef folder,
                                            llvm::StringRef name) {
  return CaseWriter(folder, name).write(failing, failure);
}
