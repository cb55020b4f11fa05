//===- PTX.cpp - From kernels to PTX --------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Target/PTX.h"

#include "Codegen.h"
#include "norm/Support/Targets.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace mlir::norm;

static llvm::Expected<MachineOptions> machineFor(const PTXOptions &options) {
  const ::norm::GPUTarget *target = ::norm::findGPUTarget(options.chip);
  if (!target) {
    if (llvm::Error error = ::norm::checkTargetName(options.chip))
      return std::move(error);
    return llvm::createStringError("target " + options.chip + " has no PTX");
  }
  llvm::Expected<unsigned> version =
      ::norm::choosePtxVersion(*target, options.ptxVersion, 0);
  if (!version)
    return version.takeError();
  return MachineOptions{"nvptx64-nvidia-cuda", options.chip,
                        "+ptx" + std::to_string(*version)};
}

static llvm::Expected<std::string>
translate(gpu::GPUModuleOp module, const PTXOptions &options, CodeForm form) {
  llvm::Expected<MachineOptions> machine = machineFor(options);
  if (!machine)
    return machine.takeError();
  return generateCode(module, *machine, form, /*allowExternal=*/false,
                      [](llvm::Module &) {});
}

llvm::Expected<std::string>
mlir::norm::translateToPTX(gpu::GPUModuleOp module, const PTXOptions &options) {
  return translate(module, options, CodeForm::Assembly);
}

llvm::Expected<std::string>
mlir::norm::translateToLLVM(gpu::GPUModuleOp module,
                            const PTXOptions &options) {
  return translate(module, options, CodeForm::LLVM);
}
