//===- NormRunCheck.cpp - Comparisons of results --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Tools/NormRunCheck.h"
#include "norm/Reference/Reference.h"
#include "norm/Runtime/Npy.h"
#include "norm/Runtime/Workers.h"
#include "norm/Tools/NormRunReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>

using namespace norm;
using namespace norm::tools;

namespace {

/// Elements of a call up to which all of it is evaluated, and about how many
/// are evaluated of a larger one.
constexpr int64_t kWholeCall = int64_t(1) << 22;
/// Indices of the leading dim that are evaluated of a larger call: at most, and
/// at least.
constexpr int64_t kMostSamples = 64, kLeastSamples = 4;
/// Elements beyond which a call cannot be evaluated: each takes tens of bytes.
constexpr int64_t kLargestCall = int64_t(1) << 26;

/// Element `flat` in C order.
double flatValue(const HostTensor &tensor, int64_t flat) {
  return tensor.value(flat / tensor.columns(), flat % tensor.columns());
}

/// Whether dim 0 of `buffer` is the dynamic leading dim that all share.
bool hasDynamicLeading(const Manifest &manifest, unsigned buffer) {
  if (buffer < manifest.arguments.size()) {
    const Argument &argument = manifest.arguments[buffer];
    return !argument.shape.empty() && argument.shape.front() == kDynamic;
  }
  const Temporary &temporary =
      manifest.temporaries[buffer - manifest.arguments.size()];
  return !temporary.shape.empty() && temporary.shape.front().source &&
         temporary.shape.front().source->dim == 0 &&
         hasDynamicLeading(manifest, temporary.shape.front().source->buffer);
}

/// Whether results at one leading index depend on arguments at this index
/// alone, and every result has such an index.
bool leadingIndicesAreApart(const Manifest &manifest, const CallData &data,
                            int64_t &extent) {
  extent = -1;
  for (unsigned i = 0; i < manifest.arguments.size(); ++i) {
    if (!hasDynamicLeading(manifest, i)) {
      if (manifest.arguments[i].role == ArgumentRole::Output)
        return false;
      continue;
    }
    int64_t mine = data.values[i].tensor.shape().front();
    if (extent >= 0 && mine != extent)
      return false;
    extent = mine;
  }
  for (const Kernel &kernel : manifest.kernels)
    if (!hasDynamicLeading(manifest, kernel.rows.buffer) ||
        !llvm::is_contained(kernel.rows.dims, 0u) ||
        (hasDynamicLeading(manifest, kernel.columns.buffer) &&
         llvm::is_contained(kernel.columns.dims, 0u)))
      return false;
  return extent > 0;
}

/// Which leading indices are evaluated: all (empty), or these.
llvm::Expected<std::vector<int64_t>> chooseSamples(const Manifest &manifest,
                                                   const CallData &data) {
  int64_t total = 0, extent = 0;
  for (const CallArgument &value : data.values)
    total += value.tensor.numElements();
  std::vector<int64_t> samples;
  if (total <= kWholeCall)
    return samples;
  if (!leadingIndicesAreApart(manifest, data, extent)) {
    if (total > kLargestCall)
      return llvm::createStringError(
          "--check: expects at most " + llvm::Twine(kLargestCall) +
          " elements, or a dynamic leading dim of which some indices are "
          "evaluated, but got " +
          llvm::Twine(total) + " elements");
    return samples;
  }
  int64_t affordable = kWholeCall / std::max<int64_t>(total / extent, 1);
  int64_t count = std::clamp(affordable, kLeastSamples, kMostSamples);
  if (extent <= count)
    return samples;
  for (int64_t i = 0; i < count; ++i)
    samples.push_back(
        int64_t(double(i) / double(count - 1) * double(extent - 1)));
  return samples;
}

/// The tensor's elements at the leading indices `samples` (all, if empty).
std::vector<double> gather(const HostTensor &tensor,
                           llvm::ArrayRef<int64_t> samples) {
  std::vector<double> values;
  int64_t count = tensor.numElements();
  if (samples.empty()) {
    values.reserve(size_t(count));
    for (int64_t i = 0; i < count; ++i)
      values.push_back(flatValue(tensor, i));
    return values;
  }
  int64_t each = count / tensor.shape().front();
  values.reserve(samples.size() * size_t(each));
  for (int64_t sample : samples)
    for (int64_t i = sample * each; i < (sample + 1) * each; ++i)
      values.push_back(flatValue(tensor, i));
  return values;
}

/// An input as the reference takes it.
reference::Tensor toReference(const Argument &argument,
                              const CallArgument &value, bool sampled,
                              llvm::ArrayRef<int64_t> samples) {
  reference::Tensor tensor;
  tensor.dtype = argument.dtype;
  if (value.scalar) {
    tensor.value = {roundTo(argument.dtype, *value.scalar)};
    return tensor;
  }
  tensor.shape.assign(value.tensor.shape().begin(), value.tensor.shape().end());
  if (sampled)
    tensor.shape.front() = int64_t(samples.size());
  tensor.value =
      gather(value.tensor, sampled ? samples : llvm::ArrayRef<int64_t>());
  return tensor;
}

bool allFinite(const CallData &data) {
  for (const CallArgument &value : data.values) {
    bool result = false;
    for (unsigned index : data.results)
      result |= &data.values[index] == &value;
    if (result || value.scalar)
      continue;
    for (int64_t i = 0; i < value.tensor.numElements(); ++i)
      if (!std::isfinite(flatValue(value.tensor, i)))
        return false;
  }
  return true;
}

/// Elements of `count` at `bytes` whose every bit is set.
template <typename T>
int64_t countAllOnes(const uint8_t *bytes, int64_t count) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, bytes + i * int64_t(sizeof(T)), sizeof(T));
    found += element == T(~T(0));
  }
  return found;
}

/// Elements whose every byte is the poison's; 0 for types that may rightly have
/// that value: integers and the narrow floats whose codes are all in use.
int64_t countPoison(const HostTensor &tensor) {
  static_assert(HostTensor::kPoison == 0xff);
  if (!isFloat(tensor.dtype()) || precision(tensor.dtype()) < 3)
    return 0;
  int64_t count = 0;
  for (int64_t row = 0; row < tensor.rows(); ++row)
    switch (byteSize(tensor.dtype())) {
    case 1:
      count += countAllOnes<uint8_t>(tensor.row(row), tensor.columns());
      break;
    case 2:
      count += countAllOnes<uint16_t>(tensor.row(row), tensor.columns());
      break;
    case 4:
      count += countAllOnes<uint32_t>(tensor.row(row), tensor.columns());
      break;
    default:
      count += countAllOnes<uint64_t>(tensor.row(row), tensor.columns());
      break;
    }
  return count;
}

/// What is wrong with the writes to a result; empty if nothing is.
std::string describeWrites(const HostTensor &result, const CallData &data) {
  if (!result.guardsIntact())
    return "bytes beside its elements were written";
  // A NaN in an input may spread as the very pattern of the poison.
  int64_t unwritten = countPoison(result);
  if (unwritten > 0 && allFinite(data))
    return llvm::formatv("{0} elements were not written", unwritten);
  return "";
}

/// All digits that tell the value from its neighbours in any small type.
std::string digits(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", value);
  return text;
}

std::string describe(const HostTensor &tensor) {
  return (name(tensor.dtype()) + " " + printShape(tensor.shape())).str();
}

std::string limitText(const reference::Comparison &comparison) {
  if (comparison.isMatch())
    return llvm::formatv("within the bound ({0:F2} of it)",
                         comparison.maxRatio);
  return llvm::formatv("{0} elements beyond the bound", comparison.mismatches);
}

/// Compares a result with `expected`, what was evaluated of it.
ResultCheck compareResult(const HostTensor &whole,
                          const reference::Tensor &expected,
                          llvm::ArrayRef<int64_t> samples,
                          const CallData &data) {
  std::vector<double> got = gather(whole, samples);
  reference::Comparison comparison = reference::compare(expected, got);
  ResultCheck check;
  check.ulps = comparison.maxUlp;
  check.passed = comparison.isMatch();
  check.line = llvm::formatv("{0}: largest error {1}", describe(whole),
                             printUlps(comparison.maxUlp));
  int64_t each = samples.empty() || expected.shape.empty()
                     ? 0
                     : whole.numElements() / whole.shape().front();
  // An index into the sample, as one into the result.
  auto place = [&](int64_t flat) {
    if (each > 0)
      flat = samples[size_t(flat / each)] * each + flat % each;
    return printIndex(whole.shape(), flat);
  };
  // The unit is small next to 0, where a difference that is small for the row
  // is many of them: the value and the difference tell.
  if (int64_t at = comparison.maxUlpIndex; at >= 0)
    check.line +=
        llvm::formatv(" at {0} ({1}, off by {2:E2})", place(at),
                      digits(expected.value[size_t(at)]),
                      std::fabs(got[size_t(at)] - expected.value[size_t(at)]));
  check.line += ", " + limitText(comparison);
  if (!check.passed && comparison.firstIndex >= 0)
    check.line += llvm::formatv(
        ", first {0}: expects {1} within {2:E2} but got {3}",
        place(comparison.firstIndex), digits(comparison.firstValue),
        comparison.firstBound, digits(comparison.firstGot));
  if (comparison.unknown > 0)
    check.line +=
        llvm::formatv(", {0} elements not comparable", comparison.unknown);
  if (!samples.empty())
    check.line += llvm::formatv(", {0} of {1} leading indices checked",
                                samples.size(), whole.shape().front());
  if (std::string writes = describeWrites(whole, data); !writes.empty()) {
    check.passed = false;
    check.line += ", " + writes;
  }
  return check;
}

} // namespace

std::string tools::printIndex(llvm::ArrayRef<int64_t> shape, int64_t flat) {
  std::string text = "]";
  for (size_t dim = shape.size(); dim-- > 0;) {
    int64_t extent = std::max<int64_t>(shape[dim], 1);
    text = std::to_string(flat % extent) +
           (dim + 1 < shape.size() ? ", " : "") + text;
    flat /= extent;
  }
  return "[" + text;
}

llvm::Expected<std::vector<ResultCheck>>
tools::checkReference(llvm::StringRef text, llvm::StringRef fileName,
                      llvm::StringRef entry, const Manifest &manifest,
                      const CallData &data,
                      llvm::ArrayRef<HostTensor> results) {
  llvm::Expected<std::vector<int64_t>> chosen = chooseSamples(manifest, data);
  if (!chosen)
    return chosen.takeError();
  llvm::ArrayRef<int64_t> samples = *chosen;
  std::vector<reference::Tensor> inputs;
  for (unsigned i = 0; i < manifest.arguments.size(); ++i) {
    if (manifest.arguments[i].role == ArgumentRole::Output)
      continue;
    bool sampled = !samples.empty() && hasDynamicLeading(manifest, i);
    inputs.push_back(
        toReference(manifest.arguments[i], data.values[i], sampled, samples));
  }
  llvm::Expected<std::vector<reference::Tensor>> expected =
      reference::evaluate(text, fileName, entry, inputs, manifest.math);
  if (!expected)
    return expected.takeError();
  if (expected->size() != results.size())
    return llvm::createStringError("expects " + llvm::Twine(expected->size()) +
                                   " results, as the reference has, but got " +
                                   llvm::Twine(results.size()));
  std::vector<ResultCheck> checks;
  for (auto [want, result] : llvm::zip(*expected, results)) {
    int64_t count = result.numElements();
    if (!samples.empty())
      count = count / result.shape().front() * int64_t(samples.size());
    if (int64_t(want.value.size()) != count)
      return llvm::createStringError(
          "expects a result of shape " + printShape(want.shape) +
          ", as the reference's, but got " + printShape(result.shape()));
    checks.push_back(compareResult(result, want, samples, data));
  }
  return checks;
}

llvm::Expected<ResultCheck>
tools::checkExpectation(const Expectation &expectation,
                        const HostTensor &result, Workers &workers) {
  llvm::Expected<NpyFile> file = NpyFile::open(expectation.path);
  if (!file)
    return file.takeError();
  std::optional<DType> dtype = file->dtypeFor(result.dtype());
  if (!dtype)
    return llvm::createStringError(
        expectation.path + ": expects elements comparable with " +
        name(result.dtype()) + " but got '" + file->descriptor() + "'");
  if (llvm::SmallVector<int64_t, 4> shape = file->shapeFor(*dtype);
      llvm::ArrayRef(shape) != result.shape())
    return llvm::createStringError(expectation.path + ": expects shape " +
                                   printShape(result.shape()) + " but got " +
                                   printShape(shape));
  llvm::Expected<HostTensor> expected = file->tensor(*dtype, {}, workers);
  if (!expected)
    return expected.takeError();
  double absolute = 0;
  int64_t at = -1;
  ResultCheck check;
  for (int64_t i = 0; i < result.numElements(); ++i) {
    double want = flatValue(*expected, i), got = flatValue(result, i);
    if (want == got || (std::isnan(want) && std::isnan(got)))
      continue;
    double difference = std::fabs(want - got);
    if (std::isnan(difference))
      difference = HUGE_VAL;
    check.ulps = std::max(check.ulps, difference / ulp(result.dtype(), want));
    if (difference > absolute) {
      absolute = difference;
      at = i;
    }
  }
  // A difference from NaN has no unit.
  if (std::isinf(absolute))
    check.ulps = absolute;
  check.passed = !(expectation.absolute && absolute > *expectation.absolute) &&
                 !(expectation.ulps && check.ulps > *expectation.ulps);
  check.line =
      llvm::formatv("{0}: against {1}: largest difference {2:E3}{3}, {4}",
                    describe(result), expectation.path, absolute,
                    at < 0 ? "" : " at " + printIndex(result.shape(), at),
                    printUlps(check.ulps));
  if (expectation.absolute)
    check.line += llvm::formatv(", {0:E3} allowed", *expectation.absolute);
  if (expectation.ulps)
    check.line += llvm::formatv(", {0} ulp allowed", *expectation.ulps);
  return check;
}

ResultCheck tools::checkBits(const HostTensor &result,
                             const HostTensor &other) {
  DType dtype = result.dtype();
  // Elements that share a byte are told apart by their values, of which each
  // has one code.
  auto sameBits = [&](int64_t row, int64_t column) {
    if (isPacked(dtype)) {
      double a = result.value(row, column), b = other.value(row, column);
      return a == b && std::signbit(a) == std::signbit(b);
    }
    size_t size = byteSize(dtype), offset = size_t(column) * size;
    return std::memcmp(result.row(row) + offset, other.row(row) + offset,
                       size) == 0;
  };
  int64_t different = 0, first = -1;
  for (int64_t row = 0; row < result.rows(); ++row) {
    size_t bytes = bytesOf(dtype, uint64_t(result.columns()));
    if (std::memcmp(result.row(row), other.row(row), bytes) == 0)
      continue;
    for (int64_t column = 0; column < result.columns(); ++column) {
      if (sameBits(row, column) ||
          (std::isnan(result.value(row, column)) &&
           std::isnan(other.value(row, column))))
        continue;
      if (different++ == 0)
        first = row * result.columns() + column;
    }
  }
  ResultCheck check;
  check.passed = different == 0;
  check.line = llvm::formatv("{0}: {1} of {2} elements differ from the host's",
                             describe(result), different, result.numElements());
  if (first >= 0)
    check.line += llvm::formatv(", first {0}: {1} but the host got {2}",
                                printIndex(result.shape(), first),
                                digits(flatValue(result, first)),
                                digits(flatValue(other, first)));
  return check;
}
