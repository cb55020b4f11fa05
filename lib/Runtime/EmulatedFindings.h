//===- EmulatedFindings.h - Collecting what is wrong ------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_RUNTIME_EMULATEDFINDINGS_H
#define NORM_LIB_RUNTIME_EMULATEDFINDINGS_H

#include "norm/Runtime/EmulatedDevice.h"
#include <map>

namespace norm::emulated {

/// A place in the kernels where they call the device.
struct Site {
  int param = -1; ///< what the address comes from; -1 for not known
  std::string operation;
  std::string location;
};

/// Reads the constant `norm_emulated_sites` of emulated code.
std::vector<Site> readSites(const char *text);

/// The findings of one kernel, one per kind and site. Of several at one place
/// that of the lowest CTA is kept, so that the result is the same however CTAs
/// are spread over host threads.
class Findings {
public:
  static constexpr unsigned kNoSite = ~0u;

  void add(FindingKind kind, unsigned site, int64_t block, int64_t thread,
           llvm::function_ref<std::string()> text);
  void merge(Findings &&other);
  bool empty() const { return found.empty(); }
  /// All findings by site.
  std::vector<Finding> take(llvm::StringRef kernel, llvm::ArrayRef<Site> sites);

private:
  std::map<std::pair<unsigned, FindingKind>, Finding> found;
};

} // namespace norm::emulated

#endif // NORM_LIB_RUNTIME_EMULATEDFINDINGS_H
