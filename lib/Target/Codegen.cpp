//===- Codegen.cpp - From an LLVM dialect module to code ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codegen.h"
#include "Guard.h"

#include "mlir/IR/Operation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/IPO/FunctionAttrs.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ConstraintElimination.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace mlir;
using namespace mlir::norm;

void mlir::norm::initializeTargets() {
  static const bool done = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)done;
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const MachineOptions &options) {
  initializeTargets();
  llvm::Triple triple(options.triple);
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError(message);

  llvm::TargetOptions targetOptions;
  // Whether a multiplication and an addition are one operation is said by the
  // program alone.
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, options.cpu, options.features, targetOptions, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return llvm::createStringError("no machine for target " + options.triple);
  return machine;
}

/// Collects the errors that LLVM reports through its context, which would end
/// the process otherwise.
static void collectDiagnostic(const llvm::DiagnosticInfo *info,
                              void *messages) {
  if (info->getSeverity() != llvm::DS_Error)
    return;
  llvm::raw_string_ostream stream(*static_cast<std::string *>(messages));
  llvm::DiagnosticPrinterRawOStream printer(stream);
  if (!stream.str().empty())
    stream << "; ";
  info->print(printer);
}

/// The functions that are used but not defined.
static llvm::Error checkDefined(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty())
      return llvm::createStringError("expects all functions to be defined but "
                                     "found a call of '" +
                                     function.getName() + "'");
  return llvm::Error::success();
}

/// The passes that find something in a kernel: no call and no memory slot is
/// left in it, its loops are as the schedule wants them, and ptxas optimizes
/// again. The O2 pipeline makes the same PTX in three times the time.
static llvm::ModulePassManager buildKernelPasses() {
  llvm::FunctionPassManager functions;
  functions.addPass(llvm::EarlyCSEPass());
  functions.addPass(llvm::InstCombinePass());
  functions.addPass(llvm::SimplifyCFGPass());
  functions.addPass(llvm::ConstraintEliminationPass());
  functions.addPass(llvm::createFunctionToLoopPassAdaptor(
      llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  functions.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  functions.addPass(llvm::InstCombinePass());
  functions.addPass(
      llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().sinkCommonInsts(true)));
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
  // Finds the arguments that are only read, whose loads may use the cache that
  // isn't kept coherent.
  passes.addPass(llvm::createModuleToPostOrderCGSCCPassAdaptor(
      llvm::PostOrderFunctionAttrsPass()));
  return passes;
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  // Functions come vectorized; what is left scalar are tails.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes =
      machine.getTargetTriple().isNVPTX()
          ? buildKernelPasses()
          : builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  passes.run(module, modules);
}

static llvm::Expected<std::string>
emit(llvm::Module &module, llvm::TargetMachine &machine, CodeForm form) {
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream stream(code);
  if (form == CodeForm::LLVM) {
    module.print(stream, nullptr);
    return code.str().str();
  }
  llvm::legacy::PassManager passes;
  auto type = form == CodeForm::Object ? llvm::CodeGenFileType::ObjectFile
                                       : llvm::CodeGenFileType::AssemblyFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type,
                                  /*DisableVerify=*/true))
    return llvm::createStringError("target " + machine.getTargetTriple().str() +
                                   " writes no such file");
  passes.run(module);
  return code.str().str();
}

llvm::Expected<std::string>
mlir::norm::generateCode(Operation *op, const MachineOptions &options,
                         CodeForm form, bool allowExternal,
                         llvm::function_ref<void(llvm::Module &)> prepare) {
  std::string messages;
  std::string code;
  llvm::Error error = runGuarded([&]() -> llvm::Error {
    auto machine = createMachine(options);
    if (!machine)
      return machine.takeError();

    llvm::LLVMContext context;
    context.setDiagnosticHandlerCallBack(collectDiagnostic, &messages);
    std::unique_ptr<llvm::Module> module =
        translateModuleToLLVMIR(op, context, "norm");
    if (!module)
      return llvm::createStringError("translation to LLVM IR failed");
    module->setTargetTriple((*machine)->getTargetTriple());
    module->setDataLayout((*machine)->createDataLayout());
    if (!allowExternal)
      if (llvm::Error undefined = checkDefined(*module))
        return undefined;

    prepare(*module);
    optimize(*module, **machine);
    llvm::Expected<std::string> result = emit(*module, **machine, form);
    if (!result)
      return result.takeError();
    code = std::move(*result);
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  if (!messages.empty())
    return llvm::createStringError("code generation failed: " + messages);
  return code;
}
