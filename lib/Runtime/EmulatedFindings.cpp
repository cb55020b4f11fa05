//===- EmulatedFindings.cpp - Collecting what is wrong --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedFindings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

using namespace norm;
using namespace norm::emulated;

char EmulationError::ID = 0;

void EmulationError::log(llvm::raw_ostream &os) const {
  llvm::interleave(
      list, os, [&](const Finding &finding) { os << finding.print(); }, "\n");
}

std::error_code EmulationError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::StringRef norm::name(FindingKind kind) {
  switch (kind) {
  case FindingKind::OutOfBounds:
    return "out-of-bounds";
  case FindingKind::Misaligned:
    return "misaligned";
  case FindingKind::ReadOnly:
    return "read-only";
  case FindingKind::UndeclaredRead:
    return "undeclared-read";
  case FindingKind::UninitializedShared:
    return "uninitialized-shared";
  case FindingKind::UnwrittenOutput:
    return "unwritten-output";
  case FindingKind::SharedRace:
    return "shared-race";
  case FindingKind::GlobalRace:
    return "global-race";
  case FindingKind::BarrierDivergence:
    return "barrier-divergence";
  case FindingKind::UnitBarrier:
    return "unit-barrier";
  case FindingKind::Deadlock:
    return "deadlock";
  case FindingKind::Mbarrier:
    return "mbarrier";
  case FindingKind::Ticket:
    return "ticket";
  case FindingKind::MissingFence:
    return "missing-fence";
  case FindingKind::InactiveLane:
    return "inactive-lane";
  case FindingKind::IncompleteOutput:
    return "incomplete-output";
  case FindingKind::Traffic:
    return "traffic";
  }
  llvm_unreachable("covered switch");
}

std::string Finding::print() const {
  std::string line;
  llvm::raw_string_ostream os(line);
  os << (location.empty() ? "emulated device" : location)
     << ": error: " << name(kind) << " in kernel '" << kernel << "'";
  if (block >= 0)
    os << ", CTA " << block;
  if (thread >= 0)
    os << ", thread " << thread;
  os << ": " << text;
  if (count > 1)
    os << " (seen " << count << " times)";
  return line;
}

std::vector<Site> emulated::readSites(const char *text) {
  std::vector<Site> sites;
  for (llvm::StringRef entry(text); !entry.empty(); entry = text) {
    text += entry.size() + 1;
    auto [param, rest] = entry.split('\t');
    auto [operation, location] = rest.split('\t');
    Site site{-1, operation.str(), location.str()};
    if (param.getAsInteger(10, site.param))
      site.param = -1;
    sites.push_back(std::move(site));
  }
  return sites;
}

void Findings::add(FindingKind kind, unsigned site, int64_t block,
                   int64_t thread, llvm::function_ref<std::string()> text) {
  auto [place, isNew] = found.try_emplace({site, kind});
  Finding &finding = place->second;
  uint64_t count = isNew ? 1 : finding.count + 1;
  if (isNew || block < finding.block)
    finding = {kind, "", "", block, thread, text(), count};
  finding.count = count;
}

void Findings::merge(Findings &&other) {
  for (auto &[key, finding] : other.found) {
    auto [place, isNew] = found.try_emplace(key, finding);
    if (isNew)
      continue;
    uint64_t count = place->second.count + finding.count;
    if (finding.block < place->second.block)
      place->second = std::move(finding);
    place->second.count = count;
  }
  other.found.clear();
}

std::vector<Finding> Findings::take(llvm::StringRef kernel,
                                    llvm::ArrayRef<Site> sites) {
  std::vector<Finding> list;
  for (auto &[key, finding] : found) {
    finding.kernel = kernel.str();
    if (key.first < sites.size()) {
      const Site &site = sites[key.first];
      finding.location = site.location;
      finding.text += " by '" + site.operation + "'";
    }
    list.push_back(std::move(finding));
  }
  found.clear();
  return list;
}
