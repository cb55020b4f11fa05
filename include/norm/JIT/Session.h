//===- Session.h - Programs of one device, compiled once --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For those who ask for the same programs again and again, from any number of
// threads: each is compiled once, and when that happens is up to them.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_JIT_SESSION_H
#define NORM_JIT_SESSION_H

#include "norm/Cache/DiskCache.h"
#include "norm/Compiler/Compiler.h"
#include "norm/Runtime/Device.h"
#include "llvm/Support/ThreadPool.h"
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace norm::jit {

/// A compiler for any number of threads at once.
class CompilerPool {
public:
  /// See `Compiler::compile`.
  llvm::Expected<Artifact> compile(llvm::StringRef text,
                                   llvm::StringRef fileName,
                                   const CompileOptions &options);
  /// See `Compiler::differentiate`.
  llvm::Expected<Derivative> differentiate(llvm::StringRef text,
                                           llvm::StringRef fileName,
                                           const DerivativeOptions &options);

private:
  std::unique_ptr<Compiler> take();
  void giveBack(std::unique_ptr<Compiler> compiler);

  std::mutex mutex;
  std::vector<std::unique_ptr<Compiler>> idle;
};

/// A device that any number of threads load code on.
class SharedDevice {
public:
  explicit SharedDevice(std::unique_ptr<Device> device)
      : device(std::move(device)) {}

  /// What never changes of it (names, versions) needs no lock.
  const Device &get() const { return *device; }
  /// See `Device::load`.
  llvm::Expected<std::unique_ptr<Executable>> load(llvm::StringRef code,
                                                   const Manifest &manifest);
  /// Calls `body` while nobody else uses the device through this object.
  llvm::Error use(llvm::function_ref<llvm::Error(Device &)> body);

private:
  std::mutex mutex;
  std::unique_ptr<Device> device;
};

/// What to do where a program that isn't compiled yet is asked for.
enum class MissPolicy {
  Compile,  ///< compile it now, and let the caller wait
  Fallback, ///< compile it in the background, and tell the caller
  Error,    ///< tell the caller
};

/// A program isn't compiled, and the policy says not to wait for it.
class MissError : public llvm::ErrorInfo<MissError> {
public:
  static char ID;

  MissError(std::string text, bool isPending)
      : text(std::move(text)), pending(isPending) {}
  /// Whether it's being compiled.
  bool isPending() const { return pending; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string text;
  bool pending;
};

/// A loaded program that is shared.
struct SessionProgram {
  Manifest manifest;
  std::string manifestText; ///< as JSON
  std::unique_ptr<Executable> executable;
};

/// The options as a text that is the same for the same options only.
std::string describeOptions(const CompileOptions &options);

/// What compiled code depends on besides text and options: the versions of norm
/// and LLVM, the file that this code is in, and for `host` the processor.
std::string describeBuild(bool isForHost);

/// The compiled programs of one device. All functions may be called by any
/// number of threads at once. Two calls with the same text and options, at
/// whatever time, compile once.
class Session {
public:
  using Program = std::shared_ptr<SessionProgram>;
  /// Is given what the passes remarked, on the thread that compiles.
  using RemarkHandler = std::function<void(llvm::ArrayRef<std::string>)>;

  Session(std::shared_ptr<CompilerPool> compilers,
          std::shared_ptr<SharedDevice> device, RemarkHandler remarks = {});
  /// Waits for what is being compiled in the background.
  ~Session();

  void setMissPolicy(MissPolicy policy) { missPolicy = policy; }

  /// Keeps programs in a directory, and takes them from there instead of
  /// compiling; null for none, the default. To be called before the others.
  /// Where several processes ask for a program at once, one compiles it.
  void setDiskCache(std::unique_ptr<DiskCache> cache) {
    disk = std::move(cache);
  }

  /// The program; of an empty target and a driver version of 0 for the device.
  /// Besides compile errors, which are not kept, a `MissError`. The text of a
  /// program is its identity; `fileName` is for diagnostics.
  llvm::Expected<Program> get(llvm::StringRef text, llvm::StringRef fileName,
                              CompileOptions options);

  /// Compiles the program now, whatever the policy, unless it's there.
  llvm::Expected<Program> prewarm(llvm::StringRef text,
                                  llvm::StringRef fileName,
                                  CompileOptions options);

  /// Compilations begun so far.
  uint64_t compileCount() const { return count; }

private:
  struct Entry;

  CompileOptions complete(CompileOptions options) const;
  std::string keyOf(llvm::StringRef text, const CompileOptions &options) const;
  /// The entry of the key; in `isNew`, whether the caller is to fill it.
  std::shared_ptr<Entry> enter(const std::string &key, bool &isNew);
  std::shared_ptr<Entry> find(const std::string &key);
  void fill(Entry &entry, const std::string &key, llvm::StringRef text,
            llvm::StringRef fileName, const CompileOptions &options);
  llvm::Expected<Program> wait(Entry &entry);
  llvm::Expected<Program> compile(llvm::StringRef text,
                                  llvm::StringRef fileName,
                                  const CompileOptions &options);
  /// The program on disk; null where there is none that can be loaded.
  Program findOnDisk(const std::string &key);
  llvm::Expected<Program> load(llvm::StringRef code, const Manifest &manifest);

  std::unique_ptr<DiskCache> disk;
  std::shared_ptr<CompilerPool> compilers;
  std::shared_ptr<SharedDevice> device;
  RemarkHandler remarks;
  std::atomic<MissPolicy> missPolicy = MissPolicy::Compile;
  std::atomic<uint64_t> count = 0;
  std::mutex mutex; ///< of the entries
  std::map<std::string, std::shared_ptr<Entry>> entries;
  llvm::DefaultThreadPool background;
};

} // namespace norm::jit

#endif // NORM_JIT_SESSION_H
