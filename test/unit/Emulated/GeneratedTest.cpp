//===- GeneratedTest.cpp - Faults planted in the compiler's own kernels ---===//
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
#include "norm/Compiler/Compiler.h"
#include "norm/Pipelines/Pipelines.h"
#include "norm/Target/Object.h"
#include "llvm/ADT/STLExtras.h"

using namespace norm;

namespace {

constexpr const char *kText = R"(
func.func @main(%x: tensor<?x4096xf32>) -> tensor<?x4096xf32> {
  %y = norm.layer_norm %x axes = [1] eps = 1.0e-5 : tensor<?x4096xf32> -> tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
})";

/// Compiles the program as the compiler does, but changes its gpu.funcs.
llvm::Expected<std::string>
compileChanged(llvm::function_ref<void(mlir::Operation *)> change) {
  mlir::DialectRegistry registry;
  mlir::norm::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      kText, mlir::ParserConfig(&context));
  mlir::norm::PipelineOptions options;
  options.target = "sm_90";
  mlir::PassManager first(&context), second(&context);
  mlir::norm::buildNormToGPUPipeline(first, options);
  if (!module || failed(first.run(*module)))
    return llvm::createStringError("cannot compile to gpu.func");
  module->lookupSymbol("main")->erase();
  llvm::SmallVector<mlir::Operation *> ops;
  module->walk([&](mlir::Operation *op) { ops.push_back(op); });
  llvm::for_each(ops, change);
  mlir::norm::buildEmulatedPipeline(second);
  mlir::norm::buildHostLLVMPipeline(second);
  if (failed(second.run(*module)))
    return llvm::createStringError("cannot compile to the LLVM dialect");
  return mlir::norm::translateToObject(*module);
}

/// Runs changed code on three rows of ones.
llvm::Error runChanged(llvm::function_ref<void(mlir::Operation *)> change) {
  llvm::Expected<std::string> object = compileChanged(change);
  if (!object)
    return object.takeError();
  Compiler compiler;
  CompileOptions options;
  options.target = "sm_90";
  options.emulate = true;
  llvm::Expected<Artifact> artifact =
      compiler.compile(kText, "main.mlir", options);
  if (!artifact)
    return artifact.takeError();
  auto device = openEmulatedDevice();
  if (!device)
    return device.takeError();
  auto executable = (*device)->load(*object, artifact->manifest);
  if (!executable)
    return executable.takeError();
  constexpr int64_t kRows = 3, kColumns = 4096;
  std::vector<float> ones(kRows * kColumns, 1.0f);
  llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(ones.data()),
                                ones.size() * sizeof(float));
  auto x = (*device)->allocate(bytes.size());
  auto y = (*device)->allocate(bytes.size());
  if (!x)
    return x.takeError();
  if (!y)
    return y.takeError();
  if (llvm::Error error = (*device)->copyIn(**x, 0, bytes))
    return error;
  return (*executable)
      ->launch({BoundArgument::contiguous(DType::F32, (*x)->address(),
                                          {kRows, kColumns}),
                BoundArgument::contiguous(DType::F32, (*y)->address(),
                                          {kRows, kColumns})});
}

/// The kinds of findings of changed code.
std::vector<FindingKind>
kindsIn(llvm::function_ref<void(mlir::Operation *)> change) {
  std::vector<FindingKind> kinds;
  llvm::Error rest =
      llvm::handleErrors(runChanged(change), [&](const EmulationError &error) {
        for (const Finding &finding : error.findings())
          kinds.push_back(finding.kind);
      });
  EXPECT_EQ(llvm::toString(std::move(rest)), "");
  return kinds;
}

} // namespace

TEST(EmulatedGenerated, UnchangedKernelsHaveNoFault) {
  EXPECT_TRUE(kindsIn([](mlir::Operation *) {}).empty());
}

TEST(EmulatedGenerated, ABarrierLessIsARace) {
  unsigned erased = 0;
  std::vector<FindingKind> kinds = kindsIn([&](mlir::Operation *op) {
    if (op->getName().getStringRef() == "gpu.barrier") {
      op->erase();
      ++erased;
    }
  });
  EXPECT_GT(erased, 0u);
  EXPECT_TRUE(llvm::is_contained(kinds, FindingKind::SharedRace));
}

TEST(EmulatedGenerated, AStoreLessIsIncomplete) {
  // The last store of each variant.
  std::vector<FindingKind> kinds = kindsIn([&](mlir::Operation *op) {
    if (op->getName().getStringRef() != "llvm.store")
      return;
    for (mlir::Operation *next = op->getNextNode(); next;
         next = next->getNextNode())
      if (next->getName().getStringRef() == "llvm.store")
        return;
    op->erase();
  });
  EXPECT_EQ(kinds, std::vector{FindingKind::IncompleteOutput});
}

TEST(EmulatedGenerated, AWiderAccessThanTheBufferAllowsIsMisaligned) {
  std::vector<FindingKind> kinds = kindsIn([&](mlir::Operation *op) {
    if (op->getName().getStringRef() == "llvm.load")
      op->setAttr("alignment",
                  mlir::IntegerAttr::get(
                      mlir::IntegerType::get(op->getContext(), 64), 4096));
  });
  EXPECT_TRUE(llvm::is_contained(kinds, FindingKind::Misaligned));
}
