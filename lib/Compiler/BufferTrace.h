//===- BufferTrace.h - Which buffer a value is a view of --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_COMPILER_BUFFERTRACE_H
#define NORM_LIB_COMPILER_BUFFERTRACE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace norm {

/// A value as a view of a whole buffer from its first element on.
struct BufferTrace {
  struct Axis {
    /// A product of extents of the buffer, in terms of its dims, with a factor
    /// and a divisor that leaves no rest; the two have no factor in common.
    struct Product {
      std::vector<unsigned> dims;
      uint64_t factor = 1;
      uint64_t divisor = 1;
      void multiply(const Product &other);
    };
    Product extent;
    /// The stride is `steps` times that of a dim of the buffer; no dim for an
    /// axis of extent 1, which nobody steps along.
    std::optional<unsigned> strideDim;
    Product steps;
  };
  /// A dim of the buffer that is split into parts has such a multiple as
  /// extent.
  struct Multiple {
    unsigned dim;
    uint64_t of;
  };

  mlir::Value base;
  llvm::SmallVector<Axis, 2> axes;
  llvm::SmallVector<Multiple, 1> multiples;
};

/// Follows reshapes and casts to where the memory comes from; a value that
/// isn't a memref is its own base. Fails, with a diagnostic, at another op.
mlir::FailureOr<BufferTrace> traceBuffer(mlir::Value value);

} // namespace norm

#endif // NORM_LIB_COMPILER_BUFFERTRACE_H
