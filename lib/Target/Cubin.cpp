//===- Cubin.cpp - Assembling PTX -----------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Target/Cubin.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace norm;

const KernelUsage *Cubin::find(llvm::StringRef symbol) const {
  for (const KernelUsage &kernel : kernels)
    if (kernel.symbol == symbol)
      return &kernel;
  return nullptr;
}

std::optional<std::string> norm::findPtxas() {
  if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  llvm::SmallVector<std::string, 3> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> home =
            llvm::sys::Process::GetEnv(variable)) {
      llvm::SmallString<128> folder(*home);
      llvm::sys::path::append(folder, "bin");
      folders.push_back(folder.str().str());
    }
  folders.push_back("/usr/local/cuda/bin");
  llvm::SmallVector<llvm::StringRef, 3> paths(folders.begin(), folders.end());
  if (llvm::ErrorOr<std::string> path =
          llvm::sys::findProgramByName("ptxas", paths))
    return *path;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Usage
//===----------------------------------------------------------------------===//

/// The number before `unit` in a comma-separated list, 0 if there is none.
static unsigned readAmount(llvm::StringRef line, llvm::StringRef unit) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  line.split(parts, ',');
  for (llvm::StringRef part : parts) {
    size_t at = part.find(unit);
    unsigned value = 0;
    if (at != llvm::StringRef::npos &&
        !part.substr(0, at).trim().rsplit(' ').second.getAsInteger(10, value))
      return value;
    if (at != llvm::StringRef::npos &&
        !part.substr(0, at).trim().getAsInteger(10, value))
      return value;
  }
  return 0;
}

std::vector<KernelUsage> norm::parseUsage(llvm::StringRef text) {
  std::vector<KernelUsage> kernels;
  llvm::SmallVector<llvm::StringRef, 32> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    constexpr llvm::StringLiteral entry = "Compiling entry function '";
    if (size_t at = line.find(entry); at != llvm::StringRef::npos) {
      llvm::StringRef name = line.substr(at + entry.size());
      kernels.emplace_back().symbol = name.split('\'').first.str();
      continue;
    }
    if (kernels.empty())
      continue;
    KernelUsage &kernel = kernels.back();
    if (line.contains("bytes stack frame")) {
      kernel.stackBytes = readAmount(line, " bytes stack frame");
      kernel.spillBytes = readAmount(line, " bytes spill stores") +
                          readAmount(line, " bytes spill loads");
    } else if (line.contains(" registers")) {
      kernel.registers = readAmount(line, " registers");
      kernel.staticShared = readAmount(line, " bytes smem");
    }
  }
  return kernels;
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

namespace {
/// A file that is removed with the object.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile() {
    if (!name.empty())
      llvm::sys::fs::remove(name);
  }

  llvm::Error create(llvm::StringRef suffix) {
    if (std::error_code code =
            llvm::sys::fs::createTemporaryFile("norm", suffix, name))
      return llvm::createStringError("can't make a temporary file: " +
                                     code.message());
    return llvm::Error::success();
  }

  llvm::StringRef path() const { return name; }

  llvm::Error write(llvm::StringRef text) const {
    std::error_code code;
    llvm::raw_fd_ostream stream(path(), code);
    if (!code) {
      stream << text;
      stream.close();
      code = stream.error();
      stream.clear_error();
    }
    if (code)
      return llvm::createStringError("can't write '" + path() +
                                     "': " + code.message());
    return llvm::Error::success();
  }

  llvm::Expected<std::string> read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path());
    if (!buffer)
      return llvm::createStringError("can't read '" + path() +
                                     "': " + buffer.getError().message());
    return (*buffer)->getBuffer().str();
  }

private:
  llvm::SmallString<128> name;
};
} // namespace

llvm::Expected<Cubin> norm::assembleCubin(llvm::StringRef ptx,
                                          llvm::StringRef chip,
                                          llvm::StringRef ptxas) {
  std::string program = ptxas.str();
  if (program.empty()) {
    std::optional<std::string> found = findPtxas();
    if (!found)
      return llvm::createStringError(
          "expects ptxas to make a cubin but found none in PATH, CUDA_HOME or "
          "/usr/local/cuda/bin");
    program = *found;
  }

  TemporaryFile input, output, log;
  if (llvm::Error error = input.create("ptx"))
    return std::move(error);
  if (llvm::Error error = output.create("cubin"))
    return std::move(error);
  if (llvm::Error error = log.create("log"))
    return std::move(error);
  if (llvm::Error error = input.write(ptx))
    return std::move(error);

  std::string arch = "-arch=" + chip.str();
  llvm::StringRef arguments[] = {program, arch,          "-v",
                                 "-o",    output.path(), input.path()};
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), log.path(),
                                                log.path()};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt,
                                         redirects, 0, 0, &message);
  llvm::Expected<std::string> text = log.read();
  if (!text)
    return text.takeError();
  if (status != 0)
    return llvm::createStringError(
        program + " failed: " +
        (message.empty() ? llvm::StringRef(*text).trim().str() : message));

  llvm::Expected<std::string> code = output.read();
  if (!code)
    return code.takeError();
  return Cubin{std::move(*code), parseUsage(*text)};
}
