//===- Cubin.h - Assembling PTX ---------------------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX is assembled by the driver when it's loaded. Where NVIDIA's own assembler
// is installed it can be done before, and it tells what a kernel needs.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_TARGET_CUBIN_H
#define NORM_TARGET_CUBIN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace norm {

/// What the assembler tells of one kernel.
struct KernelUsage {
  std::string symbol;
  unsigned registers = 0;    ///< per thread
  unsigned spillBytes = 0;   ///< stored and loaded, per thread
  unsigned stackBytes = 0;   ///< per thread
  unsigned staticShared = 0; ///< bytes per CTA
};

struct Cubin {
  std::string code; ///< an ELF file
  std::vector<KernelUsage> kernels;

  const KernelUsage *find(llvm::StringRef symbol) const;
};

/// The path of `ptxas`: the first found in the directories of PATH, below
/// CUDA_HOME or CUDA_PATH, and in /usr/local/cuda/bin.
std::optional<std::string> findPtxas();

/// Assembles `ptx` for `chip` (`sm_90`) by `ptxas`, which is looked for where
/// no path is given. No assembler, and the assembler's own errors, are errors.
llvm::Expected<Cubin> assembleCubin(llvm::StringRef ptx, llvm::StringRef chip,
                                    llvm::StringRef ptxas = "");

/// The kernels described in what `ptxas -v` prints.
std::vector<KernelUsage> parseUsage(llvm::StringRef text);

} // namespace norm

#endif // NORM_TARGET_CUBIN_H
