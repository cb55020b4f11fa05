//===- Guard.cpp - LLVM's fatal errors as values --------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code generation reports what it can't select by a fatal error, which ends the
// process unless a handler is there. LLVM has one handler per process; ours is
// there while some thread is within a guard, and acts on such threads alone.
//
//===----------------------------------------------------------------------===//

#include "Guard.h"

#include "llvm/Support/Compiler.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

using namespace mlir::norm;

namespace {
/// The message of the fatal error on this thread; null outside of a guard.
thread_local std::string *fatalMessage = nullptr;

/// Keeps the handler installed as long as one of these exists.
class FatalErrorHandler {
public:
  FatalErrorHandler() {
    std::lock_guard<std::mutex> lock(mutex());
    if (users()++ == 0) {
      llvm::CrashRecoveryContext::Enable();
      llvm::install_fatal_error_handler(handle);
    }
  }
  ~FatalErrorHandler() {
    std::lock_guard<std::mutex> lock(mutex());
    if (--users() == 0)
      llvm::remove_fatal_error_handler();
  }

private:
  static std::mutex &mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static unsigned &users() {
    static unsigned users = 0;
    return users;
  }
  static void handle(void *, const char *reason, bool) {
    if (fatalMessage) {
      *fatalMessage = reason;
      llvm::CrashRecoveryContext::GetCurrent()->HandleExit(1);
    }
    // A fatal error of another user of LLVM ends the process, as without us.
    llvm::errs() << "LLVM ERROR: " << reason << "\n";
    abort();
  }
};
} // namespace

#if LLVM_ADDRESS_SANITIZER_BUILD
// A body that was ended leaks what LLVM owned, by design. Leaks can't be told
// apart from those then, so the process isn't searched for them.
static std::atomic<bool> hasEndedBody = false;
extern "C" int __lsan_is_turned_off() { return hasEndedBody; }
#endif

static void noteEndedBody() {
#if LLVM_ADDRESS_SANITIZER_BUILD
  hasEndedBody = true;
#endif
}

llvm::Error mlir::norm::runGuarded(llvm::function_ref<llvm::Error()> body) {
  FatalErrorHandler handler;
  std::string message;
  std::string *outer = fatalMessage;
  fatalMessage = &message;

  std::optional<llvm::Error> result;
  llvm::CrashRecoveryContext context;
  context.RunSafely([&] { result.emplace(body()); });
  fatalMessage = outer;
  if (result)
    return std::move(*result);
  noteEndedBody();
  if (message.empty())
    message = "crash with status " + std::to_string(context.RetCode);
  return llvm::createStringError("code generation failed: " + message);
}
