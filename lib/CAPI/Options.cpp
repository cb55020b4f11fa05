//===- Options.cpp - Options of the C API, and programs by name -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "norm/Programs/Programs.h"
#include "norm/Support/Targets.h"

using namespace norm;
using namespace norm::capi;

static llvm::Error fail(llvm::StringRef name, llvm::StringRef expected,
                        llvm::StringRef got) {
  return makeError(NORMC_INVALID_ARGUMENT, "option '" + name + "' expects " +
                                               expected + " but got '" + got +
                                               "'");
}

static llvm::Error setFlag(llvm::StringRef name, llvm::StringRef value,
                           bool &flag) {
  if (value != "yes" && value != "no")
    return fail(name, "yes or no", value);
  flag = value == "yes";
  return llvm::Error::success();
}

static llvm::Error setNumber(llvm::StringRef name, llvm::StringRef value,
                             unsigned &number) {
  if (value.getAsInteger(10, number))
    return fail(name, "a number", value);
  return llvm::Error::success();
}

static llvm::Error setOption(NormcOptions &options, llvm::StringRef name,
                             llvm::StringRef value) {
  CompileOptions &compile = options.compile;
  if (name == "target") {
    if (llvm::Error error = checkTargetName(value))
      return error;
    compile.target = value.str();
    options.hasTarget = true;
    return llvm::Error::success();
  }
  if (name == "form") {
    if (value != "ptx" && value != "cubin")
      return fail(name, "ptx or cubin", value);
    options.isCubin = value == "cubin";
    return llvm::Error::success();
  }
  if (name == "math")
    return parseMathMode(value).moveInto(compile.math);
  if (name == "entry" || name == "schedule") {
    (name == "entry" ? compile.entry : compile.schedule) = value.str();
    return llvm::Error::success();
  }
  if (name == "tuning")
    return setTuning(compile, value);
  if (name == "device") {
    compile.device = value.str();
    return llvm::Error::success();
  }
  if (name == "emulate")
    return setFlag(name, value, compile.emulate);
  if (name == "explain")
    return setFlag(name, value, compile.explain);
  if (name == "ptx-version")
    return setNumber(name, value, compile.ptxVersion);
  if (name == "driver-version")
    return setNumber(name, value, compile.driverVersion);
  return makeError(NORMC_INVALID_ARGUMENT,
                   "expects an option of target, emulate, form, entry, "
                   "schedule, tuning, device, ptx-version, driver-version, "
                   "math, explain but "
                   "got '" +
                       name + "'");
}

CompileOptions capi::optionsOf(const NormcOptions *options, bool isSession) {
  CompileOptions compile;
  if (options)
    compile = options->compile;
  if (isSession && (!options || !options->hasTarget))
    compile.target.clear();
  return compile;
}

NormcStatus normcOptionsCreate(NormcOptions **options, char **message) {
  return run(message, [&]() -> llvm::Error {
    if (llvm::Error error = checkPointer(options, "options"))
      return error;
    *options = new NormcOptions();
    return llvm::Error::success();
  });
}

NormcStatus normcOptionsSet(NormcOptions *options, const char *name,
                            const char *value, char **message) {
  return run(message, [&]() -> llvm::Error {
    for (auto [pointer, what] :
         {std::pair<const void *, const char *>(options, "options"),
          {name, "name"},
          {value, "value"}})
      if (llvm::Error error = checkPointer(pointer, what))
        return error;
    return withStatus(NORMC_INVALID_ARGUMENT, setOption(*options, name, value));
  });
}

void normcOptionsDestroy(NormcOptions *options) { delete options; }

NormcStatus normcBuildProgram(const char *program, const char *fields,
                              char **text, char **message) {
  return run(message, [&]() -> llvm::Error {
    if (llvm::Error error = checkPointer(program, "program"))
      return error;
    if (llvm::Error error = checkPointer(text, "text"))
      return error;
    *text = nullptr;
    llvm::Expected<ProgramFields> parsed =
        parseProgramFields(fields ? fields : "");
    if (!parsed)
      return withStatus(NORMC_INVALID_ARGUMENT, parsed.takeError());
    llvm::Expected<std::string> built = buildProgram(program, *parsed);
    if (!built)
      return withStatus(NORMC_INVALID_ARGUMENT, built.takeError());
    *text = copyText(*built);
    return llvm::Error::success();
  });
}

NormcStatus normcListPrograms(char **text, char **message) {
  return run(message, [&]() -> llvm::Error {
    if (llvm::Error error = checkPointer(text, "text"))
      return error;
    *text = copyText(listPrograms());
    return llvm::Error::success();
  });
}
