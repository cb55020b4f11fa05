//===- LaunchPlan.cpp - A checked launch of a manifest's kernels ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/LaunchPlan.h"
#include "ArgumentChecks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace norm;

BoundArgument BoundArgument::contiguous(DType dtype, uint64_t address,
                                        llvm::ArrayRef<int64_t> shape) {
  BoundArgument argument;
  argument.dtype = dtype;
  argument.address = address;
  argument.shape.assign(shape.begin(), shape.end());
  argument.strides = contiguousStrides(shape);
  return argument;
}

BoundArgument BoundArgument::makeScalar(DType dtype, double value) {
  BoundArgument argument;
  argument.dtype = dtype;
  encode(dtype, value, &argument.scalar);
  return argument;
}

BoundArgument BoundArgument::inBytes() const {
  BoundArgument bytes = *this;
  if (!isPacked(dtype) || shape.empty())
    return bytes;
  bytes.dtype = DType::I8;
  bytes.shape.back() /= 2;
  for (size_t dim = 0; dim + 1 < shape.size(); ++dim)
    bytes.strides[dim] /= 2;
  return bytes;
}

llvm::SmallVector<int64_t, 4>
norm::contiguousStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 4> strides(shape.size(), 1);
  // An empty dim must not make the strides outside it 0, and a shape that
  // doesn't fit memory is refused elsewhere.
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] =
        llvm::checkedMul(strides[i], std::max<int64_t>(shape[i], 1))
            .value_or(std::numeric_limits<int64_t>::max());
  return strides;
}

std::string norm::printShape(llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(
      shape, stream,
      [&](int64_t extent) {
        if (extent == kDynamic)
          stream << '?';
        else
          stream << extent;
      },
      "x");
  return text;
}

llvm::Expected<int64_t> norm::numElements(llvm::ArrayRef<int64_t> extents) {
  int64_t product = 1;
  bool overflow = false;
  for (int64_t extent : extents) {
    // An extent of 0 makes the product 0 whatever the others are.
    if (extent == 0)
      return 0;
    std::optional<int64_t> next = llvm::checkedMul(product, extent);
    overflow |= !next;
    product = next.value_or(1);
  }
  if (overflow)
    return llvm::createStringError(
        "expects fewer than 2^63 elements but got shape " +
        llvm::Twine(printShape(extents)));
  return product;
}

namespace {

/// What the parts of a workspace are aligned to.
constexpr uint64_t kPartAlignment = 256;

/// Makes the plan once the arguments have passed their checks.
class Planner {
public:
  Planner(const Manifest &manifest, llvm::ArrayRef<BoundArgument> arguments,
          const LaunchResources &resources)
      : manifest(manifest), resources(resources),
        buffers(arguments.begin(), arguments.end()) {
    // A kernel may step along collapsed dims, one of which has extent 1 and
    // with that any stride.
    for (auto [argument, buffer] : llvm::zip(manifest.arguments, buffers))
      if (argument.contiguous)
        buffer.strides = contiguousStrides(buffer.shape);
  }

  llvm::Expected<LaunchPlan> run();

private:
  llvm::Error addTemporaries();
  llvm::Error placeTemporaries();
  llvm::Error addKernel(unsigned index);
  llvm::Error addWorkspace();
  llvm::Error addPart(uint64_t rows, uint64_t bytesPerRow, bool isCounters);
  llvm::Error fillParams();

  llvm::Expected<int64_t> product(const BufferDims &dims) const;
  llvm::Expected<uint64_t> elementBytes(unsigned buffer) const;
  llvm::Expected<uint64_t> minimalBytes(const Kernel &kernel) const;
  llvm::Expected<uint64_t> slot(const Param &param,
                                const KernelLaunch &launch) const;
  llvm::Expected<uint64_t> stride(const Param &param) const;
  bool holds(const AlignmentRequirement &requirement,
             const Kernel &kernel) const;
  uint64_t mostCtas() const {
    return resources.maxCtas ? resources.maxCtas
                             : std::numeric_limits<uint64_t>::max();
  }
  bool fits(const Variant &variant, KernelLaunch &launch) const;
  llvm::Error chooseVariant(KernelLaunch &launch) const;

  const Manifest &manifest;
  const LaunchResources &resources;
  llvm::SmallVector<BoundArgument, 8> buffers;
  LaunchPlan plan;
  llvm::SmallVector<uint64_t, 2> temporaryBytes;
  /// Where the kernels' own parts of the workspace begin.
  llvm::SmallVector<uint64_t, 2> parts;
};

/// Their addresses are known once the workspace is; 0 is as aligned as these.
llvm::Error Planner::addTemporaries() {
  for (const Temporary &temporary : manifest.temporaries) {
    llvm::SmallVector<int64_t, 4> shape;
    for (const TemporaryExtent &extent : temporary.shape)
      shape.push_back(
          extent.source
              ? buffers[extent.source->buffer].shape[extent.source->dim] /
                    int64_t(extent.divisor)
              : extent.value);
    if (llvm::Error error =
            checkPacked(temporary.dtype, shape, contiguousStrides(shape)))
      return llvm::createStringError(manifest.describe(buffers.size()) + ": " +
                                     llvm::toString(std::move(error)));
    buffers.push_back(BoundArgument::contiguous(temporary.dtype, 0, shape));
    llvm::Expected<uint64_t> bytes = elementBytes(buffers.size() - 1);
    if (!bytes)
      return bytes.takeError();
    temporaryBytes.push_back(*bytes);
  }
  return llvm::Error::success();
}

/// Lays out the slots one after the other, each as large as the largest that
/// is in it; then the temporaries without one.
llvm::Error Planner::placeTemporaries() {
  plan.temporaryOffset = plan.workspaceBytes;
  unsigned count = manifest.temporaries.size();
  llvm::SmallVector<uint64_t> offsets(count);
  for (unsigned slot = 0; slot < count; ++slot) {
    uint64_t largest = 0;
    for (unsigned i = 0; i < count; ++i)
      if (manifest.temporaries[i].slot == slot) {
        offsets[i] = plan.workspaceBytes;
        largest = std::max(largest, temporaryBytes[i]);
      }
    if (llvm::Error error = addPart(1, largest, false))
      return error;
  }
  for (unsigned i = 0; i < count; ++i)
    if (!manifest.temporaries[i].slot) {
      offsets[i] = plan.workspaceBytes;
      if (llvm::Error error = addPart(1, temporaryBytes[i], false))
        return error;
    }
  if (llvm::Error error =
          resources.workspace(plan.workspaceBytes).moveInto(plan.workspace))
    return error;
  for (unsigned i = 0; i < count; ++i) {
    BoundArgument &buffer = buffers[manifest.arguments.size() + i];
    buffer.address = plan.workspace + offsets[i];
    plan.temporaries.push_back(buffer);
  }
  return llvm::Error::success();
}

llvm::Expected<int64_t> Planner::product(const BufferDims &dims) const {
  llvm::SmallVector<int64_t, 4> extents;
  for (unsigned dim : dims.dims)
    extents.push_back(buffers[dims.buffer].shape[dim]);
  if (dims.factor != 1)
    extents.push_back(int64_t(dims.factor));
  llvm::Expected<int64_t> whole = numElements(extents);
  if (!whole || dims.divisor == 1)
    return whole;
  if (*whole % int64_t(dims.divisor) != 0)
    return llvm::createStringError(
        manifest.describe(dims.buffer) + ": expects a multiple of " +
        llvm::Twine(dims.divisor) + " elements but got " + llvm::Twine(*whole));
  return *whole / int64_t(dims.divisor);
}

llvm::Expected<uint64_t> Planner::elementBytes(unsigned buffer) const {
  llvm::Expected<int64_t> count = numElements(buffers[buffer].shape);
  if (!count)
    return count.takeError();
  DType dtype = buffers[buffer].dtype;
  if (isPacked(dtype))
    return bytesOf(dtype, uint64_t(*count));
  std::optional<uint64_t> bytes =
      llvm::checkedMulUnsigned<uint64_t>(uint64_t(*count), byteSize(dtype));
  if (!bytes)
    return llvm::createStringError(
        manifest.describe(buffer) +
        ": expects fewer than 2^64 bytes but got shape " +
        printShape(buffers[buffer].shape));
  return *bytes;
}

llvm::Expected<uint64_t> Planner::minimalBytes(const Kernel &kernel) const {
  uint64_t total = 0;
  for (llvm::ArrayRef<unsigned> list :
       {llvm::ArrayRef(kernel.reads), llvm::ArrayRef(kernel.writes)})
    for (unsigned buffer : list) {
      llvm::Expected<uint64_t> bytes = elementBytes(buffer);
      if (!bytes)
        return bytes.takeError();
      total += *bytes;
    }
  return total;
}

llvm::Expected<uint64_t> Planner::stride(const Param &param) const {
  llvm::Expected<int64_t> steps =
      product({param.buffer,
               {param.dims.begin() + 1, param.dims.end()},
               param.factor,
               param.divisor});
  if (!steps)
    return steps.takeError();
  return uint64_t(buffers[param.buffer].strides[param.dims.front()]) *
         uint64_t(*steps);
}

llvm::Expected<uint64_t> Planner::slot(const Param &param,
                                       const KernelLaunch &launch) const {
  const BoundArgument &buffer = buffers[param.buffer];
  switch (param.kind) {
  case Param::Kind::Pointer:
    return buffer.address;
  case Param::Kind::Stride:
    return stride(param);
  case Param::Kind::Extent: {
    llvm::Expected<int64_t> extent =
        product({param.buffer, param.dims, param.factor, param.divisor});
    if (!extent)
      return extent.takeError();
    return uint64_t(*extent);
  }
  case Param::Kind::Scalar:
    return buffer.scalar;
  case Param::Kind::Workspace:
    return plan.workspace + parts[launch.kernel];
  case Param::Kind::Split:
    return launch.split;
  }
  return uint64_t(0);
}

bool Planner::holds(const AlignmentRequirement &requirement,
                    const Kernel &kernel) const {
  const BoundArgument &buffer = buffers[requirement.buffer];
  if (buffer.address % requirement.alignment != 0)
    return false;
  for (size_t dim = 0; dim + 1 < buffer.shape.size(); ++dim)
    if (buffer.shape[dim] > 1 &&
        bytesOf(buffer.dtype, uint64_t(buffer.strides[dim])) %
                requirement.alignment !=
            0)
      return false;
  // Steps from one part of a dim to the next.
  for (const Param &param : kernel.params) {
    if (param.kind != Param::Kind::Stride ||
        param.buffer != requirement.buffer || param.dims.size() == 1)
      continue;
    llvm::Expected<uint64_t> steps = stride(param);
    if (!steps) {
      // Said once more where the parameter is filled in.
      llvm::consumeError(steps.takeError());
      return false;
    }
    if (bytesOf(buffer.dtype, *steps) % requirement.alignment != 0)
      return false;
  }
  return true;
}

/// Whether the device runs the variant's grid; then fills in what it is.
bool Planner::fits(const Variant &variant, KernelLaunch &launch) const {
  const Kernel &kernel = manifest.kernels[launch.kernel];
  uint64_t groups = kernel.grid.value_or(
      llvm::divideCeil(uint64_t(launch.rows), variant.rowsPerCta));
  uint64_t split = 1;
  if (resources.residentCtas && variant.split != 1) {
    uint64_t most =
        std::min(resources.residentCtas(launch.kernel, launch.variant),
                 mostCtas()) /
        groups;
    if (variant.split > std::max<uint64_t>(most, 1))
      return false;
    split = variant.split
                ? variant.split
                : llvm::bit_floor(std::clamp<uint64_t>(most, 1, kernel.slices));
  }
  // Those that don't fit at once would begin when others are through.
  if (variant.persistent) {
    uint64_t most = mostCtas();
    if (resources.residentCtas)
      most =
          std::min(most, resources.residentCtas(launch.kernel, launch.variant));
    if (most < variant.cluster)
      return false;
    groups = std::min(groups, most / variant.cluster);
  }
  launch.split = split;
  launch.groups = groups * split;
  return launch.groups <= mostCtas() / variant.cluster;
}

llvm::Error Planner::chooseVariant(KernelLaunch &launch) const {
  const Kernel &kernel = manifest.kernels[launch.kernel];
  bool isAligned = false;
  for (unsigned i = 0; i < kernel.variants.size(); ++i) {
    const Variant &variant = kernel.variants[i];
    if (!llvm::all_of(variant.requirements, [&](const auto &requirement) {
          return holds(requirement, kernel);
        }))
      continue;
    isAligned = true;
    launch.variant = i;
    if (fits(variant, launch))
      return llvm::Error::success();
  }
  std::string name =
      "kernel " + std::to_string(launch.kernel) + " '" + kernel.program + "': ";
  if (isAligned && resources.maxCtas)
    return llvm::createStringError(llvm::Twine(name) + "expects at most " +
                                   llvm::Twine(resources.maxCtas) +
                                   " CTAs but " + llvm::Twine(launch.rows) +
                                   " rows take more of them at once");
  if (isAligned)
    return llvm::createStringError(
        llvm::Twine(name) + "expects all CTAs to be resident at once but " +
        llvm::Twine(launch.rows) +
        " rows take more of them than the device "
        "runs");
  return llvm::createStringError(
      llvm::Twine(name) + "expects one of " +
      llvm::Twine(kernel.variants.size()) +
      " alignments but the arguments' addresses and strides meet none");
}

llvm::Error Planner::addKernel(unsigned index) {
  const Kernel &kernel = manifest.kernels[index];
  KernelLaunch &launch = plan.kernels.emplace_back();
  launch.kernel = index;
  if (llvm::Error error = product(kernel.rows).moveInto(launch.rows))
    return error;
  if (llvm::Error error = product(kernel.columns).moveInto(launch.columns))
    return error;
  if (llvm::Error error = minimalBytes(kernel).moveInto(launch.minimalBytes))
    return error;
  return launch.empty() ? llvm::Error::success() : chooseVariant(launch);
}

llvm::Error Planner::addPart(uint64_t units, uint64_t bytesPerUnit,
                             bool isCounters) {
  std::optional<uint64_t> bytes =
      llvm::checkedMulUnsigned<uint64_t>(units, bytesPerUnit);
  std::optional<uint64_t> end =
      bytes ? llvm::checkedAddUnsigned<uint64_t>(plan.workspaceBytes, *bytes)
            : std::nullopt;
  if (end)
    end = llvm::checkedAddUnsigned<uint64_t>(*end, kPartAlignment - 1);
  if (!end)
    return llvm::createStringError(
        "expects a workspace of fewer than 2^64 bytes but got " +
        llvm::Twine(bytesPerUnit) + " bytes for each of " + llvm::Twine(units) +
        " groups of rows");
  if (isCounters && *bytes != 0)
    plan.counters.push_back({plan.workspaceBytes, *bytes});
  plan.workspaceBytes = llvm::alignDown(*end, kPartAlignment);
  return llvm::Error::success();
}

/// Lays out the workspace as the manifest's document says.
llvm::Error Planner::addWorkspace() {
  if (llvm::Error error = addPart(1, manifest.workspace.bytes, false))
    return error;
  for (const ByteRange &range : manifest.workspace.zeroed)
    if (range.bytes != 0)
      plan.counters.push_back(range);
  for (const KernelLaunch &launch : plan.kernels) {
    const Kernel &kernel = manifest.kernels[launch.kernel];
    parts.push_back(kernel.hasOwnWorkspace() ? plan.workspaceBytes : 0);
    uint64_t units = launch.empty() ? 0 : launch.groups / launch.split;
    if (llvm::Error error = addPart(units, kernel.counterBytes, true))
      return error;
    if (llvm::Error error = addPart(units, kernel.unitBytes, false))
      return error;
  }
  return placeTemporaries();
}

llvm::Error Planner::fillParams() {
  for (KernelLaunch &launch : plan.kernels) {
    if (launch.empty())
      continue;
    for (const Param &param : manifest.kernels[launch.kernel].params)
      if (llvm::Error error =
              slot(param, launch).moveInto(launch.params.emplace_back()))
        return error;
  }
  return llvm::Error::success();
}

llvm::Expected<LaunchPlan> Planner::run() {
  if (llvm::Error error = addTemporaries())
    return error;
  for (unsigned i = 0; i < manifest.kernels.size(); ++i)
    if (llvm::Error error = addKernel(i))
      return error;
  if (llvm::Error error = addWorkspace())
    return error;
  if (llvm::Error error = fillParams())
    return error;
  return std::move(plan);
}

} // namespace

llvm::Expected<LaunchPlan>
norm::planLaunch(const Manifest &manifest,
                 llvm::ArrayRef<BoundArgument> arguments,
                 const LaunchResources &resources) {
  if (llvm::Error error = checkArguments(manifest, arguments))
    return error;
  return Planner(manifest, arguments, resources).run();
}
