//===- HostWorkers.cpp - Kernels that sum rows on the host ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostWorkers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

int64_t HostWorkers::paddedColumns() const {
  return llvm::alignTo(plan.columns, plan.chunkSize());
}

VectorType HostWorkers::chunkOf(SumRowsOp op) const {
  SumRowsOp sum = op;
  return cast<VectorType>(sum.getValue().getType());
}

LogicalResult HostWorkers::lowerRange(Value begin, Value end) {
  auto workers = scf::ForOp::create(b, loc, begin, end, index(1));
  entry = workers;
  kernel.walk([&](SumRowsOp op) {
    ops.push_back(op);
    sums[op] = stackBuffer(strands() * paddedColumns(),
                           chunkOf(op).getElementType(), /*zeroed=*/false);
  });
  b.setInsertionPointToStart(workers.getBody());
  Value worker = workers.getInductionVar();
  clearSums();
  Value bound = arith::IndexCastOp::create(b, loc, b.getIndexType(), rows);
  Value first = arith::MulIOp::create(b, loc, worker, index(strands()));
  auto each = scf::ForOp::create(b, loc, index(0), index(strands()), index(1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(each.getBody());
    strand = each.getInductionVar();
    auto loop =
        scf::ForOp::create(b, loc, arith::AddIOp::create(b, loc, first, strand),
                           bound, index(space.getWorkers() * strands()));
    b.setInsertionPointToStart(loop.getBody());
    // What rows are found by is computed after something.
    Value row = arith::AddIOp::create(b, loc, loop.getInductionVar(), index(0));
    if (failed(lowerWork(row)))
      return failure();
  }
  loc = kernel.getLoc();
  combineStrands();
  storeSums(worker);
  return success();
}

void HostWorkers::emitSumRows(SumRowsOp op, Value value, const Chunk &chunk) {
  Value at = arith::MulIOp::create(b, loc, strand, index(paddedColumns()));
  at = arith::AddIOp::create(b, loc, at, chunk.column);
  Value sum =
      vector::LoadOp::create(b, loc, chunkOf(op), sums[op], ValueRange{at});
  sum = arith::AddFOp::create(b, loc, sum, value);
  vector::StoreOp::create(b, loc, sum, sums[op], ValueRange{at});
}

void HostWorkers::clearSums() {
  for (SumRowsOp op : ops) {
    VectorType type = chunkOf(op);
    auto zero = DenseElementsAttr::get(
        type, Attribute(b.getFloatAttr(type.getElementType(), -0.0)));
    emitLoop(index(0), index(strands() * paddedColumns()), plan.chunkSize(),
             [&](Value at) {
               Value identity = arith::ConstantOp::create(b, loc, zero);
               vector::StoreOp::create(b, loc, identity, sums[op],
                                       ValueRange{at});
               return success();
             });
  }
}

void HostWorkers::combineStrands() {
  for (SumRowsOp op : ops)
    for (int64_t half = strands() / 2; half >= 1; half /= 2)
      emitLoop(
          index(0), index(half * paddedColumns()), plan.chunkSize(),
          [&](Value at) {
            VectorType type = chunkOf(op);
            Value upper = arith::AddIOp::create(b, loc, at,
                                                index(half * paddedColumns()));
            Value sum = arith::AddFOp::create(
                b, loc,
                vector::LoadOp::create(b, loc, type, sums[op], ValueRange{at}),
                vector::LoadOp::create(b, loc, type, sums[op],
                                       ValueRange{upper}));
            vector::StoreOp::create(b, loc, sum, sums[op], ValueRange{at});
            return success();
          });
}

void HostWorkers::storeSums(Value worker) {
  for (SumRowsOp op : ops) {
    const Buffer &buffer = bufferOf(op.getDestination());
    Value base = arith::MulIOp::create(b, loc, worker, index(plan.columns));
    emitLoop(index(0), index(plan.columns), 1, [&](Value column) {
      Value sum = memref::LoadOp::create(b, loc, sums[op], ValueRange{column});
      Value at = arith::AddIOp::create(b, loc, base, column);
      LLVM::StoreOp::create(
          b, loc, sum,
          elementPointer(buffer.pointer, toI64(at), buffer.element));
      return success();
    });
  }
}
