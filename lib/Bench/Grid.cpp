//===- Grid.cpp - The shapes that are measured ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Grid.h"
#include "norm/Bench/Ops.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <algorithm>

using namespace norm;
using namespace norm::bench;
namespace json = llvm::json;

namespace {

constexpr llvm::StringLiteral kDefaultGrid =
#include "DefaultGrid.inc"
    ;

/// Extents that the compiler takes.
constexpr int64_t kMostColumns = int64_t(1) << 30;
constexpr int64_t kMostElements = int64_t(1) << 40;

class Reader {
public:
  explicit Reader(llvm::StringRef fileName) : fileName(fileName) {}

  llvm::Expected<Grid> read(llvm::StringRef text);

private:
  llvm::Error fail(llvm::StringRef path, const llvm::Twine &message) const {
    return llvm::createStringError(fileName + llvm::Twine(": ") + path + ": " +
                                   message);
  }
  llvm::Error number(llvm::StringRef path, const json::Value &value,
                     int64_t most, int64_t &to) const;
  llvm::Error numbers(llvm::StringRef path, const json::Value &value,
                      std::vector<int64_t> &to) const;
  llvm::Error ops(llvm::StringRef path, const json::Value &value,
                  std::vector<std::string> &to) const;
  llvm::Error dtypes(llvm::StringRef path, const json::Value &value,
                     std::vector<DType> &to) const;
  llvm::Error pairs(llvm::StringRef path, const json::Value &value,
                    std::vector<std::pair<int64_t, int64_t>> &to) const;
  llvm::Error shapes(llvm::StringRef path, const json::Value &value,
                     Shapes &to) const;
  llvm::Error elements(const json::Value &value, Grid &grid) const;

  llvm::StringRef fileName;
};

llvm::Error Reader::number(llvm::StringRef path, const json::Value &value,
                           int64_t most, int64_t &to) const {
  std::optional<int64_t> read = value.getAsInteger();
  if (!read || *read < 1 || *read > most)
    return fail(path, "expects a number from 1 to " + llvm::Twine(most) +
                          " but got " + llvm::formatv("{0}", value).str());
  to = *read;
  return llvm::Error::success();
}

llvm::Error Reader::numbers(llvm::StringRef path, const json::Value &value,
                            std::vector<int64_t> &to) const {
  const json::Array *array = value.getAsArray();
  if (!array || array->empty())
    return fail(path, "expects a list of numbers");
  for (const json::Value &element : *array)
    if (llvm::Error error =
            number(path, element, kMostColumns, to.emplace_back()))
      return error;
  return llvm::Error::success();
}

llvm::Error Reader::ops(llvm::StringRef path, const json::Value &value,
                        std::vector<std::string> &to) const {
  const json::Array *array = value.getAsArray();
  if (!array || array->empty())
    return fail(path, "expects a list of ops");
  for (const json::Value &element : *array) {
    std::optional<llvm::StringRef> op = element.getAsString();
    if (!op || !findOp(*op))
      return fail(path, "expects one of " + listOps() + " but got " +
                            llvm::formatv("{0}", element).str());
    to.push_back(op->str());
  }
  return llvm::Error::success();
}

llvm::Error Reader::dtypes(llvm::StringRef path, const json::Value &value,
                           std::vector<DType> &to) const {
  const json::Array *array = value.getAsArray();
  if (!array || array->empty())
    return fail(path, "expects a list of dtypes");
  for (const json::Value &element : *array) {
    llvm::StringRef text = element.getAsString().value_or("");
    std::optional<DType> dtype = parseDType(text);
    if (!dtype || !isBenchDType(*dtype))
      return fail(path, "expects bf16, f16 or f32 but got " +
                            llvm::formatv("{0}", element).str());
    to.push_back(*dtype);
  }
  return llvm::Error::success();
}

llvm::Error Reader::pairs(llvm::StringRef path, const json::Value &value,
                          std::vector<std::pair<int64_t, int64_t>> &to) const {
  const json::Array *array = value.getAsArray();
  if (!array || array->empty())
    return fail(path, "expects a list of [rows, columns]");
  for (const json::Value &element : *array) {
    const json::Array *pair = element.getAsArray();
    if (!pair || pair->size() != 2)
      return fail(path, "expects [rows, columns] but got " +
                            llvm::formatv("{0}", element).str());
    auto &[rows, columns] = to.emplace_back();
    if (llvm::Error error = number(path, (*pair)[0], kMostColumns, rows))
      return error;
    if (llvm::Error error = number(path, (*pair)[1], kMostColumns, columns))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Reader::shapes(llvm::StringRef path, const json::Value &value,
                           Shapes &to) const {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fail(path, "expects an object");
  for (const auto &[key, field] : *object) {
    std::string at = (path + "." + llvm::StringRef(key)).str();
    int64_t launches = 1;
    llvm::Error error = llvm::Error::success();
    if (key == "ops")
      error = ops(at, field, to.ops);
    else if (key == "dtypes")
      error = dtypes(at, field, to.dtypes);
    else if (key == "columns")
      error = numbers(at, field, to.columns);
    else if (key == "rows")
      error = numbers(at, field, to.rows);
    else if (key == "shapes")
      error = pairs(at, field, to.pairs);
    else if (key == "name" && field.getAsString())
      to.name = field.getAsString()->str();
    else if (key == "launches")
      error = number(at, field, 1 << 20, launches);
    else
      error = fail(at, "isn't a field of a grid");
    if (error)
      return error;
    if (key == "launches")
      to.launches = unsigned(launches);
  }
  if (to.ops.empty() || to.dtypes.empty() ||
      to.columns.empty() == to.pairs.empty())
    return fail(path, "expects ops, dtypes, and either columns or shapes");
  return llvm::Error::success();
}

llvm::Error Reader::elements(const json::Value &value, Grid &grid) const {
  const json::Object *object = value.getAsObject();
  for (auto [key, to] : {std::pair("16-bit", &grid.elements16),
                         std::pair("32-bit", &grid.elements32)}) {
    std::string path = std::string("elements.") + key;
    const json::Value *field = object ? object->get(key) : nullptr;
    if (!field)
      return fail(path, "expects a number but got none");
    if (llvm::Error error = number(path, *field, kMostElements, *to))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<Grid> Reader::read(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return llvm::createStringError(fileName + llvm::Twine(": ") +
                                   llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object || !object->get("elements"))
    return fail("elements", "expects a number of elements but got none");
  Grid grid;
  for (const auto &[key, field] : *object) {
    llvm::StringRef name = key;
    if (name == "about")
      continue;
    if (name == "elements") {
      if (llvm::Error error = elements(field, grid))
        return error;
      continue;
    }
    if (!llvm::is_contained(suiteNames(), name))
      return fail(name, "isn't a field of a grid");
    std::vector<Shapes> &suite = grid.suites[name.str()];
    const json::Array *array = field.getAsArray();
    if (!array) {
      if (llvm::Error error = shapes(name, field, suite.emplace_back()))
        return error;
      continue;
    }
    for (const auto &[index, element] : llvm::enumerate(*array))
      if (llvm::Error error =
              shapes(llvm::formatv("{0}[{1}]", name, index).str(), element,
                     suite.emplace_back()))
        return error;
  }
  return grid;
}

} // namespace

int64_t Grid::rowsFor(DType dtype, int64_t columns) const {
  int64_t elements = bitSize(dtype) <= 16 ? elements16 : elements32;
  return std::max<int64_t>((elements + columns / 2) / columns, 1);
}

llvm::ArrayRef<llvm::StringRef> bench::suiteNames() {
  static constexpr llvm::StringRef kNames[] = {"forward", "fused",    "prefill",
                                               "decode",  "backward", "compile",
                                               "launch",  "published"};
  return kNames;
}

llvm::Expected<Grid> bench::parseGrid(llvm::StringRef text,
                                      llvm::StringRef fileName) {
  return Reader(fileName).read(text);
}

llvm::StringRef bench::defaultGridText() { return kDefaultGrid; }
