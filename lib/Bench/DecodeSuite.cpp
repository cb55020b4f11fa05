//===- DecodeSuite.cpp - Norms of a few rows, in graphs -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Session.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace norm;
using namespace norm::bench;

namespace {

/// The field of a schedule that goes without programmatic dependent launch.
constexpr char kIndependentLaunch[] = "pdl=false";
/// Norms between products in one graph, at least and at most.
constexpr unsigned kLeastProducts = 16, kMostProducts = 32;
/// Weights that products go through before they come back to the first, in
/// sizes of the cache.
constexpr uint64_t kRotationFactor = 3;

bool isSameType(const BoundArgument &a, const BoundArgument &b) {
  return a.dtype == b.dtype && a.shape == b.shape;
}

/// Calls that each work on what the one before made: on the inputs of set 0
/// into set 0, then from one set into the other. Result 0 becomes argument 0,
/// and the last of several results argument 1, where they have their types.
class Chain {
public:
  Chain(const BenchProgram &program, const CallSets &calls)
      : program(program), calls(calls) {}

  llvm::Error make();
  /// As many calls as the graph has.
  std::vector<DeviceWork> take(unsigned count) const;

private:
  llvm::Expected<DeviceWork> call(std::optional<unsigned> from, unsigned to);

  const BenchProgram &program;
  const CallSets &calls;
  std::vector<DeviceWork> links; ///< first, 0 to 1, 1 to 0
};

llvm::Expected<DeviceWork> Chain::call(std::optional<unsigned> from,
                                       unsigned to) {
  llvm::SmallVector<BoundArgument, 6> arguments(calls.arguments(to));
  size_t inputs = program.op->arguments.size();
  for (size_t i = 0; i < inputs; ++i)
    arguments[i] = calls.arguments(0)[i];
  if (from) {
    llvm::ArrayRef<BoundArgument> made = calls.arguments(*from);
    if (isSameType(made[inputs], arguments[0]))
      arguments[0] = made[inputs];
    bool hasSum = made.size() > inputs + 1 && inputs > 1;
    if (hasSum && isSameType(made.back(), arguments[1]))
      arguments[1] = made.back();
  }
  llvm::Expected<std::unique_ptr<PreparedLaunch>> prepared =
      program.loaded.executable->prepare(arguments);
  if (!prepared)
    return prepared.takeError();
  std::shared_ptr<PreparedLaunch> launch = std::move(*prepared);
  return DeviceWork([launch] { return launch->run(); });
}

llvm::Error Chain::make() {
  if (llvm::Error error = call(std::nullopt, 0).moveInto(links.emplace_back()))
    return error;
  if (llvm::Error error = call(0, 1).moveInto(links.emplace_back()))
    return error;
  return call(1, 0).moveInto(links.emplace_back());
}

std::vector<DeviceWork> Chain::take(unsigned count) const {
  std::vector<DeviceWork> works;
  for (unsigned i = 0; i < count; ++i)
    works.push_back(links[i == 0 ? 0 : 2 - i % 2]);
  return works;
}

/// What a product with a square matrix does to memory: it reads the matrix and
/// writes its rows.
Traffic productTraffic(const Cell &cell) {
  uint64_t columns = uint64_t(cell.columns);
  return {bytesOf(cell.dtype, columns * columns),
          bytesOf(cell.dtype, uint64_t(cell.elements()))};
}

/// A norm between two products, and the two without it.
class Between {
public:
  Between(Operands &operands, Ceiling &ceiling, const BenchProgram &program,
          const CallSets &calls, const Cell &cell)
      : operands(operands), ceiling(ceiling), program(program), calls(calls),
        cell(cell) {}

  llvm::Error make();
  unsigned count() const { return pairs; }
  std::vector<DeviceWork> take(bool withNorm) const;

private:
  Operands &operands;
  Ceiling &ceiling;
  const BenchProgram &program;
  const CallSets &calls;
  const Cell &cell;
  unsigned pairs = 0;
  std::vector<DeviceWork> first, second;
  DeviceWork normalize;
};

llvm::Error Between::make() {
  Traffic traffic = productTraffic(cell);
  uint64_t rotation = kRotationFactor * operands.getDevice().facts().cacheBytes;
  pairs = unsigned(std::clamp<uint64_t>(
      llvm::divideCeil(rotation, 2 * std::max<uint64_t>(traffic.read, 1)),
      kLeastProducts, kMostProducts));
  // Few large matrices are as cold as many small ones.
  unsigned matrices = unsigned(std::clamp<uint64_t>(
      llvm::divideCeil(rotation, std::max<uint64_t>(traffic.read, 1)), 2,
      2 * pairs));
  llvm::Expected<Buffer *> between =
      operands.scratch("between", traffic.written);
  if (!between)
    return between.takeError();
  llvm::Expected<Buffer *> after = operands.scratch("after", traffic.written);
  if (!after)
    return after.takeError();
  llvm::Expected<Copy> before =
      ceiling.makeReduction(traffic, (*between)->address(), matrices);
  if (!before)
    return before.takeError();
  llvm::Expected<Copy> behind =
      ceiling.makeReduction(traffic, (*after)->address(), matrices);
  if (!behind)
    return behind.takeError();
  first = std::move(before->sets);
  second = std::move(behind->sets);

  llvm::SmallVector<BoundArgument, 6> arguments(calls.arguments(0));
  arguments[0].address = (*between)->address();
  llvm::Expected<std::unique_ptr<PreparedLaunch>> prepared =
      program.loaded.executable->prepare(arguments);
  if (!prepared)
    return prepared.takeError();
  std::shared_ptr<PreparedLaunch> launch = std::move(*prepared);
  normalize = [launch] { return launch->run(); };
  return llvm::Error::success();
}

std::vector<DeviceWork> Between::take(bool withNorm) const {
  std::vector<DeviceWork> works;
  for (unsigned i = 0; i < pairs; ++i) {
    works.push_back(first[2 * i % first.size()]);
    if (withNorm)
      works.push_back(normalize);
    works.push_back(second[(2 * i + 1) % second.size()]);
  }
  return works;
}

} // namespace

llvm::Error Session::measureDecode(Result &result) {
  llvm::StringRef variant = result.cell.variant;
  bool isDependent = variant.consume_back("+pdl");
  CellRun run(*this, result);
  if (llvm::Error error = run.prepare(
          2, llvm::StringRef(isDependent ? "" : kIndependentLaunch)))
    return error;
  if (!run.isRight())
    return llvm::Error::success();

  if (variant == "products") {
    Between between(operands, ceiling, run.program(), run.calls(), result.cell);
    if (llvm::Error error = between.make())
      return error;
    std::vector<DeviceWork> works(2);
    for (bool withNorm : {false, true}) {
      std::vector<DeviceWork> parts = between.take(withNorm);
      unsigned count = unsigned(parts.size());
      if (llvm::Error error =
              run.repeat(std::move(parts), count).moveInto(works[withNorm]))
        return error;
    }
    llvm::Expected<std::vector<Timing>> timings = time(works, false);
    if (!timings)
      return timings.takeError();
    std::vector<double> added;
    for (auto [without, with] :
         llvm::zip((*timings)[0].milliseconds, (*timings)[1].milliseconds))
      added.push_back((with - without) * 1e3 / between.count());
    result.microseconds = summarize(added);
    double each = 1.0 / between.count();
    result.stages = {
        {"without", summarize((*timings)[0].milliseconds).scaled(each)},
        {"with", summarize((*timings)[1].milliseconds).scaled(each)}};
    // What a norm adds says nothing of its bytes.
    result.traffic = {};
    return llvm::Error::success();
  }

  unsigned launches = result.cell.launches;
  Chain chain(run.program(), run.calls());
  if (llvm::Error error = chain.make())
    return error;
  llvm::Expected<Copy> copy = ceiling.make(result.traffic, 1, CopyUse::Graph);
  if (!copy)
    return copy.takeError();
  std::vector<DeviceWork> works(2);
  if (llvm::Error error =
          run.repeat(chain.take(launches), launches).moveInto(works[0]))
    return error;
  if (llvm::Error error =
          run.repeat(std::move(copy->sets), launches).moveInto(works[1]))
    return error;
  llvm::Expected<std::vector<Timing>> timings = time(works, false);
  if (!timings)
    return timings.takeError();
  result.microseconds =
      summarize((*timings)[0].milliseconds).scaled(1e3 / launches);
  result.ceiling = summarize((*timings)[1].milliseconds).scaled(1e3 / launches);
  result.ceilingBytes = copy->bytes;
  result.ceilingShape = copy->shape;
  result.share =
      summarizeRatios((*timings)[1].milliseconds, (*timings)[0].milliseconds,
                      double(result.traffic.total()) / double(copy->bytes));
  return llvm::Error::success();
}
