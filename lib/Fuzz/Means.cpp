//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A text with means as the compiler takes them.
//
//===----------------------------------------------------------------------===//

#include "Execution.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"
#include "norm/Pipelines/Pipelines.h"
#include "llvm/Support/raw_ostream.h"

using namespace norm;
using namespace norm::fuzz;

std::string fuzz::rewriteMeans(llvm::StringRef text) {
  mlir::DialectRegistry registry;
  mlir::norm::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return text.str();
  mlir::PassManager pm(&context);
  pm.addPass(mlir::norm::createNormGeneralizePass());
  pm.addPass(mlir::norm::createNormRewriteWelfordPass());
  if (mlir::failed(pm.run(*module)))
    return text.str();
  std::string result;
  llvm::raw_string_ostream(result) << *module;
  return result;
}
