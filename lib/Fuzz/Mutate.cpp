//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace norm;
using namespace norm::fuzz;

/// Longer modules cost time and show no more.
static constexpr size_t kLongest = 12000;

static std::string dropComments(llvm::StringRef text) {
  std::string result;
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    line = line.take_front(line.find("//")).rtrim();
    if (!line.empty())
      result += line.str() + "\n";
  }
  return result;
}

std::vector<std::string> fuzz::loadCorpus(const std::string &folder) {
  std::vector<std::string> paths, corpus;
  std::error_code failed;
  for (llvm::sys::fs::recursive_directory_iterator at(folder, failed), end;
       at != end && !failed; at.increment(failed))
    if (llvm::StringRef(at->path()).ends_with(".mlir"))
      paths.push_back(at->path());
  llvm::sort(paths);
  for (const std::string &path : paths) {
    auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
    if (!file)
      continue;
    llvm::SmallVector<llvm::StringRef> parts;
    (*file)->getBuffer().split(parts, "// -----");
    for (llvm::StringRef part : parts) {
      std::string text = dropComments(part);
      if (!text.empty() && text.size() <= kLongest)
        corpus.push_back(std::move(text));
    }
  }
  return corpus;
}

namespace {

/// Pieces of a text which, joined, give it again.
std::vector<std::string> tokenize(llvm::StringRef text) {
  std::vector<std::string> tokens;
  auto isWord = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
  };
  while (!text.empty()) {
    size_t size = 1;
    if (isWord(text[0]) || text[0] == '%' || text[0] == '@' || text[0] == '#')
      while (size < text.size() && isWord(text[size]))
        ++size;
    else if (llvm::isSpace(text[0]))
      while (size < text.size() && llvm::isSpace(text[size]))
        ++size;
    tokens.push_back(text.take_front(size).str());
    text = text.drop_front(size);
  }
  return tokens;
}

const char *const kNumbers[] = {"0",
                                "1",
                                "-1",
                                "2",
                                "64",
                                "65",
                                "1025",
                                "2147483648",
                                "4294967296",
                                "1073741825",
                                "9223372036854775807",
                                "-9223372036854775808",
                                "99999999999999999999",
                                "0x7FC00000",
                                "1.0e400",
                                "?",
                                "0.0",
                                "-0.0"};

const char *const kWords[] = {
    "f32",        "f64",         "bf16",       "f16",         "i1",
    "i8",         "i32",         "i64",        "index",       "f8E4M3FN",
    "tf32",       "tensor",      "memref",     "vector",      "row",
    "col",        "ins",         "outs",       "add",         "welford",
    "max_expsum", "stats",       "scale",      "bias",        "axes",
    "eps",        "none",        "complex",    "true",        "false",
    "unit",       "norm.reduce", "norm.yield", "norm.extent", "norm.index",
    "ui8",        "si32",        "i128",       "f128",        "threads",
    "residency",  "stream",      "shared",     "registers"};

bool isSpace(const std::string &token) { return llvm::isSpace(token[0]); }

class Mutator {
public:
  Mutator(Chooser &choose, const std::vector<std::string> &corpus)
      : choose(choose), corpus(corpus) {}

  std::string run();

private:
  const std::string &other() { return choose.pick<std::string>(corpus); }
  size_t token(const std::vector<std::string> &tokens) {
    size_t at = choose.below(tokens.size());
    while (at + 1 < tokens.size() && isSpace(tokens[at]))
      ++at;
    return at;
  }
  std::string changeToken(const std::string &text);
  std::string changeLine(const std::string &text);
  std::string changeAll(const std::string &text);
  std::string replaceDigits(const std::string &token);

  Chooser &choose;
  const std::vector<std::string> &corpus;
};

/// The token with one of its runs of digits replaced: `4x8xf32` too.
std::string Mutator::replaceDigits(const std::string &token) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < token.size(); ++i)
    if (llvm::isDigit(token[i]) && (i == 0 || !llvm::isDigit(token[i - 1])))
      starts.push_back(i);
  if (starts.empty())
    return token;
  size_t begin = choose.pick<size_t>(starts), end = begin;
  while (end < token.size() && llvm::isDigit(token[end]))
    ++end;
  return token.substr(0, begin) + choose.pick<const char *>(kNumbers) +
         token.substr(end);
}

std::string Mutator::changeToken(const std::string &text) {
  std::vector<std::string> tokens = tokenize(text);
  if (tokens.empty())
    return text;
  size_t at = token(tokens);
  auto place = [&](size_t position) { return tokens.begin() + long(position); };
  switch (choose.below(9)) {
  case 0:
    tokens.erase(place(at));
    break;
  case 1:
    tokens.insert(place(at), tokens[at]);
    break;
  case 2:
    std::swap(tokens[at], tokens[token(tokens)]);
    break;
  case 3:
    tokens[at] = tokens[token(tokens)];
    break;
  case 4: {
    std::vector<std::string> others = tokenize(other());
    tokens[at] = others[token(others)];
    break;
  }
  case 5:
    tokens[at] = choose.pick<const char *>(kWords);
    break;
  default:
    // Numbers are where the edges are.
    for (size_t tries = 0;
         tries < 40 && llvm::none_of(tokens[at], llvm::isDigit); ++tries)
      at = token(tokens);
    tokens[at] = replaceDigits(tokens[at]);
  }
  return llvm::join(tokens, "");
}

/// Every occurrence of a number, element type or op at once: what is consistent
/// gets past the parser and the verifiers.
std::string Mutator::changeAll(const std::string &text) {
  static const char *const types[] = {"f32", "f64", "bf16", "f16",  "i1",
                                      "i8",  "i32", "i64",  "index"};
  static const char *const ops[] = {
      "arith.addf", "arith.mulf",    "arith.divf",   "arith.maximumf",
      "math.exp",   "math.tanh",     "arith.negf",   "math.rsqrt",
      "arith.extf", "arith.truncf",  "arith.sitofp", "math.log",
      "arith.addi", "arith.maxnumf", "math.erf",     "math.powf"};
  static const char *const kinds[] = {
      "add", "mul", "max", "min", "maxnum", "minnum", "welford", "max_expsum"};
  static const char *const extents[] = {"0", "1",          "2",         "3",
                                        "7", "33",         "1025",      "65537",
                                        "?", "1073741824", "4294967296"};
  std::vector<std::string> tokens = tokenize(text);
  auto swapWords = [&](llvm::ArrayRef<const char *> words) {
    std::vector<std::string> present;
    for (const char *word : words)
      if (text.find(word) != std::string::npos)
        present.push_back(word);
    if (present.empty())
      return changeToken(text);
    std::string from = choose.pick<std::string>(present);
    std::string to = choose.pick<const char *>(words);
    for (std::string &token : tokens) {
      // The element type ends a shape: `4x8xf32`.
      if (token == from)
        token = to;
      else if (llvm::StringRef(token).ends_with("x" + from))
        token = token.substr(0, token.size() - from.size()) + to;
    }
    return llvm::join(tokens, "");
  };
  switch (choose.below(4)) {
  case 0:
    return swapWords(types);
  case 1:
    return swapWords(ops);
  case 2:
    return swapWords(kinds);
  default: {
    std::vector<std::string> numbers;
    for (const std::string &token : tokens)
      if (llvm::isDigit(token[0]))
        numbers.push_back(
            llvm::StringRef(token).take_while(llvm::isDigit).str());
    if (numbers.empty())
      return changeToken(text);
    std::string from = choose.pick<std::string>(numbers);
    std::string to = choose.pick<const char *>(extents), result;
    for (size_t i = 0; i < text.size();) {
      size_t end = i;
      while (end < text.size() && llvm::isDigit(text[end]))
        ++end;
      bool isNumber = end > i && text.compare(i, end - i, from) == 0 &&
                      (i == 0 || (text[i - 1] != 'f' && text[i - 1] != '%' &&
                                  text[i - 1] != 'i'));
      size_t step = std::max<size_t>(end - i, 1);
      result += isNumber ? to : text.substr(i, step);
      i += step;
    }
    return result;
  }
  }
}

std::string Mutator::changeLine(const std::string &text) {
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', /*MaxSplit=*/-1,
                              /*KeepEmpty=*/false);
  if (lines.empty())
    return text;
  size_t at = choose.below(lines.size());
  std::string from = other();
  switch (choose.below(5)) {
  case 0:
    lines.erase(lines.begin() + at);
    break;
  case 1:
    lines.insert(lines.begin() + at, lines[at]);
    break;
  case 2:
    std::swap(lines[at], lines[choose.below(lines.size())]);
    break;
  default: {
    llvm::SmallVector<llvm::StringRef> others;
    llvm::StringRef(from).split(others, '\n', /*MaxSplit=*/-1,
                                /*KeepEmpty=*/false);
    if (!others.empty())
      lines.insert(lines.begin() + at, others[choose.below(others.size())]);
  }
  }
  return llvm::join(lines, "\n") + "\n";
}

std::string Mutator::run() {
  std::string text = other();
  // Most texts with several changes don't get past the parser.
  uint64_t changes = choose.chance(70) ? 1 : 2 + choose.below(3);
  for (uint64_t n = changes; n > 0; --n)
    text = choose.chance(55)   ? changeAll(text)
           : choose.chance(75) ? changeToken(text)
                               : changeLine(text);
  if (choose.chance(3) && !text.empty())
    text[choose.below(text.size())] = char(choose.below(256));
  if (choose.chance(2))
    text.resize(choose.below(text.size() + 1));
  return text;
}

} // namespace

/// Where an op begins whose parser (MLIR 22.1) crashes without a list of dims
/// behind `keyword`.
static size_t findWithoutDims(llvm::StringRef text, llvm::StringRef op,
                              llvm::StringRef keyword) {
  for (size_t at = text.find(op); at != llvm::StringRef::npos;
       at = text.find(op, at + 1)) {
    llvm::StringRef rest = text.substr(at + op.size());
    rest = rest.take_front(rest.find("linalg."));
    size_t given = rest.find(keyword);
    if (given == llvm::StringRef::npos)
      return at;
    rest = rest.substr(given + keyword.size());
    if (!rest.consume_front(" = [") || !rest.drop_while([](char c) {
                                              return llvm::isDigit(c) ||
                                                     c == ',' || c == ' ';
                                            })
                                            .starts_with("]"))
      return at;
  }
  return llvm::StringRef::npos;
}

std::string fuzz::mutate(Chooser &choose,
                         const std::vector<std::string> &corpus) {
  std::string text = Mutator(choose, corpus).run();
  // A dense array of index is another crash of that parser.
  for (size_t at : {text.find("array<index"),
                    findWithoutDims(text, "linalg.transpose", "permutation"),
                    findWithoutDims(text, "linalg.broadcast", "dimensions")})
    if (at < text.size())
      text.resize(at);
  return text;
}
