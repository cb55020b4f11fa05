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

static Residency toAttr(::norm::Residency residency) {
  switch (residency) {
  case ::norm::Residency::Registers:
    return Residency::Registers;
  case ::norm::Residency::Shared:
    return Residency::Shared;
  case ::norm::Residency::Stream:
    return Residency::Stream;
  }
  llvm_unreachable("covered switch");
}

static ::norm::Schedule toValue(ScheduleAttr attr) {
  ::norm::Schedule schedule;
  schedule.threads = attr.getThreads();
  schedule.rowsPerCta = attr.getRowsPerCta();
  schedule.residency = static_cast<::norm::Residency>(attr.getResidency());
  schedule.prefetch = attr.getPrefetch();
  schedule.vector = attr.getVector();
  schedule.maxRegisters = attr.getMaxRegisters();
  return schedule;
}

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
                                 ? toValue(*op.getSchedule())
                                 : ::norm::chooseSchedule(facts, limits);
    llvm::Error error = ::norm::overrideSchedule(value, schedule);
    if (!error)
      error = ::norm::checkSchedule(value, facts, limits, target);
    if (error)
      return op.emitError(llvm::toString(std::move(error)));
    MLIRContext *context = op.getContext();
    op.setScheduleAttr(ScheduleAttr::get(
        context, value.threads, value.rowsPerCta, toAttr(value.residency),
        value.prefetch, value.vector, value.maxRegisters));
    if (!op.getOrder())
      op.setOrderAttr(
          OrderAttr::get(context, facts.leaf, facts.lanes));
    return success();
  }
};
} // namespace
