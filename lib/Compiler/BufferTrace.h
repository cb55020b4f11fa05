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
    /// The extent is `factor` times those of the buffer's `dims`.
    std::vector<unsigned> dims;
    uint64_t factor = 1;
    /// The stride is `strideFactor` times that of a dim of the buffer; no dim
    /// for an axis of extent 1, which nobody steps along.
    std::optional<unsigned> strideDim;
    uint64_t strideFactor = 1;
  };

  mlir::Value base;
  llvm::SmallVector<Axis, 2> axes;
};

/// Follows reshapes and casts to where the memory comes from; a value that
/// isn't a memref is its own base. Fails, with a diagnostic, at another op.
mlir::FailureOr<BufferTrace> traceBuffer(mlir::Value value);

} // namespace norm

#endif // NORM_LIB_COMPILER_BUFFERTRACE_H
