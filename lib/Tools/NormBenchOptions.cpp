//===- NormBenchOptions.cpp - Command line of norm-bench ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Tools/NormBenchOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace norm;
using namespace norm::tools;
using namespace norm::bench;

namespace {

constexpr llvm::StringLiteral kUsage =
    R"(norm-bench measures norm's kernels beside a copy of the same bytes

usage: norm-bench [options]

what is measured:
  --suite=LIST       of forward, fused, prefill, decode, backward, compile,
                     launch and published (all but the last)
  --ops=LIST         of the grid's ops, those
  --dtype=LIST       of bf16, f16, f32, instead of the grid's
  --columns=LIST     instead of the grid's
  --rows=LIST        instead of the grid's
  --filter=REGEX     cells whose name (as --list prints it) it occurs in
  --elements=N       of a tensor; rows are cut to it (2^28 of 16 bits and 2^27
                     of 32 bits on a GPU, 2^22 elsewhere)
  --grid=FILE        shapes instead of the default ones
  --list             prints the names of the cells, and measures nothing

how:
  --device=NAME      auto (the default), host, emulated or cuda:N
  --repeats=N        rounds that are timed (25)
  --warmup=N         rounds before them (3)
  --schedule=FIELDS  fields of the schedule that are set
  --tuning=FILE      schedules that were found by measuring, or none; by default
                     those that come with norm
  --math=MODE        functions of 16-bit floats: exact (the default), hardware

instead of measuring:
  --tune             searches for the fastest schedule of each program, over all
                     rows that are chosen, among those that give the same bits
  --tuning-out=FILE  adds what is found to a tuning file, program by program
  --tune-limit=N     seconds for each program (30)

what it is compared with (may be given several times):
  --against=FILE.json
                     times of somebody's kernels, or a report of norm-bench
  --against=FILE.cubin:KERNEL[:block=N][:rows-per-cta=N][:grid=N][:shared=N]
                     a kernel, called with the addresses of the op's arguments
                     and results, the number of rows and the number of columns,
                     64 bits each; PTX is fine as well

results:
  --json=FILE        writes them for programs
  --report=FILE      writes them as one HTML page
  --progress         shows a progress bar even where stderr is no terminal

exit status: 0 right, 1 wrong input, 2 a result is wrong, 3 no such device
)";

llvm::Error wrong(llvm::StringRef option, const llvm::Twine &message) {
  return llvm::createStringError(option + ": " + message);
}

template <typename T>
llvm::Error readNumber(llvm::StringRef option, llvm::StringRef value,
                       uint64_t least, uint64_t most, T &to) {
  uint64_t number = 0;
  if (value.getAsInteger(10, number) || number < least || number > most)
    return wrong(option, "expects a number from " + llvm::Twine(least) +
                             " to " + llvm::Twine(most) + " but got '" + value +
                             "'");
  to = T(number);
  return llvm::Error::success();
}

llvm::Error readNumbers(llvm::StringRef option, llvm::StringRef value,
                        std::vector<int64_t> &to) {
  for (llvm::StringRef part : llvm::split(value, ','))
    if (llvm::Error error =
            readNumber(option, part, 1, 1 << 30, to.emplace_back()))
      return error;
  return llvm::Error::success();
}

llvm::Error readNames(llvm::StringRef option, llvm::StringRef value,
                      llvm::function_ref<bool(llvm::StringRef)> isKnown,
                      const std::string &known, std::vector<std::string> &to) {
  for (llvm::StringRef part : llvm::split(value, ',')) {
    if (!isKnown(part))
      return wrong(option, "expects " + known + " but got '" + part + "'");
    to.push_back(part.str());
  }
  return llvm::Error::success();
}

llvm::Error readDTypes(llvm::StringRef option, llvm::StringRef value,
                       std::vector<DType> &to) {
  for (llvm::StringRef part : llvm::split(value, ',')) {
    std::optional<DType> dtype = parseDType(part);
    if (!dtype || !isBenchDType(*dtype))
      return wrong(option, "expects bf16, f16 or f32 but got '" + part + "'");
    to.push_back(*dtype);
  }
  return llvm::Error::success();
}

llvm::Error readFile(llvm::StringRef option, llvm::StringRef value,
                     std::string &to) {
  if (value.empty())
    return wrong(option, "expects a file but got none");
  to = value.str();
  return llvm::Error::success();
}

llvm::Error readFresh(llvm::StringRef option, llvm::StringRef value,
                      BenchOptions &options) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  value.split(parts, ':');
  Cell cell;
  bool isRead = parts.size() == 4;
  if (isRead) {
    auto [rows, columns] = parts[2].split('x');
    std::optional<DType> dtype = parseDType(parts[1]);
    isRead = findOp(parts[0]) && dtype && isBenchDType(*dtype) &&
             !rows.getAsInteger(10, cell.rows) && cell.rows > 0 &&
             !columns.getAsInteger(10, cell.columns) && cell.columns > 0 &&
             !parts[3].getAsInteger(10, options.started);
    cell.suite = "compile";
    cell.op = parts[0].str();
    cell.dtype = dtype.value_or(DType::BF16);
  }
  if (!isRead)
    return wrong(option,
                 "expects OP:DTYPE:ROWSxCOLUMNS:START but got '" + value + "'");
  options.fresh = cell;
  return llvm::Error::success();
}

/// An option with a value.
llvm::Error readOption(llvm::StringRef key, llvm::StringRef value,
                       BenchOptions &options) {
  CellChoice &choice = options.choice;
  if (key == "--suite")
    return readNames(
        key, value,
        [](llvm::StringRef name) {
          return llvm::is_contained(suiteNames(), name);
        },
        llvm::join(suiteNames(), ", "), choice.suites);
  if (key == "--ops")
    return readNames(
        key, value,
        [](llvm::StringRef name) { return findOp(name) != nullptr; }, listOps(),
        choice.ops);
  if (key == "--dtype")
    return readDTypes(key, value, choice.dtypes);
  if (key == "--columns")
    return readNumbers(key, value, choice.columns);
  if (key == "--rows")
    return readNumbers(key, value, choice.rows);
  if (key == "--elements")
    return readNumber(key, value, 1, uint64_t(1) << 40,
                      choice.elements.emplace());
  if (key == "--repeats")
    return readNumber(key, value, 1, 100000, options.session.repeats);
  if (key == "--warmup")
    return readNumber(key, value, 0, 100000, options.session.warmups);
  if (key == "--math") {
    llvm::Expected<MathMode> math = parseMathMode(value);
    if (!math)
      return wrong(key, llvm::toString(math.takeError()));
    options.session.math = *math;
    return llvm::Error::success();
  }
  if (key == "--grid")
    return readFile(key, value, options.grid);
  if (key == "--json")
    return readFile(key, value, options.json);
  if (key == "--tuning")
    return readFile(key, value, options.tuning);
  if (key == "--tuning-out")
    return readFile(key, value, options.tuningOut);
  if (key == "--tune-limit")
    return readNumber(key, value, 1, 100000, options.tuneSeconds);
  if (key == "--report")
    return readFile(key, value, options.report);
  if (key == "--against")
    return readFile(key, value, options.against.emplace_back());
  if (key == "--fresh")
    return readFresh(key, value, options);
  std::string *text = key == "--filter"     ? &choice.filter
                      : key == "--device"   ? &options.device
                      : key == "--schedule" ? &options.session.schedule
                                            : nullptr;
  if (!text)
    return llvm::createStringError("unknown option '" + key + "'");
  *text = value.str();
  return llvm::Error::success();
}

} // namespace

llvm::Expected<BenchOptions> tools::parseBenchOptions(int argc, char **argv) {
  BenchOptions options;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (argument == "--version") {
      options.version = true;
    } else if (argument == "--list") {
      options.list = true;
    } else if (argument == "--tune") {
      options.tune = true;
    } else if (argument == "--progress") {
      options.progress = true;
    } else {
      auto [key, value] = argument.split('=');
      // The value may be the next argument.
      if (!argument.contains('=') && i + 1 < argc)
        value = argv[++i];
      if (llvm::Error error = readOption(key, value, options))
        return std::move(error);
    }
  }
  if (!options.tune && !options.tuningOut.empty())
    return wrong("--tuning-out", "expects --tune");
  for (auto [option, isGiven] :
       {std::pair<llvm::StringRef, bool>("--json", !options.json.empty()),
        {"--report", !options.report.empty()},
        {"--against", !options.against.empty()}})
    if (options.tune && isGiven)
      return wrong(option, "expects no --tune, which measures no cells");
  if (options.choice.suites.empty())
    for (llvm::StringRef suite : suiteNames())
      if (suite != "published")
        options.choice.suites.push_back(suite.str());
  return options;
}

llvm::StringRef tools::benchUsage() { return kUsage; }

llvm::Error tools::readAgainst(BenchOptions &options) {
  for (llvm::StringRef text : options.against) {
    if (!text.ends_with(".json")) {
      if (llvm::Error error = ForeignKernel::parse(text).moveInto(
              options.session.kernels.emplace_back()))
        return error;
      continue;
    }
    auto buffer = llvm::MemoryBuffer::getFile(text);
    if (!buffer)
      return llvm::createStringError(
          text + ": cannot read: " + buffer.getError().message());
    llvm::Expected<std::vector<BaselineTime>> times =
        parseBaseline((*buffer)->getBuffer(), text);
    if (!times)
      return times.takeError();
    llvm::append_range(options.session.baseline, *times);
  }
  return llvm::Error::success();
}

std::string tools::printFresh(const Cell &cell, uint64_t started) {
  return llvm::formatv("{0}:{1}:{2}x{3}:{4}", cell.op, name(cell.dtype),
                       cell.rows, cell.columns, started);
}
