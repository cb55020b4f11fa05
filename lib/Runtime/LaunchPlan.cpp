//===- LaunchPlan.cpp - A checked launch of a manifest's kernels ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/LaunchPlan.h"
#include "ArgumentChecks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
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

/// Makes the plan once the arguments have passed their checks.
class Planner {
public:
  Planner(const Manifest &manifest, llvm::ArrayRef<BoundArgument> arguments,
          uint64_t workspace)
      : manifest(manifest), workspace(workspace),
        buffers(arguments.begin(), arguments.end()) {
    // A kernel may step along collapsed dims, one of which has extent 1 and
    // with that any stride.
    for (auto [argument, buffer] : llvm::zip(manifest.arguments, buffers))
      if (argument.contiguous)
        buffer.strides = contiguousStrides(buffer.shape);
  }

  llvm::Error addTemporaries(AllocateTemporary allocate);
  llvm::Expected<KernelLaunch> plan(unsigned kernel) const;

private:
  llvm::Expected<int64_t> product(const BufferDims &dims) const;
  llvm::Expected<uint64_t> elementBytes(unsigned buffer) const;
  llvm::Expected<uint64_t> minimalBytes(const Kernel &kernel) const;
  llvm::Expected<uint64_t> slot(const Param &param) const;
  bool holds(const AlignmentRequirement &requirement) const;
  llvm::Expected<unsigned> chooseVariant(unsigned kernel) const;

  const Manifest &manifest;
  uint64_t workspace;
  llvm::SmallVector<BoundArgument, 8> buffers;
};

llvm::Error Planner::addTemporaries(AllocateTemporary allocate) {
  for (const Temporary &temporary : manifest.temporaries) {
    llvm::SmallVector<int64_t, 4> shape;
    for (const TemporaryExtent &extent : temporary.shape)
      shape.push_back(
          extent.source
              ? buffers[extent.source->buffer].shape[extent.source->dim]
              : extent.value);
    buffers.push_back(BoundArgument::contiguous(temporary.dtype, 0, shape));
    llvm::Expected<uint64_t> bytes = elementBytes(buffers.size() - 1);
    if (!bytes)
      return bytes.takeError();
    if (llvm::Error error = allocate(*bytes).moveInto(buffers.back().address))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<int64_t> Planner::product(const BufferDims &dims) const {
  llvm::SmallVector<int64_t, 4> extents;
  for (unsigned dim : dims.dims)
    extents.push_back(buffers[dims.buffer].shape[dim]);
  return numElements(extents);
}

llvm::Expected<uint64_t> Planner::elementBytes(unsigned buffer) const {
  llvm::Expected<int64_t> count = numElements(buffers[buffer].shape);
  if (!count)
    return count.takeError();
  std::optional<uint64_t> bytes = llvm::checkedMulUnsigned<uint64_t>(
      uint64_t(*count), byteSize(buffers[buffer].dtype));
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

llvm::Expected<uint64_t> Planner::slot(const Param &param) const {
  const BoundArgument &buffer = buffers[param.buffer];
  switch (param.kind) {
  case Param::Kind::Pointer:
    return buffer.address;
  case Param::Kind::Stride:
    return uint64_t(buffer.strides[param.dims.front()]);
  case Param::Kind::Extent: {
    llvm::Expected<int64_t> extent = product({param.buffer, param.dims});
    if (!extent)
      return extent.takeError();
    return uint64_t(*extent);
  }
  case Param::Kind::Scalar:
    return buffer.scalar;
  case Param::Kind::Workspace:
    return workspace;
  }
  return uint64_t(0);
}

bool Planner::holds(const AlignmentRequirement &requirement) const {
  const BoundArgument &buffer = buffers[requirement.buffer];
  if (buffer.address % requirement.alignment != 0)
    return false;
  for (size_t dim = 0; dim + 1 < buffer.shape.size(); ++dim)
    if (buffer.shape[dim] > 1 && uint64_t(buffer.strides[dim]) *
                                         byteSize(buffer.dtype) %
                                         requirement.alignment !=
                                     0)
      return false;
  return true;
}

llvm::Expected<unsigned> Planner::chooseVariant(unsigned index) const {
  const Kernel &kernel = manifest.kernels[index];
  for (unsigned i = 0; i < kernel.variants.size(); ++i)
    if (llvm::all_of(kernel.variants[i].requirements,
                     [&](const AlignmentRequirement &requirement) {
                       return holds(requirement);
                     }))
      return i;
  return llvm::createStringError(
      "kernel " + llvm::Twine(index) + " '" + kernel.program +
      "': expects one of " + llvm::Twine(kernel.variants.size()) +
      " alignments but the arguments' addresses and strides meet none");
}

llvm::Expected<KernelLaunch> Planner::plan(unsigned index) const {
  const Kernel &kernel = manifest.kernels[index];
  KernelLaunch launch;
  launch.kernel = index;
  if (llvm::Error error = product(kernel.rows).moveInto(launch.rows))
    return error;
  if (llvm::Error error = product(kernel.columns).moveInto(launch.columns))
    return error;
  if (llvm::Error error = minimalBytes(kernel).moveInto(launch.minimalBytes))
    return error;
  if (launch.empty())
    return launch;
  if (llvm::Error error = chooseVariant(index).moveInto(launch.variant))
    return error;
  for (const Param &param : kernel.params)
    if (llvm::Error error = slot(param).moveInto(launch.params.emplace_back()))
      return error;
  return launch;
}

} // namespace

llvm::Expected<LaunchPlan>
norm::planLaunch(const Manifest &manifest,
                 llvm::ArrayRef<BoundArgument> arguments, uint64_t workspace,
                 AllocateTemporary allocate) {
  if (llvm::Error error = checkArguments(manifest, arguments))
    return error;
  Planner planner(manifest, arguments, workspace);
  if (llvm::Error error = planner.addTemporaries(allocate))
    return error;
  LaunchPlan plan;
  for (unsigned i = 0; i < manifest.kernels.size(); ++i)
    if (llvm::Error error =
            planner.plan(i).moveInto(plan.kernels.emplace_back()))
      return error;
  return plan;
}
