//===- Ceiling.cpp - What a device copies at most -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Ceiling.h"
#include "norm/Bench/Statistics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>

using namespace norm;
using namespace norm::bench;

namespace {

/// Threads and vectors of the kernels that are tried.
constexpr std::pair<unsigned, unsigned> kShapes[] = {
    {128, 1}, {256, 1}, {512, 1}, {1024, 1}, {128, 2}, {128, 4}, {256, 4}};
/// Launches by which the fastest is found.
constexpr unsigned kTrials = 7;
/// Copies of a graph by which it is found, at least.
constexpr size_t kTrialCopies = 16;
/// From this many times the size of the cache, traffic evicts itself.
constexpr uint64_t kStreamingFactor = 4;
/// 4-byte words of a range of the host's loop.
constexpr int64_t kGrain = 1 << 16;

uint64_t wordsOf(uint64_t bytes, unsigned streams) {
  return std::max<uint64_t>(llvm::divideCeil(bytes, 16 * streams), 1) * 4;
}

/// The streams of a call's traffic, 4-byte words each.
struct Streams {
  Mix mix;
  uint64_t words = 0, targetWords = 0;

  uint64_t bytes() const {
    return 4 * (mix.reads * words + mix.writes * targetWords);
  }
};

Streams streamsOf(const Traffic &traffic, Mix mix, bool isReduction) {
  Streams streams{mix, 0, 0};
  if (isReduction) {
    streams.words = wordsOf(traffic.read, mix.reads);
    streams.targetWords = wordsOf(traffic.written, mix.writes);
    return streams;
  }
  streams.words = wordsOf(traffic.total(), mix.reads + mix.writes);
  streams.targetWords = streams.words;
  return streams;
}

/// All works once, as often as makes `kTrialCopies` or more.
DeviceWork inTurns(std::vector<DeviceWork> works) {
  return [works = std::move(works)]() -> llvm::Error {
    for (size_t done = 0; done < kTrialCopies; done += works.size())
      for (const DeviceWork &work : works)
        if (llvm::Error error = work())
          return error;
    return llvm::Error::success();
  };
}

Argument streamsArgument(const char *name, ArgumentRole role,
                         unsigned streams) {
  Argument argument;
  argument.name = name;
  argument.role = role;
  argument.dtype = DType::I32;
  argument.shape = {int64_t(streams), kDynamic};
  argument.strides = {kDynamic, 1};
  argument.alignment = 16;
  return argument;
}

/// `rows` are 4-byte words of a stream, of which a CTA has a few.
Manifest copyManifest(const CopyShape &shape, const Device &device) {
  Manifest manifest;
  manifest.norm = "norm-bench";
  manifest.entry = "norm_bench_copy";
  manifest.target = device.target();
  manifest.arguments = {
      streamsArgument("source", ArgumentRole::Input, shape.mix.reads),
      streamsArgument("target", ArgumentRole::Output, shape.mix.writes)};
  norm::Kernel kernel;
  kernel.program = "copy";
  kernel.reads = {0};
  kernel.writes = {1};
  kernel.rows = {0, {1}};
  kernel.columns = {0, {0}};
  kernel.params = {Param::pointer(0), Param::pointer(1), Param::extent(0, {1}),
                   Param::extent(1, {1})};
  Variant variant;
  variant.symbol = "norm_bench_copy";
  variant.block = shape.threads;
  variant.rowsPerCta = uint64_t(shape.threads) * shape.vectors * 4;
  kernel.variants = {variant};
  manifest.kernels = {kernel};
  return manifest;
}

/// One range of the host's copy; stands for the kernel of the same streams.
void copyOnHost(const uint32_t *source, uint32_t *target,
                const Streams &streams, uint64_t begin, uint64_t end) {
  constexpr uint64_t kBlock = 1024;
  uint32_t block[kBlock];
  for (uint64_t at = begin; at < end; at += kBlock) {
    uint64_t count = std::min(kBlock, end - at);
    std::memcpy(block, source + at, 4 * count);
    for (unsigned stream = 1; stream < streams.mix.reads; ++stream) {
      const uint32_t *other = source + stream * streams.words + at;
      for (uint64_t i = 0; i < count; ++i)
        block[i] ^= other[i];
    }
    for (unsigned stream = 0; stream < streams.mix.writes; ++stream)
      std::memcpy(target + stream * streams.targetWords + at, block, 4 * count);
  }
}

/// One range of a loop that reads all and writes what it has place for.
void reduceOnHost(const uint32_t *source, uint32_t *target,
                  const Streams &streams, uint64_t begin, uint64_t end) {
  uint32_t value = 0;
  for (uint64_t i = begin; i < end; ++i)
    value ^= source[i];
  for (uint64_t i = begin; i < std::min(end, streams.targetWords); ++i)
    target[i] = value;
  // So that all is read where nothing is written.
  if (begin >= streams.targetWords && value == 0x12345678)
    target[0] = value;
}

} // namespace

std::string CopyShape::toString() const {
  return llvm::formatv("{0}:{1} streams, {2} threads, {3} vector{4} each{5}",
                       mix.reads, mix.writes, threads, vectors,
                       vectors == 1 ? "" : "s",
                       isStreaming ? ", streaming" : "");
}

llvm::Expected<Ceiling::Kernel *> Ceiling::load(const CopyShape &shape) {
  std::string key = shape.toString() + (shape.isReduction ? " reduced" : "");
  Kernel &kernel = kernels[key];
  if (!kernel.executable) {
    kernel.shape = shape;
    Device &device = operands.getDevice();
    if (llvm::Error error =
            device.load(copyKernelPtx(shape), copyManifest(shape, device))
                .moveInto(kernel.executable))
      return error;
  }
  return &kernel;
}

llvm::Expected<Copy> Ceiling::bind(Kernel &kernel, const Traffic &traffic,
                                   std::optional<uint64_t> target,
                                   unsigned sets) {
  Streams streams =
      streamsOf(traffic, kernel.shape.mix, kernel.shape.isReduction);
  uint64_t sourceBytes = 4 * streams.mix.reads * streams.words;
  uint64_t targetBytes = 4 * streams.mix.writes * streams.targetWords;
  // The same kind of bits as a norm reads: a memory bus isn't indifferent.
  llvm::Expected<Buffer *> source = operands.input(
      Role::Residual, DType::BF16, sets * llvm::alignTo(sourceBytes, 256) / 2,
      target ? "product" : "copy");
  if (!source)
    return source.takeError();
  uint64_t to = 0, step = 0;
  if (target) {
    to = *target;
  } else {
    step = llvm::alignTo(targetBytes, 256);
    llvm::Expected<Buffer *> made = operands.scratch("copy", sets * step);
    if (!made)
      return made.takeError();
    to = (*made)->address();
  }
  Copy copy;
  copy.bytes = streams.bytes();
  copy.shape = kernel.shape.toString();
  for (unsigned set = 0; set < sets; ++set) {
    uint64_t from =
        (*source)->address() + set * llvm::alignTo(sourceBytes, 256);
    BoundArgument arguments[] = {
        BoundArgument::contiguous(
            DType::I32, from,
            {int64_t(streams.mix.reads), int64_t(streams.words)}),
        BoundArgument::contiguous(
            DType::I32, to + set * step,
            {int64_t(streams.mix.writes), int64_t(streams.targetWords)})};
    llvm::Expected<std::unique_ptr<PreparedLaunch>> prepared =
        kernel.executable->prepare(arguments);
    if (!prepared)
      return prepared.takeError();
    std::shared_ptr<PreparedLaunch> launch = std::move(*prepared);
    copy.sets.push_back([launch] { return launch->run(); });
  }
  return copy;
}

llvm::Expected<Copy> Ceiling::makeHostCopy(const Traffic &traffic,
                                           std::optional<uint64_t> target,
                                           unsigned sets) {
  Streams streams =
      streamsOf(traffic, target ? Mix() : mixOf(traffic), target.has_value());
  uint64_t sourceBytes = 4 * streams.mix.reads * streams.words;
  uint64_t targetBytes = 4 * streams.mix.writes * streams.targetWords;
  llvm::Expected<Buffer *> source =
      operands.input(Role::Residual, DType::BF16, sets * sourceBytes / 2,
                     target ? "product" : "copy");
  if (!source)
    return source.takeError();
  llvm::Expected<Buffer *> made =
      operands.scratch(target ? "product" : "copy", sets * targetBytes);
  if (!made)
    return made.takeError();
  Copy copy;
  copy.bytes = streams.bytes();
  copy.shape = llvm::formatv("{0}:{1} streams, host loop", streams.mix.reads,
                             streams.mix.writes);
  auto *loop = target ? reduceOnHost : copyOnHost;
  for (unsigned set = 0; set < sets; ++set) {
    auto *from = reinterpret_cast<const uint32_t *>(
        uintptr_t((*source)->address() + set * sourceBytes));
    auto *to = reinterpret_cast<uint32_t *>(
        uintptr_t((*made)->address() + set * targetBytes));
    Workers *workers = &operands.getWorkers();
    copy.sets.push_back([=] {
      workers->forRanges(
          int64_t(streams.words), kGrain, [&](int64_t begin, int64_t end) {
            loop(from, to, streams, uint64_t(begin), uint64_t(end));
          });
      return llvm::Error::success();
    });
  }
  return copy;
}

/// Of the kernels with the mix, as it is and with twice the streams, the one
/// with the least median.
llvm::Expected<CopyShape> Ceiling::choose(const Traffic &traffic, unsigned sets,
                                          CopyUse use) {
  Mix mix = mixOf(traffic);
  std::string key =
      llvm::formatv("{0}:{1} {2} {3} {4}", mix.reads, mix.writes,
                    llvm::Log2_64(traffic.total() | 1), sets, unsigned(use));
  auto known = chosen.find(key);
  if (known != chosen.end())
    return known->second;
  std::vector<CopyShape> shapes;
  for (auto [threads, vectors] : kShapes)
    for (bool isStreaming : {false, true})
      shapes.push_back({mix, threads, vectors, isStreaming});
  if (mix == Mix())
    for (auto [threads, vectors] : kShapes)
      shapes.push_back({{2, 2}, threads, vectors});

  Device &device = operands.getDevice();
  std::vector<DeviceWork> works;
  // Memory grows in the first pass, so that it stays in the second.
  for (int pass = 0; pass < 2; ++pass) {
    works.clear();
    for (const CopyShape &shape : shapes) {
      llvm::Expected<Kernel *> kernel = load(shape);
      if (!kernel)
        return kernel.takeError();
      llvm::Expected<Copy> copy = bind(**kernel, traffic, std::nullopt, sets);
      if (!copy)
        return copy.takeError();
      DeviceWork work = copy->sets.front();
      if (pass == 1 && use == CopyUse::Graph)
        if (llvm::Error error =
                device.record(inTurns(std::move(copy->sets))).moveInto(work))
          return error;
      works.push_back(std::move(work));
    }
  }
  TurnOptions options;
  options.warmups = 1;
  options.launches = kTrials;
  options.flush =
      use == CopyUse::Single &&
      traffic.total() < kStreamingFactor * device.facts().cacheBytes;
  llvm::Expected<std::vector<Timing>> timings =
      device.timeInTurns(works, options);
  if (!timings)
    return timings.takeError();
  auto best = std::min_element(
      timings->begin(), timings->end(),
      [](const Timing &a, const Timing &b) { return a.median() < b.median(); });
  chosen[key] = shapes[size_t(best - timings->begin())];
  return chosen[key];
}

llvm::Expected<Copy> Ceiling::make(const Traffic &traffic, unsigned sets,
                                   CopyUse use) {
  if (!llvm::StringRef(operands.getDevice().target()).starts_with("sm_") ||
      operands.getDevice().isEmulated())
    return makeHostCopy(traffic, std::nullopt, sets);
  llvm::Expected<CopyShape> shape = choose(traffic, sets, use);
  if (!shape)
    return shape.takeError();
  llvm::Expected<Kernel *> kernel = load(*shape);
  if (!kernel)
    return kernel.takeError();
  return bind(**kernel, traffic, std::nullopt, sets);
}

llvm::Expected<Copy> Ceiling::makeReduction(const Traffic &traffic,
                                            uint64_t target, unsigned sets) {
  if (!llvm::StringRef(operands.getDevice().target()).starts_with("sm_") ||
      operands.getDevice().isEmulated())
    return makeHostCopy(traffic, target, sets);
  llvm::Expected<Kernel *> kernel =
      load({{1, 1}, 256, 4, /*isStreaming=*/false, /*isReduction=*/true});
  if (!kernel)
    return kernel.takeError();
  return bind(**kernel, traffic, target, sets);
}
