//===- Schedule.cpp - Order and schedule of each program ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/Program.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"
#include "norm/Support/Targets.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMSCHEDULEPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

namespace {
struct NormSchedule
    : public mlir::norm::impl::NormSchedulePassBase<NormSchedule> {
  using NormSchedulePassBase::NormSchedulePassBase;

  void runOnOperation() override {
    if (llvm::Error error = ::norm::checkTargetName(target)) {
      getOperation()->emitError(llvm::toString(std::move(error)));
      return signalPassFailure();
    }
    ::norm::TargetLimits limits;
    const ::norm::GPUTarget *gpu = ::norm::findGPUTarget(target);
    limits.isHost = !gpu;
    limits.sharedPerCta = gpu ? gpu->sharedPerCta : 0;
    WalkResult walk = getOperation()->walk(
        [&](GenericOp op) { return WalkResult(scheduleOne(op, limits)); });
    if (walk.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult scheduleOne(GenericOp op, const ::norm::TargetLimits &limits) {
    FailureOr<Program> program = Program::analyze(op);
    if (failed(program))
      return failure();
    ::norm::ProgramFacts facts = program->facts();
    // A schedule in the IR is the user's; the option overrides its fields.
    ::norm::Schedule value = op.getSchedule()
                                 ? toSchedule(*op.getSchedule())
                                 : ::norm::chooseSchedule(facts, limits);
    llvm::Error error = ::norm::overrideSchedule(value, schedule);
    if (!error)
      error = ::norm::checkSchedule(value, facts, limits, target);
    if (error)
      return op.emitError(llvm::toString(std::move(error)));
    op.setScheduleAttr(toAttribute(op.getContext(), value));
    op.setOrderAttr(program->order);
    return success();
  }
};
} // namespace
