//===- GPUAddress.h - Arithmetic of addresses on a GPU ----------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_CONVERSION_NORMTILETOGPU_GPUADDRESS_H
#define NORM_LIB_CONVERSION_NORMTILETOGPU_GPUADDRESS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace mlir::norm {

/// Bytes of the widest access.
constexpr int64_t kPiece = 16;

inline Value constant32(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(
      b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

/// An address, `bytes` (i32, signed) further: what lies within a few words.
inline Value byteOffset(OpBuilder &b, Location loc, Value pointer,
                        Value bytes) {
  bytes = arith::ExtSIOp::create(b, loc, b.getI64Type(), bytes);
  return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

inline Value byteOffset(OpBuilder &b, Location loc, Value pointer,
                        int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(
      b, loc, pointer.getType(), b.getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

/// i32: the low bits of an address.
inline Value lowBits(OpBuilder &b, Location loc, Value pointer) {
  Value address = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), pointer);
  return arith::TruncIOp::create(b, loc, b.getI32Type(), address);
}

/// Bytes of shared memory in which a word of padding follows every 32, so that
/// the threads of a warp access different banks with a step of four words
/// between them.
constexpr int64_t padded(int64_t bytes) { return bytes + bytes / 128 * 4; }

} // namespace mlir::norm

#endif // NORM_LIB_CONVERSION_NORMTILETOGPU_GPUADDRESS_H
