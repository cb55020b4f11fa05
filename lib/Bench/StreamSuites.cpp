//===- StreamSuites.cpp - Calls that move memory --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Session.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace norm;
using namespace norm::bench;

namespace {

/// From this many times the size of the cache, a call evicts its own traces.
constexpr uint64_t kStreamingFactor = 4;
/// Memory that calls on one set after the other go through before they come
/// back to the first, in sizes of the cache.
constexpr uint64_t kRotationFactor = 3;
constexpr unsigned kMostSets = 64;
/// Calls of a graph, about, and of one whose calls are long by themselves.
constexpr unsigned kGraphCalls = 16, kLongCalls = 4;

/// How calls follow each other.
struct Plan {
  bool inGraph = false;
  bool flush = false;
  unsigned sets = 1;
  unsigned calls = 1; ///< of a graph
};

Plan planOf(const Cell &cell, uint64_t traffic, uint64_t cacheBytes) {
  Plan plan;
  bool isLong = traffic >= kStreamingFactor * cacheBytes;
  plan.inGraph = cell.suite == "prefill" || cell.suite == "published" ||
                 (cell.suite == "backward" && !isLong);
  if (!plan.inGraph) {
    plan.flush = !isLong;
    return plan;
  }
  if (isLong) {
    plan.calls = cacheBytes > 0 ? kLongCalls : kGraphCalls;
    return plan;
  }
  if (cell.variant != "hot")
    plan.sets = unsigned(
        std::clamp<uint64_t>(llvm::divideCeil(kRotationFactor * cacheBytes,
                                              std::max<uint64_t>(traffic, 1)),
                             1, kMostSets));
  plan.calls = unsigned(llvm::alignTo(kGraphCalls, plan.sets));
  return plan;
}

/// The bytes of a call before it is compiled, for the number of sets: those of
/// the tensors of rows.
uint64_t estimateTraffic(const Cell &cell) {
  const Op *op = findOp(cell.op);
  uint64_t elements = uint64_t(cell.elements()), bytes = 0;
  for (Role role : op->roles())
    if (role == Role::Input || role == Role::Residual ||
        role == Role::Cotangent)
      bytes += bytesOf(cell.dtype, elements);
  for (llvm::StringRef rest = op->results; !rest.empty();) {
    auto [result, more] = rest.split(',');
    rest = more;
    if (result.ends_with(":x"))
      bytes += bytesOf(cell.dtype, elements);
    else if (result.ends_with(":q") || result.ends_with(":i"))
      bytes += elements;
  }
  return bytes;
}

} // namespace

llvm::Error Session::measureStream(Result &result) {
  Plan plan = planOf(result.cell, estimateTraffic(result.cell),
                     device.facts().cacheBytes);
  CellRun run(*this, result);
  if (llvm::Error error = run.prepare(plan.sets, ""))
    return error;
  if (!run.isRight())
    return llvm::Error::success();

  // Ours, the copy, and the kernels to compare with.
  std::vector<std::vector<DeviceWork>> all(1);
  for (unsigned set = 0; set < plan.sets; ++set)
    if (llvm::Error error = run.call(set).moveInto(all[0].emplace_back()))
      return error;
  llvm::Expected<Copy> copy =
      ceiling.make(result.traffic, plan.sets,
                   plan.inGraph ? CopyUse::Graph : CopyUse::Single);
  if (!copy)
    return copy.takeError();
  all.push_back(std::move(copy->sets));
  if (llvm::Error error = run.addKernels(all))
    return error;
  std::vector<DeviceWork> works;
  for (std::vector<DeviceWork> &calls : all) {
    if (!plan.inGraph) {
      works.push_back(std::move(calls.front()));
      continue;
    }
    if (llvm::Error error = run.repeat(std::move(calls), plan.calls)
                                .moveInto(works.emplace_back()))
      return error;
  }
  llvm::Expected<std::vector<Timing>> timings = time(works, plan.flush);
  if (!timings)
    return timings.takeError();

  auto toMicroseconds = [&](const Timing &timing) {
    return summarize(timing.milliseconds).scaled(1e3 / plan.calls);
  };
  const Timing &ours = (*timings)[0], &theirs = (*timings)[1];
  result.microseconds = toMicroseconds(ours);
  result.ceiling = toMicroseconds(theirs);
  result.ceilingBytes = copy->bytes;
  result.ceilingShape = copy->shape;
  result.share =
      summarizeRatios(theirs.milliseconds, ours.milliseconds,
                      double(result.traffic.total()) / double(copy->bytes));
  size_t next = 2;
  for (Peer &peer : result.peers)
    if (peer.problem.empty())
      peer.microseconds = toMicroseconds((*timings)[next++]);
  return llvm::Error::success();
}
