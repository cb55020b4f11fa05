//===- CheckKernels.cpp - What kernels a target can run -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Analysis/Program.h"
#include "norm/Conversion/KernelLowering.h"
#include "norm/Conversion/StorageTypes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

/// The types of elements, for diagnostics.
static constexpr llvm::StringLiteral kElements =
    "f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU";
/// Buffers and kept values also have elements that share bytes.
static constexpr llvm::StringLiteral kPacked = ", f4E2M1FN";

static LogicalResult checkOperands(KernelOp kernel) {
  for (BlockArgument arg : kernel.getBlock()->getArguments()) {
    Type type = arg.getType();
    auto memref = dyn_cast<MemRefType>(type);
    if (memref && !isStorable(memref.getElementType()))
      return kernel.emitOpError()
             << "expects buffers of " << kElements << kPacked
             << " or integers of 1, 8, 16, 32 or 64 bits but operand #"
             << arg.getArgNumber() << " is " << type;
    if (!memref && (!isStorable(type) || isa<Float4E2M1FNType>(type)) &&
        !type.isIndex())
      return kernel.emitOpError()
             << "expects scalars of " << kElements
             << ", index or integers of 1, 8, 16, 32 or 64 bits but operand #"
             << arg.getArgNumber() << " is " << type;
  }
  return success();
}

/// Checks types in the body and adds up what is kept between phases.
static LogicalResult checkBody(KernelOp kernel, ::norm::ProgramFacts &facts) {
  WalkResult walk = kernel.getBody().walk([&](Operation *op) -> WalkResult {
    if (auto hold = dyn_cast<HoldOp>(op)) {
      Type element = hold.getValue().getType().getElementType();
      if (!isStorable(element))
        return op->emitOpError()
               << "expects " << kElements << kPacked
               << " or integers of 1, 8, 16, 32 or 64 bits to keep but got "
               << element;
      facts.slotBytes += (element.getIntOrFloatBitWidth() + 7) / 8;
    } else if (auto phase = dyn_cast<PhaseOp>(op)) {
      facts.phases += phase.getNumResults() != 0;
      for (Type type : phase.getResultTypes()) {
        auto partial = cast<PartialType>(type);
        Type state = partial.getType();
        if (!isStorable(state) || state.isInteger(1))
          return op->emitOpError()
                 << "expects reductions of f32, f64 or integers of 8, 16, 32 "
                    "or 64 bits but got "
                 << state;
        facts.stateBytes += stateBytes(partial.getKind(), state);
      }
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Bytes of a column of what is read of operands with all dims.
static int64_t countInputBytes(KernelOp kernel) {
  llvm::SmallDenseSet<Value> sources;
  int64_t bytes = 0;
  kernel.walk([&](LoadOp load) {
    if (load.getRow() && sources.insert(load.getSource()).second)
      bytes += (getElementTypeOrSelf(load.getType()).getIntOrFloatBitWidth() +
                7) / 8;
  });
  return bytes;
}

LogicalResult mlir::norm::checkKernels(ModuleOp module,
                                       const ::norm::TargetLimits &limits,
                                       StringRef target) {
  for (KernelOp kernel : module.getOps<KernelOp>()) {
    ::norm::ProgramFacts facts;
    facts.columns = kernel.getColumns();
    facts.leaf = kernel.getOrder().getLeaf();
    facts.lanes = kernel.getOrder().getLanes();
    facts.inner = kernel.getOrder().getInner();
    // What a chunk must divide is the verifier's to check.
    facts.run = kernel.getSchedule().getVector();
    facts.slotBytes = facts.stateBytes = 0;
    facts.strands = kernel.getSpace().getStrands();
    facts.inputBytes = countInputBytes(kernel);
    if (facts.columns > ::norm::maxColumns)
      return kernel.emitOpError() << "expects at most " << ::norm::maxColumns
                                  << " columns but got " << facts.columns;
    if (failed(checkOperands(kernel)) || failed(checkBody(kernel, facts)))
      return failure();
    if (llvm::Error error = ::norm::checkSchedule(
            toSchedule(kernel.getSchedule()), facts, limits, target))
      return kernel.emitOpError(llvm::toString(std::move(error)));
  }
  return success();
}

LogicalResult mlir::norm::checkLaunches(ModuleOp module) {
  SymbolTableCollection symbols;
  WalkResult walk = module.walk([&](LaunchOp launch) -> WalkResult {
    if (launch.getVariants())
      return WalkResult::advance();
    auto kernel = dyn_cast_or_null<KernelOp>(
        symbols.lookupSymbolIn(module, launch.getKernelAttr()));
    if (!kernel)
      return launch.emitOpError() << "expects a kernel of the module but got "
                                  << launch.getKernelAttr();
    TypeRange expected = kernel.getBlock()->getArgumentTypes();
    if (launch.getOperandTypes() != expected)
      return launch.emitOpError() << "expects operands of types " << expected
                                  << " but got " << launch.getOperandTypes();
    if (launch.getSpace() != kernel.getSpace())
      return launch.emitOpError()
             << "expects space " << kernel.getSpace()
             << ", that of its kernel, but got " << launch.getSpace();
    // Both say which parameters there are.
    if (launch.getOrder() != kernel.getOrder() ||
        launch.getSchedule() != kernel.getSchedule())
      return launch.emitOpError()
             << "expects the order and the schedule of its kernel, "
             << kernel.getOrder() << " and " << kernel.getSchedule()
             << ", but got " << launch.getOrder() << " and "
             << launch.getSchedule();
    for (BlockArgument operand : kernel.getBlock()->getArguments())
      if (!launch.isRead(operand.getArgNumber()) && !operand.use_empty())
        return launch.emitOpError()
               << "expects a kernel that doesn't use operand "
               << operand.getArgNumber() << ", which is unread, but it does";
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}
