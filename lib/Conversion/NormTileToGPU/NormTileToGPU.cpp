//===- NormTileToGPU.cpp - Tiled kernels as gpu.func ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPULowering.h"
#include "norm/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::norm {
#define GEN_PASS_DEF_CONVERTNORMTILETOGPUPASS
#include "norm/Conversion/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

/// Declares the CTA's dynamic shared memory.
static void declareShared(OpBuilder &b, gpu::GPUModuleOp module) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/false,
                         LLVM::Linkage::External, "norm_shared", Attribute(),
                         /*alignment=*/128, /*addrSpace=*/3);
}

namespace {
struct ConvertNormTileToGPU
    : public mlir::norm::impl::ConvertNormTileToGPUPassBase<
          ConvertNormTileToGPU> {
  void runOnOperation() override;
  FailureOr<ArrayAttr> convert(KernelOp kernel, gpu::GPUModuleOp module);
};
} // namespace

FailureOr<ArrayAttr> ConvertNormTileToGPU::convert(KernelOp kernel,
                                                   gpu::GPUModuleOp module) {
  OpBuilder b(kernel.getContext());
  SmallVector<Attribute> variants;
  int64_t widest = widestAlignment(kernel);
  int64_t narrowest = 16;
  for (Type type : kernel.getBlock()->getArgumentTypes())
    if (auto memref = dyn_cast<MemRefType>(type); memref && memref.getRank() == 2)
      narrowest =
          std::min<int64_t>(narrowest, memref.getElementTypeBitWidth() / 8);
  SmallVector<int64_t, 2> alignments;
  if (widest > narrowest)
    alignments.push_back(widest);
  alignments.push_back(1);
  for (int64_t alignment : alignments) {
    std::string name = kernel.getSymName().str();
    if (alignment == 1 && alignments.size() > 1)
      name += "_unaligned";
    GPULowering lowering(b, kernel, alignment);
    auto function = lowering.lower(module, name);
    if (failed(function))
      return failure();
    if (lowering.getSharedBytes() && !module.lookupSymbol("norm_shared"))
      declareShared(b, module);
    ScheduleAttr schedule = kernel.getSchedule();
    variants.push_back(VariantAttr::get(
        b.getContext(), b.getStringAttr(name), alignment,
        schedule.getThreads() * schedule.getRowsPerCta(),
        schedule.getRowsPerCta(), lowering.getSharedBytes()));
  }
  return b.getArrayAttr(variants);
}

void ConvertNormTileToGPU::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<KernelOp> kernels(module.getOps<KernelOp>());
  if (kernels.empty())
    return;
  OpBuilder b(module.getBodyRegion());
  auto gpuModule = gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  b.getUnitAttr());
  llvm::StringMap<ArrayAttr> variants;
  for (KernelOp kernel : kernels) {
    FailureOr<ArrayAttr> converted = convert(kernel, gpuModule);
    if (failed(converted))
      return signalPassFailure();
    variants[kernel.getSymName()] = *converted;
    kernel.erase();
  }
  module.walk([&](LaunchOp launch) {
    launch.setVariantsAttr(variants.lookup(launch.getKernel()));
  });
}
