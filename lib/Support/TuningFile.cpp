//===- TuningFile.cpp - Schedules that were found by measuring ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Support/TuningFile.h"

#include "norm/Support/Targets.h"
#include "norm/Support/Version.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace norm;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kFormat = "norm-tuning";
static constexpr size_t kHashDigits = 16;

std::string norm::hashProgram(llvm::StringRef text) {
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true,
                         kHashDigits);
}

/// `0.1` of `0.1.0`: what follows doesn't change how fast code is.
static llvm::StringRef minorVersion(llvm::StringRef version) {
  return version.rsplit('.').first;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// Reads the fields of one object, each by name; what is left at the end isn't
/// known.
class Fields {
public:
  static llvm::Expected<Fields> make(const json::Value &value,
                                     const std::string &where) {
    const json::Object *object = value.getAsObject();
    if (!object)
      return llvm::createStringError(where + ": expects an object");
    return Fields(*object, where);
  }

  llvm::Error fail(llvm::StringRef field, const llvm::Twine &expected) const {
    return llvm::createStringError(where + (where.empty() ? "" : ".") + field +
                                   ": expects " + expected);
  }
  llvm::Expected<const json::Value *> take(llvm::StringRef field) {
    taken.push_back(field);
    if (const json::Value *value = object->get(field))
      return value;
    return fail(field, "a value but got none");
  }
  llvm::Error read(llvm::StringRef field, std::string &to) {
    llvm::Expected<const json::Value *> value = take(field);
    if (!value)
      return value.takeError();
    std::optional<llvm::StringRef> text = (*value)->getAsString();
    if (!text || text->empty())
      return fail(field, "a text");
    to = text->str();
    return llvm::Error::success();
  }
  llvm::Error read(llvm::StringRef field, double &to) {
    llvm::Expected<const json::Value *> value = take(field);
    if (!value)
      return value.takeError();
    std::optional<double> number = (*value)->getAsNumber();
    if (!number || !std::isfinite(*number) || *number <= 0)
      return fail(field, "a number above 0");
    to = *number;
    return llvm::Error::success();
  }
  llvm::Error finish() const {
    std::vector<std::string> unknown;
    for (const auto &[name, value] : *object)
      if (!llvm::is_contained(taken, llvm::StringRef(name)))
        unknown.push_back(name.str());
    if (unknown.empty())
      return llvm::Error::success();
    return fail(*llvm::min_element(unknown), "no such field");
  }

private:
  Fields(const json::Object &object, std::string where)
      : object(&object), where(std::move(where)) {}

  const json::Object *object;
  std::string where;
  llvm::SmallVector<llvm::StringRef, 10> taken;
};

llvm::Expected<TuningTime> readTime(const json::Value &value,
                                    const std::string &where) {
  llvm::Expected<Fields> fields = Fields::make(value, where);
  if (!fields)
    return fields.takeError();
  TuningTime time;
  if (llvm::Error error = fields->read("call", time.call))
    return std::move(error);
  if (llvm::Error error = fields->read("model_us", time.model))
    return std::move(error);
  if (llvm::Error error = fields->read("tuned_us", time.tuned))
    return std::move(error);
  if (llvm::Error error = fields->finish())
    return std::move(error);
  return time;
}

llvm::Expected<TuningEntry> readEntry(const json::Value &value,
                                      const std::string &where) {
  llvm::Expected<Fields> fields = Fields::make(value, where);
  if (!fields)
    return fields.takeError();
  TuningEntry entry;
  const std::pair<llvm::StringRef, std::string *> texts[] = {
      {"device", &entry.device}, {"target", &entry.target},
      {"norm", &entry.norm},     {"program", &entry.program},
      {"what", &entry.what},     {"order", &entry.order},
      {"model", &entry.model},   {"schedule", &entry.schedule}};
  for (const auto &[name, to] : texts)
    if (llvm::Error error = fields->read(name, *to))
      return std::move(error);
  if (!findGPUTarget(entry.target))
    return fields->fail("target",
                        "a GPU target but got '" + entry.target + "'");
  if (entry.program.size() != kHashDigits ||
      !llvm::all_of(entry.program, [](char c) {
        return llvm::isDigit(c) || (c >= 'a' && c <= 'f');
      }))
    return fields->fail("program", "16 hexadecimal digits but got '" +
                                       entry.program + "'");
  llvm::Expected<const json::Value *> times = fields->take("times");
  if (!times)
    return times.takeError();
  const json::Array *list = (*times)->getAsArray();
  if (!list)
    return fields->fail("times", "a list");
  for (const auto &[index, time] : llvm::enumerate(*list)) {
    std::string place = where + ".times[" + llvm::utostr(index) + "]";
    if (llvm::Error error =
            readTime(time, place).moveInto(entry.times.emplace_back()))
      return std::move(error);
  }
  if (llvm::Error error = fields->finish())
    return std::move(error);
  return entry;
}

/// Checks what kind of file it is, before anything is said about its fields.
llvm::Error checkHeader(const json::Value &root) {
  const json::Object *object = root.getAsObject();
  std::optional<llvm::StringRef> format =
      object ? object->getString("format") : std::nullopt;
  if (!format || *format != kFormat)
    return llvm::createStringError("expects a tuning file, with format '" +
                                   kFormat + "'");
  std::optional<int64_t> version = object->getInteger("version");
  if (!version)
    return llvm::createStringError("version: expects a number");
  if (*version != TuningFile::kVersion)
    return llvm::createStringError("version: expects " +
                                   llvm::Twine(TuningFile::kVersion) +
                                   " but got " + llvm::Twine(*version));
  return llvm::Error::success();
}

llvm::Expected<std::vector<TuningEntry>> readEntries(llvm::StringRef text) {
  llvm::Expected<json::Value> root = json::parse(text);
  if (!root)
    return llvm::createStringError("expects JSON but got " +
                                   llvm::toString(root.takeError()));
  if (llvm::Error error = checkHeader(*root))
    return std::move(error);
  Fields fields = llvm::cantFail(Fields::make(*root, ""));
  for (llvm::StringRef name : {"format", "version"})
    llvm::cantFail(fields.take(name).takeError());
  llvm::Expected<const json::Value *> value = fields.take("entries");
  if (!value)
    return value.takeError();
  const json::Array *list = (*value)->getAsArray();
  if (!list)
    return fields.fail("entries", "a list");
  if (llvm::Error error = fields.finish())
    return std::move(error);
  std::vector<TuningEntry> entries;
  for (const auto &[index, one] : llvm::enumerate(*list))
    if (llvm::Error error =
            readEntry(one, "entries[" + llvm::utostr(index) + "]")
                .moveInto(entries.emplace_back()))
      return std::move(error);
  return entries;
}
} // namespace

TuningFile::Key TuningFile::keyOf(const TuningEntry &entry) {
  return {entry.target, entry.program, minorVersion(entry.norm).str(),
          entry.device};
}

llvm::Expected<TuningFile> TuningFile::parse(llvm::StringRef text,
                                             llvm::StringRef fileName) {
  llvm::Expected<std::vector<TuningEntry>> entries = readEntries(text);
  if (!entries)
    return llvm::createStringError(fileName + ": " +
                                   llvm::toString(entries.takeError()));
  TuningFile file;
  for (const auto &[index, entry] : llvm::enumerate(*entries)) {
    if (file.entries.count(keyOf(entry)))
      return llvm::createStringError(
          fileName + ": entries[" + llvm::Twine(index) +
          "]: expects one entry for program " + entry.program + " on '" +
          entry.device + "' but got another");
    file.add(entry);
  }
  return file;
}

llvm::Expected<TuningFile> TuningFile::read(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(
        path + ": cannot read: " + buffer.getError().message());
  return parse((*buffer)->getBuffer(), path);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

const TuningEntry *TuningFile::find(const TuningKey &key) const {
  std::string version = minorVersion(versionString()).str();
  if (!key.device.empty()) {
    auto found = entries.find({key.target, key.program, version, key.device});
    return found == entries.end() ? nullptr : &found->second;
  }
  for (auto at = entries.lower_bound({key.target, key.program, version, ""});
       at != entries.end(); ++at) {
    const TuningEntry &entry = at->second;
    if (entry.target != key.target || entry.program != key.program ||
        minorVersion(entry.norm) != version)
      return nullptr;
    if (entry.device != kEmulated)
      return &entry;
  }
  return nullptr;
}

void TuningFile::add(TuningEntry entry) {
  TuningEntry &place = entries[keyOf(entry)];
  // An empty place was made just now.
  if (!place.program.empty())
    toggle(place);
  toggle(entry);
  place = std::move(entry);
}

void TuningFile::merge(const TuningFile &other) {
  for (const auto &[key, entry] : other.entries)
    add(entry);
}

void TuningFile::remove(const TuningFile &other) {
  for (const auto &[key, entry] : other.entries) {
    auto found = entries.find(key);
    if (found == entries.end())
      continue;
    toggle(found->second);
    entries.erase(found);
  }
}

std::vector<TuningEntry> TuningFile::list() const {
  std::vector<TuningEntry> all;
  for (const auto &[key, entry] : entries)
    all.push_back(entry);
  return all;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string quote(llvm::StringRef text) {
  return llvm::formatv("{0}", json::Value(json::fixUTF8(text)));
}

static std::string printEntry(const TuningEntry &entry) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // `json::Object` has no order of its own; people read the device first.
  const std::pair<llvm::StringRef, const std::string *> texts[] = {
      {"device", &entry.device}, {"target", &entry.target},
      {"norm", &entry.norm},     {"program", &entry.program},
      {"what", &entry.what},     {"order", &entry.order},
      {"model", &entry.model},   {"schedule", &entry.schedule}};
  for (const auto &[name, value] : texts)
    stream << (name == "device" ? "{" : ", ") << quote(name) << ": "
           << quote(*value);
  stream << ", \"times\": [";
  for (const auto &[index, time] : llvm::enumerate(entry.times))
    stream << (index ? ", " : "") << "{\"call\": " << quote(time.call)
           << llvm::formatv(", \"model_us\": {0:f3}, \"tuned_us\": {1:f3}}",
                            std::max(time.model, 0.001),
                            std::max(time.tuned, 0.001));
  stream << "]}";
  return text;
}

std::string TuningFile::print() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "{\"format\": " << quote(kFormat) << ", \"version\": " << kVersion
         << ", \"entries\": [";
  llvm::StringRef separator = "\n";
  for (const auto &[key, entry] : entries) {
    stream << separator << printEntry(entry);
    separator = ",\n";
  }
  stream << "\n]}\n";
  return text;
}

void TuningFile::toggle(const TuningEntry &entry) {
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::arrayRefFromStringRef(printEntry(entry)));
  high ^= hash.high64;
  low ^= hash.low64;
}

std::string TuningFile::fingerprint() const {
  return llvm::utohexstr(high, /*LowerCase=*/true, kHashDigits) +
         llvm::utohexstr(low, /*LowerCase=*/true, kHashDigits);
}

namespace {
/// The lock of a directory, which no file stands for.
class DirectoryLock {
public:
  static llvm::Expected<DirectoryLock> take(const std::string &directory) {
    int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
      return llvm::errorCodeToError(
          std::error_code(errno, std::generic_category()));
    int status = 0;
    do
      status = ::flock(file, LOCK_EX);
    while (status != 0 && errno == EINTR);
    DirectoryLock lock(file);
    if (status != 0)
      return llvm::errorCodeToError(
          std::error_code(errno, std::generic_category()));
    return std::move(lock);
  }
  DirectoryLock(DirectoryLock &&other) noexcept
      : file(std::exchange(other.file, -1)) {}
  DirectoryLock &operator=(DirectoryLock &&) = delete;
  ~DirectoryLock() {
    if (file >= 0)
      (void)::close(file);
  }

private:
  explicit DirectoryLock(int file) : file(file) {}
  int file;
};
} // namespace

/// Under another name, then renamed.
static llvm::Error replaceFile(llvm::StringRef path, llvm::StringRef content) {
  return llvm::writeToOutput(path,
                             [&](llvm::raw_ostream &stream) -> llvm::Error {
                               stream << content;
                               return llvm::Error::success();
                             });
}

llvm::Error norm::mergeIntoFile(llvm::StringRef path, const TuningFile &added,
                                const TuningFile &removed) {
  auto fail = [&](llvm::Error error) {
    return llvm::createStringError(
        path + ": cannot write: " + llvm::toString(std::move(error)));
  };
  llvm::StringRef parent = llvm::sys::path::parent_path(path);
  llvm::Expected<DirectoryLock> lock =
      DirectoryLock::take(parent.empty() ? "." : parent.str());
  if (!lock)
    return fail(lock.takeError());
  TuningFile file;
  if (llvm::sys::fs::exists(path))
    if (llvm::Error error = TuningFile::read(path).moveInto(file))
      return error;
  file.remove(removed);
  file.merge(added);
  if (llvm::Error error = replaceFile(path, file.print()))
    return fail(std::move(error));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// What is shipped
//===----------------------------------------------------------------------===//

std::optional<TuningEntry> norm::findInText(llvm::StringRef text,
                                            const TuningKey &key) {
  std::string wanted = "\"program\": \"" + key.program + "\"";
  TuningFile found;
  for (size_t at = text.find(wanted); at != llvm::StringRef::npos;
       at = text.find(wanted, at + wanted.size())) {
    size_t begin = text.rfind('\n', at) + 1;
    llvm::StringRef line = text.slice(begin, text.find('\n', at));
    line.consume_back(",");
    llvm::Expected<json::Value> value = json::parse(line);
    if (!value) {
      llvm::consumeError(value.takeError());
      continue;
    }
    llvm::Expected<TuningEntry> entry = readEntry(*value, "");
    if (entry)
      found.add(std::move(*entry));
    else
      llvm::consumeError(entry.takeError());
  }
  if (const TuningEntry *entry = found.find(key))
    return *entry;
  return std::nullopt;
}

std::optional<TuningEntry>
norm::findInTexts(llvm::ArrayRef<llvm::StringRef> texts, const TuningKey &key) {
  for (llvm::StringRef text : texts)
    if (std::optional<TuningEntry> entry = findInText(text, key))
      return entry;
  return std::nullopt;
}

static constexpr llvm::StringLiteral kShipped[] = {
#include "ShippedTuning.inc"
    // Where there is no file.
    ""};

std::vector<llvm::StringRef> norm::shippedTunings() {
  return {std::begin(kShipped), std::prev(std::end(kShipped))};
}
