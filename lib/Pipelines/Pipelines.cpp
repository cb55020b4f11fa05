//===- Pipelines.cpp - Which passes run in which order --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Pipelines/Pipelines.h"

#include "norm/Conversion/Passes.h"
#include "norm/Dialect/Norm/Transforms/SchedulePass.h"
#include "norm/Target/Passes.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
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
  // Before a norm is fused with what makes its input, by which the form of its
  // moments is chosen; and after, for those that were written as several ops.
  functions.addPass(createNormRewriteWelfordPass());
  NormFusePassOptions fuse;
  fuse.explain = options.explain;
  functions.addPass(createNormFusePass(fuse));
  functions.addPass(createNormRewriteWelfordPass());
  NormExpandMathPassOptions math;
  math.math = ::norm::toString(options.math).str();
  functions.addPass(createNormExpandMathPass(math));
}

void mlir::norm::buildOutlinePipeline(OpPassManager &pm) {
  pm.addPass(createNormOutlinePass());
}

void mlir::norm::buildSchedulePipeline(OpPassManager &pm,
                                       const PipelineOptions &options) {
  NormSchedulePassOptions schedule;
  schedule.target = options.target;
  schedule.schedule = options.schedule;
  schedule.tuning = options.tuning;
  schedule.device = options.device;
  schedule.explain = options.explain;
  pm.addNestedPass<func::FuncOp>(
      createNormSchedulePass(schedule, options.sources));
}

void mlir::norm::buildBufferizePipeline(OpPassManager &pm,
                                        const PipelineOptions &options) {
  pm.addPass(createNormResultsToDestinationsPass());
  // Results that no program owns are copied by programs made just now; of the
  // others all has been said.
  PipelineOptions quiet = options;
  quiet.explain = false;
  quiet.sources.listener = nullptr;
  buildSchedulePipeline(pm, quiet);
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
  kernels.addPass(createNormExpandClusterOpsPass());
  NormLegalizeMathPassOptions math;
  math.target = options.target;
  kernels.addPass(createNormLegalizeMathPass(math));
  kernels.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToNVVMOpsOptions nvvm;
  nvvm.indexBitwidth = 64;
  nvvm.useBarePtrCallConv = true;
  kernels.addPass(createConvertGpuOpsToNVVMOps(nvvm));
  kernels.addPass(createReconcileUnrealizedCastsPass());
  NormHintCachesPassOptions caches;
  caches.target = options.target;
  kernels.addPass(createNormHintCachesPass(caches));
  NormWaitForGridsPassOptions grids;
  grids.target = options.target;
  kernels.addPass(createNormWaitForGridsPass(grids));
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

namespace {
/// Goes on with the module that norm-outline made, or with the whole one where
/// there was nothing to cut out.
class KernelModulePass
    : public PassWrapper<KernelModulePass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KernelModulePass)

  explicit KernelModulePass(OpPassManager stages) : stages(std::move(stages)) {}

  StringRef getName() const override { return "KernelModulePass"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    stages.getDependentDialects(registry);
  }
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ModuleOp kernels = findKernelModule(module);
    OpPassManager pipeline = stages;
    if (failed(runPipeline(pipeline, kernels ? kernels : module)))
      signalPassFailure();
  }

private:
  OpPassManager stages;
};
} // namespace

/// From tensors to programs, then `build` from there on.
static void buildFromNorm(OpPassManager &pm, const PipelineOptions &options,
                          llvm::function_ref<void(OpPassManager &)> build) {
  buildProgramPipeline(pm, options);
  buildOutlinePipeline(pm);
  OpPassManager stages(ModuleOp::getOperationName());
  buildSchedulePipeline(stages, options);
  buildBufferizePipeline(stages, options);
  buildTilePipeline(stages);
  build(stages);
  pm.addPass(std::make_unique<KernelModulePass>(std::move(stages)));
}

void mlir::norm::buildNormToGPUPipeline(OpPassManager &pm,
                                        const PipelineOptions &options) {
  buildFromNorm(pm, options, buildGPUPipeline);
}

void mlir::norm::buildNormToPTXPipeline(OpPassManager &pm,
                                        const PipelineOptions &options) {
  buildFromNorm(pm, options, [&](OpPassManager &stages) {
    buildGPUPipeline(stages);
    buildNVVMPipeline(stages, options);
    buildPTXPipeline(stages, options);
  });
}

void mlir::norm::buildNormToHostPipeline(OpPassManager &pm,
                                         const PipelineOptions &options) {
  buildFromNorm(pm, options, buildHostPipeline);
}

void mlir::norm::buildNormToEmulatedPipeline(OpPassManager &pm,
                                             const PipelineOptions &options) {
  buildFromNorm(pm, options, [](OpPassManager &stages) {
    buildGPUPipeline(stages);
    buildEmulatedPipeline(stages);
  });
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
  Option<::norm::MathMode> math{
      *this, "math",
      llvm::cl::desc("how functions of f16 and bf16 are computed"),
      llvm::cl::init(::norm::MathMode::Exact),
      llvm::cl::values(clEnumValN(::norm::MathMode::Exact, "exact",
                                  "the same bits on every target"),
                       clEnumValN(::norm::MathMode::Hardware, "hardware",
                                  "by a GPU's approximations"))};
  Option<std::string> tuning{
      *this, "tuning",
      llvm::cl::desc("file of schedules that were found by measuring, or none"),
      llvm::cl::init("")};
  Option<std::string> device{*this, "device",
                             llvm::cl::desc("product to look them up by"),
                             llvm::cl::init("")};

  PipelineOptions get() const {
    return {target, schedule, ptxVersion, explain, math, tuning, device};
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
