//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Embeds the compiler: a session compiles a fusion by name for the host, keeps
// it, and runs it on memory of this program; then the same program is compiled
// for GPUs that needn't be here.
//
//===----------------------------------------------------------------------===//

#include "norm/JIT/Session.h"
#include "norm/Programs/Programs.h"
#include "norm/Runtime/HostDevice.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace norm;

static constexpr int64_t kRows = 5, kColumns = 256;

static uint64_t addressOf(std::vector<float> &data) {
  return uint64_t(reinterpret_cast<uintptr_t>(data.data()));
}

/// Runs `y = rms_norm(x + r)` and compares with the formula.
static llvm::Error runOnHost(jit::Session &session, llvm::StringRef program) {
  llvm::Expected<jit::Session::Program> compiled =
      session.get(program, "add_rms_norm", CompileOptions{.target = ""});
  if (!compiled)
    return compiled.takeError();

  std::vector<float> x(kRows * kColumns), r(x.size()), y(x.size()),
      sum(x.size()), weight(kColumns, 1.5f);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = float(i % 7);
    r[i] = float(i % 3) - 1;
  }
  auto matrix = [&](std::vector<float> &data) {
    return BoundArgument::contiguous(DType::F32, addressOf(data),
                                     {kRows, kColumns});
  };
  BoundArgument arguments[] = {
      matrix(x), matrix(r),
      BoundArgument::contiguous(DType::F32, addressOf(weight), {kColumns}),
      matrix(y), matrix(sum)};
  if (llvm::Error error = (*compiled)->executable->enqueue(arguments))
    return error;

  for (int64_t row = 0; row < kRows; ++row) {
    double squares = 0;
    for (int64_t i = row * kColumns; i < (row + 1) * kColumns; ++i)
      squares += double(x[i] + r[i]) * double(x[i] + r[i]);
    for (int64_t i = row * kColumns; i < (row + 1) * kColumns; ++i) {
      double want = (x[i] + r[i]) / std::sqrt(squares / kColumns + 1e-6) * 1.5;
      if (sum[i] != x[i] + r[i] || std::abs(want - y[i]) > 1e-5)
        return llvm::createStringError("wrong result in row " +
                                       llvm::Twine(row));
    }
  }
  return llvm::Error::success();
}

static llvm::Error run() {
  llvm::Expected<std::string> program =
      buildProgram("add_rms_norm",
                   {{"columns", std::to_string(kColumns)}, {"dtype", "f32"}});
  if (!program)
    return program.takeError();
  llvm::Expected<std::unique_ptr<Device>> device = openHostDevice();
  if (!device)
    return device.takeError();
  auto compilers = std::make_shared<jit::CompilerPool>();
  jit::Session session(compilers,
                       std::make_shared<jit::SharedDevice>(std::move(*device)));
  for (unsigned i = 0; i < 2; ++i)
    if (llvm::Error error = runOnHost(session, *program))
      return error;
  llvm::outs() << "right on the host after " << session.compileCount()
               << " compilation\n";

  for (const char *target : {"sm_80", "sm_90", "sm_100"}) {
    llvm::Expected<Artifact> artifact = compilers->compile(
        *program, "add_rms_norm", CompileOptions{.target = target});
    if (!artifact)
      return artifact.takeError();
    llvm::outs() << target << ": " << artifact->manifest.kernels.size()
                 << " kernel, PTX " << artifact->manifest.ptx << "\n";
  }
  return llvm::Error::success();
}

int main() {
  if (llvm::Error error = run()) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
