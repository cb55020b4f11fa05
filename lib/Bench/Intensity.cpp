//===- Intensity.cpp - Arithmetic of a program ----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/Intensity.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace norm;

namespace {

/// The part of `text` between `open` and `close`, from the first `open` on.
llvm::StringRef between(llvm::StringRef text, llvm::StringRef open,
                        llvm::StringRef close) {
  size_t at = text.find(open);
  if (at == llvm::StringRef::npos)
    return {};
  llvm::StringRef rest = text.substr(at + open.size());
  return rest.take_front(rest.find(close));
}

/// Calls `body` with each `%name` in the text.
void forEachValue(llvm::StringRef text,
                  llvm::function_ref<void(llvm::StringRef)> body) {
  while (true) {
    size_t at = text.find('%');
    if (at == llvm::StringRef::npos)
      return;
    text = text.drop_front(at);
    llvm::StringRef rest = text.drop_front().drop_while(
        [](char c) { return llvm::isAlnum(c) || c == '_'; });
    llvm::StringRef name = text.drop_back(rest.size());
    body(name);
    text = rest;
  }
}

/// Follows which values of programs differ by column.
class Counter {
public:
  unsigned count(llvm::StringRef programs);

private:
  void findColumns(llvm::StringRef programs);
  void addArguments(llvm::StringRef line);
  void addOp(llvm::StringRef line);
  bool isOfColumn(llvm::StringRef operands) const;

  llvm::StringSet<> columns; ///< dims that are reduced over
  llvm::StringSet<> values;  ///< that differ by column
  unsigned operations = 0;
};

void Counter::findColumns(llvm::StringRef programs) {
  llvm::StringRef rest = programs;
  while (true) {
    size_t at = rest.find(" over [");
    if (at == llvm::StringRef::npos)
      return;
    rest = rest.drop_front(at);
    for (llvm::StringRef dim : llvm::split(between(rest, "[", "]"), ','))
      columns.insert(dim.trim());
    rest = rest.drop_front(1);
  }
}

/// Of `ins(%arg3 = %arg0[row, col] : ...`.
void Counter::addArguments(llvm::StringRef line) {
  while (true) {
    auto [before, rest] = line.split(" = %");
    if (rest.empty())
      return;
    llvm::StringRef name = before.substr(before.rfind('%'));
    for (llvm::StringRef dim : llvm::split(between(rest, "[", "]"), ','))
      if (columns.contains(dim.trim()))
        values.insert(name);
    line = rest;
  }
}

bool Counter::isOfColumn(llvm::StringRef operands) const {
  bool found = false;
  forEachValue(operands,
               [&](llvm::StringRef name) { found |= values.contains(name); });
  return found;
}

void Counter::addOp(llvm::StringRef line) {
  auto [results, op] = line.split(" = ");
  if (op.empty() || !isOfColumn(op))
    return;
  bool isReduction = op.starts_with("norm.reduce");
  llvm::StringRef mnemonic = op.take_until([](char c) { return c == ' '; });
  bool isConversion = mnemonic.contains("ext") || mnemonic.contains("trunc") ||
                      mnemonic.contains("tofp") || mnemonic.contains("tosi") ||
                      mnemonic.contains("bitcast");
  if (isReduction || mnemonic.starts_with("math.") ||
      (mnemonic.starts_with("arith.") && mnemonic.ends_with("f") &&
       !isConversion))
    ++operations;
  if (!isReduction)
    forEachValue(results, [&](llvm::StringRef name) { values.insert(name); });
}

unsigned Counter::count(llvm::StringRef programs) {
  findColumns(programs);
  for (llvm::StringRef line : llvm::split(programs, '\n')) {
    line = line.trim();
    if (line.starts_with("ins(") || line.starts_with("outs("))
      addArguments(line);
    else
      addOp(line);
  }
  return operations;
}

} // namespace

unsigned bench::operationsPerElement(llvm::StringRef programs) {
  return Counter().count(programs);
}
