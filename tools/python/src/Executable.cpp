//===- Executable.cpp - What Python holds of the C API --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executable.h"
#include <charconv>

namespace nb = nanobind;
using namespace normpy;

static Place placeOf(std::string_view name, std::string_view target,
                     bool isContext) {
  if (isContext)
    return {true, -1};
  if (name == "auto" && target != "host")
    return {true, 0};
  if (!name.starts_with("cuda:"))
    return {};
  Place place{true, -1};
  name.remove_prefix(5);
  std::from_chars(name.data(), name.data() + name.size(), place.ordinal);
  return place;
}

PyDevice::PyDevice(const std::string &name, uint32_t hostThreads,
                   uintptr_t context)
    : name(name) {
  NormcDeviceOptions options = {};
  options.structSize = sizeof(options);
  options.name = context ? nullptr : this->name.c_str();
  options.cudaContext = reinterpret_cast<void *>(context);
  options.hostThreads = hostThreads;
  nb::gil_scoped_release release;
  handle = create<NormcDevice>(normcDeviceOpen, &options);
  place = placeOf(name, target(), context != 0);
}

nb::bytes PyArtifact::code() const {
  const void *code = nullptr;
  size_t size = 0;
  char *message = nullptr;
  check(normcArtifactGetCode(handle.get(), &code, &size, &message), message);
  return nb::bytes(static_cast<const char *>(code), size);
}

std::string PyArtifact::manifest() const {
  const char *text = nullptr;
  size_t size = 0;
  char *message = nullptr;
  check(normcArtifactGetManifest(handle.get(), &text, &size, &message),
        message);
  return std::string(text, size);
}

PyExecutable::PyExecutable(Handle<NormcExecutable> given, Place place)
    : handle(std::move(given)), place(place) {
  infos.resize(normcExecutableGetNumArguments(handle.get()));
  for (size_t i = 0; i < infos.size(); ++i) {
    infos[i].structSize = sizeof(NormcArgumentInfo);
    char *message = nullptr;
    check(normcExecutableGetArgumentInfo(handle.get(), i, &infos[i], &message),
          message);
  }
}

std::vector<Operand> PyExecutable::read(nb::tuple arguments,
                                        uint64_t stream) const {
  if (arguments.size() != infos.size())
    throw Error(NORMC_INVALID_LAUNCH,
                "expects " + std::to_string(infos.size()) +
                    " arguments but got " + std::to_string(arguments.size()));
  std::vector<Operand> operands(infos.size());
  for (size_t i = 0; i < infos.size(); ++i)
    readOperand(arguments[i], i, infos[i], place, stream, operands[i]);
  return operands;
}

static std::vector<NormcArgument>
argumentsOf(const std::vector<Operand> &operands) {
  std::vector<NormcArgument> arguments;
  arguments.reserve(operands.size());
  for (const Operand &operand : operands)
    arguments.push_back(operand.argument);
  return arguments;
}

static NormcLaunch launchOf(const std::vector<NormcArgument> &arguments,
                            const LaunchFields &fields) {
  NormcLaunch launch = {};
  launch.structSize = sizeof(launch);
  launch.argumentSize = sizeof(NormcArgument);
  launch.arguments = arguments.data();
  launch.numArguments = arguments.size();
  launch.stream = reinterpret_cast<void *>(fields.stream);
  launch.workspace = reinterpret_cast<void *>(fields.workspace);
  launch.workspaceSize = fields.workspaceSize;
  launch.maxCtas = fields.maxCtas;
  launch.flags = fields.isCleared ? NORMC_WORKSPACE_CLEARED : 0;
  return launch;
}

void PyExecutable::launch(nb::tuple arguments,
                          const LaunchFields &fields) const {
  enqueue(read(arguments, fields.stream), fields);
}

bool PyExecutable::launchRows(nb::tuple arguments, uint64_t stream) const {
  std::vector<Operand> operands = read(arguments, stream);
  for (size_t i = 0; i < operands.size(); ++i)
    if (!collapse(infos[i], operands[i]))
      return false;
  LaunchFields fields;
  fields.stream = stream;
  enqueue(operands, fields);
  return true;
}

void PyExecutable::enqueue(const std::vector<Operand> &operands,
                           const LaunchFields &fields) const {
  std::vector<NormcArgument> plain = argumentsOf(operands);
  NormcLaunch launch = launchOf(plain, fields);
  char *message = nullptr;
  NormcStatus status;
  {
    nb::gil_scoped_release release;
    status = normcExecutableLaunch(handle.get(), &launch, &message);
  }
  check(status, message);
}

uint64_t PyExecutable::workspaceSize(nb::tuple arguments,
                                     uint64_t maxCtas) const {
  std::vector<Operand> operands = read(arguments, 0);
  std::vector<NormcArgument> plain = argumentsOf(operands);
  LaunchFields fields;
  fields.maxCtas = maxCtas;
  NormcLaunch launch = launchOf(plain, fields);
  uint64_t size = 0;
  char *message = nullptr;
  check(normcExecutableGetWorkspaceSize(handle.get(), &launch, &size, &message),
        message);
  return size;
}
