//===- NormRunOptions.cpp - Command line of norm-run ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Tools/NormRunOptions.h"
#include "norm/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace norm;
using namespace norm::tools;
namespace cl = llvm::cl;

namespace {

constexpr llvm::StringLiteral kOverview =
    R"(norm-run compiles and runs a program, or a kernel given as gpu.func

  Data of argument N, by position (--arg N=...):
    x.npy                      a file (uint16 for bf16, uint8 for f8 types)
    random:4096x4096:seed=7    normal with mean=0, std=1; or dist=uniform in
                               low=-1 to high=1
    ones:4096 zeros:4096 full:4096:value=2 iota:4096
    empty:4096                 no data: the result of a kernel
    3.5                        a scalar
  Tensors also take :pitch=P (elements from one row to the next) or
  :strides=4096x64x1 (elements from one index to the next, for each dim),
  :offset=K (elements of misalignment) and :dtype=T. An argument without data
  is random, with N as seed.

  Exit status: 0 right, 1 wrong input, 2 a check failed, 3 no such device.
)";

/// The options as LLVM's command line library reads them. Made once per
/// process, when norm-run starts.
struct CommandLine {
  cl::OptionCategory category{"norm-run options"};
  cl::opt<std::string> input{cl::Positional, cl::Required,
                             cl::desc("<input.mlir>"), cl::cat(category)};
  cl::opt<std::string> device{"device",
                              cl::desc("auto (the default), host, emulated[:SEED] "
                                       "or cuda:N"),
                              cl::init("auto"), cl::cat(category)};
  cl::opt<std::string> target{
      "target", cl::desc("Compile for it instead of for the device"),
      cl::value_desc("host|sm_NN"), cl::cat(category)};
  cl::opt<std::string> entry{"entry", cl::desc("The function to run"),
                             cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> schedule{"schedule",
                                cl::desc("Fields of the schedule to set"),
                                cl::value_desc("fields"), cl::cat(category)};
  cl::opt<std::string> tuning{
      "tuning", cl::desc("Schedules that were found by measuring, or none"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> tune{"tune", cl::desc("Find the fastest schedules first"),
                     cl::cat(category)};
  cl::opt<std::string> tuningOut{
      "tuning-out", cl::desc("Add what --tune finds to a tuning file"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<unsigned> tuneLimit{"tune-limit", cl::init(30),
                              cl::desc("Seconds that --tune takes (30)"),
                              cl::value_desc("seconds"), cl::cat(category)};
  cl::opt<std::string> math{
      "math",
      cl::desc("Functions of 16-bit floats: exact (the default) or hardware"),
      cl::value_desc("mode"), cl::init("exact"), cl::cat(category)};
  cl::opt<std::string> backward{
      "backward", cl::ValueOptional,
      cl::desc("Run the backward of the function: wrt=0,1 accumulate=1 ..."),
      cl::value_desc("options"), cl::cat(category)};
  cl::list<std::string> arguments{"arg", cl::desc("Data of an argument"),
                                  cl::value_desc("N=data"), cl::cat(category)};
  cl::list<std::string> outputs{"out", cl::desc("Write a result to a file"),
                                cl::value_desc("K=file.npy"),
                                cl::cat(category)};
  cl::list<std::string> expectations{
      "expect", cl::desc("Compare a result with a file"),
      cl::value_desc("K=file.npy[:atol=A][:ulp=U]"), cl::cat(category)};
  cl::list<std::string> placements{
      "place", cl::desc("Where a result is put, in elements, or in place"),
      cl::value_desc("outK:offset=E:pitch=P or outK:alias=N"),
      cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("Compare with the reference"),
                      cl::cat(category)};
  cl::opt<bool> time{"time", cl::desc("Time the kernels"), cl::cat(category)};
  cl::opt<unsigned> warmups{"warmup", cl::init(5),
                            cl::desc("Launches before the timed ones (5)"),
                            cl::cat(category)};
  cl::opt<unsigned> launches{"repeat", cl::init(50),
                             cl::desc("Timed launches (50)"),
                             cl::cat(category)};
  cl::opt<bool> explain{"explain", cl::desc("Print what was decided"),
                        cl::cat(category)};
  cl::opt<std::string> json{"json",
                            cl::desc("Write the report to a file as JSON"),
                            cl::value_desc("file"), cl::cat(category)};
  cl::opt<uint64_t> grid{"grid", cl::init(0), cl::value_desc("CTAs"),
                         cl::desc("CTAs of a gpu.func that nothing launches"),
                         cl::cat(category)};
  cl::opt<unsigned> block{"block", cl::init(0), cl::value_desc("threads"),
                          cl::desc("Threads of each CTA"), cl::cat(category)};
  cl::opt<uint64_t> shared{"shared", cl::init(0), cl::value_desc("bytes"),
                           cl::desc("Dynamic shared memory of each CTA"),
                           cl::cat(category)};
  cl::opt<std::string> bits{
      "bits", cl::desc("Compare every bit with the results on the host"),
      cl::value_desc("host"), cl::cat(category)};
};

llvm::Error wrong(llvm::StringRef option, const llvm::Twine &message) {
  return llvm::createStringError("--" + option + ": " + message);
}

/// Splits `N=rest`.
llvm::Expected<std::pair<unsigned, llvm::StringRef>>
splitIndex(llvm::StringRef option, llvm::StringRef text) {
  auto [number, rest] = text.split('=');
  unsigned index = 0;
  if (rest.empty() || number.getAsInteger(10, index))
    return wrong(option, "expects N=... but got '" + text + "'");
  return std::pair(index, rest);
}

/// Reads the `N=...` values of one option into a map; a repeated index is an
/// error.
template <typename T>
llvm::Error
readIndexed(llvm::StringRef option, llvm::ArrayRef<std::string> texts,
            std::map<unsigned, T> &values,
            llvm::function_ref<llvm::Expected<T>(llvm::StringRef)> parse) {
  for (llvm::StringRef text : texts) {
    auto split = splitIndex(option, text);
    if (!split)
      return split.takeError();
    llvm::Expected<T> value = parse(split->second);
    if (!value)
      return wrong(option, text + ": " + llvm::toString(value.takeError()));
    if (!values.emplace(split->first, std::move(*value)).second)
      return wrong(option, "expects each index once but got " +
                               llvm::Twine(split->first) + " again");
  }
  return llvm::Error::success();
}

llvm::Expected<Expectation> parseExpectation(llvm::StringRef text) {
  Expectation expectation;
  llvm::StringRef rest = text;
  // Limits are the parts after the last colons; a path may hold colons too.
  while (true) {
    auto [head, last] = rest.rsplit(':');
    auto [key, value] = last.split('=');
    if (key != "atol" && key != "ulp")
      break;
    double limit = 0;
    if (value.getAsDouble(limit) || !(limit >= 0))
      return llvm::createStringError("expects a number of 0 or more for " +
                                     key + " but got '" + value + "'");
    (key == "atol" ? expectation.absolute : expectation.ulps) = limit;
    rest = head;
  }
  expectation.path = rest.str();
  return expectation;
}

llvm::Error readPlacement(llvm::StringRef text,
                          std::map<unsigned, OutputPlacement> &placements) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  text.split(parts, ':');
  llvm::StringRef result = parts.front();
  unsigned index = 0;
  if (!result.consume_front("out") || result.getAsInteger(10, index))
    return wrong("place", "expects outK:offset=E:pitch=P or outK:alias=N but "
                          "got '" +
                              text + "'");
  OutputPlacement &place = placements[index];
  for (llvm::StringRef part : llvm::ArrayRef(parts).drop_front()) {
    auto [key, value] = part.split('=');
    if (key == "alias") {
      unsigned argument = 0;
      if (value.getAsInteger(10, argument))
        return wrong("place", "expects an argument's number for alias but "
                              "got '" +
                                  value + "'");
      place.aliasOf = argument;
      continue;
    }
    llvm::Expected<bool> known = parsePlacement(key, value, place.placement);
    if (!known)
      return wrong("place", llvm::toString(known.takeError()));
    if (!*known)
      return wrong("place",
                   "expects offset, pitch, strides or alias but got '" + key + "'");
  }
  return llvm::Error::success();
}

llvm::Error convert(const CommandLine &line, RunOptions &options) {
  options.input = line.input;
  options.device = line.device;
  options.target = line.target;
  options.entry = line.entry;
  options.schedule = line.schedule;
  options.tuning = line.tuning;
  options.tune = line.tune;
  options.tuningOut = line.tuningOut;
  options.tuneSeconds = line.tuneLimit;
  if (!line.tune && !line.tuningOut.empty())
    return wrong("tuning-out", "expects --tune");
  if (options.tuneSeconds == 0)
    return wrong("tune-limit", "expects 1 or more but got 0");
  if (line.backward.getNumOccurrences() != 0) {
    llvm::Expected<DerivativeOptions> backward =
        parseDerivativeOptions(line.backward);
    if (!backward)
      return wrong("backward", llvm::toString(backward.takeError()));
    options.backward = std::move(*backward);
  }
  options.json = line.json;
  options.check = line.check;
  options.time = line.time;
  options.explain = line.explain;
  options.warmups = line.warmups;
  options.launches = line.launches;
  if (line.grid.getNumOccurrences() != 0)
    options.grid = line.grid;
  if (line.block.getNumOccurrences() != 0)
    options.block = line.block;
  options.sharedBytes = line.shared;
  if (!line.bits.empty() && line.bits != "host")
    return wrong("bits", "expects host but got '" + line.bits + "'");
  options.hostBits = !line.bits.empty();
  llvm::Expected<MathMode> math = parseMathMode(line.math);
  if (!math)
    return wrong("math", llvm::toString(math.takeError()));
  options.math = *math;
  if (options.time && options.launches == 0)
    return wrong("repeat", "expects 1 or more but got 0");
  if (llvm::Error error = readIndexed<DataSpec>(
          "arg", line.arguments, options.arguments, DataSpec::parse))
    return error;
  if (llvm::Error error = readIndexed<std::string>(
          "out", line.outputs, options.outputs,
          [](llvm::StringRef text) -> llvm::Expected<std::string> {
            return text.str();
          }))
    return error;
  if (llvm::Error error = readIndexed<Expectation>(
          "expect", line.expectations, options.expectations, parseExpectation))
    return error;
  for (llvm::StringRef text : line.placements)
    if (llvm::Error error = readPlacement(text, options.placements))
      return error;
  return llvm::Error::success();
}

} // namespace

llvm::Expected<RunOptions> tools::parseRunOptions(int argc, char **argv) {
  static CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  cl::SetVersionPrinter(
      [](llvm::raw_ostream &os) { os << versionLine() << "\n"; });
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &stream)) {
    // The library prefixes some lines by the program's name; make it one line.
    // Nothing is left of a malformed value, which it reports on stderr itself.
    llvm::SmallVector<llvm::StringRef, 4> lines;
    llvm::StringRef(problem).split(lines, '\n', /*MaxSplit=*/-1,
                                   /*KeepEmpty=*/false);
    for (llvm::StringRef &text : lines)
      text.consume_front(llvm::sys::path::filename(argv[0]).str() + ": ");
    return llvm::createStringError(llvm::Twine(llvm::join(lines, " ")));
  }
  RunOptions options;
  if (llvm::Error error = convert(line, options))
    return error;
  return options;
}
