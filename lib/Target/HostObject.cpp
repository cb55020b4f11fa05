//===- HostObject.cpp - From functions to host objects --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Target/Object.h"

#include "Codegen.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace mlir;
using namespace mlir::norm;

static bool isKnownCpu(const llvm::Triple &triple, llvm::StringRef cpu) {
  initializeTargets();
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return true; // reported where the machine is made
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  return info && info->isCPUStringValid(cpu);
}

static llvm::Expected<MachineOptions> machineFor(const HostOptions &options) {
  MachineOptions machine;
  machine.triple = llvm::sys::getProcessTriple();
  machine.cpu = options.cpu;
  llvm::SubtargetFeatures features(options.features);
  if (machine.cpu.empty()) {
    machine.cpu = llvm::sys::getHostCPUName().str();
    llvm::SubtargetFeatures own;
    for (const auto &[name, enabled] : llvm::sys::getHostCPUFeatures())
      own.AddFeature(name, enabled);
    // The last one counts, so the caller's come after the machine's own.
    for (const std::string &feature : features.getFeatures())
      own.AddFeature(feature);
    features = own;
  } else if (!isKnownCpu(llvm::Triple(machine.triple), machine.cpu)) {
    return llvm::createStringError("unknown host CPU '" + machine.cpu + "'");
  }
  machine.features = features.getString();
  return machine;
}

/// Vectors in the kernels are as wide as the machine's registers. Some CPUs
/// prefer narrower ones for code of which little is vector code.
static void preferWideVectors(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("prefer-vector-width", "512");
}

static llvm::Expected<std::string>
translate(ModuleOp module, const HostOptions &options, CodeForm form) {
  llvm::Expected<MachineOptions> machine = machineFor(options);
  if (!machine)
    return machine.takeError();
  return generateCode(module, *machine, form, /*allowExternal=*/true,
                      preferWideVectors);
}

llvm::Expected<std::string>
mlir::norm::translateToObject(ModuleOp module, const HostOptions &options) {
  return translate(module, options, CodeForm::Object);
}

llvm::Expected<std::string>
mlir::norm::translateToLLVM(ModuleOp module, const HostOptions &options) {
  return translate(module, options, CodeForm::LLVM);
}

llvm::Expected<std::string>
mlir::norm::translateToAssembly(ModuleOp module, const HostOptions &options) {
  return translate(module, options, CodeForm::Assembly);
}
