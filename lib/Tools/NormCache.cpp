//===- NormCache.cpp - norm-cache -----------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// norm-cache: shows and clears the directory of compiled programs.
//
//===----------------------------------------------------------------------===//

#include "norm/Tools/Tools.h"

#include "norm/Cache/DiskCache.h"
#include "norm/Support/Version.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace norm;

static constexpr llvm::StringLiteral kUsage =
    R"(usage: norm-cache list|clear|stat [--directory DIR]

  list   the programs, the ones used last first: bytes, last use, entry, file
  clear  removes all
  stat   directory, number of programs, bytes, damaged ones

DIR is by default NORM_CACHE_DIR, else norm in XDG_CACHE_HOME, else .cache/norm
in HOME.
)";

static llvm::Error list(const DiskCache &cache) {
  llvm::Expected<std::vector<CacheEntry>> entries = cache.list();
  if (!entries)
    return entries.takeError();
  for (const CacheEntry &entry : *entries) {
    llvm::sys::TimePoint<> time = llvm::sys::toTimePoint(entry.lastUse);
    llvm::outs() << llvm::formatv(
        "{0,10}  {1:%Y-%m-%d %H:%M:%S}  {2}  {3}\n", entry.bytes, time,
        entry.isIntact ? entry.title : "damaged", entry.name);
  }
  return llvm::Error::success();
}

static llvm::Error stat(const DiskCache &cache) {
  llvm::Expected<std::vector<CacheEntry>> entries = cache.list();
  if (!entries)
    return entries.takeError();
  uint64_t bytes = 0, damaged = 0;
  for (const CacheEntry &entry : *entries) {
    bytes += entry.bytes;
    damaged += !entry.isIntact;
  }
  llvm::outs() << "directory: " << cache.path() << "\n"
               << "programs: " << entries->size() << "\n"
               << "bytes: " << bytes << "\n"
               << "damaged: " << damaged << "\n";
  return llvm::Error::success();
}

static llvm::Error clear(const DiskCache &cache) {
  llvm::Expected<uint64_t> removed = cache.clear();
  if (!removed)
    return removed.takeError();
  llvm::outs() << "removed " << *removed << "\n";
  return llvm::Error::success();
}

static llvm::Error run(llvm::ArrayRef<llvm::StringRef> arguments) {
  std::string directory = DiskCache::defaultDirectory();
  llvm::StringRef command;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (argument.consume_front("--directory")) {
      if (!argument.consume_front("=")) {
        if (!argument.empty() || ++i == arguments.size())
          return llvm::createStringError(
              "option --directory expects a value but got none");
        argument = arguments[i];
      }
      directory = argument.str();
      continue;
    }
    if (!command.empty())
      return llvm::createStringError("expects one command but got '" + command +
                                     "' and '" + argument + "'");
    command = argument;
  }
  if (directory.empty())
    return llvm::createStringError(
        "expects --directory, or a home directory, but got neither");
  DiskCache cache(directory);
  if (command == "list")
    return list(cache);
  if (command == "stat")
    return stat(cache);
  if (command == "clear")
    return clear(cache);
  return llvm::createStringError("expects list, clear or stat but got '" +
                                 command + "', see --help");
}

int norm::tools::normCacheMain(int argc, char **argv) {
  std::vector<llvm::StringRef> arguments(argv + std::min(argc, 1), argv + argc);
  for (llvm::StringRef argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      llvm::outs() << kUsage;
      return ExitSuccess;
    }
    if (argument == "--version") {
      llvm::outs() << versionLine() << "\n";
      return ExitSuccess;
    }
  }
  if (llvm::Error error = run(arguments)) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return ExitBadInput;
  }
  return ExitSuccess;
}
