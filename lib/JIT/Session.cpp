//===- Session.cpp - Programs of one device, compiled once ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/JIT/Session.h"
#include "norm/Support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <condition_variable>
#include <dlfcn.h>
#include <sys/stat.h>

using namespace norm;
using namespace norm::jit;

//===----------------------------------------------------------------------===//
// Compilers and devices
//===----------------------------------------------------------------------===//

std::unique_ptr<Compiler> CompilerPool::take() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<Compiler> compiler = std::move(idle.back());
      idle.pop_back();
      return compiler;
    }
  }
  return std::make_unique<Compiler>();
}

void CompilerPool::giveBack(std::unique_ptr<Compiler> compiler) {
  std::lock_guard<std::mutex> lock(mutex);
  idle.push_back(std::move(compiler));
}

llvm::Expected<Artifact> CompilerPool::compile(llvm::StringRef text,
                                               llvm::StringRef fileName,
                                               const CompileOptions &options) {
  std::unique_ptr<Compiler> compiler = take();
  llvm::Expected<Artifact> artifact =
      compiler->compile(text, fileName, options);
  giveBack(std::move(compiler));
  return artifact;
}

llvm::Expected<Derivative>
CompilerPool::differentiate(llvm::StringRef text, llvm::StringRef fileName,
                            const DerivativeOptions &options) {
  std::unique_ptr<Compiler> compiler = take();
  llvm::Expected<Derivative> derivative =
      compiler->differentiate(text, fileName, options);
  giveBack(std::move(compiler));
  return derivative;
}

llvm::Expected<std::unique_ptr<Executable>>
SharedDevice::load(llvm::StringRef code, const Manifest &manifest) {
  std::lock_guard<std::mutex> lock(mutex);
  return device->load(code, manifest);
}

llvm::Error SharedDevice::use(llvm::function_ref<llvm::Error(Device &)> body) {
  std::lock_guard<std::mutex> lock(mutex);
  return body(*device);
}

//===----------------------------------------------------------------------===//
// Misses
//===----------------------------------------------------------------------===//

char MissError::ID = 0;

void MissError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code MissError::convertToErrorCode() const {
  return std::make_error_code(std::errc::operation_would_block);
}

static llvm::Error makeMiss(llvm::StringRef fileName, bool isPending) {
  return llvm::make_error<MissError>(
      (fileName + (isPending ? ": the program is being compiled"
                             : ": expects a program that was compiled before "
                               "but got a new one"))
          .str(),
      isPending);
}

std::string jit::describeOptions(const CompileOptions &options) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Texts are delimited by their lengths.
  auto add = [&](llvm::StringRef name, llvm::StringRef value) {
    stream << name << ' ' << value.size() << ':' << value << '\n';
  };
  add("target", options.target);
  add("entry", options.entry);
  add("schedule", options.schedule);
  add("tuning", options.tuning ? options.tuning->fingerprint() : "");
  add("device", options.device);
  stream << "ptx " << options.ptxVersion << " emulate " << options.emulate
         << " math " << toString(options.math) << " driver "
         << options.driverVersion << " explain " << options.explain
         << " outline " << options.outline << " shipped tuning "
         << options.usesShippedTuning << '\n';
  const KernelLaunchOptions &launch = options.launch;
  stream << "grid " << launch.grid.value_or(0) << " block "
         << launch.block.value_or(0) << " shared " << launch.dynamicShared
         << '\n';
  for (const auto &[number, argument] : launch.arguments)
    stream << "argument " << number << ' '
           << (argument.role ? int(*argument.role) : -1) << ' '
           << (argument.dtype ? name(*argument.dtype) : "") << ' '
           << (argument.rank ? int(*argument.rank) : -1) << '\n';
  return text;
}

std::string jit::describeBuild(bool isForHost) {
  std::string text = versionLine().str();
  // Builds of one version may differ, while it's worked on.
  Dl_info place;
  struct stat status;
  if (::dladdr(reinterpret_cast<void *>(&describeBuild), &place) != 0 &&
      ::stat(place.dli_fname, &status) == 0)
    text += " " + std::to_string(status.st_size) + " " +
            std::to_string(status.st_mtim.tv_sec) + "." +
            std::to_string(status.st_mtim.tv_nsec);
  if (isForHost) {
    text += " " + llvm::sys::getHostCPUName().str();
    llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
    std::vector<std::string> names;
    for (const auto &feature : features)
      if (feature.second)
        names.push_back(feature.first().str());
    llvm::sort(names);
    text += " " + llvm::join(names, ",");
  }
  return text + "\n";
}

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

/// A program that somebody compiles, or has compiled.
struct Session::Entry {
  std::mutex mutex;
  std::condition_variable done;
  bool isDone = false;
  Program program;   ///< null while it's compiled, and after a failure
  std::string error; ///< of the failure
};

Session::Session(std::shared_ptr<CompilerPool> compilers,
                 std::shared_ptr<SharedDevice> device, RemarkHandler remarks)
    : compilers(std::move(compilers)), device(std::move(device)),
      remarks(std::move(remarks)), background(llvm::hardware_concurrency(1)) {}

Session::~Session() { background.wait(); }

CompileOptions Session::complete(CompileOptions options) const {
  if (options.target.empty())
    options.target = device->get().target();
  if (options.driverVersion == 0)
    options.driverVersion = device->get().driverVersion();
  if (options.device.empty())
    options.device = device->get().product();
  options.emulate = device->get().isEmulated();
  return options;
}

std::string Session::keyOf(llvm::StringRef text,
                           const CompileOptions &options) const {
  return describeOptions(options) + text.str();
}

std::shared_ptr<Session::Entry> Session::find(const std::string &key) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = entries.find(key);
  return found == entries.end() ? nullptr : found->second;
}

std::shared_ptr<Session::Entry> Session::enter(const std::string &key,
                                               bool &isNew) {
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Entry> &entry = entries[key];
  isNew = !entry;
  if (isNew)
    entry = std::make_shared<Entry>();
  return entry;
}

llvm::Expected<Session::Program> Session::load(llvm::StringRef code,
                                               const Manifest &manifest) {
  llvm::Expected<std::unique_ptr<Executable>> executable =
      device->load(code, manifest);
  if (!executable)
    return executable.takeError();
  auto program = std::make_shared<SessionProgram>();
  program->manifest = manifest;
  program->manifestText = printManifest(manifest);
  program->executable = std::move(*executable);
  return program;
}

Session::Program Session::findOnDisk(const std::string &key) {
  std::optional<CachedProgram> found = disk->find(key);
  if (!found)
    return nullptr;
  llvm::Expected<Manifest> manifest = parseManifest(found->manifest);
  if (!manifest) {
    llvm::consumeError(manifest.takeError());
    return nullptr;
  }
  llvm::Expected<Program> program = load(found->code, *manifest);
  if (program)
    return std::move(*program);
  llvm::consumeError(program.takeError());
  return nullptr;
}

llvm::Expected<Session::Program>
Session::compile(llvm::StringRef text, llvm::StringRef fileName,
                 const CompileOptions &options) {
  std::string key;
  CacheLock lock;
  // Remarks aren't kept, so who wants them compiles.
  bool usesDisk = disk && !options.explain;
  if (usesDisk) {
    key = describeBuild(options.target == "host" || options.emulate) +
          keyOf(text, options);
    if (Program program = findOnDisk(key))
      return program;
    lock = disk->lock(key);
    // Another process may have been faster.
    if (lock.isHeld())
      if (Program program = findOnDisk(key))
        return program;
  }
  ++count;
  llvm::Expected<Artifact> artifact =
      compilers->compile(text, fileName, options);
  if (!artifact)
    return artifact.takeError();
  if (remarks)
    remarks(artifact->remarks);
  llvm::Expected<Program> program = load(artifact->code, artifact->manifest);
  // What isn't kept is compiled again; nobody has to know.
  if (program && usesDisk)
    llvm::consumeError(
        disk->store(key, {(*program)->manifestText, artifact->code}));
  return program;
}

void Session::fill(Entry &entry, const std::string &key, llvm::StringRef text,
                   llvm::StringRef fileName, const CompileOptions &options) {
  llvm::Expected<Program> program = compile(text, fileName, options);
  bool hasFailed = !program;
  {
    std::lock_guard<std::mutex> lock(entry.mutex);
    if (program)
      entry.program = std::move(*program);
    else
      entry.error = llvm::toString(program.takeError());
    entry.isDone = true;
  }
  entry.done.notify_all();
  // What failed for want of memory may work later.
  if (hasFailed) {
    std::lock_guard<std::mutex> lock(mutex);
    entries.erase(key);
  }
}

llvm::Expected<Session::Program> Session::wait(Entry &entry) {
  std::unique_lock<std::mutex> lock(entry.mutex);
  entry.done.wait(lock, [&] { return entry.isDone; });
  if (!entry.program)
    return llvm::createStringError(entry.error);
  return entry.program;
}

llvm::Expected<Session::Program> Session::prewarm(llvm::StringRef text,
                                                  llvm::StringRef fileName,
                                                  CompileOptions options) {
  options = complete(std::move(options));
  std::string key = keyOf(text, options);
  bool isNew = false;
  std::shared_ptr<Entry> entry = enter(key, isNew);
  if (isNew)
    fill(*entry, key, text, fileName, options);
  return wait(*entry);
}

llvm::Expected<Session::Program> Session::get(llvm::StringRef text,
                                              llvm::StringRef fileName,
                                              CompileOptions options) {
  MissPolicy policy = missPolicy;
  if (policy == MissPolicy::Compile)
    return prewarm(text, fileName, std::move(options));
  options = complete(std::move(options));
  std::string key = keyOf(text, options);
  bool isNew = false;
  std::shared_ptr<Entry> entry =
      policy == MissPolicy::Fallback ? enter(key, isNew) : find(key);
  if (!entry)
    return makeMiss(fileName, /*isPending=*/false);
  if (isNew)
    background.async([this, entry, key, text = text.str(),
                      fileName = fileName.str(),
                      options] { fill(*entry, key, text, fileName, options); });
  {
    std::lock_guard<std::mutex> lock(entry->mutex);
    if (!entry->isDone)
      return makeMiss(fileName, /*isPending=*/true);
  }
  return wait(*entry);
}
