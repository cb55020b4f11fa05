//===- Compilation.h - One text on its way to code --------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_COMPILER_COMPILATION_H
#define NORM_LIB_COMPILER_COMPILATION_H

#include "Diagnostics.h"
#include "KernelEntry.h"
#include "ManifestBuilder.h"

#include "norm/Compiler/Compiler.h"
#include "norm/Pipelines/Pipelines.h"
#include "norm/Support/Targets.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace norm {

/// The function to compile by the rules of `CompileOptions::entry`, one of
/// those that are `isPossible`.
llvm::Expected<mlir::func::FuncOp>
findEntry(mlir::ModuleOp module, llvm::StringRef wanted,
          llvm::function_ref<bool(mlir::func::FuncOp)> isPossible);

/// The stages of one compilation, each of which needs the ones before.
class Compilation {
public:
  Compilation(mlir::MLIRContext *context, llvm::StringRef text,
              llvm::StringRef fileName, const CompileOptions &options);

  llvm::Expected<Artifact> compile();
  llvm::Expected<std::string> print(Level level,
                                    std::vector<std::string> *remarks);
  llvm::Expected<Derivative> differentiate(const DerivativeOptions &options);

private:
  /// A function whose launches are described.
  struct Function {
    mlir::func::FuncOp op;
    EntrySignature signature;
    Manifest manifest;
  };

  llvm::Error checkOptions();
  llvm::Error parse();
  llvm::Error selectEntry();
  /// The same for a text with kernels, described in `kernel` or by launches.
  llvm::Error selectKernel();
  llvm::Error lowerTo(Level level);

  /// Names the arguments of a derived function as those of the function are
  /// named in the text, for the printer and for messages.
  void nameArguments(mlir::func::FuncOp derived, mlir::func::FuncOp function,
                     llvm::ArrayRef<DerivedValue> values);

  llvm::Error lowerToProgram();
  /// Cuts the programs out of an entry that does other work as well.
  llvm::Error outline();
  llvm::Error lowerToScheduled();
  llvm::Error lowerToTiled();
  /// To `gpu.func`s, or on the host to functions; describes the launches.
  llvm::Error lowerToKernels();
  /// Describes the launches of kernels that the text holds already.
  llvm::Error describeGivenKernels();
  llvm::Error describeLaunches();
  /// To the LLVM dialect: the `gpu.module`, or what runs on the host,
  /// `hostKernels`.
  llvm::Error lowerToLLVM();
  llvm::Expected<std::string> generateCode();
  llvm::Expected<std::string> printLLVM();

  llvm::Error runPasses(mlir::ModuleOp module,
                        llvm::function_ref<void(mlir::OpPassManager &)> build);
  /// Whether the code is an object for the host.
  bool isForHost() const { return !gpu || options.emulate; }
  llvm::Error makeNoKernelError() const;
  /// Moves all but the entry into a module of its own.
  void separateHostKernels();
  mlir::Operation *gpuModule();
  /// What the stages after outlining run on.
  mlir::ModuleOp root() { return kernelModule ? kernelModule : *module; }
  llvm::StringRef nameOf(mlir::BlockArgument argument);
  EntrySignature makeSignature(mlir::func::FuncOp function);
  std::vector<std::string>
  argumentNames(llvm::ArrayRef<mlir::BlockArgument> arguments);

  mlir::MLIRContext *context;
  llvm::StringRef text;
  llvm::StringRef fileName;
  CompileOptions options;
  DiagnosticCollector diagnostics;
  mlir::norm::PipelineOptions pipelineOptions;
  const GPUTarget *gpu = nullptr; ///< null on the host

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OwningOpRef<mlir::ModuleOp> hostKernels;
  /// The functions that were cut out of the entry, in a nested module.
  mlir::ModuleOp kernelModule;
  std::vector<Function> outlined;
  std::vector<ScheduleDecision> schedules;
  mlir::func::FuncOp entry; ///< null for a kernel that nothing launches
  mlir::gpu::GPUFuncOp kernel; ///< that one
  bool hasGivenKernels = false;
  EntrySignature signature;
  Manifest manifest;
};

} // namespace norm

#endif // NORM_LIB_COMPILER_COMPILATION_H
