//===- Pipelines.h - Which passes run in which order ------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place where the order of passes is written. A compilation is a
// sequence of stages, each of which ends at a level of the IR that can be
// printed and read back; `docs/Pipelines.md` describes them.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_PIPELINES_PIPELINES_H
#define NORM_PIPELINES_PIPELINES_H

#include "norm/Analysis/ScheduleChoice.h"
#include "norm/Support/MathMode.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir {
class DialectRegistry;
class OpPassManager;

namespace norm {

struct PipelineOptions {
  /// `host`, or `sm_80` to `sm_121`.
  std::string target = "host";
  /// Fields of the schedule that override the model's, as for norm-schedule.
  std::string schedule;
  /// 80 is PTX 8.0; 0 for the first one that has the target.
  unsigned ptxVersion = 0;
  /// Whether norm-fuse and norm-schedule remark on each of their decisions.
  bool explain = false;
  /// How functions of f16 and bf16 are computed.
  ::norm::MathMode math = ::norm::MathMode::Exact;
  /// The tuning file and the device, as for norm-schedule.
  std::string tuning;
  std::string device;
  /// The same, as values.
  ::norm::ScheduleSources sources = {};
};

/// The dialects of all levels, and the interfaces through which upstream's
/// passes convert, bufferize and translate them. Nothing else is needed to run
/// the stages in a context.
void registerDialects(DialectRegistry &registry);

//===----------------------------------------------------------------------===//
// Stages, in order
//===----------------------------------------------------------------------===//

/// From named and elementwise ops on tensors to fused programs whose only
/// functions are exactly rounded ones.
void buildProgramPipeline(OpPassManager &pm,
                          const PipelineOptions &options = PipelineOptions());

/// Where functions have ops that no kernel takes in, cuts their programs out
/// into a nested module; the stages below run on that one then.
void buildOutlinePipeline(OpPassManager &pm);

/// Gives each program its order and its schedule.
void buildSchedulePipeline(OpPassManager &pm, const PipelineOptions &options);

/// From programs on tensors to programs on buffers. The functions' results
/// become further arguments.
void buildBufferizePipeline(OpPassManager &pm, const PipelineOptions &options);

/// From programs on buffers to tiled kernels and their launches.
void buildTilePipeline(OpPassManager &pm);

/// From tiled kernels to `gpu.func`s.
void buildGPUPipeline(OpPassManager &pm);

/// From `gpu.func`s that were written by hand to those that the compiler makes.
void buildHandWrittenPipeline(OpPassManager &pm);

/// From `gpu.func`s to the LLVM and NVVM dialects.
void buildNVVMPipeline(OpPassManager &pm, const PipelineOptions &options);

/// From the LLVM and NVVM dialects to `gpu.binary`s with PTX.
void buildPTXPipeline(OpPassManager &pm, const PipelineOptions &options);

/// From `gpu.func`s to host functions that the emulated device runs once for
/// every GPU thread. `buildHostLLVMPipeline` comes next.
void buildEmulatedPipeline(OpPassManager &pm);

/// From tiled kernels to host functions over a range of rows.
void buildHostPipeline(OpPassManager &pm);

/// From host functions to the LLVM dialect. The module may have kernels only.
void buildHostLLVMPipeline(OpPassManager &pm);

//===----------------------------------------------------------------------===//
// Whole pipelines
//===----------------------------------------------------------------------===//

/// From tensors to `gpu.func`s: `--norm-to-gpu-pipeline`.
void buildNormToGPUPipeline(OpPassManager &pm, const PipelineOptions &options);

/// From tensors to `gpu.binary`s with PTX: `--norm-to-ptx-pipeline`.
void buildNormToPTXPipeline(OpPassManager &pm, const PipelineOptions &options);

/// From tensors to functions of the emulated device:
/// `--norm-to-emulated-pipeline`.
void buildNormToEmulatedPipeline(OpPassManager &pm,
                                 const PipelineOptions &options);

/// From tensors to host functions: `--norm-to-host-pipeline`.
void buildNormToHostPipeline(OpPassManager &pm, const PipelineOptions &options);

/// Makes the whole pipelines available by name, with the options `target`,
/// `schedule`, `ptx-version`, `explain`, `math`, `tuning` and `device`.
void registerPipelines();

/// Makes all passes of norm and its pipelines available by name, to another
/// project's `*-opt` as well.
void registerPasses();

} // namespace norm
} // namespace mlir

#endif // NORM_PIPELINES_PIPELINES_H
