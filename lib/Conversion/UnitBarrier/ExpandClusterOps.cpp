//===- ExpandClusterOps.cpp - Clusters and bulk copies in PTX -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of it is assembly with side effects, which nothing is moved across. The
// intrinsics that LLVM has say that they touch their operands only, so that it
// would move loads of what a copy brings in front of the wait for it.
//
//===----------------------------------------------------------------------===//

#include "norm/Conversion/Passes.h"
#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMEXPANDCLUSTEROPSPASS
#include "norm/Conversion/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

namespace {
/// Writes one op.
class Expansion {
public:
  explicit Expansion(Operation *op) : op(op), b(op), loc(op->getLoc()) {}

  /// Whether the op is one of those that are written here.
  bool run();

private:
  /// An address, or what else the text needs; `operands` get `r`, `l`, `f` or
  /// `d` by their types.
  void emit(const Twine &text, ValueRange operands = {});
  void draw(TicketOp ticket);
  Value inRegister(Value value, std::string &constraints);

  Operation *op;
  OpBuilder b;
  Location loc;
};
} // namespace

/// The value as assembly takes it; appends the constraint. Addresses of shared
/// memory have 32 bits in PTX.
Value Expansion::inRegister(Value value, std::string &constraints) {
  Type type = value.getType();
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type)) {
    bool isShared = pointer.getAddressSpace() == 3;
    type = b.getIntegerType(isShared ? 32 : 64);
    value = LLVM::PtrToIntOp::create(b, loc, type, value);
  }
  bool isFloat = isa<FloatType>(type);
  bool isWide = type.getIntOrFloatBitWidth() == 64;
  constraints += isFloat ? (isWide ? "d," : "f,") : (isWide ? "l," : "r,");
  return value;
}

void Expansion::emit(const Twine &text, ValueRange operands) {
  std::string constraints;
  SmallVector<Value> values;
  for (Value operand : operands)
    values.push_back(inRegister(operand, constraints));
  LLVM::InlineAsmOp::create(
      b, loc, TypeRange(), values, text.str(), constraints + "~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
}

/// Who gets the last number makes the counter zero for the next launch, which
/// begins when this one is complete.
void Expansion::draw(TicketOp ticket) {
  Type type = b.getI64Type();
  auto constant = [&](int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  };
  Value number = LLVM::AtomicRMWOp::create(
      b, loc, LLVM::AtomicBinOp::add, ticket.getCounter(), constant(1),
      LLVM::AtomicOrdering::monotonic, "device", /*alignment=*/8);
  Value last =
      arith::SubIOp::create(b, loc, type, ticket.getRows(), constant(1));
  Value isLast =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number, last);
  scf::IfOp::create(b, loc, isLast, [&](OpBuilder &nested, Location) {
    LLVM::StoreOp::create(
        nested, loc,
        arith::ConstantOp::create(nested, loc, nested.getI64IntegerAttr(0)),
        ticket.getCounter(), /*alignment=*/8,
        /*isVolatile=*/false, /*isNonTemporal=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic, "device");
    scf::YieldOp::create(nested, loc);
  });
  ticket.replaceAllUsesWith(number);
}

bool Expansion::run() {
  bool isKnown = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ClusterBarrierOp) {
        emit("fence.mbarrier_init.release.cluster;\n\t"
             "barrier.cluster.arrive.release;\n\t"
             "barrier.cluster.wait.acquire;");
      })
      .Case([&](WarpBarrierOp) { emit("bar.warp.sync 0xffffffff;"); })
      .Case([&](MbarrierInitOp init) {
        emit("mbarrier.init.shared::cta.b64 [$0], " + Twine(init.getCount()) +
                 ";",
             init.getBarrier());
      })
      .Case([&](MbarrierExpectOp expect) {
        emit("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
             {expect.getBarrier(), expect.getBytes()});
      })
      .Case([&](MbarrierArriveOp arrive) {
        emit("{\n\t.reg .pred p;\n\t.reg .b32 l;\n\t"
             "bar.warp.sync 0xffffffff;\n\t"
             "mov.u32 l, %laneid;\n\t"
             "setp.eq.u32 p, l, 0;\n\t"
             "@p mbarrier.arrive.shared::cta.b64 _, [$0];\n\t}",
             arrive.getBarrier());
      })
      .Case([&](MbarrierWaitOp wait) {
        // The scope is the CTA's, for data of other CTAs as well: it lies in
        // shared memory. A wider one would only empty the L1 cache.
        emit("{\n\t.reg .pred p;\n\tW:\n\t"
             "mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n\t"
             "@p bra D;\n\tbra W;\n\tD:\n\t}",
             {wait.getBarrier(), wait.getParity()});
      })
      .Case([&](BulkLoadOp load) {
        emit("cp.async.bulk.shared::cluster.global.mbarrier"
             "::complete_tx::bytes [$0], [$1], $2, [$3];",
             {load.getDestination(), load.getSource(), load.getBytes(),
              load.getBarrier()});
      })
      .Case([&](BulkStoreOp store) {
        emit("cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2;",
             {store.getDestination(), store.getSource(), store.getBytes()});
      })
      .Case([&](BulkCommitOp) { emit("cp.async.bulk.commit_group;"); })
      .Case([&](BulkWaitOp wait) {
        emit("cp.async.bulk.wait_group" +
             Twine(wait.getRead() ? ".read " : " ") + Twine(wait.getPending()) +
             ";");
      })
      .Case([&](ProxyFenceOp) { emit("fence.proxy.async.shared::cta;"); })
      .Case([&](SendOp send) {
        unsigned bits = send.getValue().getType().getIntOrFloatBitWidth();
        emit("{\n\t.reg .b32 d, m;\n\t"
             "mapa.shared::cluster.u32 d, $1, $3;\n\t"
             "mapa.shared::cluster.u32 m, $2, $3;\n\t"
             "st.async.shared::cluster.mbarrier::complete_tx::bytes.b" +
                 Twine(bits) + " [d], $0, [m];\n\t}",
             {send.getValue(), send.getDestination(), send.getBarrier(),
              send.getRank()});
      })
      .Case([&](TicketOp ticket) { draw(ticket); })
      .Default([&](Operation *) { isKnown = false; });
  return isKnown;
}

namespace {
struct NormExpandClusterOps
    : public mlir::norm::impl::NormExpandClusterOpsPassBase<
          NormExpandClusterOps> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<NormTileDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (Expansion(op).run())
        op->erase();
  }
};
} // namespace
