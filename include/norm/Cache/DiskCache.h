//===- DiskCache.h - Compiled programs on disk ------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A directory of compiled programs that any number of processes use at once. A
// cache never stands in the way: what can't be read is a miss, and what can't
// be written is left out.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_CACHE_DISKCACHE_H
#define NORM_CACHE_DISKCACHE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace norm {

/// What a cache keeps of a program.
struct CachedProgram {
  std::string manifest; ///< as JSON
  std::string code;
};

/// An entry, for people.
struct CacheEntry {
  std::string name;    ///< the file, within the directory
  uint64_t bytes = 0;  ///< of the file
  int64_t lastUse = 0; ///< seconds since 1970
  std::string title;   ///< the entry and the target of its manifest
  bool isIntact = false;
};

/// Holds the lock of a key until the end of its life, or of the process.
class CacheLock {
public:
  CacheLock() = default;
  explicit CacheLock(int file) : file(file) {}
  CacheLock(CacheLock &&other) noexcept : file(other.file) { other.file = -1; }
  CacheLock &operator=(CacheLock &&other) noexcept {
    std::swap(file, other.file);
    return *this;
  }
  ~CacheLock();

  /// Whether there is one; a directory that can't be written to has none.
  bool isHeld() const { return file >= 0; }

private:
  int file = -1;
};

/// All functions may be called by any number of threads and processes at once.
class DiskCache {
public:
  static constexpr uint64_t kDefaultLimit = uint64_t(1) << 30;

  /// `NORM_CACHE_DIR`, else `norm` in `XDG_CACHE_HOME`, else `.cache/norm` in
  /// `HOME`; empty without all of them, or where the first isn't absolute.
  static std::string defaultDirectory();

  /// The directory is made when something is stored. Beyond `limit` bytes the
  /// entries that were used least recently are removed.
  explicit DiskCache(std::string directory, uint64_t limit = kDefaultLimit)
      : directory(std::move(directory)), limit(limit) {}

  /// The program of a key; none if there is none. A file that isn't as it was
  /// written, is removed.
  std::optional<CachedProgram> find(llvm::StringRef key) const;

  /// Writes a file of another name, then renames it: whatever ends the process
  /// leaves an entry as a whole or not at all.
  llvm::Error store(llvm::StringRef key, const CachedProgram &program) const;

  /// Waits until no other process and thread has the lock of this key. Two keys
  /// may share one.
  CacheLock lock(llvm::StringRef key) const;

  /// All entries, the ones that were used last first. An error where the
  /// directory can't be read; none without one.
  llvm::Expected<std::vector<CacheEntry>> list() const;

  /// Removes all entries; the number of them.
  llvm::Expected<uint64_t> clear() const;

  llvm::StringRef path() const { return directory; }
  uint64_t byteLimit() const { return limit; }

private:
  std::string fileOf(llvm::StringRef key) const;
  void trim() const;

  std::string directory;
  uint64_t limit;
};

} // namespace norm

#endif // NORM_CACHE_DISKCACHE_H
