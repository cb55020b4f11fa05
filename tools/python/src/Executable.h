//===- Executable.h - What Python holds of the C API ------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_PYTHON_EXECUTABLE_H
#define NORM_TOOLS_PYTHON_EXECUTABLE_H

#include "Operands.h"
#include <vector>

namespace normpy {

class PyDevice {
public:
  PyDevice(const std::string &name, uint32_t hostThreads, uintptr_t context);

  std::string target() const { return normcDeviceGetTarget(handle.get()); }
  std::string product() const { return normcDeviceGetProduct(handle.get()); }
  std::string description() const {
    return normcDeviceGetDescription(handle.get());
  }

  Handle<NormcDevice> handle;
  std::string name;
  Place place;
};

class PyArtifact {
public:
  explicit PyArtifact(Handle<NormcArtifact> handle)
      : handle(std::move(handle)) {}

  nanobind::bytes code() const;
  std::string manifest() const;

  Handle<NormcArtifact> handle;
};

/// What a launch takes beside its arguments.
struct LaunchFields {
  uint64_t stream = 0;
  uint64_t workspace = 0;
  uint64_t workspaceSize = 0;
  uint64_t maxCtas = 0;
  bool isCleared = false;
};

/// Code on a device. Any number of threads may launch it.
class PyExecutable {
public:
  PyExecutable(Handle<NormcExecutable> handle, Place place);

  /// `arguments` is a tuple of inputs, then outputs.
  void launch(nanobind::tuple arguments, const LaunchFields &fields) const;
  /// The same for tensors of any rank, whose axes are collapsed to the rows and
  /// columns of the program. False, and nothing runs, where strides don't allow
  /// it.
  bool launchRows(nanobind::tuple arguments, uint64_t stream) const;
  uint64_t workspaceSize(nanobind::tuple arguments, uint64_t maxCtas) const;

  std::string manifest() const {
    return normcExecutableGetManifest(handle.get());
  }

private:
  void enqueue(const std::vector<Operand> &operands,
               const LaunchFields &fields) const;
  std::vector<Operand> read(nanobind::tuple arguments, uint64_t stream) const;

  Handle<NormcExecutable> handle;
  Place place;
  std::vector<NormcArgumentInfo> infos;
};

} // namespace normpy

#endif // NORM_TOOLS_PYTHON_EXECUTABLE_H
