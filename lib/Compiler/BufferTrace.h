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
  /// Where an axis is a part of the dims that it lies in.
  struct Part {
    bool isWhole = true;
    /// One step along the axis is so many along the innermost of its dims; 0
    /// where that isn't known.
    int64_t step = 1;
    /// The extent of the axis, where it isn't static, is that of its dims
    /// divided by this.
    int64_t divisor = 1;
    bool operator==(const Part &) const = default;
  };

  mlir::Value base;
  /// For each axis of the value, the dims of the buffer whose product it is, or
  /// a part of it; none for an axis of extent 1.
  llvm::SmallVector<std::vector<unsigned>, 2> axes;
  /// For each axis, which part.
  llvm::SmallVector<Part, 2> parts;

  /// The dim of the buffer whose stride, times `parts[axis].step`, is that of
  /// `axis`. Any dim for an axis of extent 1, which nobody steps along; none for
  /// a buffer without dims and where the step isn't known.
  std::optional<unsigned> strideDim(unsigned axis) const;
};

/// Follows reshapes and casts to where the memory comes from; a value that
/// isn't a memref is its own base. Fails, with a diagnostic, at another op, and
/// at a reshape that cuts across the dims of the buffer.
mlir::FailureOr<BufferTrace> traceBuffer(mlir::Value value);

} // namespace norm

#endif // NORM_LIB_COMPILER_BUFFERTRACE_H
