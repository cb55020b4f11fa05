//===- GPUToEmulated.cpp - gpu.func for the emulated device ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedFunction.h"
#include "norm/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::norm {
#define GEN_PASS_DEF_CONVERTGPUTOEMULATEDPASS
#include "norm/Conversion/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

namespace {
struct ConvertGPUToEmulated
    : public mlir::norm::impl::ConvertGPUToEmulatedPassBase<
          ConvertGPUToEmulated> {
  void runOnOperation() override;
};
} // namespace

void ConvertGPUToEmulated::runOnOperation() {
  ModuleOp module = getOperation();
  SiteTable sites;
  SmallVector<gpu::GPUModuleOp> sources(module.getOps<gpu::GPUModuleOp>());
  if (sources.empty())
    return;
  for (gpu::GPUModuleOp source : sources) {
    for (auto kernel : source.getOps<gpu::GPUFuncOp>())
      if (failed(FunctionEmulator(module, kernel, sites).run()))
        return signalPassFailure();
    source.erase();
  }
  module->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
  std::string text = sites.text();
  OpBuilder b(module.getBodyRegion());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
  LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/true,
                         LLVM::Linkage::External, "norm_emulated_sites",
                         b.getStringAttr(text));
}
