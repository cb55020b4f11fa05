//===- SessionCacheTest.cpp - Tests of sessions with a cache --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFolder.h"
#include "norm/JIT/Session.h"
#include "norm/Programs/Programs.h"
#include "norm/Runtime/HostDevice.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <sys/wait.h>
#include <unistd.h>

using namespace norm;
using norm::test::CacheFolder;

namespace {

/// A session on the host, as another process would have one.
std::unique_ptr<jit::Session> makeSession(const std::string &directory) {
  llvm::Expected<std::unique_ptr<Device>> device = openHostDevice(1);
  auto session = std::make_unique<jit::Session>(
      std::make_shared<jit::CompilerPool>(),
      std::make_shared<jit::SharedDevice>(llvm::cantFail(std::move(device))));
  session->setDiskCache(std::make_unique<DiskCache>(directory));
  return session;
}

std::string softmax() {
  llvm::Expected<std::string> text =
      buildProgram("softmax", {{"columns", "48"}, {"dtype", "f32"}});
  return text ? *text : llvm::toString(text.takeError());
}

/// Whether the program gives rows that sum to 1.
bool works(jit::Session &session) {
  CompileOptions options;
  options.target.clear();
  llvm::Expected<jit::Session::Program> program =
      session.get(softmax(), "softmax", options);
  if (!program) {
    llvm::consumeError(program.takeError());
    return false;
  }
  std::vector<float> x(3 * 48, 1.0f), y(3 * 48);
  auto bind = [](std::vector<float> &data) {
    return BoundArgument::contiguous(
        DType::F32, uint64_t(reinterpret_cast<uintptr_t>(data.data())),
        {3, 48});
  };
  if (llvm::Error error = (*program)->executable->enqueue({bind(x), bind(y)})) {
    llvm::consumeError(std::move(error));
    return false;
  }
  for (float value : y)
    if (value < 0.0208f || value > 0.0209f)
      return false;
  return true;
}

TEST(SessionCacheTest, LaterSessionsDontCompile) {
  CacheFolder folder;
  for (unsigned i = 0; i < 2; ++i) {
    std::unique_ptr<jit::Session> session = makeSession(folder.path);
    EXPECT_TRUE(works(*session));
    EXPECT_TRUE(works(*session));
    EXPECT_EQ(session->compileCount(), i == 0 ? 1u : 0u);
  }
}

TEST(SessionCacheTest, DamagedAndForbiddenCachesDontHinder) {
  CacheFolder folder;
  EXPECT_TRUE(works(*makeSession(folder.path)));
  llvm::Expected<std::vector<CacheEntry>> entries =
      DiskCache(folder.path).list();
  ASSERT_TRUE(bool(entries)) << llvm::toString(entries.takeError());
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ((*entries)[0].title, "softmax for host");
  std::string path = folder.path + "/" + (*entries)[0].name;
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << "nonsense";
  std::unique_ptr<jit::Session> session = makeSession(folder.path);
  EXPECT_TRUE(works(*session));
  EXPECT_EQ(session->compileCount(), 1u);
  // A file is no folder.
  std::unique_ptr<jit::Session> other = makeSession(path);
  EXPECT_TRUE(works(*other));
  EXPECT_EQ(other->compileCount(), 1u);
}

TEST(SessionCacheTest, ManyProcessesCompileOnce) {
  CacheFolder folder;
  constexpr unsigned kProcesses = 8;
  std::vector<pid_t> children;
  for (unsigned i = 0; i < kProcesses; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      std::unique_ptr<jit::Session> session = makeSession(folder.path);
      ::_exit(works(*session) ? int(session->compileCount()) : 100);
    }
    children.push_back(child);
  }
  int compilations = 0;
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    compilations += WEXITSTATUS(status);
  }
  EXPECT_EQ(compilations, 1);
}

} // namespace
