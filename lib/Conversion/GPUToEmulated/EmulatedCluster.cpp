//===- EmulatedCluster.cpp - Clusters and copies of the emulated device ---===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedFunction.h"

#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

LogicalResult FunctionEmulator::rewriteCluster(Operation *op) {
  auto site = [&](int param = -1) { return i32(sites.add(op, param)); };
  bool isKnown = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ClusterBarrierOp) {
        call("cluster_barrier", {thread, site()}, {});
      })
      .Case([&](WarpBarrierOp) { call("warp_barrier", {thread, site()}, {}); })
      .Case([&](MbarrierInitOp init) {
        call("mbarrier_init",
             {thread, init.getBarrier(), i32(init.getCount()), site()}, {});
      })
      .Case([&](MbarrierExpectOp expect) {
        call("mbarrier_expect",
             {thread, expect.getBarrier(), expect.getBytes(), site()}, {});
      })
      .Case([&](MbarrierArriveOp arrive) {
        call("mbarrier_arrive", {thread, arrive.getBarrier(), site()}, {});
      })
      .Case([&](MbarrierWaitOp wait) {
        call("mbarrier_wait",
             {thread, wait.getBarrier(), wait.getParity(), site()}, {});
      })
      .Case([&](BulkLoadOp load) {
        call("bulk_load",
             {thread, load.getDestination(), load.getSource(), load.getBytes(),
              load.getBarrier(), site(paramOf(load.getSource()))},
             {});
      })
      .Case([&](BulkStoreOp store) {
        call("bulk_store",
             {thread, store.getDestination(), store.getSource(),
              store.getBytes(), site(paramOf(store.getDestination()))},
             {});
      })
      .Case([&](TicketOp ticket) {
        Value number =
            call("ticket",
                 {thread, ticket.getCounter(), ticket.getRows(),
                  ticket.getClusters(), site(paramOf(ticket.getCounter()))},
                 b.getI64Type())
                .getResult(0);
        ticket.replaceAllUsesWith(number);
      })
      .Case([&](BulkCommitOp) { call("bulk_commit", {thread, site()}, {}); })
      .Case([&](BulkWaitOp wait) {
        call("bulk_wait",
             {thread, i32(wait.getPending()), i32(wait.getRead()), site()}, {});
      })
      .Case([&](ProxyFenceOp) { call("proxy_fence", {thread, site()}, {}); })
      .Case([&](SendOp send) {
        unsigned bits = send.getValue().getType().getIntOrFloatBitWidth();
        call("send",
             {thread, toBits(send.getValue()), i32(bits / 8),
              send.getDestination(), send.getBarrier(), send.getRank(), site()},
             {});
      })
      .Default([&](Operation *) { isKnown = false; });
  if (!isKnown)
    return reject(op);
  op->erase();
  return success();
}
