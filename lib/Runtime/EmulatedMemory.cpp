//===- EmulatedMemory.cpp - Global memory as kernels may use it -----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedMemory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace norm;
using namespace norm::emulated;

/// Stands for what was written before the first kernel.
static constexpr uint8_t kCounterStamp = 255;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

Region::Region(const BoundArgument &elements, bool initialized)
    : first(elements.address), initialized(initialized) {
  BoundArgument tensor = elements.inBytes();
  run = total = byteSize(tensor.dtype);
  std::vector<Dim> dims;
  for (auto [extent, stride] : llvm::zip(tensor.shape, tensor.strides)) {
    total *= uint64_t(extent);
    if (extent > 1)
      dims.push_back({uint64_t(stride) * run, uint64_t(extent)});
  }
  if (total == 0) {
    run = 0;
    return;
  }
  llvm::sort(dims,
             [](const Dim &a, const Dim &b) { return a.stride < b.stride; });
  span = run;
  for (const Dim &dim : dims) {
    overlap |= dim.stride < span;
    if (dim.stride == run && gaps.empty())
      run *= dim.extent;
    else
      gaps.insert(gaps.begin(), dim);
    span += dim.stride * (dim.extent - 1);
  }
  if (overlap) {
    gaps.clear();
    run = span;
  }
  reads = std::make_unique<Shadow[]>(span);
  writes = std::make_unique<Shadow[]>(span);
}

bool Region::isInGap(uint64_t offset, uint64_t count) const {
  for (const Dim &dim : gaps) {
    uint64_t index = offset / dim.stride;
    if (index >= dim.extent)
      return true;
    offset -= index * dim.stride;
  }
  return offset + count > run;
}

void Region::forRuns(llvm::function_ref<void(uint64_t)> body) const {
  if (span == 0)
    return;
  std::vector<uint64_t> index(gaps.size(), 0);
  while (true) {
    uint64_t offset = 0;
    for (auto [dim, i] : llvm::zip(gaps, index))
      offset += dim.stride * i;
    body(offset);
    size_t dim = gaps.size();
    while (dim > 0 && ++index[dim - 1] == gaps[dim - 1].extent)
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

bool Region::isWritten(uint64_t offset, uint64_t count) const {
  for (uint64_t i = offset; i < offset + count; ++i)
    if (writes[i].load(std::memory_order_relaxed) == 0)
      return false;
  return true;
}

uint64_t Region::count(const Shadow *shadow, uint8_t stamp) const {
  uint64_t found = 0;
  forRuns([&](uint64_t offset) {
    for (const Shadow &byte : llvm::ArrayRef(shadow + offset, run))
      found += byte.load(std::memory_order_relaxed) == stamp;
  });
  return found;
}

uint64_t Region::firstUnwritten(uint8_t stamp) const {
  uint64_t found = span;
  forRuns([&](uint64_t offset) {
    for (uint64_t i = offset; i < offset + run; ++i)
      if (writes[i].load(std::memory_order_relaxed) != stamp)
        found = std::min(found, i);
  });
  return found;
}

void Region::reset() {
  for (uint64_t i = 0; i < span; ++i) {
    reads[i].store(0, std::memory_order_relaxed);
    writes[i].store(0, std::memory_order_relaxed);
  }
}

//===----------------------------------------------------------------------===//
// All of a launch's memory
//===----------------------------------------------------------------------===//

GlobalMemory::GlobalMemory(const Manifest &manifest,
                           llvm::ArrayRef<BoundArgument> arguments,
                           const LaunchPlan &plan)
    : manifest(manifest), counters(plan.counters.begin(), plan.counters.end()) {
  auto add = [&](const BoundArgument &tensor, bool initialized) {
    // Declared aliases are one region; inputs may overlap otherwise, each with
    // shadows of its own.
    for (unsigned i = 0; i < byBuffer.size(); ++i)
      if (byBuffer[i] && byBuffer[i]->bytes() != 0 &&
          byBuffer[i]->begin() == tensor.address &&
          arguments[i].shape == tensor.shape &&
          arguments[i].strides == tensor.strides &&
          arguments[i].dtype == tensor.dtype)
        return byBuffer.push_back(byBuffer[i]);
    regions.push_back(std::make_unique<Region>(tensor, initialized));
    byBuffer.push_back(regions.back().get());
  };
  for (auto [index, tensor] : llvm::enumerate(arguments)) {
    ArgumentRole role = manifest.arguments[index].role;
    if (role == ArgumentRole::Scalar)
      byBuffer.push_back(nullptr);
    else
      add(tensor, role == ArgumentRole::Input);
  }
  // Those of one slot are apart in time, and each has a content of its own.
  for (const BoundArgument &temporary : plan.temporaries) {
    regions.push_back(
        std::make_unique<Region>(temporary, /*initialized=*/false));
    byBuffer.push_back(regions.back().get());
  }
  regions.push_back(std::make_unique<Region>(
      BoundArgument::contiguous(DType::I8, plan.workspace,
                                {int64_t(plan.temporaryOffset)}),
      /*initialized=*/false));
  byBuffer.push_back(regions.back().get());
}

void GlobalMemory::reset() {
  for (const std::unique_ptr<Region> &region : regions)
    region->reset();
  // Nothing else in the workspace has a defined content.
  for (const ByteRange &range : counters)
    byBuffer.back()->markWritten(range.offset, range.bytes, kCounterStamp);
}

void GlobalMemory::enter(unsigned index) {
  const Kernel &kernel = manifest.kernels[index];
  // Stamps of kernels beyond the 253rd are the same one.
  currentStamp = uint8_t(std::min(index + 1, kCounterStamp - 1u));
  current.clear();
  for (const Param &param : kernel.params) {
    ParamRegion &entry = current.emplace_back();
    if (param.kind == Param::Kind::Workspace) {
      entry = {byBuffer.back(), manifest.numBuffers(), true, true, -1};
    } else if (param.kind == Param::Kind::Pointer) {
      bool writes = llvm::is_contained(kernel.writes, param.buffer);
      bool reads = llvm::is_contained(kernel.reads, param.buffer);
      entry = {byBuffer[param.buffer], param.buffer, reads || writes, writes,
               -1};
    }
  }
  // Several parameters may lead to one region.
  for (auto [index, region] : llvm::enumerate(regions)) {
    bool isWritten = llvm::any_of(current, [&](const ParamRegion &param) {
      return param.region == region.get() && param.mayWrite;
    });
    for (ParamRegion &param : current)
      if (isWritten && param.region == region.get())
        param.shared = int(index);
  }
}

bool GlobalMemory::isCounter(uint64_t address, uint64_t bytes) const {
  uint64_t offset = address - byBuffer.back()->begin();
  return offset % 4 == 0 && llvm::any_of(counters, [&](const ByteRange &range) {
           return offset >= range.offset && bytes <= range.bytes &&
                  offset - range.offset <= range.bytes - bytes;
         });
}

std::optional<uint64_t> GlobalMemory::firstUsedCounter() const {
  auto *workspace =
      reinterpret_cast<const uint8_t *>(uintptr_t(byBuffer.back()->begin()));
  for (const ByteRange &range : counters)
    for (uint64_t i = range.offset; i < range.offset + range.bytes; ++i)
      if (workspace[i] != 0)
        return i;
  return std::nullopt;
}

const ParamRegion *GlobalMemory::find(uint64_t address) const {
  for (const ParamRegion &param : current)
    if (param.region && address - param.region->begin() < param.region->bytes())
      return &param;
  return nullptr;
}

std::string GlobalMemory::describe(const ParamRegion &param) const {
  return param.buffer < manifest.numBuffers() ? manifest.describe(param.buffer)
                                              : "the workspace";
}

KernelTraffic GlobalMemory::leave(const KernelLaunch &launch,
                                  llvm::ArrayRef<AccessBytes> totals,
                                  Findings &findings) const {
  const Kernel &kernel = manifest.kernels[launch.kernel];
  KernelTraffic traffic;
  auto text = [](uint64_t got, uint64_t all, std::string buffer) {
    return llvm::utostr(got) + " of the " + llvm::utostr(all) + " bytes of " +
           buffer;
  };
  // Workers that sum rows run without rows as well, and read nothing.
  bool hasNothing = llvm::any_of(current, [&](const ParamRegion &param) {
    return param.buffer < manifest.numBuffers() &&
           llvm::is_contained(kernel.reads, param.buffer) &&
           (!param.region || param.region->elementBytes() == 0);
  });
  for (auto [param, total] : llvm::zip(current, totals)) {
    if (!param.region || param.buffer >= manifest.numBuffers())
      continue;
    const Region &region = *param.region;
    bool reads = llvm::is_contained(kernel.reads, param.buffer);
    // What is read in place is read through the output.
    if (param.buffer < manifest.arguments.size())
      if (std::optional<unsigned> input =
              manifest.arguments[param.buffer].inPlace)
        reads |= llvm::is_contained(kernel.reads, *input);
    BufferTraffic &buffer = traffic.buffers.emplace_back();
    buffer.buffer = param.buffer;
    buffer.accessed = total;
    buffer.distinct = {region.countRead(currentStamp),
                       param.mayWrite ? region.countWritten(currentStamp) : 0};
    uint64_t all = region.elementBytes();
    buffer.minimal = {reads ? all : 0, param.mayWrite ? all : 0};
    // Bytes that elements share are read once for all of them. A kernel with a
    // grid of its own doesn't say that it reads all; rows without columns have
    // no use for what has some of the column dims.
    if (reads && !kernel.grid && launch.columns != 0 && !hasNothing &&
        !region.hasOverlap() && buffer.distinct.read < all)
      findings.add(FindingKind::Traffic, Findings::kNoSite - 2 * param.buffer,
                   -1, -1, [&] {
                     return "reads " +
                            text(buffer.distinct.read, all, describe(param));
                   });
    if (param.mayWrite && buffer.distinct.written < all)
      findings.add(FindingKind::IncompleteOutput,
                   Findings::kNoSite - 2 * param.buffer - 1, -1, -1, [&] {
                     return "writes " +
                            text(buffer.distinct.written, all,
                                 describe(param)) +
                            ", not byte " +
                            llvm::utostr(region.firstUnwritten(currentStamp));
                   });
  }
  return traffic;
}
