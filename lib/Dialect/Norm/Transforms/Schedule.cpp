//===- Schedule.cpp - Order and schedule of each program ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/Program.h"
#include "norm/Dialect/Norm/Transforms/Passes.h"
#include "norm/Support/DType.h"
#include "norm/Support/Targets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMSCHEDULEPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

/// Checks that a target converts what the body of a program converts. It
/// needn't to move elements about.
static LogicalResult checkTypes(GenericOp op, StringRef target) {
  auto check = [&](Operation *inner, TypeRange types, StringRef role) {
    for (Type type : types) {
      std::optional<::norm::DType> dtype;
      if (isa<Float8E4M3FNType>(type))
        dtype = ::norm::DType::F8E4M3FN;
      else if (isa<Float8E5M2Type>(type))
        dtype = ::norm::DType::F8E5M2;
      if (!dtype)
        continue;
      if (llvm::Error error = ::norm::checkDType(*dtype, role, target))
        return LogicalResult(
            inner->emitError(llvm::toString(std::move(error))));
    }
    return success();
  };
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<ShapedType>(operand.get().getType());
    if (!type || !isa<Float4E2M1FNType>(type.getElementType()))
      continue;
    if (type.getRank() == 0 || (!type.isDynamicDim(type.getRank() - 1) &&
                                type.getShape().back() % 2 != 0))
      return op.emitOpError()
             << "expects an even last extent of operand #"
             << operand.getOperandNumber()
             << ", two f4E2M1FN of which share a byte, but got " << type;
  }
  for (Operation &inner : *op.getBlock()) {
    if (isa<YieldOp, arith::ConstantOp, arith::SelectOp, arith::BitcastOp>(
            inner))
      continue;
    if (failed(check(&inner, inner.getOperandTypes(), "operand")) ||
        failed(check(&inner, inner.getResultTypes(), "result")))
      return failure();
  }
  return success();
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
    if (failed(program) || failed(checkTypes(op, target)))
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
