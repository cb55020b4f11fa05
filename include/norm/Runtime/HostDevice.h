//===- HostDevice.h - The machine's own cores as a device -------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_HOSTDEVICE_H
#define NORM_RUNTIME_HOSTDEVICE_H

#include "norm/Runtime/Device.h"

namespace norm {

/// The host as a device: artifacts are linked into the process, and a kernel's
/// rows are spread over `threads` cores (0: all the process may use). Launches
/// end before they return.
llvm::Expected<std::unique_ptr<Device>> openHostDevice(unsigned threads = 0);

} // namespace norm

#endif // NORM_RUNTIME_HOSTDEVICE_H
