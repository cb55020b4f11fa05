//===- Operands.cpp - Device memory of measured calls ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Operands.h"
#include "norm/Runtime/Random.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>
#include <numeric>

using namespace norm;
using namespace norm::bench;

namespace {

/// Sets begin at multiples of it, in bytes, so that each is as aligned as an
/// allocation.
constexpr uint64_t kSetAlignment = 256;
/// Elements of a row's tensor that are compared with the reference, about, and
/// bounds of the number of rows.
constexpr int64_t kCheckedElements = 1 << 17;
constexpr int64_t kLeastChecked = 2, kMostChecked = 64;
constexpr int64_t kMostWhole = CallSets::kWholeRows;

struct Moments {
  double mean, deviation;
};

Moments momentsOf(Role role) {
  switch (role) {
  case Role::Input:
    return {0.25, 1.5};
  case Role::Residual:
    return {0, 1};
  case Role::Scale:
    return {1, 0.02};
  case Role::Shift:
    return {0, 0.02};
  case Role::Step:
    return {0.02, 0};
  case Role::Cotangent:
    return {0, 1};
  case Role::Mean:
    return {0.25, 0.02};
  case Role::Rstd:
    return {0.66, 0.02};
  }
  return {0, 1};
}

/// Somewhat more than what is asked for, so that shapes of about the same size
/// share memory.
uint64_t roomFor(uint64_t bytes) { return bytes + bytes / 64 + kSetAlignment; }

} // namespace

void Pattern::copy(uint64_t first, uint64_t count, uint8_t *to) const {
  size_t size = byteSize(dtype);
  uint64_t at = first % length;
  while (count > 0) {
    uint64_t some = std::min(count, length - at);
    std::memcpy(to, bytes.data() + at * size, some * size);
    to += some * size;
    count -= some;
    at = 0;
  }
}

llvm::Error Operands::fill(Input &input, Role role, DType dtype,
                           uint64_t elements) {
  size_t size = byteSize(dtype);
  Pattern &pattern = input.pattern;
  pattern.dtype = dtype;
  pattern.length = std::min(elements, Pattern::kLength);
  pattern.bytes.resize(pattern.length * size);
  Moments moments = momentsOf(role);
  uint64_t seed = uint64_t(role) + 1;
  workers.forRanges(
      int64_t(pattern.length), 1 << 14, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          encode(dtype,
                 moments.mean +
                     moments.deviation * randomNormal(seed, uint64_t(i)),
                 pattern.bytes.data() + uint64_t(i) * size);
      });
  uint64_t total = input.buffer->bytes();
  for (uint64_t at = 0; at < total; at += pattern.bytes.size()) {
    uint64_t some = std::min<uint64_t>(pattern.bytes.size(), total - at);
    if (llvm::Error error = device.copyIn(
            *input.buffer, at, llvm::ArrayRef(pattern.bytes).take_front(some)))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<Buffer *> Operands::input(Role role, DType dtype,
                                         uint64_t elements,
                                         llvm::StringRef owner) {
  Input &input = inputs[{owner.str(), role, dtype}];
  uint64_t bytes = bytesOf(dtype, elements);
  if (!input.buffer || input.buffer->bytes() < bytes) {
    // The old one first: there may not be room for both.
    input.buffer.reset();
    uint64_t room = roomFor(bytes) / byteSize(dtype) * byteSize(dtype);
    if (llvm::Error error = device.allocate(room).moveInto(input.buffer))
      return error;
    if (llvm::Error error = fill(input, role, dtype, room / byteSize(dtype)))
      return error;
  }
  return input.buffer.get();
}

llvm::Expected<Buffer *> Operands::scratch(llvm::StringRef name,
                                           uint64_t bytes) {
  std::unique_ptr<Buffer> &buffer = others[name.str()];
  if (!buffer || buffer->bytes() < bytes) {
    buffer.reset();
    if (llvm::Error error = device.allocate(roomFor(bytes)).moveInto(buffer))
      return error;
  }
  return buffer.get();
}

const Pattern &Operands::pattern(Role role, DType dtype) const {
  return inputs.find({"", role, dtype})->second.pattern;
}

bool CallSets::isByRow(unsigned argument) const {
  llvm::ArrayRef<int64_t> shape = manifest->arguments[argument].shape;
  return !shape.empty() && shape.front() == kDynamic;
}

llvm::Expected<CallSets> CallSets::create(Operands &operands,
                                          const Manifest &manifest,
                                          llvm::ArrayRef<Role> roles,
                                          int64_t rows, unsigned sets) {
  CallSets calls;
  calls.operands = &operands;
  calls.manifest = &manifest;
  calls.roles.assign(roles.begin(), roles.end());
  calls.rows = rows;
  calls.bound.resize(sets);
  for (unsigned i = 0; i < manifest.arguments.size(); ++i) {
    const Argument &argument = manifest.arguments[i];
    llvm::SmallVector<int64_t, 4> shape(argument.shape.begin(),
                                        argument.shape.end());
    bool byRow = calls.isByRow(i);
    if (byRow)
      shape.front() = rows;
    llvm::Expected<int64_t> count = numElements(shape);
    if (!count)
      return count.takeError();
    if (i == 0)
      calls.columns = shape.back();
    uint64_t step = 0;
    if (byRow)
      step = llvm::alignTo(bytesOf(argument.dtype, uint64_t(*count)),
                           kSetAlignment) /
             byteSize(argument.dtype);
    uint64_t elements = step * (sets - 1) + uint64_t(*count);
    bool isInput = argument.role != ArgumentRole::Output;
    llvm::Expected<Buffer *> buffer =
        isInput ? operands.input(roles[i], argument.dtype, elements)
                : operands.scratch("result" + std::to_string(i),
                                   bytesOf(argument.dtype, elements));
    if (!buffer)
      return buffer.takeError();
    calls.buffers.push_back(*buffer);
    calls.steps.push_back(step);
    for (unsigned set = 0; set < sets; ++set)
      calls.bound[set].push_back(BoundArgument::contiguous(
          argument.dtype,
          (*buffer)->address() + bytesOf(argument.dtype, step * set), shape));
  }
  return calls;
}

llvm::Error CallSets::poisonResults() {
  for (unsigned i = 0; i < manifest->arguments.size(); ++i)
    if (manifest->arguments[i].role == ArgumentRole::Output)
      if (llvm::Error error =
              operands->getDevice().fill(*buffers[i], HostTensor::kPoison))
        return error;
  return llvm::Error::success();
}

llvm::Expected<std::vector<uint8_t>> CallSets::readResults(unsigned set) {
  std::vector<uint8_t> bytes;
  for (unsigned i = 0; i < manifest->arguments.size(); ++i) {
    if (manifest->arguments[i].role != ArgumentRole::Output)
      continue;
    const BoundArgument &result = bound[set][i];
    uint64_t elements = 1;
    for (int64_t extent : result.shape)
      elements *= uint64_t(extent);
    size_t begin = bytes.size();
    bytes.resize(begin + bytesOf(result.dtype, elements));
    if (llvm::Error error = operands->getDevice().copyOut(
            llvm::MutableArrayRef(bytes).drop_front(begin), *buffers[i],
            bytesOf(result.dtype, steps[i] * set)))
      return std::move(error);
  }
  return bytes;
}

std::vector<int64_t> CallSets::samples() const {
  int64_t count = std::clamp(kCheckedElements / std::max<int64_t>(columns, 1),
                             kLeastChecked, kMostChecked);
  count = std::min(count, rows);
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < count; ++i)
    chosen.push_back(
        count == 1 ? 0
                   : int64_t(double(i) / double(count - 1) * double(rows - 1)));
  return chosen;
}

/// Of an input, what its pattern says; of a result, what the device has.
llvm::Expected<HostTensor>
CallSets::makeSample(unsigned argument, unsigned set,
                     llvm::ArrayRef<int64_t> samples) {
  const BoundArgument &whole = bound[set][argument];
  llvm::SmallVector<int64_t, 4> shape = whole.shape;
  bool byRow = isByRow(argument);
  uint64_t each = 1;
  for (int64_t extent : llvm::ArrayRef(shape).drop_front(byRow ? 1 : 0))
    each *= uint64_t(extent);
  if (byRow)
    shape.front() = int64_t(samples.size());
  llvm::Expected<HostTensor> tensor = HostTensor::create(
      whole.dtype, shape, Placement(), operands->getWorkers());
  if (!tensor)
    return tensor.takeError();
  uint8_t *to = tensor->bytes().data() + tensor->elementOffset();
  uint64_t bytes = bytesOf(whole.dtype, each);
  bool isResult = manifest->arguments[argument].role == ArgumentRole::Output;
  for (size_t i = 0; i < (byRow ? samples.size() : 1); ++i, to += bytes) {
    uint64_t first = steps[argument] * set +
                     (byRow ? uint64_t(samples[i]) * each : uint64_t(0));
    if (!isResult) {
      operands->pattern(roles[argument], whole.dtype).copy(first, each, to);
      continue;
    }
    if (llvm::Error error = operands->getDevice().copyOut(
            llvm::MutableArrayRef(to, bytes), *buffers[argument],
            bytesOf(whole.dtype, first)))
      return error;
  }
  return tensor;
}

llvm::Expected<std::vector<tools::ResultCheck>>
CallSets::check(llvm::StringRef text, unsigned set) {
  std::vector<int64_t> chosen = samples();
  if (hasSums() && rows <= kMostWhole) {
    chosen.resize(size_t(rows));
    std::iota(chosen.begin(), chosen.end(), 0);
  }
  tools::CallData data;
  std::vector<HostTensor> results;
  for (unsigned i = 0; i < manifest->arguments.size(); ++i) {
    llvm::Expected<HostTensor> tensor = makeSample(i, set, chosen);
    if (!tensor)
      return tensor.takeError();
    tools::CallArgument &value = data.values.emplace_back();
    if (manifest->arguments[i].role != ArgumentRole::Output) {
      value.tensor = std::move(*tensor);
      continue;
    }
    data.results.push_back(i);
    llvm::Expected<HostTensor> shape = HostTensor::create(
        tensor->dtype(), tensor->shape(), Placement(), operands->getWorkers());
    if (!shape)
      return shape.takeError();
    value.tensor = std::move(*shape);
    results.push_back(std::move(*tensor));
  }
  llvm::Expected<std::vector<tools::ResultCheck>> checks =
      tools::checkReference(text, "<norm-bench>", manifest->entry, *manifest,
                            data, results);
  // A sum over all rows isn't that of some.
  if (checks && int64_t(chosen.size()) < rows) {
    std::vector<tools::ResultCheck> ofRows;
    for (auto [check, argument] : llvm::zip_equal(*checks, data.results))
      if (isByRow(argument))
        ofRows.push_back(std::move(check));
    return ofRows;
  }
  return checks;
}

bool CallSets::hasSums() const {
  for (unsigned i = 0; i < manifest->arguments.size(); ++i)
    if (manifest->arguments[i].role == ArgumentRole::Output && !isByRow(i))
      return true;
  return false;
}
