//===- NormCompile.cpp - norm-compile -------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// norm-compile: MLIR text to one of the levels of the IR, PTX, a cubin or a
// host object, and the manifest of the result.
//
//===----------------------------------------------------------------------===//

#include "norm/Tools/Tools.h"

#include "norm/Compiler/Assemble.h"
#include "norm/Embed/CHeader.h"
#include "norm/Programs/Programs.h"
#include "norm/Support/Targets.h"
#include "norm/Support/Version.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace norm;

static constexpr llvm::StringLiteral kUsage =
    R"(usage: norm-compile INPUT|--op=NAME [--emit=FORM] [--target=TARGET] [-o OUTPUT]
                    [--manifest FILE] [--entry NAME] [--schedule FIELDS]
                    [--ptx-version N] [--math exact|hardware] [--explain]

INPUT, OUTPUT and FILE are paths; - is the standard input or output.
  --op        instead of an input, a common fusion by name, with fields:
              --op=add_rms_norm --columns=4096; --op=help lists all
  --print-input  writes the text of the --op, and does nothing else
  --emit      norm, program, scheduled, tiled, gpu, nvvm, llvm: the IR at a level
              ptx, cubin, object: code; by default ptx, or object for the host
              c-header: a C header with the code for all targets, that checks
              and launches by the CUDA driver alone
  --target    host, or sm_80 to sm_121; by default sm_90, or host for object;
              for c-header a list, as in sm_80,sm_90
  --image     what a c-header holds: ptx, the default, or cubin
  -o          where the result goes; by default -
  --manifest  where the manifest of the code goes
  --entry     the function; by default the only public one, or main
  --backward  the backward of the function instead; with
              --backward='wrt=0,1 save=statistics' and other options of
              norm-differentiate
  --schedule  fields that override the model's, as in 'threads=256'
  --tuning    a file of schedules that were found by measuring, or none; by
              default those that come with norm
  --device    the product that they are looked up by, as in 'NVIDIA H200'; by
              default any of the target
  --ptx-version  80 for PTX 8.0; by default the first that has the target
  --math      hardware: functions of 16-bit floats by a GPU's approximations,
              with bits that other targets don't have; by default exact
  --explain   says on stderr what was fused and what wasn't, and why
  --version, --help
)";

namespace {
/// What is written.
enum class Form { Default, Level, PTX, Cubin, Object, CHeader };

struct Options {
  std::string input;
  std::string output = "-";
  std::string manifest;
  Form form = Form::Default;
  std::string image = "ptx"; ///< for Form::CHeader
  Level level = Level::Norm; ///< for Form::Level
  CompileOptions compile;
  std::string tuning;   ///< file
  std::string op;       ///< a program by name, instead of an input
  ProgramFields fields; ///< of it
  std::optional<DerivativeOptions> backward;
  bool printInput = false;
  bool help = false;
  bool version = false;
};

/// Takes the options apart: `--name=value` and `--name value`.
class CommandLine {
public:
  CommandLine(int argc, char **argv)
      : arguments(argv + std::min(argc, 1), argv + argc) {}

  llvm::Expected<Options> parse();

private:
  llvm::Error parseOne(llvm::StringRef argument);
  /// The value of option `name`, of which `argument` may hold a `=value`.
  llvm::Error takeValue(llvm::StringRef argument, llvm::StringRef name,
                        std::string &value);
  llvm::Error parseForm(llvm::StringRef text);

  llvm::ArrayRef<char *> arguments;
  size_t next = 0;
  Options options;
};
} // namespace

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

llvm::Error CommandLine::takeValue(llvm::StringRef argument,
                                   llvm::StringRef name, std::string &value) {
  if (argument.size() > name.size()) {
    value = argument.drop_front(name.size() + 1).str();
    return llvm::Error::success();
  }
  if (next == arguments.size())
    return llvm::createStringError("option " + name +
                                   " expects a value but got none");
  value = arguments[next++];
  return llvm::Error::success();
}

llvm::Error CommandLine::parseForm(llvm::StringRef text) {
  constexpr int bad = -1, ptx = -2, cubin = -3, object = -4, cHeader = -5;
  int form = llvm::StringSwitch<int>(text)
                 .Case("norm", int(Level::Norm))
                 .Case("program", int(Level::Program))
                 .Case("scheduled", int(Level::Scheduled))
                 .Case("tiled", int(Level::Tiled))
                 .Case("gpu", int(Level::GPU))
                 .Case("nvvm", int(Level::NVVM))
                 .Case("llvm", int(Level::LLVM))
                 .Case("ptx", ptx)
                 .Case("cubin", cubin)
                 .Case("object", object)
                 .Case("c-header", cHeader)
                 .Default(bad);
  switch (form) {
  case bad:
    return llvm::createStringError(
        "option --emit expects norm, program, scheduled, tiled, gpu, nvvm, "
        "llvm, ptx, cubin, object or c-header but got '" +
        text + "'");
  case ptx:
    options.form = Form::PTX;
    break;
  case cubin:
    options.form = Form::Cubin;
    break;
  case object:
    options.form = Form::Object;
    break;
  case cHeader:
    options.form = Form::CHeader;
    break;
  default:
    options.form = Form::Level;
    options.level = Level(form);
  }
  return llvm::Error::success();
}

llvm::Error CommandLine::parseOne(llvm::StringRef argument) {
  llvm::StringRef name = argument.take_until([](char c) { return c == '='; });
  if (name == "--help" || name == "-h")
    return options.help = true, llvm::Error::success();
  if (name == "--version")
    return options.version = true, llvm::Error::success();
  if (argument == "--explain")
    return options.compile.explain = true, llvm::Error::success();

  std::string *value = llvm::StringSwitch<std::string *>(name)
                           .Case("-o", &options.output)
                           .Case("--manifest", &options.manifest)
                           .Case("--target", &options.compile.target)
                           .Case("--entry", &options.compile.entry)
                           .Case("--schedule", &options.compile.schedule)
                           .Case("--device", &options.compile.device)
                           .Case("--tuning", &options.tuning)
                           .Case("--op", &options.op)
                           .Case("--image", &options.image)
                           .Default(nullptr);
  if (value)
    return takeValue(argument, name, *value);
  std::string text;
  if (name == "--emit") {
    if (llvm::Error error = takeValue(argument, name, text))
      return error;
    return parseForm(text);
  }
  if (name == "--ptx-version") {
    if (llvm::Error error = takeValue(argument, name, text))
      return error;
    if (llvm::StringRef(text).getAsInteger(10, options.compile.ptxVersion))
      return llvm::createStringError(
          "option --ptx-version expects a number such as 80 but got '" + text +
          "'");
    return llvm::Error::success();
  }
  if (name == "--math") {
    if (llvm::Error error = takeValue(argument, name, text))
      return error;
    llvm::Expected<MathMode> mode = parseMathMode(text);
    if (!mode)
      return llvm::createStringError("option --math " +
                                     llvm::toString(mode.takeError()));
    options.compile.math = *mode;
    return llvm::Error::success();
  }
  if (name == "--backward") {
    llvm::StringRef given = argument.drop_front(name.size());
    given.consume_front("=");
    llvm::Expected<DerivativeOptions> parsed = parseDerivativeOptions(given);
    if (!parsed)
      return llvm::createStringError("option --backward: " +
                                     llvm::toString(parsed.takeError()));
    options.backward = std::move(*parsed);
    return llvm::Error::success();
  }
  if (argument == "--print-input")
    return options.printInput = true, llvm::Error::success();
  if (llvm::StringRef field = name;
      field.consume_front("--") && isProgramField(field)) {
    if (llvm::Error error = takeValue(argument, name, text))
      return error;
    options.fields.emplace_back(field.str(), text);
    return llvm::Error::success();
  }
  if (argument.starts_with("-") && argument != "-")
    return llvm::createStringError("unknown option '" + argument +
                                   "', see --help");
  if (!options.input.empty())
    return llvm::createStringError("expects one input but got '" +
                                   options.input + "' and '" + argument + "'");
  options.input = argument.str();
  return llvm::Error::success();
}

static llvm::Error checkInput(const Options &options) {
  if (options.op.empty() && options.printInput)
    return llvm::createStringError("--print-input expects --op");
  if (options.op.empty() && !options.fields.empty())
    return llvm::createStringError("--" + options.fields.front().first +
                                   " expects --op");
  if (!options.op.empty() && !options.input.empty())
    return llvm::createStringError("expects an input or --op but got '" +
                                   options.input + "' and '" + options.op +
                                   "'");
  if (options.input.empty() && options.op.empty())
    return llvm::createStringError("expects an input but got none, see --help");
  return llvm::Error::success();
}

/// Fills in what follows from the rest.
static llvm::Error complete(Options &options) {
  std::string &target = options.compile.target;
  if (target.empty())
    target = options.form == Form::Object ? "host" : "sm_90";
  if (options.image != "ptx" && options.image != "cubin")
    return llvm::createStringError("option --image expects ptx or cubin but "
                                   "got '" +
                                   options.image + "'");
  if (options.form == Form::CHeader) {
    if (!options.manifest.empty())
      return llvm::createStringError(
          "--manifest expects --emit=ptx, cubin or object");
    for (llvm::StringRef one : llvm::split(target, ','))
      if (llvm::Error error = checkTargetName(one))
        return error;
    return checkInput(options);
  }
  if (llvm::Error error = checkTargetName(target))
    return error;
  bool isHost = target == "host";
  if (options.form == Form::Default)
    options.form = isHost ? Form::Object : Form::PTX;
  bool wantsGPU = options.form == Form::PTX || options.form == Form::Cubin;
  if (wantsGPU && isHost)
    return llvm::createStringError("ptx and cubin expect a GPU target but got "
                                   "host");
  if (options.form == Form::Object && !isHost)
    return llvm::createStringError("object expects target host but got " +
                                   target);
  if (options.form == Form::Level && !options.manifest.empty())
    return llvm::createStringError(
        "--manifest expects --emit=ptx, cubin or object");
  return checkInput(options);
}

llvm::Expected<Options> CommandLine::parse() {
  options.compile.target.clear();
  options.compile.outline = true;
  while (next < arguments.size())
    if (llvm::Error error = parseOne(arguments[next++]))
      return std::move(error);
  if (!options.help && !options.version)
    if (llvm::Error error = complete(options))
      return std::move(error);
  return options;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Writes the whole content or nothing: a file appears under its name only once
/// it's complete.
static llvm::Error writeFile(llvm::StringRef path, llvm::StringRef content) {
  if (path == "-") {
    llvm::outs() << content;
    llvm::outs().flush();
    std::error_code code = llvm::outs().error();
    llvm::outs().clear_error();
    return code ? llvm::createStringError(
                      "can't write to the standard output: " + code.message())
                : llvm::Error::success();
  }
  llvm::Error error =
      llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) -> llvm::Error {
        stream << content;
        return llvm::Error::success();
      });
  if (error)
    return llvm::createStringError("can't write '" + path +
                                   "': " + llvm::toString(std::move(error)));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static void printRemarks(llvm::ArrayRef<std::string> remarks) {
  for (const std::string &remark : remarks)
    llvm::errs() << remark << "\n";
}

static llvm::Error compileCode(const Options &options, llvm::StringRef text,
                               llvm::StringRef fileName) {
  llvm::Expected<Artifact> artifact =
      Compiler().compile(text, fileName, options.compile);
  if (!artifact)
    return artifact.takeError();
  printRemarks(artifact->remarks);
  if (options.form == Form::Cubin)
    if (llvm::Error error = assemble(*artifact, options.compile.target))
      return error;
  if (llvm::Error error = writeFile(options.output, artifact->code))
    return error;
  if (options.manifest.empty())
    return llvm::Error::success();
  return writeFile(options.manifest, artifact->outlined.empty()
                                         ? printManifest(artifact->manifest)
                                         : printManifests(artifact->outlined));
}

/// Compiles for each target, and writes all as one header.
static llvm::Error compileHeader(const Options &options, llvm::StringRef text,
                                 llvm::StringRef fileName) {
  Compiler compiler;
  std::vector<EmbeddedImage> images;
  for (llvm::StringRef target : llvm::split(options.compile.target, ',')) {
    CompileOptions compile = options.compile;
    compile.target = target.str();
    compile.outline = false;
    llvm::Expected<Artifact> artifact =
        compiler.compile(text, fileName, compile);
    if (!artifact)
      return artifact.takeError();
    printRemarks(artifact->remarks);
    bool isCubin = options.image == "cubin" && target != "host";
    if (isCubin)
      if (llvm::Error error = assemble(*artifact, target))
        return error;
    images.push_back(
        {std::move(artifact->manifest), std::move(artifact->code), isCubin});
  }
  llvm::Expected<std::string> header = printCHeader(images);
  if (!header)
    return header.takeError();
  return writeFile(options.output, *header);
}

static llvm::Error compileText(const Options &options, llvm::StringRef text,
                               llvm::StringRef fileName) {
  if (options.form == Form::CHeader)
    return compileHeader(options, text, fileName);
  if (options.form != Form::Level)
    return compileCode(options, text, fileName);
  std::vector<std::string> remarks;
  llvm::Expected<std::string> printed = Compiler().print(
      text, fileName, options.compile, options.level, &remarks);
  if (!printed)
    return printed.takeError();
  printRemarks(remarks);
  return writeFile(options.output, *printed);
}

/// Compiles the text, or its backward.
static llvm::Error compileInput(const Options &options, llvm::StringRef text,
                                llvm::StringRef fileName) {
  if (!options.backward)
    return options.printInput ? writeFile(options.output, text)
                              : compileText(options, text, fileName);
  DerivativeOptions wanted = *options.backward;
  if (wanted.function.empty())
    wanted.function = options.compile.entry;
  llvm::Expected<Derivative> derivative =
      Compiler().differentiate(text, fileName, wanted);
  if (!derivative)
    return derivative.takeError();
  if (options.printInput)
    return writeFile(options.output, derivative->text);
  Options ofBackward = options;
  ofBackward.compile.entry = derivative->backward.name;
  return compileText(ofBackward, derivative->text, fileName);
}

static llvm::Error run(const Options &options) {
  if (options.op == "help")
    return writeFile(options.output, listPrograms());
  if (!options.op.empty()) {
    llvm::Expected<std::string> text = buildProgram(options.op, options.fields);
    if (!text)
      return text.takeError();
    return compileInput(options, *text, options.op);
  }
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(options.input);
  if (!buffer)
    return llvm::createStringError("can't read '" + options.input +
                                   "': " + buffer.getError().message());
  llvm::StringRef text = (*buffer)->getBuffer();
  std::string fileName = options.input == "-" ? "<stdin>" : options.input;
  return compileInput(options, text, fileName);
}

/// A diagnostic has its own place and severity; other errors get one here.
static void printError(llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  bool isDiagnostic =
      llvm::StringRef(text).split('\n').first.contains(": error: ");
  llvm::errs() << (isDiagnostic ? "" : "error: ") << text << "\n";
}

int norm::tools::normCompileMain(int argc, char **argv) {
  llvm::Expected<Options> options = CommandLine(argc, argv).parse();
  if (!options) {
    printError(options.takeError());
    return ExitBadInput;
  }
  if (options->help || options->version) {
    if (options->help)
      llvm::outs() << kUsage;
    else
      llvm::outs() << versionLine() << "\n";
    return ExitSuccess;
  }
  llvm::Error error = setTuning(options->compile, options->tuning);
  if (!error)
    error = run(*options);
  if (error) {
    printError(std::move(error));
    return ExitBadInput;
  }
  return ExitSuccess;
}
