//===- Pipelines.cpp - Which passes run in which order --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Pipelines/Pipelines.h"

#include "norm/Conversion/Passes.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"
#include "norm/Target/Passes.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void mlir::norm::buildProgramPipeline(OpPassManager &pm,
                                      const PipelineOptions &options) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createNormGeneralizePass());
  NormFusePassOptions fuse;
  fuse.explain = options.explain;
  functions.addPass(createNormFusePass(fuse));
  functions.addPass(createNormRewriteWelfordPass());
  functions.addPass(createNormExpandMathPass());
}

void mlir::norm::buildSchedulePipeline(OpPassManager &pm,
                                       const PipelineOptions &options) {
  NormSchedulePassOptions schedule;
  schedule.target = options.target;
  schedule.schedule = options.schedule;
  pm.addNestedPass<func::FuncOp>(createNormSchedulePass(schedule));
}

void mlir::norm::buildBufferizePipeline(OpPassManager &pm,
                                        const PipelineOptions &options) {
  pm.addPass(createNormResultsToDestinationsPass());
  // Results that no program owns are copied by programs made just now.
  buildSchedulePipeline(pm, options);
  pm.addPass(createNormBufferizePass());
}

void mlir::norm::buildTilePipeline(OpPassManager &pm) {
  pm.addPass(createNormTilePass());
}

void mlir::norm::buildGPUPipeline(OpPassManager &pm) {
  pm.addPass(createConvertNormTileToGPUPass());
}

void mlir::norm::buildHandWrittenPipeline(OpPassManager &pm) {
  pm.addNestedPass<gpu::GPUModuleOp>(createNormUnpackKernelMemRefsPass());
}

void mlir::norm::buildNVVMPipeline(OpPassManager &pm,
                                   const PipelineOptions &options) {
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(createNormExpandUnitBarriersPass());
  NormLegalizeMathPassOptions math;
  math.target = options.target;
  kernels.addPass(createNormLegalizeMathPass(math));
  kernels.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToNVVMOpsOptions nvvm;
  nvvm.indexBitwidth = 64;
  nvvm.useBarePtrCallConv = true;
  kernels.addPass(createConvertGpuOpsToNVVMOps(nvvm));
  kernels.addPass(createReconcileUnrealizedCastsPass());
}

void mlir::norm::buildPTXPipeline(OpPassManager &pm,
                                  const PipelineOptions &options) {
  NormTranslateToPTXPassOptions ptx;
  ptx.target = options.target;
  ptx.ptxVersion = options.ptxVersion;
  pm.addPass(createNormTranslateToPTXPass(ptx));
}

void mlir::norm::buildEmulatedPipeline(OpPassManager &pm) {
  pm.addPass(createConvertGPUToEmulatedPass());
}

void mlir::norm::buildHostPipeline(OpPassManager &pm) {
  pm.addPass(createConvertNormTileToHostPass());
}

void mlir::norm::buildHostLLVMPipeline(OpPassManager &pm) {
  pm.addPass(createNormLegalizeMathPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

//===----------------------------------------------------------------------===//
// Whole pipelines
//===----------------------------------------------------------------------===//

static void buildNormToTiledPipeline(OpPassManager &pm,
                                     const PipelineOptions &options) {
  buildProgramPipeline(pm, options);
  buildSchedulePipeline(pm, options);
  buildBufferizePipeline(pm, options);
  buildTilePipeline(pm);
}

void mlir::norm::buildNormToGPUPipeline(OpPassManager &pm,
                                        const PipelineOptions &options) {
  buildNormToTiledPipeline(pm, options);
  buildGPUPipeline(pm);
}

void mlir::norm::buildNormToPTXPipeline(OpPassManager &pm,
                                        const PipelineOptions &options) {
  buildNormToGPUPipeline(pm, options);
  buildNVVMPipeline(pm, options);
  buildPTXPipeline(pm, options);
}

void mlir::norm::buildNormToHostPipeline(OpPassManager &pm,
                                         const PipelineOptions &options) {
  buildNormToTiledPipeline(pm, options);
  buildHostPipeline(pm);
}

void mlir::norm::buildNormToEmulatedPipeline(OpPassManager &pm,
                                             const PipelineOptions &options) {
  buildNormToGPUPipeline(pm, options);
  buildEmulatedPipeline(pm);
}

namespace {
/// The options as the command line has them.
struct CommandLineOptions : public PassPipelineOptions<CommandLineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("host, or sm_80 to sm_121"),
                             llvm::cl::init("host")};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("fields of the schedule that override the model's"),
      llvm::cl::init("")};
  Option<unsigned> ptxVersion{
      *this, "ptx-version",
      llvm::cl::desc("PTX version, 80 is 8.0; 0 for the target's first"),
      llvm::cl::init(0)};

  Option<bool> explain{*this, "explain",
                       llvm::cl::desc("remark on each decision of norm-fuse"),
                       llvm::cl::init(false)};

  PipelineOptions get() const {
    return {target, schedule, ptxVersion, explain};
  }
};
} // namespace

void mlir::norm::registerPipelines() {
  PassPipelineRegistration<CommandLineOptions>(
      "norm-to-gpu-pipeline", "lower tensors to gpu.func",
      [](OpPassManager &pm, const CommandLineOptions &options) {
        buildNormToGPUPipeline(pm, options.get());
      });
  PassPipelineRegistration<CommandLineOptions>(
      "norm-to-ptx-pipeline", "lower tensors to gpu.binary with PTX",
      [](OpPassManager &pm, const CommandLineOptions &options) {
        buildNormToPTXPipeline(pm, options.get());
      });
  PassPipelineRegistration<CommandLineOptions>(
      "norm-to-emulated-pipeline",
      "lower tensors to functions of the emulated device",
      [](OpPassManager &pm, const CommandLineOptions &options) {
        buildNormToEmulatedPipeline(pm, options.get());
      });
  PassPipelineRegistration<CommandLineOptions>(
      "norm-to-host-pipeline", "lower tensors to host functions",
      [](OpPassManager &pm, const CommandLineOptions &options) {
        buildNormToHostPipeline(pm, options.get());
      });
}
