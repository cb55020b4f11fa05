//===- TuningFile.h - Schedules that were found by measuring ----*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the autotuner found, as a JSON file; docs/Tuning.md describes it. A
// schedule never changes a bit of a result, so that a file can cost time, and
// nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_SUPPORT_TUNINGFILE_H
#define NORM_SUPPORT_TUNINGFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace norm {

/// Microseconds that one call took.
struct TuningTime {
  std::string call; ///< the shapes of its arguments, `65536x4096, 4096`
  double model = 0; ///< with the schedule that the model chooses
  double tuned = 0; ///< with the one that was found
  bool operator==(const TuningTime &) const = default;
};

/// What is known of one program on one device.
struct TuningEntry {
  std::string device;  ///< the product, `NVIDIA H200`; `emulated`
  std::string target;  ///< `sm_90`
  std::string norm;    ///< the version that found it, `0.1.0`
  std::string program; ///< its hash, 16 hexadecimal digits
  std::string what;    ///< the program, for people
  std::string order;   ///< that the program had, `leaf=8,lanes=1024`
  std::string model;   ///< what the model chose, for people
  /// All fields that aren't at their default, as `--schedule` takes them.
  std::string schedule;
  std::vector<TuningTime> times;
  bool operator==(const TuningEntry &) const = default;
};

/// What a schedule is looked up by, besides the version of this library.
struct TuningKey {
  /// Empty where it isn't known: any device of the target will do, but for the
  /// emulated one.
  std::string device;
  std::string target;
  std::string program;
};

/// The hash of a program's text, as entries have it.
std::string hashProgram(llvm::StringRef text);

/// Entries, one at most for a device, target, program and version of norm, of
/// which the first two numbers count.
class TuningFile {
public:
  /// The `version` of the JSON form.
  static constexpr int64_t kVersion = 1;
  /// `device` of what was measured on the emulated device.
  static constexpr llvm::StringLiteral kEmulated = "emulated";

  /// Reads the JSON form. A malformed text, another version, a field that is
  /// missing, mistyped, out of its range or not known, and an entry that is
  /// there twice are errors that begin with `fileName`.
  static llvm::Expected<TuningFile> parse(llvm::StringRef text,
                                          llvm::StringRef fileName);
  /// The same for a file; an error where it can't be read.
  static llvm::Expected<TuningFile> read(llvm::StringRef path);

  /// The entry of this version of norm, null if there is none. Without a device
  /// in the key that of the first device by name.
  const TuningEntry *find(const TuningKey &key) const;

  /// Takes the place of an entry for the same.
  void add(TuningEntry entry);
  /// Adds all entries of `other`.
  void merge(const TuningFile &other);
  /// Removes the entries for the same as those of `other`.
  void remove(const TuningFile &other);

  bool empty() const { return entries.empty(); }
  size_t size() const { return entries.size(); }
  std::vector<TuningEntry> list() const;

  /// The JSON form: an entry a line, in a fixed order, so that files differ
  /// where entries do.
  std::string print() const;
  /// The same for the same entries only. Costs nothing.
  std::string fingerprint() const;

private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  static Key keyOf(const TuningEntry &entry);
  /// Counts an entry in the fingerprint, or no longer.
  void toggle(const TuningEntry &entry);

  std::map<Key, TuningEntry> entries;
  /// The exclusive or of the entries' hashes.
  uint64_t high = 0, low = 0;
};

/// Removes and adds entries of a file, or makes it. Any number of threads and
/// processes may do so at once: none loses what another added, and who reads
/// meanwhile reads a whole file. An error where what is there isn't a tuning
/// file, or nothing can be written; the file is then as it was.
llvm::Error mergeIntoFile(llvm::StringRef path, const TuningFile &added,
                          const TuningFile &removed = TuningFile());

/// The entry of a key in the JSON form as `TuningFile::print` writes it, read
/// from its line alone; none where there is none.
std::optional<TuningEntry> findInText(llvm::StringRef text,
                                      const TuningKey &key);

/// The same for several texts, in their order.
std::optional<TuningEntry> findInTexts(llvm::ArrayRef<llvm::StringRef> texts,
                                       const TuningKey &key);

/// The texts of the files in lib/Support/Tuning, which are a part of this library.
std::vector<llvm::StringRef> shippedTunings();

} // namespace norm

#endif // NORM_SUPPORT_TUNINGFILE_H
