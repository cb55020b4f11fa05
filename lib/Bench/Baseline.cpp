//===- Baseline.cpp - Times of somebody else's kernels --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Baseline.h"
#include "norm/Bench/Ops.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace norm;
using namespace norm::bench;
namespace json = llvm::json;

namespace {

/// A number of microseconds, or the quantiles of some.
std::optional<Summary> readTime(const json::Value *value) {
  if (!value)
    return std::nullopt;
  if (std::optional<double> number = value->getAsNumber())
    return *number > 0 ? std::optional<Summary>({*number, *number, *number, 1})
                       : std::nullopt;
  const json::Object *object = value->getAsObject();
  if (!object)
    return std::nullopt;
  std::optional<double> median = object->getNumber("median");
  if (!median || !(*median > 0))
    return std::nullopt;
  return Summary{object->getNumber("p10").value_or(*median), *median,
                 object->getNumber("p90").value_or(*median),
                 size_t(object->getInteger("count").value_or(1))};
}

std::optional<std::string> readText(const json::Object &object,
                                    llvm::StringRef key) {
  if (std::optional<llvm::StringRef> text = object.getString(key))
    return text->str();
  return std::nullopt;
}

} // namespace

bool BaselineTime::fits(const Cell &cell) const {
  // Rows that follow from a number of elements may have been rounded in another
  // way.
  int64_t difference = rows < cell.rows ? cell.rows - rows : rows - cell.rows;
  return op == cell.op && dtype == cell.dtype &&
         difference <= cell.rows / 1000 && columns == cell.columns &&
         suite.value_or(cell.suite) == cell.suite &&
         variant.value_or(cell.variant) == cell.variant;
}

llvm::Expected<std::vector<BaselineTime>>
bench::parseBaseline(llvm::StringRef text, llvm::StringRef fileName) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return llvm::createStringError(fileName + llvm::Twine(": ") +
                                   llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  const json::Array *results = object ? object->getArray("results") : nullptr;
  if (!results)
    return llvm::createStringError(fileName +
                                   llvm::Twine(": expects a list 'results'"));
  std::string name =
      readText(*object, "name").value_or(llvm::sys::path::stem(fileName).str());
  std::vector<BaselineTime> times;
  for (const auto &[index, element] : llvm::enumerate(*results)) {
    auto fail = [&](const char *field) {
      return llvm::createStringError(fileName + llvm::Twine(": results[") +
                                     llvm::Twine(index) + "]: expects '" +
                                     field + "'");
    };
    const json::Object *entry = element.getAsObject();
    if (!entry)
      return fail("op");
    if (entry->getString("status").value_or("ok") != "ok")
      continue;
    std::optional<std::string> op = readText(*entry, "op");
    if (!op)
      return fail("op");
    std::optional<std::string> dtype = readText(*entry, "dtype");
    if (!dtype)
      return fail("dtype");
    BaselineTime time;
    time.name = readText(*entry, "name").value_or(name);
    time.op = *op;
    std::optional<DType> known = parseDType(*dtype);
    if (!findOp(*op) || !known)
      continue;
    time.dtype = *known;
    time.rows = entry->getInteger("rows").value_or(0);
    if (time.rows < 1)
      return fail("rows");
    time.columns = entry->getInteger("columns").value_or(0);
    if (time.columns < 1)
      return fail("columns");
    time.suite = readText(*entry, "suite");
    time.variant = readText(*entry, "variant");
    std::optional<Summary> microseconds = readTime(entry->get("microseconds"));
    if (!microseconds)
      return fail("microseconds");
    time.microseconds = *microseconds;
    times.push_back(std::move(time));
  }
  return times;
}

void bench::addBaseline(llvm::ArrayRef<BaselineTime> baseline, Result &result) {
  for (const BaselineTime &time : baseline)
    if (time.fits(result.cell))
      result.peers.push_back({time.name, time.microseconds, ""});
}
