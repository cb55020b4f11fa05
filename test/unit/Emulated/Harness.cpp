//===- Harness.cpp - Hand-written kernels on the emulated device ----------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "norm/Pipelines/Pipelines.h"
#include "norm/Target/Object.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <fstream>

using namespace norm;
using namespace norm::test;

const Finding *Outcome::find(FindingKind kind) const {
  auto found = llvm::find_if(
      findings, [&](const Finding &finding) { return finding.kind == kind; });
  return found == findings.end() ? nullptr : &*found;
}

std::string Outcome::print() const {
  std::string text = failure;
  for (const Finding &finding : findings)
    text += "\n" + finding.print();
  return text;
}

/// An ELF object of the kernel.
static llvm::Expected<std::string> compile(const Example &example) {
  mlir::DialectRegistry registry;
  mlir::norm::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string text =
      "gpu.module @m { llvm.mlir.global external @norm_shared() {addr_space "
      "= 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8> gpu.func "
      "@k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>";
  if (example.split != 1 || example.hasCounters)
    text += ", %ws: !llvm.ptr<1>, %k: i64, %rows: i64";
  text += ") ";
  if (!example.shared.empty())
    text += "workgroup(" + example.shared + ") ";
  text += "kernel {\n" + example.body + "\ngpu.return } }";
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(text, "k.mlir"), llvm::SMLoc());
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          messages += diagnostic.str() + "; ";
                                          return mlir::success();
                                        });
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(
      sources, mlir::ParserConfig(&context));
  if (!module)
    return llvm::createStringError(messages);
  mlir::PassManager pm(&context);
  mlir::norm::buildEmulatedPipeline(pm);
  mlir::norm::buildHostLLVMPipeline(pm);
  if (failed(pm.run(*module)))
    return llvm::createStringError(messages);
  return mlir::norm::translateToObject(*module);
}

static Manifest describe(const Example &example) {
  Manifest manifest;
  manifest.norm = "test";
  manifest.entry = "main";
  manifest.target = "sm_90";
  manifest.ptx = "8.0";
  manifest.minDriver = 12000;
  Argument x{"x",
             ArgumentRole::Input,
             DType::F32,
             {kDynamic, kDynamic},
             {kDynamic, 1},
             4,
             {},
             {}};
  Argument y = x;
  y.name = "y";
  y.role = ArgumentRole::Output;
  manifest.arguments = {x, y};
  Kernel kernel;
  kernel.program = "example";
  kernel.order = "none";
  kernel.schedule = "none";
  if (example.declaresRead)
    kernel.reads = {0};
  kernel.writes = {1};
  kernel.rows = {1, {0}};
  kernel.columns = {1, {1}};
  kernel.params = {Param::pointer(0), Param::pointer(1)};
  Variant variant;
  variant.symbol = "k";
  variant.block = example.threads;
  variant.dynamicShared = example.dynamicShared;
  variant.cluster = unsigned(example.cluster);
  variant.persistent = example.persistent;
  variant.split = example.split;
  if (example.split != 1 || example.hasCounters) {
    kernel.slices = 8;
    kernel.counterBytes = 8;
    kernel.unitBytes = 1024;
    kernel.params.insert(
        kernel.params.end(),
        {Param::workspace(), Param::split(), Param::extent(1, {0})});
  }
  kernel.variants = {variant};
  manifest.kernels = {kernel};
  return manifest;
}

/// Mappings of this process's memory.
static int64_t countMappings() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  int64_t count = 0;
  while (std::getline(maps, line))
    ++count;
  return count;
}

static llvm::Error execute(const Example &example, Outcome &outcome) {
  llvm::Expected<std::string> object = compile(example);
  if (!object)
    return object.takeError();
  EmulatedOptions options;
  options.seed = example.seed;
  options.threads = example.hostThreads;
  options.residentCtas = example.residentCtas;
  auto device = openEmulatedDevice(options);
  if (!device)
    return device.takeError();
  auto executable = (*device)->load(*object, describe(example));
  if (!executable)
    return executable.takeError();

  int64_t pitch = example.pitch ? example.pitch : example.columns;
  std::vector<float> x(size_t(pitch * example.rows));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  outcome.y.assign(size_t(example.columns * example.rows), -1.0f);
  auto bytes = [](std::vector<float> &values) {
    return llvm::MutableArrayRef(reinterpret_cast<uint8_t *>(values.data()),
                                 values.size() * sizeof(float));
  };
  auto xBuffer = (*device)->allocate(bytes(x).size());
  auto yBuffer = (*device)->allocate(bytes(outcome.y).size());
  if (!xBuffer)
    return xBuffer.takeError();
  if (!yBuffer)
    return yBuffer.takeError();
  if (llvm::Error error = (*device)->copyIn(**xBuffer, 0, bytes(x)))
    return error;
  int64_t shape[] = {example.rows, example.columns};
  BoundArgument arguments[] = {
      BoundArgument::contiguous(DType::F32, (*xBuffer)->address(), shape),
      BoundArgument::contiguous(DType::F32, (*yBuffer)->address(), shape)};
  arguments[0].strides = {pitch, 1};
  auto prepared = (*executable)->prepare(arguments);
  if (!prepared)
    return prepared.takeError();
  int64_t before = countMappings();
  if (llvm::Error error = (*prepared)->run())
    return error;
  outcome.mappings = countMappings() - before;
  outcome.traffic = (*prepared)->traffic().vec();
  return (*device)->copyOut(bytes(outcome.y), **yBuffer, 0);
}

Outcome test::run(const Example &example) {
  Outcome outcome;
  llvm::handleAllErrors(
      execute(example, outcome),
      [&](const EmulationError &error) {
        outcome.findings = error.findings().vec();
        outcome.y.clear();
      },
      [&](const llvm::ErrorInfoBase &error) {
        outcome.failure = error.message();
      });
  return outcome;
}

testing::AssertionResult test::isOnly(const Outcome &outcome, FindingKind kind,
                                      unsigned line, llvm::StringRef part) {
  if (outcome.findings.size() != 1)
    return testing::AssertionFailure()
           << "expects one finding but got " << outcome.findings.size() << ": "
           << outcome.print();
  const Finding &finding = outcome.findings.front();
  std::string place = "k.mlir:" + std::to_string(line) + ":";
  if (finding.kind == kind && finding.kernel == "k" &&
      (line == 0 ? finding.location.empty()
                 : llvm::StringRef(finding.location).starts_with(place)) &&
      llvm::StringRef(finding.text).contains(part))
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "expects " << name(kind).str() << " at line " << line << " with '"
         << part.str() << "' but got " << finding.print();
}
