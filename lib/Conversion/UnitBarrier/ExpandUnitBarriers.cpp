//===- ExpandUnitBarriers.cpp - How CTAs meet -----------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By the PTX memory model, what a thread wrote before the CTA's barrier is
// ordered before the first thread's release (fence and addition), that before
// every acquire which sees it directly or through later additions, and that
// before what threads do after the second barrier.
//
//===----------------------------------------------------------------------===//

#include "norm/Conversion/Passes.h"
#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMEXPANDUNITBARRIERSPASS
#include "norm/Conversion/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;
using mlir::norm_tile::UnitBarrierOp;

/// The scope in which the CTAs of a launch see each other.
static constexpr llvm::StringLiteral kScope = "device";

namespace {
/// Writes one barrier.
class Expansion {
public:
  explicit Expansion(UnitBarrierOp op)
      : op(op), b(op), loc(op.getLoc()), counter(op.getCounter()) {}

  void run() {
    gpu::BarrierOp::create(b, loc);
    Value leads = isFirstOfSeveral();
    scf::IfOp::create(b, loc, leads, [&](OpBuilder &builder, Location) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(builder.getInsertionBlock());
      arriveAndWait();
      scf::YieldOp::create(b, loc);
    });
    gpu::BarrierOp::create(b, loc);
    if (op.getLast())
      scf::IfOp::create(b, loc, leads, [&](OpBuilder &builder, Location) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(builder.getInsertionBlock());
        depart();
        scf::YieldOp::create(b, loc);
      });
    op.erase();
  }

private:
  Value i32(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value other) {
    return arith::CmpIOp::create(b, loc, predicate, a, other);
  }
  /// The fences are by themselves: the NVPTX backend forgets the order of a
  /// read-modify-write.
  void fence(LLVM::AtomicOrdering ordering) {
    LLVM::FenceOp::create(b, loc, ordering, kScope);
  }
  Value increment(Value word) {
    return LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::add, word,
                                     i32(1), LLVM::AtomicOrdering::monotonic,
                                     kScope, /*alignment=*/4);
  }

  Value isFirstOfSeveral() {
    Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    return arith::AndIOp::create(
        b, loc, compare(arith::CmpIPredicate::eq, thread, zero),
        compare(arith::CmpIPredicate::ugt, op.getArrivals(), i32(1)));
  }

  void arriveAndWait() {
    fence(LLVM::AtomicOrdering::release);
    increment(counter);
    Value all = arith::MulIOp::create(b, loc, op.getArrivals(),
                                      i32(int64_t(op.getPhase()) + 1));
    auto wait = scf::WhileOp::create(b, loc, TypeRange(), ValueRange());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&wait.getBefore());
    Value arrived = LLVM::LoadOp::create(
        b, loc, b.getI32Type(), counter, /*alignment=*/4, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire, kScope);
    scf::ConditionOp::create(
        b, loc, compare(arith::CmpIPredicate::ult, arrived, all), ValueRange());
    b.createBlock(&wait.getAfter());
    scf::YieldOp::create(b, loc);
  }

  void depart() {
    Value departures =
        LLVM::GEPOp::create(b, loc, counter.getType(), b.getI32Type(), counter,
                            ArrayRef<LLVM::GEPArg>{1});
    // The zeros of the last one follow all other accesses.
    fence(LLVM::AtomicOrdering::acq_rel);
    Value before = increment(departures);
    fence(LLVM::AtomicOrdering::acq_rel);
    Value others = arith::SubIOp::create(b, loc, op.getArrivals(), i32(1));
    Value isLast = compare(arith::CmpIPredicate::eq, before, others);
    scf::IfOp::create(b, loc, isLast, [&](OpBuilder &nested, Location) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(nested.getInsertionBlock());
      for (Value word : {counter, departures})
        LLVM::StoreOp::create(b, loc, i32(0), word, /*alignment=*/4,
                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                              /*isInvariantGroup=*/false,
                              LLVM::AtomicOrdering::monotonic, kScope);
      scf::YieldOp::create(b, loc);
    });
  }

  UnitBarrierOp op;
  OpBuilder b;
  Location loc;
  Value counter;
};

struct NormExpandUnitBarriers
    : public mlir::norm::impl::NormExpandUnitBarriersPassBase<
          NormExpandUnitBarriers> {
  void runOnOperation() override {
    SmallVector<UnitBarrierOp> barriers;
    getOperation().walk([&](UnitBarrierOp op) { barriers.push_back(op); });
    for (UnitBarrierOp op : barriers)
      Expansion(op).run();
  }
};
} // namespace
