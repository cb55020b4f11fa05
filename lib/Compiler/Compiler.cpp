//===- Compiler.cpp - From text to code and manifest ----------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Compiler/Compiler.h"

#include "Compilation.h"

#include "norm/Pipelines/Pipelines.h"
#include "norm/Support/Targets.h"

#include "mlir/IR/MLIRContext.h"

using namespace ::norm;

llvm::Error norm::setTuning(CompileOptions &options, llvm::StringRef file) {
  options.tuning = nullptr;
  options.usesShippedTuning = file != "none";
  if (file.empty() || file == "none")
    return llvm::Error::success();
  llvm::Expected<TuningFile> tuning = TuningFile::read(file);
  if (!tuning)
    return tuning.takeError();
  options.tuning = std::make_shared<const TuningFile>(std::move(*tuning));
  return llvm::Error::success();
}

/// Dialects stay loaded between compilations.
class Compiler::Impl {
public:
  Impl() : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
    context.printOpOnDiagnostic(false);
    // Ops that nobody here knows are left to the caller.
    context.allowUnregisteredDialects();
  }

  mlir::MLIRContext context;

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    mlir::norm::registerDialects(registry);
    return registry;
  }
};

Compiler::Compiler() : impl(std::make_unique<Impl>()) {}
Compiler::~Compiler() = default;

llvm::Expected<Artifact> Compiler::compile(llvm::StringRef text,
                                           llvm::StringRef fileName,
                                           const CompileOptions &options) {
  Compilation compilation(&impl->context, text, fileName, options);
  return compilation.compile();
}

llvm::Expected<std::string> Compiler::print(llvm::StringRef text,
                                            llvm::StringRef fileName,
                                            const CompileOptions &options,
                                            Level level,
                                            std::vector<std::string> *remarks) {
  Compilation compilation(&impl->context, text, fileName, options);
  return compilation.print(level, remarks);
}

llvm::Expected<Derivative>
Compiler::differentiate(llvm::StringRef text, llvm::StringRef fileName,
                        const DerivativeOptions &options) {
  Compilation compilation(&impl->context, text, fileName, {});
  return compilation.differentiate(options);
}
