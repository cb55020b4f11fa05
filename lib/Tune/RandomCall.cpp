//===- RandomCall.cpp - Calls on random numbers ---------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Tune/Tune.h"

#include "norm/Runtime/HostTensor.h"
#include "norm/Runtime/Random.h"
#include "norm/Runtime/Workers.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;

namespace {

/// Numbers around 1, all of them positive: scales and roots have to work.
constexpr double kMean = 1, kDeviation = 0.2;

class RandomCall final : public TunedCall {
public:
  RandomCall(Device &device, const Manifest &manifest)
      : device(device), description(manifest.arguments) {}

  llvm::Error make(const CallShapes &shapes);

  std::string describe() const override;
  unsigned sets() const override { return unsigned(bound.size()); }
  llvm::ArrayRef<BoundArgument> arguments(unsigned set) const override {
    return bound[set];
  }
  llvm::Error reset() override;
  llvm::Expected<std::vector<uint8_t>> results() override;

private:
  llvm::Error makeContents(const CallShapes &shapes);
  llvm::Error makeSet(const CallShapes &shapes);
  bool isScalar(size_t index) const {
    return description[index].role == ArgumentRole::Scalar;
  }
  bool isResult(size_t index) const {
    return description[index].role == ArgumentRole::Output;
  }

  Device &device;
  std::vector<Argument> description;
  Workers workers;
  /// Of each tensor: what it holds before a call.
  std::vector<std::vector<uint8_t>> contents;
  /// By set and argument; null for scalars, and for results in the memory of
  /// arguments.
  std::vector<std::vector<std::unique_ptr<Buffer>>> buffers;
  std::vector<std::vector<BoundArgument>> bound;
};

} // namespace

llvm::Error RandomCall::makeContents(const CallShapes &shapes) {
  for (size_t index = 0; index < description.size(); ++index) {
    std::vector<uint8_t> &content = contents.emplace_back();
    if (isScalar(index))
      continue;
    llvm::Expected<int64_t> count = numElements(shapes[index]);
    if (!count)
      return count.takeError();
    DType dtype = description[index].dtype;
    content.assign(bytesOf(dtype, uint64_t(*count)), HostTensor::kPoison);
    if (isResult(index))
      continue;
    // Elements that share a byte are on one thread.
    workers.forRanges(
        (*count + 1) / 2, 1 << 14, [&](int64_t begin, int64_t end) {
          for (int64_t i = 2 * begin; i < std::min(2 * end, *count); ++i)
            encodeAt(dtype,
                     kMean + kDeviation * randomNormal(index, uint64_t(i)),
                     content.data(), uint64_t(i));
        });
  }
  return llvm::Error::success();
}

llvm::Error RandomCall::makeSet(const CallShapes &shapes) {
  std::vector<std::unique_ptr<Buffer>> own;
  std::vector<BoundArgument> call;
  for (const auto &[index, argument] : llvm::enumerate(description)) {
    own.emplace_back();
    if (isScalar(index)) {
      call.push_back(BoundArgument::makeScalar(argument.dtype, kMean));
      continue;
    }
    if (argument.inPlace) {
      call.push_back(call[*argument.inPlace]);
      continue;
    }
    if (llvm::Error error =
            device.allocate(contents[index].size()).moveInto(own.back()))
      return error;
    if (llvm::Error error = device.copyIn(*own.back(), 0, contents[index]))
      return error;
    call.push_back(BoundArgument::contiguous(
        argument.dtype, own.back()->address(), shapes[index]));
  }
  buffers.push_back(std::move(own));
  bound.push_back(std::move(call));
  return llvm::Error::success();
}

llvm::Error RandomCall::make(const CallShapes &shapes) {
  if (shapes.size() != description.size())
    return llvm::createStringError(
        "expects a shape for each of the " + llvm::Twine(description.size()) +
        " arguments and results but got " + llvm::Twine(shapes.size()));
  for (const auto &[index, shape] : llvm::enumerate(shapes))
    if (llvm::any_of(shape, [](int64_t extent) { return extent < 0; }))
      return llvm::createStringError("expects extents of 0 or more but got " +
                                     printShape(shape) + " for tensor " +
                                     llvm::Twine(index));
  if (llvm::Error error = makeContents(shapes))
    return error;
  uint64_t bytes = 0;
  for (const std::vector<uint8_t> &content : contents)
    bytes += content.size();
  for (unsigned i = coldSets(device.facts(), bytes); i > 0; --i)
    if (llvm::Error error = makeSet(shapes))
      return error;
  return llvm::Error::success();
}

std::string RandomCall::describe() const {
  std::string text;
  for (const auto &[index, value] : llvm::enumerate(bound.front()))
    if (!isScalar(index) && !isResult(index))
      text += (text.empty() ? "" : ", ") + printShape(value.shape);
  return text.empty() ? "no tensors" : text;
}

llvm::Error RandomCall::reset() {
  for (auto [buffer, content] : llvm::zip(buffers.front(), contents))
    if (buffer)
      if (llvm::Error error = device.copyIn(*buffer, 0, content))
        return error;
  return llvm::Error::success();
}

llvm::Expected<std::vector<uint8_t>> RandomCall::results() {
  std::vector<uint8_t> all;
  for (size_t index = 0; index < description.size(); ++index) {
    if (!isResult(index))
      continue;
    size_t begin = all.size();
    all.resize(begin + contents[index].size());
    size_t place = description[index].inPlace.value_or(unsigned(index));
    if (llvm::Error error =
            device.copyOut(llvm::MutableArrayRef(all).drop_front(begin),
                           *buffers.front()[place], 0))
      return std::move(error);
  }
  return all;
}

llvm::Expected<std::unique_ptr<TunedCall>>
norm::makeRandomCall(Device &device, const Manifest &manifest,
                     const CallShapes &shapes) {
  auto call = std::make_unique<RandomCall>(device, manifest);
  if (llvm::Error error = call->make(shapes))
    return std::move(error);
  return call;
}

llvm::Expected<TuneOutcome> norm::tune(Device &device, llvm::StringRef text,
                                       llvm::StringRef fileName,
                                       llvm::ArrayRef<CallShapes> calls,
                                       const TuneOptions &options) {
  auto makeCalls = [&](const Manifest &manifest)
      -> llvm::Expected<std::vector<std::unique_ptr<TunedCall>>> {
    std::vector<std::unique_ptr<TunedCall>> made;
    for (const CallShapes &shapes : calls)
      if (llvm::Error error = makeRandomCall(device, manifest, shapes)
                                  .moveInto(made.emplace_back()))
        return std::move(error);
    return made;
  };
  if (calls.empty())
    return llvm::createStringError("expects a call to be tuned but got none");
  return tune(device, text, fileName, makeCalls, options);
}
