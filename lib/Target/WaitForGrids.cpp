//===- WaitForGrids.cpp - Programmatic dependent launch -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of a few rows takes about as long as its launch. With programmatic
// dependent launch its CTAs start while those before it end, and wait before
// their first access. The next kernel is let in at the very beginning: its CTAs
// take only what ours leave free, since it starts once all of ours have, and it
// waits until we are complete in turn.
//
// A grid of many CTAs neither needs that nor can afford the two instructions.
//
//===----------------------------------------------------------------------===//

#include "norm/Target/Passes.h"

#include "norm/Conversion/KernelHints.h"
#include "norm/Support/Targets.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMWAITFORGRIDSPASS
#include "norm/Target/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

static void insertWait(LLVM::LLVMFuncOp kernel, int64_t mostCtas) {
  Location loc = kernel.getLoc();
  Block *entry = &kernel.front();
  Block *rest = entry->splitBlock(entry->begin());
  Block *few = new Block;
  kernel.getBody().getBlocks().insert(rest->getIterator(), few);

  OpBuilder b = OpBuilder::atBlockEnd(entry);
  Type i32 = b.getI32Type();
  Value ctas = NVVM::GridDimXOp::create(b, loc, i32);
  Value most =
      LLVM::ConstantOp::create(b, loc, i32, b.getI32IntegerAttr(mostCtas));
  Value isFew =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ule, ctas, most);
  LLVM::CondBrOp::create(b, loc, isFew, few, rest);

  b.setInsertionPointToEnd(few);
  for (auto kind : {NVVM::GridDepActionKind::launch_dependents,
                    NVVM::GridDepActionKind::wait})
    NVVM::GriddepcontrolOp::create(b, loc, kind);
  LLVM::BrOp::create(b, loc, rest);
}

namespace {
struct NormWaitForGridsPass
    : public mlir::norm::impl::NormWaitForGridsPassBase<NormWaitForGridsPass> {
  using Base::Base;

  void runOnOperation() override {
    const ::norm::GPUTarget *chip = ::norm::findGPUTarget(target);
    if (!chip) {
      getOperation()->emitError()
          << "expects a GPU as target but got '" << target << "'";
      return signalPassFailure();
    }
    if (!chip->hasDependentLaunch())
      return;
    getOperation()->walk([&](LLVM::LLVMFuncOp kernel) {
      auto attr = kernel->getAttrOfType<IntegerAttr>(kDependentLaunchAttr);
      if (kernel.isExternal() || !attr || attr.getInt() <= 0)
        return;
      insertWait(kernel, attr.getInt());
    });
  }
};
} // namespace
