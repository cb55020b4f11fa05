//===- Tune.cpp - The autotuner in C --------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Tune/Tune.h"
#include "Handles.h"
#include "norm/Runtime/DataSpec.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace norm;
using namespace norm::capi;

/// Reads `16x4096,4096,16x4096;...`.
static llvm::Expected<std::vector<CallShapes>> readCalls(llvm::StringRef text) {
  std::vector<CallShapes> calls;
  for (llvm::StringRef call : llvm::split(text, ';')) {
    CallShapes &shapes = calls.emplace_back();
    for (llvm::StringRef shape : llvm::split(call, ','))
      if (llvm::Error error =
              parseShape(shape.trim()).moveInto(shapes.emplace_back()))
        return makeError(NORMC_INVALID_ARGUMENT,
                         "calls: " + llvm::toString(std::move(error)));
  }
  return calls;
}

static llvm::Error tuneText(Device &device, llvm::StringRef text,
                            llvm::StringRef fileName,
                            const TuneOptions &options,
                            llvm::ArrayRef<CallShapes> calls, const char *file,
                            std::string &found) {
  llvm::Expected<TuneOutcome> outcome =
      tune(device, text, fileName, calls, options);
  if (!outcome)
    return withStatus(NORMC_INVALID_PROGRAM, outcome.takeError());
  if (!outcome->faults.empty())
    return makeError(NORMC_INTERNAL_ERROR, llvm::join(outcome->faults, "\n"));
  if (file)
    if (llvm::Error error =
            mergeIntoFile(file, outcome->found(), outcome->superseded()))
      return withStatus(NORMC_INVALID_ARGUMENT, std::move(error));
  found = outcome->found().print();
  return llvm::Error::success();
}

NormcStatus normcTune(NormcDevice *device, const char *text, size_t length,
                      const char *fileName, const NormcOptions *options,
                      const char *calls, double seconds, const char *file,
                      char **found, char **message) {
  return run(message, [&]() -> llvm::Error {
    for (auto [pointer, what] :
         {std::pair<const void *, const char *>(device, "device"),
          {text, "text"},
          {calls, "calls"}})
      if (llvm::Error error = checkPointer(pointer, what))
        return error;
    if (found)
      *found = nullptr;
    if (!std::isfinite(seconds) || seconds <= 0)
      return makeError(NORMC_INVALID_ARGUMENT,
                       "expects seconds above 0 but got " +
                           std::to_string(seconds));
    llvm::Expected<std::vector<CallShapes>> shapes = readCalls(calls);
    if (!shapes)
      return shapes.takeError();
    // Before time is spent.
    if (file)
      if (llvm::Error error = mergeIntoFile(file, TuningFile()))
        return withStatus(NORMC_INVALID_ARGUMENT, std::move(error));
    TuneOptions tuning;
    tuning.compile = optionsOf(options, /*isSession=*/true);
    tuning.seconds = seconds;
    std::string foundText;
    if (llvm::Error error = device->device->use([&](Device &used) {
          return tuneText(used, llvm::StringRef(text, length),
                          fileName ? fileName : "program", tuning, *shapes,
                          file, foundText);
        }))
      return error;
    if (found)
      *found = copyText(foundText);
    return llvm::Error::success();
  });
}
