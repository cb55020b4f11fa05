//===- DiskCacheTest.cpp - Tests of the cache on disk ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Cache/DiskCache.h"
#include "CacheFolder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace norm;
using norm::test::CacheFolder;

namespace {

const CachedProgram kProgram = {"a manifest", std::string("code\0\n\x7f", 7)};

std::string store(const DiskCache &cache, llvm::StringRef key,
                  const CachedProgram &program = kProgram) {
  return llvm::toString(cache.store(key, program));
}

std::vector<CacheEntry> list(const DiskCache &cache) {
  llvm::Expected<std::vector<CacheEntry>> entries = cache.list();
  if (entries)
    return std::move(*entries);
  ADD_FAILURE() << llvm::toString(entries.takeError());
  return {};
}

TEST(DiskCacheTest, FindsWhatWasStored) {
  CacheFolder folder;
  DiskCache cache(folder.path);
  EXPECT_FALSE(cache.find("key"));
  EXPECT_TRUE(list(cache).empty());
  EXPECT_EQ(store(cache, "key"), "");
  EXPECT_EQ(store(cache, "other", {"", ""}), "");
  std::optional<CachedProgram> found = DiskCache(folder.path).find("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->manifest, kProgram.manifest);
  EXPECT_EQ(found->code, kProgram.code);
  EXPECT_TRUE(cache.find("other"));
  EXPECT_FALSE(cache.find("third"));
  EXPECT_EQ(list(cache).size(), 2u);
  llvm::Expected<uint64_t> removed = cache.clear();
  ASSERT_TRUE(bool(removed)) << llvm::toString(removed.takeError());
  EXPECT_EQ(*removed, 2u);
  EXPECT_FALSE(cache.find("key"));
}

TEST(DiskCacheTest, DamagedEntriesAreMisses) {
  CacheFolder folder;
  DiskCache cache(folder.path);
  ASSERT_EQ(store(cache, "key"), "");
  std::string path = folder.path + "/" + list(cache)[0].name;
  auto file = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(file));
  std::string good = (*file)->getBuffer().str();
  // Every byte counts, and so does every length.
  for (size_t i = 0; i < good.size(); ++i)
    for (bool isCut : {false, true}) {
      std::string bad = isCut ? good.substr(0, i) : good;
      if (!isCut)
        bad[i] ^= 1;
      std::error_code code;
      llvm::raw_fd_ostream(path, code) << bad;
      ASSERT_FALSE(cache.find("key")) << i;
      ASSERT_NE(::access(path.c_str(), F_OK), 0) << i;
    }
  EXPECT_EQ(store(cache, "key"), "");
  EXPECT_TRUE(cache.find("key"));
}

TEST(DiskCacheTest, LeastRecentlyUsedGoFirst) {
  CacheFolder folder;
  CachedProgram large = {"", std::string(10000, 'x')};
  DiskCache cache(folder.path, 35000);
  auto age = [&](llvm::StringRef key, int64_t seconds) {
    // Entries in the order of their stores have ages in that order.
    for (const CacheEntry &entry : list(cache)) {
      std::string path = folder.path + "/" + entry.name;
      auto file = llvm::MemoryBuffer::getFile(path);
      if (file && (*file)->getBuffer().contains("\n" + key.str())) {
        timespec times[2] = {{seconds, 0}, {seconds, 0}};
        EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
      }
    }
  };
  for (unsigned i = 0; i < 3; ++i) {
    std::string key = "key" + std::to_string(i);
    ASSERT_EQ(store(cache, key, large), "");
    age(key, 1000 + i);
  }
  EXPECT_EQ(list(cache).size(), 3u);
  EXPECT_TRUE(cache.find("key0")); // used now
  ASSERT_EQ(store(cache, "key3", large), "");
  EXPECT_TRUE(cache.find("key0"));
  EXPECT_FALSE(cache.find("key1"));
  EXPECT_TRUE(cache.find("key3"));
}

TEST(DiskCacheTest, FullDisksAndForbiddenFoldersAreErrors) {
  CacheFolder folder;
  // A limit of the process stands for a full disk.
  pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    DiskCache cache(folder.path);
    std::string error = store(cache, "key", {"", std::string(5000, 'x')});
    bool isRight = llvm::StringRef(error).contains("can't write") &&
                   !cache.find("key") && store(cache, "small").empty();
    ::_exit(isRight ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(list(DiskCache(folder.path)).size(), 1u);

  // A file where the folder should be, for whoever runs this.
  std::string path = folder.path + "/file";
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << "x";
  DiskCache cache(path);
  EXPECT_NE(store(cache, "key"), "");
  EXPECT_FALSE(cache.find("key"));
  EXPECT_FALSE(cache.lock("key").isHeld());
  EXPECT_NE(store(DiskCache(""), "key"), "");
}

TEST(DiskCacheTest, KilledWritersLeaveNothing) {
  CacheFolder folder;
  CachedProgram large = {"m", std::string(1 << 20, 'x')};
  for (unsigned i = 0; i < 20; ++i) {
    pid_t child = ::fork();
    if (child == 0)
      for (;;) {
        CacheLock lock = DiskCache(folder.path).lock("key");
        (void)store(DiskCache(folder.path), "key", large);
      }
    ::usleep(3000 + 777 * i);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    // Whole or not there, and the lock is free.
    DiskCache cache(folder.path);
    CacheLock lock = cache.lock("key");
    EXPECT_TRUE(lock.isHeld());
    for (const CacheEntry &entry : list(cache))
      EXPECT_GT(entry.bytes, large.code.size());
    if (std::optional<CachedProgram> found = cache.find("key"))
      EXPECT_EQ(found->code, large.code);
  }
}

TEST(DiskCacheTest, DefaultDirectories) {
  auto with = [](const char *own, const char *xdg, const char *home) {
    for (auto [name, value] : {std::pair("NORM_CACHE_DIR", own),
                               {"XDG_CACHE_HOME", xdg},
                               {"HOME", home}})
      value ? ::setenv(name, value, 1) : ::unsetenv(name);
    return DiskCache::defaultDirectory();
  };
  std::string home = ::getenv("HOME") ? ::getenv("HOME") : "";
  EXPECT_EQ(with("/a", "/b", "/c"), "/a");
  EXPECT_EQ(with(nullptr, "/b", "/c"), "/b/norm");
  EXPECT_EQ(with("", "b", "/c"), "/c/.cache/norm");
  EXPECT_EQ(with(nullptr, nullptr, nullptr), "");
  EXPECT_EQ(with("a", "/b", "/c"), "");
  with(nullptr, nullptr, home.c_str());
}

} // namespace
