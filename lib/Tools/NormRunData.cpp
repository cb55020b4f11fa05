//===- NormRunData.cpp - The data of one call -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Tools/NormRunData.h"
#include "norm/Runtime/Npy.h"
#include "norm/Runtime/Workers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

using namespace norm;
using namespace norm::tools;

namespace {

llvm::Error fail(const Manifest &manifest, unsigned index,
                 const llvm::Twine &message) {
  return llvm::createStringError(manifest.describe(index) + ": " + message);
}

/// Finds out the shape of every tensor of a call.
class ShapeSolver {
public:
  explicit ShapeSolver(const Manifest &manifest) : manifest(manifest) {
    for (const Argument &argument : manifest.arguments)
      shapes.emplace_back(argument.shape);
  }

  /// The argument's data has this shape.
  llvm::Error give(unsigned index, llvm::ArrayRef<int64_t> shape);
  /// Carries extents over to dims that the manifest says are equal.
  void solve();
  /// The shape, which must be known by now.
  llvm::Expected<llvm::ArrayRef<int64_t>> shape(unsigned index);

private:
  std::optional<int64_t> guess(unsigned index, size_t dim) const;

  const Manifest &manifest;
  std::vector<std::vector<int64_t>> shapes;
};

llvm::Error ShapeSolver::give(unsigned index, llvm::ArrayRef<int64_t> shape) {
  llvm::ArrayRef<int64_t> want = manifest.arguments[index].shape;
  bool fits = want.size() == shape.size();
  for (size_t dim = 0; fits && dim < want.size(); ++dim)
    fits = want[dim] == kDynamic || want[dim] == shape[dim];
  if (!fits)
    return fail(manifest, index,
                "expects shape " + printShape(want) + " but got " +
                    printShape(shape));
  shapes[index].assign(shape.begin(), shape.end());
  return llvm::Error::success();
}

void ShapeSolver::solve() {
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned i = 0; i < shapes.size(); ++i) {
      const auto &equals = manifest.arguments[i].equals;
      for (size_t dim = 0; dim < equals.size(); ++dim) {
        if (!equals[dim])
          continue;
        int64_t &mine = shapes[i][dim];
        int64_t &other = shapes[equals[dim]->buffer][equals[dim]->dim];
        if ((mine == kDynamic) == (other == kDynamic))
          continue;
        (mine == kDynamic ? mine : other) = mine == kDynamic ? other : mine;
        changed = true;
      }
    }
  }
}

/// For a manifest that doesn't relate extents: the extent on which all known
/// dynamic dims at the same position agree.
std::optional<int64_t> ShapeSolver::guess(unsigned index, size_t dim) const {
  std::optional<int64_t> found;
  for (unsigned i = 0; i < shapes.size(); ++i) {
    const Argument &argument = manifest.arguments[i];
    if (i == index || dim >= shapes[i].size() ||
        argument.shape[dim] != kDynamic || shapes[i][dim] == kDynamic)
      continue;
    if (found && *found != shapes[i][dim])
      return std::nullopt;
    found = shapes[i][dim];
  }
  return found;
}

llvm::Expected<llvm::ArrayRef<int64_t>> ShapeSolver::shape(unsigned index) {
  std::vector<int64_t> &extents = shapes[index];
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    if (extents[dim] != kDynamic)
      continue;
    std::optional<int64_t> guessed = guess(index, dim);
    if (!guessed)
      return fail(manifest, index,
                  "expects data that tells the extent of dim " +
                      llvm::Twine(dim) + " of " +
                      printShape(manifest.arguments[index].shape) +
                      " but got none");
    extents[dim] = *guessed;
  }
  return llvm::ArrayRef<int64_t>(extents);
}

/// Makes the data of one call.
class DataMaker {
public:
  DataMaker(const Manifest &manifest, const RunOptions &options,
            Workers &workers)
      : manifest(manifest), options(options), workers(workers),
        solver(manifest) {
    data.values.resize(manifest.arguments.size());
    for (unsigned i = 0; i < manifest.arguments.size(); ++i)
      if (manifest.arguments[i].role == ArgumentRole::Output)
        data.results.push_back(i);
  }

  llvm::Expected<CallData> make();

private:
  llvm::Error checkIndices();
  llvm::Error makeGiven(unsigned index, const DataSpec &spec);
  llvm::Error makeDefault(unsigned index);
  llvm::Error makeResult(unsigned position);

  const Manifest &manifest;
  const RunOptions &options;
  Workers &workers;
  ShapeSolver solver;
  CallData data;
};

template <typename T>
llvm::Error checkResultIndices(const std::map<unsigned, T> &values,
                               llvm::StringRef option, size_t count) {
  if (values.empty() || values.rbegin()->first < count)
    return llvm::Error::success();
  return llvm::createStringError(
      "--" + option + ": expects a result index below " + llvm::Twine(count) +
      " but got " + llvm::Twine(values.rbegin()->first));
}

llvm::Error DataMaker::checkIndices() {
  size_t inputs = manifest.arguments.size() - data.results.size();
  for (const auto &[index, spec] : options.arguments) {
    // The results of a kernel lie between its arguments; a shape is no data.
    bool isKnown = index < manifest.arguments.size() &&
                   (manifest.arguments[index].role != ArgumentRole::Output ||
                    spec.kind == DataSpec::Kind::Empty);
    if (!isKnown)
      return llvm::createStringError("--arg: expects an argument index below " +
                                     llvm::Twine(inputs) + " but got " +
                                     llvm::Twine(index));
  }
  size_t results = data.results.size();
  if (llvm::Error error = checkResultIndices(options.outputs, "out", results))
    return error;
  if (llvm::Error error =
          checkResultIndices(options.expectations, "expect", results))
    return error;
  return checkResultIndices(options.placements, "place", results);
}

llvm::Error DataMaker::makeGiven(unsigned index, const DataSpec &spec) {
  const Argument &argument = manifest.arguments[index];
  CallArgument &value = data.values[index];
  bool scalar = argument.role == ArgumentRole::Scalar;
  if (scalar != (spec.kind == DataSpec::Kind::Scalar))
    return fail(manifest, index,
                scalar ? "expects a number but got a tensor"
                       : "expects a tensor but got a number");
  if (scalar) {
    // An integer is neither rounded nor wrapped.
    if (!isFloat(argument.dtype) &&
        roundTo(argument.dtype, spec.value) != spec.value) {
      std::string text;
      llvm::raw_string_ostream(text) << llvm::format("%.12g", spec.value);
      return fail(manifest, index,
                  "expects a number of type " + name(argument.dtype) +
                      " but got " + text);
    }
    value.scalar = spec.value;
    return llvm::Error::success();
  }
  // The shape before the data: making gigabytes only to refuse them is slow.
  llvm::SmallVector<int64_t, 4> shape = spec.shape;
  if (spec.kind == DataSpec::Kind::File) {
    llvm::Expected<NpyFile> file = NpyFile::open(spec.path);
    if (!file)
      return file.takeError();
    shape = file->shapeFor(argument.dtype);
  }
  if (llvm::Error error = solver.give(index, shape))
    return error;
  value.placement = spec.placement;
  if (argument.role == ArgumentRole::Output)
    return llvm::Error::success();
  llvm::Expected<HostTensor> tensor = spec.make(argument.dtype, workers);
  if (!tensor)
    return fail(manifest, index, llvm::toString(tensor.takeError()));
  value.tensor = std::move(*tensor);
  return llvm::Error::success();
}

llvm::Error DataMaker::makeDefault(unsigned index) {
  const Argument &argument = manifest.arguments[index];
  if (argument.role == ArgumentRole::Scalar)
    return fail(manifest, index,
                llvm::Twine("expects a number (--arg ") + llvm::Twine(index) +
                    "=...) but got none");
  llvm::Expected<llvm::ArrayRef<int64_t>> shape = solver.shape(index);
  if (!shape)
    return shape.takeError();
  llvm::Expected<HostTensor> tensor =
      DataSpec::random(*shape, index).make(argument.dtype, workers);
  if (!tensor)
    return fail(manifest, index, llvm::toString(tensor.takeError()));
  data.values[index].tensor = std::move(*tensor);
  return llvm::Error::success();
}

llvm::Error DataMaker::makeResult(unsigned position) {
  unsigned index = data.results[position];
  CallArgument &value = data.values[index];
  llvm::Expected<llvm::ArrayRef<int64_t>> shape = solver.shape(index);
  if (!shape)
    return shape.takeError();
  value.aliasOf = manifest.arguments[index].inPlace;
  auto place = options.placements.find(position);
  if (place != options.placements.end()) {
    value.placement = place->second.placement;
    value.aliasOf = place->second.aliasOf;
  }
  if (value.aliasOf) {
    unsigned other = *value.aliasOf;
    bool fits =
        other < manifest.arguments.size() &&
        manifest.arguments[other].role == ArgumentRole::Input &&
        data.values[other].tensor.shape() == *shape &&
        manifest.arguments[other].dtype == manifest.arguments[index].dtype;
    if (!fits)
      return llvm::createStringError(
          "--place: expects an argument of the type of result " +
          llvm::Twine(position) + " for alias but got " + llvm::Twine(other));
    // In place, the result lies as the argument does.
    value.placement = data.values[other].placement;
  }
  llvm::Expected<HostTensor> tensor = HostTensor::create(
      manifest.arguments[index].dtype, *shape, value.placement, workers);
  if (!tensor)
    return fail(manifest, index, llvm::toString(tensor.takeError()));
  value.tensor = std::move(*tensor);
  return llvm::Error::success();
}

llvm::Expected<CallData> DataMaker::make() {
  if (llvm::Error error = checkIndices())
    return error;
  for (const auto &[index, spec] : options.arguments)
    if (llvm::Error error = makeGiven(index, spec))
      return error;
  solver.solve();
  for (unsigned i = 0; i < manifest.arguments.size(); ++i)
    if (manifest.arguments[i].role != ArgumentRole::Output &&
        !options.arguments.count(i))
      if (llvm::Error error = makeDefault(i))
        return error;
  solver.solve();
  for (unsigned i = 0; i < data.results.size(); ++i)
    if (llvm::Error error = makeResult(i))
      return error;
  return std::move(data);
}

} // namespace

llvm::Expected<KernelLaunchOptions>
tools::makeLaunchOptions(const RunOptions &options) {
  KernelLaunchOptions launch;
  launch.grid = options.grid;
  launch.block = options.block;
  launch.dynamicShared = options.sharedBytes;
  for (const auto &[index, spec] : options.arguments) {
    KernelArgument &argument = launch.arguments[index];
    argument.dtype = spec.dtype;
    switch (spec.kind) {
    case DataSpec::Kind::Scalar:
      argument.role = ArgumentRole::Scalar;
      continue;
    case DataSpec::Kind::Empty:
      argument.role = ArgumentRole::Output;
      break;
    default:
      argument.role = ArgumentRole::Input;
    }
    argument.rank = unsigned(spec.shape.size());
    if (spec.kind != DataSpec::Kind::File)
      continue;
    llvm::Expected<NpyFile> file = NpyFile::open(spec.path);
    if (!file)
      return file.takeError();
    argument.rank = unsigned(file->shape().size());
  }
  return launch;
}

llvm::Expected<CallData> tools::makeCallData(const Manifest &manifest,
                                             const RunOptions &options,
                                             Workers &workers) {
  return DataMaker(manifest, options, workers).make();
}

llvm::Expected<DeviceCall> DeviceCall::create(Device &device,
                                              const Manifest &manifest,
                                              const CallData &data) {
  DeviceCall call;
  call.device = &device;
  call.data = &data;
  for (unsigned i = 0; i < data.values.size(); ++i) {
    const CallArgument &value = data.values[i];
    if (value.scalar) {
      call.buffers.push_back(nullptr);
      call.bound.push_back(BoundArgument::makeScalar(
          manifest.arguments[i].dtype, *value.scalar));
      continue;
    }
    if (value.aliasOf) {
      call.buffers.push_back(call.buffers[*value.aliasOf]);
    } else {
      llvm::Expected<std::unique_ptr<Buffer>> buffer =
          device.allocate(value.tensor.bytes().size());
      if (!buffer)
        return buffer.takeError();
      call.buffers.push_back(std::move(*buffer));
      if (llvm::Error error =
              device.copyIn(*call.buffers.back(), 0, value.tensor.bytes()))
        return error;
    }
    call.bound.push_back(value.tensor.bind(call.buffers.back()->address()));
  }
  return call;
}

llvm::Error DeviceCall::reset() {
  for (unsigned i = 0; i < data->values.size(); ++i) {
    const CallArgument &value = data->values[i];
    if (value.scalar || value.aliasOf)
      continue;
    if (llvm::Error error =
            device->copyIn(*buffers[i], 0, value.tensor.bytes()))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<HostTensor>>
DeviceCall::readResults(Workers &workers) {
  if (llvm::Error error = device->synchronize())
    return error;
  std::vector<HostTensor> results;
  for (unsigned index : data->results) {
    const CallArgument &value = data->values[index];
    llvm::Expected<HostTensor> result = HostTensor::create(
        value.tensor.dtype(), value.tensor.shape(), value.placement, workers);
    if (!result)
      return result.takeError();
    if (llvm::Error error =
            device->copyOut(result->bytes(), *buffers[index], 0))
      return error;
    results.push_back(std::move(*result));
  }
  return results;
}
