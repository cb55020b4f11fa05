//===- Schedule.cpp - Order and schedule of each program ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/Program.h"
#include "norm/Analysis/ProgramText.h"
#include "norm/Dialect/Norm/Transforms/SchedulePass.h"
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
  NormSchedule(const NormSchedulePassOptions &options,
               ::norm::ScheduleSources sources)
      : NormSchedulePassBase(options), sources(std::move(sources)) {}

  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LogicalResult scheduleOne(GenericOp op);
  /// The model's choice, or what was found by measuring, with the fields set.
  FailureOr<::norm::Schedule> choose(GenericOp op,
                                     ::norm::ScheduleDecision &decision);
  std::optional<::norm::TuningEntry>
  findTuned(::norm::ScheduleDecision &decision) const;
  llvm::Expected<::norm::Schedule>
  readTuned(const ::norm::TuningEntry &entry,
            const ::norm::ScheduleDecision &decision) const;
  /// Sets the fields of the option: those for all programs, and those for this
  /// one.
  llvm::Error complete(::norm::Schedule &value,
                       const ::norm::ScheduleDecision &decision) const;

  ::norm::ScheduleSources sources;
  ::norm::TargetLimits limits;
};
} // namespace

LogicalResult NormSchedule::initialize(MLIRContext *context) {
  if (sources.device.empty())
    sources.device = device;
  if (tuning.empty())
    return success();
  if (tuning == "none") {
    sources.shipped.clear();
    return success();
  }
  llvm::Expected<::norm::TuningFile> file = ::norm::TuningFile::read(tuning);
  if (!file)
    return emitError(UnknownLoc::get(context))
           << llvm::toString(file.takeError());
  sources.tuning = std::make_shared<const ::norm::TuningFile>(std::move(*file));
  return success();
}

void NormSchedule::runOnOperation() {
  if (llvm::Error error = ::norm::checkTargetName(target)) {
    getOperation()->emitError(llvm::toString(std::move(error)));
    return signalPassFailure();
  }
  const ::norm::GPUTarget *gpu = ::norm::findGPUTarget(target);
  limits.isHost = !gpu;
  limits.sharedPerCta = gpu ? gpu->sharedPerCta : 0;
  limits.mostClusterCtas = gpu ? gpu->mostClusterCtas() : 1;
  WalkResult walk = getOperation()->walk(
      [&](GenericOp op) { return WalkResult(scheduleOne(op)); });
  if (walk.wasInterrupted())
    signalPassFailure();
}

std::optional<::norm::TuningEntry>
NormSchedule::findTuned(::norm::ScheduleDecision &decision) const {
  if (limits.isHost)
    return std::nullopt;
  ::norm::TuningKey key{sources.device, target, decision.program};
  decision.source = ::norm::ScheduleSource::File;
  if (sources.tuning)
    if (const ::norm::TuningEntry *entry = sources.tuning->find(key))
      return *entry;
  decision.source = ::norm::ScheduleSource::Shipped;
  return ::norm::findInTexts(sources.shipped, key);
}

llvm::Error
NormSchedule::complete(::norm::Schedule &value,
                       const ::norm::ScheduleDecision &decision) const {
  SmallVector<StringRef> parts;
  StringRef(schedule).split(parts, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [program, fields] = part.split(':');
    bool isForOne = part.contains(':');
    if (isForOne && program.trim() != decision.program)
      continue;
    if (llvm::Error error =
            ::norm::overrideSchedule(value, isForOne ? fields : part))
      return error;
  }
  return ::norm::checkSchedule(value, decision.facts, limits, target);
}

llvm::Expected<::norm::Schedule>
NormSchedule::readTuned(const ::norm::TuningEntry &entry,
                        const ::norm::ScheduleDecision &decision) const {
  if (entry.order != decision.order)
    return llvm::createStringError("expects order " + decision.order +
                                   " but got " + entry.order);
  // Fields that it doesn't name are at their defaults.
  ::norm::Schedule value;
  if (llvm::Error error = ::norm::overrideSchedule(value, entry.schedule))
    return std::move(error);
  if (llvm::Error error = complete(value, decision))
    return std::move(error);
  return value;
}

FailureOr<::norm::Schedule>
NormSchedule::choose(GenericOp op, ::norm::ScheduleDecision &decision) {
  if (std::optional<::norm::TuningEntry> entry = findTuned(decision)) {
    llvm::Expected<::norm::Schedule> tuned = readTuned(*entry, decision);
    if (tuned)
      return *tuned;
    op.emitRemark("passes over '")
        << entry->schedule << "' of " << toString(decision.source) << ": "
        << llvm::toString(tuned.takeError());
  }
  decision.source = ::norm::ScheduleSource::Model;
  ::norm::Schedule value = decision.model;
  if (llvm::Error error = complete(value, decision))
    return op.emitError(llvm::toString(std::move(error)));
  return value;
}

LogicalResult NormSchedule::scheduleOne(GenericOp op) {
  FailureOr<Program> program = Program::analyze(op);
  if (failed(program) || failed(checkTypes(op, target)))
    return failure();
  ::norm::ScheduleDecision decision;
  decision.facts = program->facts();
  decision.limits = limits;
  decision.order = printOrder(program->order);
  decision.program = ::norm::hashProgram(printProgramText(op));
  decision.model = ::norm::chooseSchedule(decision.facts, limits);
  FailureOr<::norm::Schedule> value = failure();
  // A schedule in the IR is the user's; the option overrides its fields.
  if (op.getSchedule()) {
    decision.source = ::norm::ScheduleSource::Given;
    value = toSchedule(*op.getSchedule());
    if (llvm::Error error = complete(*value, decision))
      return op.emitError(llvm::toString(std::move(error)));
  } else {
    value = choose(op, decision);
  }
  if (failed(value))
    return failure();
  decision.schedule = *value;
  if (explain)
    op.emitRemark("program ")
        << decision.program << ", schedule by " << toString(decision.source)
        << ": " << toString(*value);
  if (sources.listener) {
    decision.what = summarizeProgram(op);
    sources.listener(decision);
  }
  op.setScheduleAttr(toAttribute(op.getContext(), *value));
  op.setOrderAttr(program->order);
  return success();
}

std::unique_ptr<Pass>
mlir::norm::createNormSchedulePass(const NormSchedulePassOptions &options,
                                   ::norm::ScheduleSources sources) {
  return std::make_unique<NormSchedule>(options, std::move(sources));
}
