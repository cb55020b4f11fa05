//===- TuningFileTest.cpp - Schedules that were found by measuring --------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Support/TuningFile.h"

#include "norm/Support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <atomic>
#include <thread>

using namespace norm;

namespace {

TuningEntry makeEntry(llvm::StringRef device = "NVIDIA H200",
                      llvm::StringRef program = "0123456789abcdef") {
  TuningEntry entry;
  entry.device = device.str();
  entry.target = "sm_90";
  entry.norm = versionString().str();
  entry.program = program.str();
  entry.what = "bf16[?x4096] -> bf16[?x4096], 3 ops";
  entry.order = "leaf=8,lanes=1024";
  entry.model = "threads=128";
  entry.schedule = "threads=256,rows_per_cta=1";
  entry.times = {{"65536x4096", 250.5, 240.25}, {"16x4096", 1.75, 1.5}};
  return entry;
}

std::string hashOf(unsigned number) {
  return hashProgram(llvm::utostr(number));
}

TuningFile makeFile(llvm::ArrayRef<TuningEntry> entries) {
  TuningFile file;
  for (const TuningEntry &entry : entries)
    file.add(entry);
  return file;
}

/// The message for a text, empty where it's read.
std::string problemOf(llvm::StringRef text) {
  llvm::Expected<TuningFile> file = TuningFile::parse(text, "t.json");
  return file ? "" : llvm::toString(file.takeError());
}

/// The text of a file with one entry, in which one part is another.
std::string printWith(llvm::StringRef from, llvm::StringRef to) {
  std::string text = makeFile(makeEntry()).print();
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from.str();
  return text.replace(at, from.size(), to);
}

/// A directory that is removed with all that is in it.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("norm-tuning", path));
  }
  ~TemporaryDirectory() { llvm::sys::fs::remove_directories(path); }
  std::string operator/(llvm::StringRef name) const {
    return (path + "/" + name).str();
  }

private:
  llvm::SmallString<128> path;
};

void write(const std::string &path, llvm::StringRef content) {
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << content;
  ASSERT_FALSE(code);
}

} // namespace

TEST(TuningFile, PrintsWhatItReads) {
  TuningFile file = makeFile({makeEntry(), makeEntry("a \"quoted\" one\\"),
                              makeEntry("NVIDIA H200", hashOf(1))});
  std::string text = file.print();
  llvm::Expected<TuningFile> again = TuningFile::parse(text, "t.json");
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->list(), file.list());
  EXPECT_EQ(again->print(), text);
  EXPECT_EQ(again->fingerprint(), file.fingerprint());
  EXPECT_EQ(file.size(), 3u);
  // An entry a line.
  EXPECT_EQ(llvm::StringRef(text).count('\n'), 5u);
}

TEST(TuningFile, AnEmptyFileIsOne) {
  llvm::Expected<TuningFile> file =
      TuningFile::parse(TuningFile().print(), "t.json");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_TRUE(file->empty());
}

TEST(TuningFile, FingerprintsAreOfContents) {
  TuningEntry other = makeEntry("NVIDIA H200", hashOf(1));
  TuningFile ab = makeFile({makeEntry(), other});
  EXPECT_EQ(ab.fingerprint(), makeFile({other, makeEntry()}).fingerprint());
  EXPECT_NE(ab.fingerprint(), makeFile({other}).fingerprint());
  EXPECT_NE(makeFile({other}).fingerprint(),
            makeFile({makeEntry()}).fingerprint());
  // What was replaced, or removed, counts no longer.
  TuningEntry changed = other;
  changed.schedule = "threads=64";
  TuningFile file = makeFile({makeEntry(), changed});
  EXPECT_NE(file.fingerprint(), ab.fingerprint());
  file.add(other);
  EXPECT_EQ(file.fingerprint(), ab.fingerprint());
  file.remove(makeFile({changed}));
  EXPECT_EQ(file.fingerprint(), makeFile({makeEntry()}).fingerprint());
}

TEST(TuningFile, DamagedTextsAreErrors) {
  std::string text = makeFile(makeEntry()).print();
  // A file that was cut off anywhere, but for its last line's end.
  for (size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_NE(problemOf(llvm::StringRef(text).take_front(size)), "") << size;
  EXPECT_EQ(problemOf("[]"),
            "t.json: expects a tuning file, with format 'norm-tuning'");
  EXPECT_EQ(problemOf(R"({"format": "norm-bench"})"),
            "t.json: expects a tuning file, with format 'norm-tuning'");
  EXPECT_EQ(problemOf(R"({"format": "norm-tuning"})"),
            "t.json: version: expects a number");
  EXPECT_EQ(problemOf(R"({"format": "norm-tuning", "version": 1})"),
            "t.json: entries: expects a value but got none");
  EXPECT_EQ(problemOf(R"({"format": "norm-tuning", "version": 1,
                          "entries": 1})"),
            "t.json: entries: expects a list");
}

TEST(TuningFile, AnotherVersionIsAnError) {
  // Even one whose fields aren't these.
  EXPECT_EQ(problemOf(R"({"format": "norm-tuning", "version": 2, "rows": 3})"),
            "t.json: version: expects 1 but got 2");
}

TEST(TuningFile, WrongFieldsAreErrors) {
  EXPECT_EQ(problemOf(printWith("\"device\"", "\"divice\"")),
            "t.json: entries[0].device: expects a value but got none");
  EXPECT_EQ(problemOf(printWith("\"times\"", "\"x\": 1, \"times\"")),
            "t.json: entries[0].x: expects no such field");
  EXPECT_EQ(problemOf(printWith("\"sm_90\"", "\"sm_1\"")),
            "t.json: entries[0].target: expects a GPU target but got 'sm_1'");
  EXPECT_EQ(problemOf(printWith("\"sm_90\"", "\"host\"")),
            "t.json: entries[0].target: expects a GPU target but got 'host'");
  EXPECT_EQ(problemOf(printWith("0123456789abcdef", "0123")),
            "t.json: entries[0].program: expects 16 hexadecimal digits but "
            "got '0123'");
  EXPECT_EQ(problemOf(printWith("\"threads=256,rows_per_cta=1\"", "256")),
            "t.json: entries[0].schedule: expects a text");
  EXPECT_EQ(problemOf(printWith("250.5", "-1")),
            "t.json: entries[0].times[0].model_us: expects a number above 0");
  EXPECT_EQ(problemOf(printWith("\"entries\"", "\"more\": 0, \"entries\"")),
            "t.json: more: expects no such field");
  TuningEntry entry = makeEntry();
  std::string twice = makeFile(entry).print();
  size_t begin = twice.find('\n') + 1, end = twice.rfind("\n]");
  twice.insert(end, ",\n" + twice.substr(begin, end - begin));
  EXPECT_EQ(problemOf(twice),
            "t.json: entries[1]: expects one entry for program "
            "0123456789abcdef on 'NVIDIA H200' but got another");
}

TEST(TuningFile, FindsByDeviceTargetProgramAndVersion) {
  TuningEntry old = makeEntry("NVIDIA H200", hashOf(2));
  old.norm = "0.0.1";
  TuningFile file =
      makeFile({makeEntry("NVIDIA H200"), makeEntry("NVIDIA H100"),
                makeEntry("emulated"), old, makeEntry("emulated", hashOf(3))});
  TuningKey key{"NVIDIA H200", "sm_90", "0123456789abcdef"};
  ASSERT_NE(file.find(key), nullptr);
  EXPECT_EQ(file.find(key)->device, "NVIDIA H200");
  key.device = "emulated";
  ASSERT_NE(file.find(key), nullptr);
  EXPECT_EQ(file.find(key)->device, "emulated");
  key.device = "NVIDIA A100";
  EXPECT_EQ(file.find(key), nullptr);
  key.target = "sm_80";
  key.device = "NVIDIA H200";
  EXPECT_EQ(file.find(key), nullptr);
  // Without a device, the first one that isn't the emulated one.
  key = {"", "sm_90", "0123456789abcdef"};
  ASSERT_NE(file.find(key), nullptr);
  EXPECT_EQ(file.find(key)->device, "NVIDIA H100");
  EXPECT_EQ(file.find({"", "sm_90", hashOf(3)}), nullptr);
  // Of a version whose kernels may be others.
  EXPECT_EQ(file.find({"NVIDIA H200", "sm_90", hashOf(2)}), nullptr);
}

TEST(TuningFile, EntriesAreFoundInTextsAsInFiles) {
  std::vector<TuningEntry> entries;
  for (unsigned i = 0; i < 20; ++i)
    for (llvm::StringRef device : {"NVIDIA H200", "NVIDIA H100", "emulated"}) {
      TuningEntry entry = makeEntry(device, hashOf(i / 2));
      entry.target = i % 2 ? "sm_90" : "sm_80";
      entry.schedule = "threads=" + llvm::utostr(i);
      entries.push_back(entry);
    }
  TuningFile file = makeFile(entries);
  std::string text = file.print();
  for (unsigned program = 0; program < 12; ++program)
    for (llvm::StringRef target : {"sm_80", "sm_90", "sm_100"})
      for (llvm::StringRef device : {"NVIDIA H200", "", "NVIDIA A100"}) {
        TuningKey key{device.str(), target.str(), hashOf(program)};
        const TuningEntry *want = file.find(key);
        std::optional<TuningEntry> got = findInText(text, key);
        ASSERT_EQ(want != nullptr, got.has_value());
        if (want) {
          EXPECT_EQ(*want, *got);
        }
      }
}

TEST(TuningFile, ShippedFilesAreFiles) {
  for (llvm::StringRef text : shippedTunings()) {
    llvm::Expected<TuningFile> file = TuningFile::parse(text, "shipped");
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    // As `print` has it, which `findInText` needs, and found again.
    EXPECT_EQ(file->print(), text.str());
    for (const TuningEntry &entry : file->list()) {
      EXPECT_NE(entry.device, TuningFile::kEmulated);
      std::optional<TuningEntry> found = findInTexts(
          shippedTunings(), {entry.device, entry.target, entry.program});
      ASSERT_TRUE(found.has_value()) << entry.program;
      EXPECT_EQ(*found, entry);
    }
  }
  EXPECT_FALSE(
      findInTexts(shippedTunings(), {"", "sm_90", "0123456789abcdef"}));
}

TEST(TuningFile, EmbeddedTextsAreThoseOfTheFiles) {
  static constexpr llvm::StringLiteral kEmbedded[] = {
#include "TestTuning.inc"
  };
  ASSERT_EQ(std::size(kEmbedded), 1u);
  auto buffer =
      llvm::MemoryBuffer::getFile(NORM_TEST_INPUTS_DIR "/tuning.json");
  ASSERT_TRUE(bool(buffer));
  EXPECT_EQ((*buffer)->getBuffer(), kEmbedded[0]);
  llvm::Expected<TuningFile> file =
      TuningFile::parse(kEmbedded[0], "tuning.json");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->print(), kEmbedded[0].str());
  EXPECT_EQ(file->size(), 2u);
}

TEST(TuningFile, MergingAddsReplacesAndRemoves) {
  TemporaryDirectory directory;
  std::string path = directory / "t.json";
  TuningEntry first = makeEntry(), second = makeEntry("NVIDIA H200", hashOf(1));
  ASSERT_FALSE(bool(mergeIntoFile(path, makeFile({first}))));
  ASSERT_FALSE(bool(mergeIntoFile(path, makeFile({second}))));
  first.schedule = "threads=512";
  ASSERT_FALSE(bool(mergeIntoFile(path, makeFile({first}))));
  llvm::Expected<TuningFile> file = TuningFile::read(path);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->list(), makeFile({first, second}).list());
  ASSERT_FALSE(
      bool(mergeIntoFile(path, TuningFile(), makeFile({makeEntry()}))));
  file = TuningFile::read(path);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->list(), makeFile({second}).list());
}

TEST(TuningFile, WhatIsNoTuningFileStaysAsItIs) {
  TemporaryDirectory directory;
  std::string path = directory / "notes.txt";
  write(path, "notes\n");
  std::string problem =
      llvm::toString(mergeIntoFile(path, makeFile({makeEntry()})));
  EXPECT_TRUE(llvm::StringRef(problem).starts_with(path + ": expects JSON"))
      << problem;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(buffer));
  EXPECT_EQ((*buffer)->getBuffer(), "notes\n");
}

TEST(TuningFile, WhatCannotBeReadOrWrittenIsAnError) {
  TemporaryDirectory directory;
  std::string path = directory / "none/t.json";
  EXPECT_EQ(llvm::toString(mergeIntoFile(path, TuningFile())),
            path + ": cannot write: No such file or directory");
  EXPECT_EQ(llvm::toString(TuningFile::read(path).takeError()),
            path + ": cannot read: No such file or directory");
}

TEST(TuningFile, WritersLoseNothingOfEachOther) {
  TemporaryDirectory directory;
  std::string path = directory / "t.json";
  constexpr unsigned kThreads = 8, kEach = 6;
  std::atomic<bool> isDone = false;
  std::atomic<unsigned> torn = 0;
  // Who reads meanwhile reads a whole file.
  std::thread reader([&] {
    while (!isDone)
      if (llvm::sys::fs::exists(path)) {
        llvm::Expected<TuningFile> file = TuningFile::read(path);
        torn += !file;
        llvm::consumeError(file.takeError());
      }
  });
  std::vector<std::thread> writers;
  std::atomic<unsigned> failed = 0;
  for (unsigned thread = 0; thread < kThreads; ++thread)
    writers.emplace_back([&, thread] {
      for (unsigned i = 0; i < kEach; ++i)
        if (llvm::Error error = mergeIntoFile(
                path, makeFile(makeEntry("NVIDIA H200",
                                         hashOf(thread * kEach + i))))) {
          llvm::consumeError(std::move(error));
          ++failed;
        }
    });
  for (std::thread &writer : writers)
    writer.join();
  isDone = true;
  reader.join();
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(torn, 0u);
  llvm::Expected<TuningFile> file = TuningFile::read(path);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->size(), size_t(kThreads) * kEach);
}
