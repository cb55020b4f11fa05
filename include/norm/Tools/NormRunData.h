//===- NormRunData.h - The data of one call ---------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TOOLS_NORMRUNDATA_H
#define NORM_TOOLS_NORMRUNDATA_H

#include "norm/Compiler/Compiler.h"
#include "norm/Runtime/Device.h"
#include "norm/Runtime/HostTensor.h"
#include "norm/Tools/NormRunOptions.h"

namespace norm::tools {

/// One argument or result of a call.
struct CallArgument {
  /// The value of a scalar.
  std::optional<double> scalar;
  /// Data of an input, or poison of the shape of an output.
  HostTensor tensor;
  Placement placement;
  /// An output in the memory of this argument.
  std::optional<unsigned> aliasOf;
};

/// The arguments of one call and then its results, as in the manifest.
struct CallData {
  std::vector<CallArgument> values;
  /// Indices of the results in `values`, by position.
  std::vector<unsigned> results;
};

/// What the options say of the arguments of a kernel that the input doesn't
/// describe. An error for a file that can't be read.
llvm::Expected<KernelLaunchOptions>
makeLaunchOptions(const RunOptions &options);

/// Makes all data: what the options name, random numbers for inputs that they
/// don't, poison for outputs. Dynamic extents come from the named data. An
/// error for options that don't fit the manifest, and for an extent that
/// nothing tells.
llvm::Expected<CallData> makeCallData(const Manifest &manifest,
                                      const RunOptions &options,
                                      Workers &workers);

/// A call's tensors in a device's memory.
class DeviceCall {
public:
  /// Allocates and copies; outputs are poisoned.
  static llvm::Expected<DeviceCall>
  create(Device &device, const Manifest &manifest, const CallData &data);

  llvm::ArrayRef<BoundArgument> arguments() const { return bound; }

  /// Copies again, so that all memory is as it was made.
  llvm::Error reset();
  /// The results, in new host tensors; waits for the device.
  llvm::Expected<std::vector<HostTensor>> readResults(Workers &workers);

private:
  Device *device = nullptr;
  const CallData *data = nullptr;
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::vector<BoundArgument> bound;
};

} // namespace norm::tools

#endif // NORM_TOOLS_NORMRUNDATA_H
