//===- Runtime.cpp - Devices and executables in C -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "norm/Runtime/CudaDevice.h"
#include "norm/Runtime/HostDevice.h"

using namespace norm;
using namespace norm::capi;

static_assert(int(DType::F64) == NORMC_F64 && int(DType::F32) == NORMC_F32 &&
              int(DType::F16) == NORMC_F16 && int(DType::BF16) == NORMC_BF16 &&
              int(DType::F8E4M3FN) == NORMC_F8E4M3FN &&
              int(DType::F8E5M2) == NORMC_F8E5M2 &&
              int(DType::F8E8M0FNU) == NORMC_F8E8M0FNU &&
              int(DType::F4E2M1FN) == NORMC_F4E2M1FN &&
              int(DType::I1) == NORMC_I1 && int(DType::I8) == NORMC_I8 &&
              int(DType::I16) == NORMC_I16 && int(DType::I32) == NORMC_I32 &&
              int(DType::I64) == NORMC_I64);
static_assert(int(ArgumentRole::Input) == NORMC_INPUT &&
              int(ArgumentRole::Output) == NORMC_OUTPUT &&
              int(ArgumentRole::Scalar) == NORMC_SCALAR);
static_assert(kDynamic == NORMC_ANY);

// The sizes of the structs in version 1.0.
static constexpr size_t kDeviceOptionsSize = 40;
static constexpr size_t kLaunchSize = 72;
static constexpr size_t kArgumentSize = 32;
static constexpr size_t kArgumentInfoSize = 56;
static_assert(sizeof(NormcDeviceOptions) >= kDeviceOptionsSize &&
              sizeof(NormcLaunch) >= kLaunchSize &&
              sizeof(NormcArgument) >= kArgumentSize &&
              sizeof(NormcArgumentInfo) >= kArgumentInfoSize);

static uint64_t addressOf(const void *pointer) {
  return uint64_t(reinterpret_cast<uintptr_t>(pointer));
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<Device>>
open(const NormcDeviceOptions &options) {
  llvm::StringRef library =
      options.cudaLibrary ? options.cudaLibrary : kCudaLibrary.data();
  if (options.cudaContext)
    return openCudaContext(addressOf(options.cudaContext), library);
  if (!options.name)
    return makeError(NORMC_INVALID_ARGUMENT,
                     "expects the name of a device or a CUDA context but got "
                     "neither");
  llvm::StringRef name = options.name;
  if (name == "host")
    return openHostDevice(options.hostThreads);
  unsigned ordinal = 0;
  if (llvm::StringRef rest = name;
      rest.consume_front("cuda:") && !rest.getAsInteger(10, ordinal))
    return openCudaDevice(ordinal, library);
  return openDevice(name);
}

NormcStatus normcDeviceOpen(const NormcDeviceOptions *options,
                            NormcDevice **device, char **message) {
  return run(message, [&]() -> llvm::Error {
    llvm::Expected<NormcDeviceOptions> known =
        readStruct(options, kDeviceOptionsSize, "NormcDeviceOptions");
    if (!known)
      return known.takeError();
    if (llvm::Error error = checkPointer(device, "device"))
      return error;
    *device = nullptr;
    llvm::Expected<std::unique_ptr<Device>> opened = open(*known);
    if (!opened)
      return withStatus(NORMC_INVALID_ARGUMENT, opened.takeError());
    std::string target = (*opened)->target();
    std::string description = (*opened)->description();
    std::string product = (*opened)->product();
    *device =
        new NormcDevice{std::make_shared<jit::SharedDevice>(std::move(*opened)),
                        std::move(target), std::move(description),
                        std::move(product)};
    return llvm::Error::success();
  });
}

const char *normcDeviceGetTarget(const NormcDevice *device) {
  return device ? device->target.c_str() : nullptr;
}

const char *normcDeviceGetDescription(const NormcDevice *device) {
  return device ? device->description.c_str() : nullptr;
}

const char *normcDeviceGetProduct(const NormcDevice *device) {
  return device ? device->product.c_str() : nullptr;
}

void normcDeviceDestroy(NormcDevice *device) { delete device; }

//===----------------------------------------------------------------------===//
// Executables
//===----------------------------------------------------------------------===//

NormcStatus normcExecutableCreate(NormcDevice *device,
                                  const NormcArtifact *artifact,
                                  NormcExecutable **executable,
                                  char **message) {
  return run(message, [&]() -> llvm::Error {
    for (auto [pointer, what] :
         {std::pair<const void *, const char *>(device, "device"),
          {artifact, "artifact"},
          {executable, "executable"}})
      if (llvm::Error error = checkPointer(pointer, what))
        return error;
    *executable = nullptr;
    llvm::Expected<std::unique_ptr<Executable>> loaded =
        device->device->load(artifact->code, artifact->manifest);
    if (!loaded)
      return withStatus(NORMC_INVALID_ARGUMENT, loaded.takeError());
    auto program = std::make_shared<jit::SessionProgram>();
    program->manifest = artifact->manifest;
    program->manifestText = artifact->manifestText;
    program->executable = std::move(*loaded);
    *executable = new NormcExecutable{std::move(program)};
    return llvm::Error::success();
  });
}

static llvm::Error bind(const NormcArgument &given, bool isScalar, size_t index,
                        BoundArgument &bound) {
  auto fail = [&](const llvm::Twine &text) {
    return makeError(NORMC_INVALID_LAUNCH,
                     "argument " + llvm::Twine(index) + ": " + text);
  };
  if (given.dtype < NORMC_F64 || given.dtype > NORMC_I64)
    return fail("expects a dtype of 0 to 12 but got " +
                llvm::Twine(given.dtype));
  if (given.rank < 0 || given.rank > 64)
    return fail("expects a rank of 0 to 64 but got " + llvm::Twine(given.rank));
  if (given.rank > 0 && !given.shape)
    return fail("expects a shape but got a null pointer");
  bound.dtype = DType(given.dtype);
  if (isScalar) {
    if (!given.data)
      return fail("expects the address of a scalar but got a null pointer");
    std::memcpy(&bound.scalar, given.data, byteSize(bound.dtype));
    return llvm::Error::success();
  }
  bound.address = addressOf(given.data);
  llvm::ArrayRef<int64_t> shape(given.shape, size_t(given.rank));
  bound.shape.assign(shape.begin(), shape.end());
  if (given.strides)
    bound.strides.assign(given.strides, given.strides + given.rank);
  else
    bound.strides = contiguousStrides(shape);
  return llvm::Error::success();
}

/// A launch, taken apart.
struct BoundLaunch {
  llvm::SmallVector<BoundArgument, 8> arguments;
  LaunchOptions options;
};

static llvm::Error bind(const NormcExecutable *executable,
                        const NormcLaunch *given, BoundLaunch &bound) {
  if (llvm::Error error = checkPointer(executable, "executable"))
    return error;
  llvm::Expected<NormcLaunch> launch =
      readStruct(given, kLaunchSize, "NormcLaunch");
  if (!launch)
    return launch.takeError();
  if (launch->argumentSize < kArgumentSize)
    return makeError(NORMC_INVALID_ARGUMENT,
                     "expects a NormcArgument of " +
                         llvm::Twine(kArgumentSize) +
                         " bytes or more but argumentSize is " +
                         llvm::Twine(launch->argumentSize));
  if (launch->flags & ~uint32_t(NORMC_WORKSPACE_CLEARED))
    return makeError(NORMC_INVALID_ARGUMENT,
                     "expects flags of 0 or 1 but got " +
                         llvm::Twine(launch->flags));
  const Manifest &manifest = executable->program->manifest;
  if (launch->numArguments != manifest.arguments.size())
    return makeError(NORMC_INVALID_LAUNCH,
                     "expects " + llvm::Twine(manifest.arguments.size()) +
                         " arguments but got " +
                         llvm::Twine(launch->numArguments));
  if (launch->numArguments)
    if (llvm::Error error = checkPointer(launch->arguments, "arguments"))
      return error;
  const auto *bytes = reinterpret_cast<const char *>(launch->arguments);
  for (size_t i = 0; i < launch->numArguments; ++i) {
    NormcArgument argument;
    std::memcpy(&argument, bytes + i * launch->argumentSize, kArgumentSize);
    if (llvm::Error error =
            bind(argument, manifest.arguments[i].role == ArgumentRole::Scalar,
                 i, bound.arguments.emplace_back()))
      return error;
  }
  bound.options.stream = addressOf(launch->stream);
  bound.options.workspace = addressOf(launch->workspace);
  bound.options.workspaceBytes = launch->workspaceSize;
  bound.options.maxCtas = launch->maxCtas;
  bound.options.isCleared = launch->flags & NORMC_WORKSPACE_CLEARED;
  return llvm::Error::success();
}

NormcStatus normcExecutableGetWorkspaceSize(const NormcExecutable *executable,
                                            const NormcLaunch *launch,
                                            uint64_t *size, char **message) {
  return run(message, [&]() -> llvm::Error {
    if (llvm::Error error = checkPointer(size, "size"))
      return error;
    BoundLaunch bound;
    if (llvm::Error error = bind(executable, launch, bound))
      return error;
    return withStatus(NORMC_INVALID_LAUNCH,
                      executable->program->executable
                          ->workspaceSize(bound.arguments, bound.options)
                          .moveInto(*size));
  });
}

NormcStatus normcExecutableLaunch(NormcExecutable *executable,
                                  const NormcLaunch *launch, char **message) {
  return run(message, [&]() -> llvm::Error {
    BoundLaunch bound;
    if (llvm::Error error = bind(executable, launch, bound))
      return error;
    return withStatus(NORMC_INVALID_LAUNCH,
                      executable->program->executable->enqueue(bound.arguments,
                                                               bound.options));
  });
}

const char *normcExecutableGetManifest(const NormcExecutable *executable) {
  return executable ? executable->program->manifestText.c_str() : nullptr;
}

size_t normcExecutableGetNumArguments(const NormcExecutable *executable) {
  return executable ? executable->program->manifest.arguments.size() : 0;
}

NormcStatus normcExecutableGetArgumentInfo(const NormcExecutable *executable,
                                           size_t index,
                                           NormcArgumentInfo *info,
                                           char **message) {
  return run(message, [&]() -> llvm::Error {
    if (llvm::Error error = checkPointer(executable, "executable"))
      return error;
    llvm::Expected<NormcArgumentInfo> known =
        readStruct(info, kArgumentInfoSize, "NormcArgumentInfo");
    if (!known)
      return known.takeError();
    const std::vector<Argument> &arguments =
        executable->program->manifest.arguments;
    if (index >= arguments.size())
      return makeError(NORMC_INVALID_ARGUMENT,
                       "expects an index below " +
                           llvm::Twine(arguments.size()) + " but got " +
                           llvm::Twine(index));
    const Argument &argument = arguments[index];
    known->name = argument.name.c_str();
    known->role = NormcRole(argument.role);
    known->dtype = NormcDType(argument.dtype);
    known->rank = int32_t(argument.shape.size());
    known->inPlaceOf = argument.inPlace ? int32_t(*argument.inPlace) : -1;
    known->shape = argument.shape.data();
    known->strides = argument.strides.data();
    known->alignment = argument.alignment;
    std::memcpy(info, &*known, std::min(known->structSize, sizeof(*info)));
    return llvm::Error::success();
  });
}

void normcExecutableDestroy(NormcExecutable *executable) { delete executable; }
