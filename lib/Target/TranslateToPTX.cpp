//===- TranslateToPTX.cpp - The translation to PTX as a pass --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Target/PTX.h"
#include "norm/Target/Passes.h"

#include "norm/Support/Targets.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMTRANSLATETOPTXPASS
#include "norm/Target/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

void mlir::norm::registerTargetTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

namespace {
struct NormTranslateToPTXPass
    : public mlir::norm::impl::NormTranslateToPTXPassBase<
          NormTranslateToPTXPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registerTargetTranslations(registry);
  }

  void runOnOperation() override {
    SmallVector<gpu::GPUModuleOp> modules(
        getOperation().getOps<gpu::GPUModuleOp>());
    for (gpu::GPUModuleOp module : modules)
      if (failed(replaceByBinary(module)))
        return signalPassFailure();
  }

  LogicalResult replaceByBinary(gpu::GPUModuleOp module) {
    llvm::Expected<std::string> ptx =
        translateToPTX(module, {target, ptxVersion});
    if (!ptx)
      return module.emitError(llvm::toString(ptx.takeError()));

    // The options were checked by the translation.
    const ::norm::GPUTarget *chip = ::norm::findGPUTarget(target);
    unsigned version = ptxVersion ? ptxVersion : chip->ptxVersion;
    OpBuilder builder(module);
    auto targetAttr = NVVM::NVVMTargetAttr::get(
        &getContext(), /*optLevel=*/2, "nvptx64-nvidia-cuda", target,
        "+ptx" + std::to_string(version));
    auto object =
        gpu::ObjectAttr::get(targetAttr, gpu::CompilationTarget::Assembly,
                             builder.getStringAttr(*ptx));
    gpu::BinaryOp::create(builder, module.getLoc(), module.getName(),
                          /*offloadingHandler=*/Attribute(),
                          ArrayRef<Attribute>{object});
    module.erase();
    return success();
  }
};
} // namespace
