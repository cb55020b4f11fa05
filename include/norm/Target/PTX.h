//===- PTX.h - From kernels to PTX ------------------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TARGET_PTX_H
#define NORM_TARGET_PTX_H

#include "llvm/Support/Error.h"
#include <string>

namespace mlir {
namespace gpu {
class GPUModuleOp;
} // namespace gpu

namespace norm {

struct PTXOptions {
  /// `sm_90`.
  std::string chip;
  /// 80 is PTX 8.0; 0 for the first one that has the chip.
  unsigned ptxVersion = 0;
};

/// The PTX text of `module`, whose content must be in the LLVM and NVVM
/// dialects. Arithmetic is kept as written: nothing is contracted, reassociated
/// or flushed. An unknown chip or version, an instruction that the chip lacks,
/// a call of a function that isn't defined, and a failure inside of LLVM are
/// errors.
llvm::Expected<std::string> translateToPTX(gpu::GPUModuleOp module,
                                           const PTXOptions &options);

/// The LLVM IR that `translateToPTX` generates code from, as text.
llvm::Expected<std::string> translateToLLVM(gpu::GPUModuleOp module,
                                            const PTXOptions &options);

} // namespace norm
} // namespace mlir

#endif // NORM_TARGET_PTX_H
