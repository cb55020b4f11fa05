//===- DiskCache.cpp - Compiled programs on disk --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry is `<directory>/<SHA-256 of the key>.norm`:
//
//   norm-cache 1 <xxh3 of the rest, 32 hex digits> <key> <manifest> <code>\n
//
// with the three lengths in bytes, then the three texts. The key is compared as
// a whole. Locks are files in `<directory>/locks`, which stay.
//
//===----------------------------------------------------------------------===//

#include "norm/Cache/DiskCache.h"
#include "norm/Support/Manifest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <chrono>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace norm;

static constexpr llvm::StringLiteral kMagic = "norm-cache 1 ";
static constexpr llvm::StringLiteral kSuffix = ".norm";
static constexpr llvm::StringLiteral kTemporary = ".writing";
/// A file that is being written for longer was left by a process that ended.
static constexpr int64_t kStaleSeconds = 3600;

//===----------------------------------------------------------------------===//
// The form of an entry
//===----------------------------------------------------------------------===//

static std::string checksum(llvm::StringRef text) {
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, /*LowerCase=*/true, 16);
}

static std::string printEntry(llvm::StringRef key,
                              const CachedProgram &program) {
  std::string rest;
  llvm::raw_string_ostream stream(rest);
  stream << key.size() << ' ' << program.manifest.size() << ' '
         << program.code.size() << '\n'
         << key << program.manifest << program.code;
  return kMagic.str() + checksum(rest) + " " + rest;
}

namespace {
struct Decoded {
  llvm::StringRef key, manifest, code;
};
} // namespace

static std::optional<Decoded> parseEntry(llvm::StringRef text) {
  if (!text.consume_front(kMagic))
    return std::nullopt;
  llvm::StringRef sum = text.take_front(32), rest = text.drop_front(sum.size());
  if (!rest.consume_front(" ") || checksum(rest) != sum)
    return std::nullopt;
  // What has the right sum is well formed.
  llvm::StringRef header;
  std::tie(header, rest) = rest.split('\n');
  size_t key = 0, manifest = 0, code = 0;
  if (header.consumeInteger(10, key) || !header.consume_front(" ") ||
      header.consumeInteger(10, manifest) || !header.consume_front(" ") ||
      header.consumeInteger(10, code) || rest.size() != key + manifest + code)
    return std::nullopt;
  return Decoded{rest.take_front(key), rest.substr(key, manifest),
                 rest.take_back(code)};
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::string hashOf(llvm::StringRef key) {
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(key)),
                     /*LowerCase=*/true);
}

static std::unique_ptr<llvm::MemoryBuffer> read(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false,
                                          /*IsVolatile=*/true);
  return file ? std::move(*file) : nullptr;
}

static int64_t secondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string DiskCache::defaultDirectory() {
  using llvm::sys::Process;
  if (std::optional<std::string> path = Process::GetEnv("NORM_CACHE_DIR");
      path && !path->empty())
    return llvm::sys::path::is_absolute(*path) ? *path : std::string();
  // Relative ones are to be ignored, says the XDG specification.
  llvm::SmallString<128> path;
  if (std::optional<std::string> base = Process::GetEnv("XDG_CACHE_HOME");
      base && llvm::sys::path::is_absolute(*base)) {
    path = *base;
  } else if (std::optional<std::string> home = Process::GetEnv("HOME");
             home && llvm::sys::path::is_absolute(*home)) {
    path = *home;
    llvm::sys::path::append(path, ".cache");
  } else {
    return std::string();
  }
  llvm::sys::path::append(path, "norm");
  return std::string(path);
}

std::string DiskCache::fileOf(llvm::StringRef key) const {
  return directory + "/" + hashOf(key) + kSuffix.str();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

std::optional<CachedProgram> DiskCache::find(llvm::StringRef key) const {
  std::string path = fileOf(key);
  std::unique_ptr<llvm::MemoryBuffer> file = read(path);
  if (!file)
    return std::nullopt;
  std::optional<Decoded> entry = parseEntry(file->getBuffer());
  if (!entry) {
    (void)::unlink(path.c_str());
    return std::nullopt;
  }
  if (entry->key != key)
    return std::nullopt;
  // The time of the last use, as far as it may be written.
  (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return CachedProgram{entry->manifest.str(), entry->code.str()};
}

llvm::Error DiskCache::store(llvm::StringRef key,
                             const CachedProgram &program) const {
  if (directory.empty())
    return llvm::createStringError("expects a cache directory but got none");
  if (std::error_code code = llvm::sys::fs::create_directories(
          directory, /*IgnoreExisting=*/true, llvm::sys::fs::owner_all))
    return llvm::createStringError("can't make '" + directory +
                                   "': " + code.message());
  std::string path = fileOf(key);
  int file = -1;
  llvm::SmallString<128> temporary;
  if (std::error_code code = llvm::sys::fs::createUniqueFile(
          path + "-%%%%%%%%" + kTemporary, file, temporary))
    return llvm::createStringError("can't write in '" + directory +
                                   "': " + code.message());
  std::error_code code;
  {
    llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
    stream << printEntry(key, program);
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  if (!code)
    code = llvm::sys::fs::rename(temporary, path);
  if (code) {
    (void)::unlink(temporary.c_str());
    return llvm::createStringError("can't write '" + path +
                                   "': " + code.message());
  }
  trim();
  return llvm::Error::success();
}

CacheLock::~CacheLock() {
  if (file >= 0)
    (void)::close(file);
}

CacheLock DiskCache::lock(llvm::StringRef key) const {
  std::string folder = directory + "/locks";
  if (directory.empty() ||
      llvm::sys::fs::create_directories(folder, /*IgnoreExisting=*/true,
                                        llvm::sys::fs::owner_all))
    return CacheLock();
  // Few files, that may stay; the system frees the lock of one that ends.
  std::string path = folder + "/" + hashOf(key).substr(0, 3);
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return CacheLock();
  int status = 0;
  do
    status = ::flock(file, LOCK_EX);
  while (status != 0 && errno == EINTR);
  if (status == 0)
    return CacheLock(file);
  (void)::close(file);
  return CacheLock();
}

//===----------------------------------------------------------------------===//
// All entries
//===----------------------------------------------------------------------===//

namespace {
struct Found {
  std::string path;
  uint64_t bytes;
  int64_t time;
};
} // namespace

/// The files of the directory with that suffix, the newest first.
static std::vector<Found> findFiles(const std::string &directory,
                                    llvm::StringRef suffix,
                                    std::error_code &code) {
  std::vector<Found> files;
  for (llvm::sys::fs::directory_iterator file(directory, code), end;
       !code && file != end; file.increment(code)) {
    struct stat status;
    if (!llvm::StringRef(file->path()).ends_with(suffix) ||
        ::stat(file->path().c_str(), &status) != 0)
      continue;
    files.push_back(
        {file->path(), uint64_t(status.st_size), int64_t(status.st_mtime)});
  }
  llvm::sort(files, [](const Found &a, const Found &b) {
    return a.time != b.time ? a.time > b.time : a.path < b.path;
  });
  return files;
}

/// Where there is too much, removes more, so that not every store has to.
void DiskCache::trim() const {
  std::error_code code;
  for (const Found &file : findFiles(directory, kTemporary, code))
    if (file.time < secondsNow() - kStaleSeconds)
      (void)::unlink(file.path.c_str());
  std::vector<Found> files = findFiles(directory, kSuffix, code);
  uint64_t total = 0;
  for (const Found &file : files)
    total += file.bytes;
  if (total <= limit)
    return;
  for (const Found &file : llvm::reverse(files)) {
    if (total <= limit - limit / 10)
      return;
    if (::unlink(file.path.c_str()) == 0)
      total -= file.bytes;
  }
}

llvm::Expected<std::vector<CacheEntry>> DiskCache::list() const {
  std::vector<CacheEntry> entries;
  if (!llvm::sys::fs::exists(directory))
    return entries;
  std::error_code code;
  for (const Found &found : findFiles(directory, kSuffix, code)) {
    CacheEntry entry;
    entry.name = llvm::sys::path::filename(found.path).str();
    entry.bytes = found.bytes;
    entry.lastUse = found.time;
    std::unique_ptr<llvm::MemoryBuffer> file = read(found.path);
    std::optional<Decoded> decoded =
        file ? parseEntry(file->getBuffer()) : std::nullopt;
    if (decoded) {
      llvm::Expected<Manifest> manifest = parseManifest(decoded->manifest);
      if (manifest) {
        entry.isIntact = true;
        entry.title = manifest->entry + " for " + manifest->target;
      } else {
        llvm::consumeError(manifest.takeError());
      }
    }
    entries.push_back(std::move(entry));
  }
  if (code)
    return llvm::createStringError("can't read '" + directory +
                                   "': " + code.message());
  return entries;
}

llvm::Expected<uint64_t> DiskCache::clear() const {
  uint64_t removed = 0;
  if (!llvm::sys::fs::exists(directory))
    return removed;
  std::error_code code;
  for (llvm::StringRef suffix : {kSuffix, kTemporary})
    for (const Found &found : findFiles(directory, suffix, code)) {
      if (::unlink(found.path.c_str()) == 0)
        removed += suffix == kSuffix;
      else if (errno != ENOENT)
        code = std::error_code(errno, std::generic_category());
    }
  if (code)
    return llvm::createStringError("can't clear '" + directory +
                                   "': " + code.message());
  return removed;
}
