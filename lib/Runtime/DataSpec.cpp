//===- DataSpec.cpp - Data named by a line of text ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/DataSpec.h"
#include "norm/Runtime/Npy.h"
#include "norm/Runtime/Random.h"
#include "norm/Runtime/Workers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace norm;

namespace {

llvm::Error unexpected(llvm::StringRef what, llvm::StringRef got) {
  return llvm::createStringError("expects " + what + " but got '" + got + "'");
}

llvm::Error readNumber(llvm::StringRef text, llvm::StringRef key,
                       double &value) {
  if (text.empty() || text.getAsDouble(value))
    return unexpected(("a number for " + key).str(), text);
  return llvm::Error::success();
}

/// Reads the options of a form from its parts.
class OptionReader {
public:
  explicit OptionReader(DataSpec &spec) : spec(spec) {}

  llvm::Error read(llvm::ArrayRef<llvm::StringRef> options) {
    for (llvm::StringRef option : options) {
      auto [key, value] = option.split('=');
      if (llvm::Error error = readOne(key, value))
        return error;
    }
    return llvm::Error::success();
  }
  bool sawValue() const { return valueSeen; }

private:
  llvm::Error readOne(llvm::StringRef key, llvm::StringRef value) {
    llvm::Expected<bool> placed = parsePlacement(key, value, spec.placement);
    if (!placed)
      return placed.takeError();
    if (*placed)
      return llvm::Error::success();
    if (key == "dtype") {
      spec.dtype = parseDType(value);
      return spec.dtype ? llvm::Error::success()
                        : unexpected("an element type for dtype", value);
    }
    if (spec.kind == DataSpec::Kind::Random)
      return readRandom(key, value);
    if (spec.kind == DataSpec::Kind::Constant && key == "value") {
      valueSeen = true;
      return readNumber(value, key, spec.value);
    }
    return unexpected("option dtype, pitch, strides or offset", key);
  }

  llvm::Error readRandom(llvm::StringRef key, llvm::StringRef value) {
    if (key == "seed") {
      if (value.getAsInteger(10, spec.seed))
        return unexpected("an integer of 0 or more for seed", value);
      return llvm::Error::success();
    }
    if (key == "dist") {
      if (value != "normal" && value != "uniform")
        return unexpected("dist normal or uniform", value);
      spec.distribution = value == "normal" ? DataSpec::Distribution::Normal
                                            : DataSpec::Distribution::Uniform;
      return llvm::Error::success();
    }
    for (auto [name, target] : {std::pair(llvm::StringRef("mean"), &spec.mean),
                                {"std", &spec.deviation},
                                {"low", &spec.low},
                                {"high", &spec.high}})
      if (key == name)
        return readNumber(value, key, *target);
    return unexpected(
        "option seed, dist, mean, std, low, high, dtype, pitch, strides or "
        "offset",
        key);
  }

  DataSpec &spec;
  bool valueSeen = false;
};

/// Calls `element(index)` for every element in C order, and encodes what it
/// gives.
template <typename Element>
void fill(HostTensor &tensor, Workers &workers, Element element) {
  DType type = tensor.dtype();
  int64_t columns = tensor.columns();
  unsigned size = byteSize(type);
  // Ranges over elements, not rows: one long row is also spread.
  workers.forRanges(
      tensor.numElements(), 1 << 15, [&](int64_t begin, int64_t end) {
        int64_t row = begin / columns, column = begin % columns;
        while (begin < end) {
          int64_t stop = std::min(end, begin + (columns - column));
          uint8_t *to = tensor.row(row);
          // Ranges and rows begin with a whole byte.
          if (isPacked(type))
            for (; begin < stop; ++begin, ++column)
              encodeAt(type, element(begin), to, uint64_t(column));
          for (to += column * int64_t(size); begin < stop; ++begin, to += size)
            encode(type, element(begin), to);
          ++row;
          column = 0;
        }
      });
}

} // namespace

/// Reads numbers with an x between them; none if it's anything else.
static std::optional<llvm::SmallVector<int64_t, 4>>
parseNumbers(llvm::StringRef text) {
  llvm::SmallVector<int64_t, 4> numbers;
  for (llvm::StringRef part : llvm::split(text, 'x')) {
    int64_t number = 0;
    if (part.getAsInteger(10, number) || number < 0)
      return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

llvm::Expected<llvm::SmallVector<int64_t, 4>>
norm::parseShape(llvm::StringRef text) {
  if (text == "scalar")
    return llvm::SmallVector<int64_t, 4>();
  if (auto shape = parseNumbers(text))
    return *shape;
  return unexpected("a shape such as 16x4096", text);
}

llvm::Expected<bool> norm::parsePlacement(llvm::StringRef key,
                                          llvm::StringRef value,
                                          Placement &placement) {
  if (key == "strides") {
    placement.strides = parseNumbers(value);
    if (!placement.strides)
      return unexpected("strides such as 4096x64x1", value);
    return true;
  }
  if (key != "pitch" && key != "offset")
    return false;
  int64_t number = 0;
  if (value.getAsInteger(10, number) || number < 0)
    return unexpected(("an integer of 0 or more for " + key).str(), value);
  if (key == "pitch")
    placement.pitch = number;
  else
    placement.offset = number;
  return true;
}

DataSpec DataSpec::random(llvm::ArrayRef<int64_t> shape, uint64_t seed) {
  DataSpec spec;
  spec.kind = Kind::Random;
  spec.shape.assign(shape.begin(), shape.end());
  spec.seed = seed;
  return spec;
}

llvm::Expected<DataSpec> DataSpec::parse(llvm::StringRef text) {
  DataSpec spec;
  llvm::SmallVector<llvm::StringRef, 8> parts;
  text.split(parts, ':');
  llvm::StringRef form = parts.front();
  bool zeros = form == "zeros", ones = form == "ones", full = form == "full";
  bool empty = form == "empty";
  bool generated =
      zeros || ones || full || empty || form == "random" || form == "iota";
  if (!generated) {
    if (parts.size() == 1 && !text.empty() && !text.getAsDouble(spec.value)) {
      // As a seed, a rounded integer would be another one.
      constexpr int64_t most = int64_t(1) << 53;
      int64_t integer = 0;
      if (!text.getAsInteger(10, integer) &&
          (integer > most || integer < -most))
        return unexpected("an integer of at most 2^53 in magnitude", text);
      spec.kind = Kind::Scalar;
      return spec;
    }
    // A path may hold colons; options are the parts after the last ".npy".
    size_t file = 0;
    while (file < parts.size() && !parts[file].ends_with(".npy"))
      ++file;
    if (file == parts.size())
      return unexpected("a .npy file, random:, ones:, zeros:, full:, iota:, "
                        "empty: or a number",
                        text);
    spec.kind = Kind::File;
    const char *end = parts[file].end();
    spec.path.assign(text.begin(), end);
    OptionReader reader(spec);
    if (llvm::Error error =
            reader.read(llvm::ArrayRef(parts).drop_front(file + 1)))
      return error;
    return spec;
  }
  spec.kind = form == "random" ? Kind::Random
              : form == "iota" ? Kind::Iota
              : empty          ? Kind::Empty
                               : Kind::Constant;
  spec.value = ones ? 1.0 : 0.0;
  if (parts.size() < 2)
    return unexpected(("a shape after " + form + ":").str(), text);
  if (llvm::Error error = parseShape(parts[1]).moveInto(spec.shape))
    return error;
  OptionReader reader(spec);
  if (llvm::Error error = reader.read(llvm::ArrayRef(parts).drop_front(2)))
    return error;
  if (reader.sawValue() != full)
    return full ? unexpected("option value for full:", text)
                : unexpected("option dtype, pitch, strides or offset", "value");
  return spec;
}

llvm::Expected<HostTensor> DataSpec::make(DType type, Workers &workers) const {
  if (kind == Kind::Scalar)
    return unexpected("a tensor", "a number");
  if (kind == Kind::Empty)
    return unexpected("data", "empty:" + printShape(shape));
  if (dtype && *dtype != type)
    return llvm::createStringError("expects " + name(type) + " but got " +
                                   name(*dtype));
  if (kind == Kind::File) {
    llvm::Expected<NpyFile> file = NpyFile::open(path);
    if (!file)
      return file.takeError();
    return file->tensor(type, placement, workers);
  }
  llvm::Expected<HostTensor> tensor =
      HostTensor::create(type, shape, placement, workers);
  if (!tensor)
    return tensor;
  switch (kind) {
  case Kind::Random:
    if (distribution == Distribution::Normal)
      fill(*tensor, workers, [&](int64_t index) {
        return mean + deviation * randomNormal(seed, uint64_t(index));
      });
    else
      fill(*tensor, workers, [&](int64_t index) {
        return low + (high - low) * randomUniform(seed, uint64_t(index));
      });
    break;
  case Kind::Constant:
    fill(*tensor, workers, [&](int64_t) { return value; });
    break;
  case Kind::Iota:
    fill(*tensor, workers, [&](int64_t index) { return double(index); });
    break;
  case Kind::File:
  case Kind::Empty:
  case Kind::Scalar:
    break;
  }
  return tensor;
}
