//===- CudaDevice.h - A CUDA device -----------------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_CUDADEVICE_H
#define NORM_RUNTIME_CUDADEVICE_H

#include "norm/Runtime/Device.h"

namespace norm {

/// The name under which the CUDA driver is installed.
inline constexpr llvm::StringLiteral kCudaLibrary = "libcuda.so.1";

/// CUDA device `ordinal`, through the driver's library, which is loaded at run
/// time. `NoDeviceError` if there is no driver, it doesn't start, or it has no
/// such device.
llvm::Expected<std::unique_ptr<Device>>
openCudaDevice(unsigned ordinal, llvm::StringRef library = kCudaLibrary);

/// The device of a `CUcontext` that somebody else owns and that outlives the
/// device and all that is made by it. Its name is `cuda`. No call leaves it, or
/// any other context, current in a thread where it wasn't before.
llvm::Expected<std::unique_ptr<Device>>
openCudaContext(uint64_t context, llvm::StringRef library = kCudaLibrary);

} // namespace norm

#endif // NORM_RUNTIME_CUDADEVICE_H
