//===- Probe.cpp - One fault of each kind for the sanitizers --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Commits the fault that its argument names. Exits with status 0 where nothing
// stops it.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include <climits>
#include <utility>

static int useAfterFree() {
  int *volatile freed = new int(1);
  delete freed;
  return *freed;
}

static int overflow() {
  volatile int largest = INT_MAX;
  return largest + 1;
}

static int leak() {
  int *volatile lost = new int[25];
  lost = nullptr;
  return lost != nullptr;
}

/// Nor does LLVM's handler of crashes, as it is used around code generation,
/// go on after a report.
static int useAfterFreeWithinGuard() {
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext context;
  int result = 0;
  context.RunSafely([&] { result = useAfterFree(); });
  return result;
}

int main(int argc, char **argv) {
  static constexpr std::pair<const char *, int (*)()> kFaults[] = {
      {"use-after-free", useAfterFree},
      {"use-after-free-within-guard", useAfterFreeWithinGuard},
      {"overflow", overflow},
      {"leak", leak}};
  for (auto [name, commit] : kFaults) {
    if (argc == 2 && llvm::StringRef(argv[1]) == name) {
      volatile int result = commit();
      (void)result;
      return 0;
    }
  }
  return 2;
}
