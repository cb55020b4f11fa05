//===- FusionModel.h - What fusing two programs is worth --------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fusion is tried: both programs as one are built, looked at and erased.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_DIALECT_NORM_TRANSFORMS_FUSIONMODEL_H
#define NORM_LIB_DIALECT_NORM_TRANSFORMS_FUSIONMODEL_H

#include "ProgramFusion.h"

namespace mlir::norm {

/// Asks whether two programs may be one kernel, given that their bodies can be
/// inlined: whether a kernel can run it if one can run each, and whether it
/// need not read its inputs again because a CTA can't hold as much.
///
/// `order` is that of the reductions of the result, null for the natural one.
/// Otherwise fails with the reason, which completes "not fused:". Succeeds with
/// what is no longer read and written, `4x8 f32 twice (256 bytes)`.
FailureOr<std::string> judgeFusion(ProgramFusion &fusion, OrderAttr order,
                                   std::string &reason);

} // namespace mlir::norm

#endif // NORM_LIB_DIALECT_NORM_TRANSFORMS_FUSIONMODEL_H
