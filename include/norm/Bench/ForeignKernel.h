//===- ForeignKernel.h - A user's kernel beside ours ------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_BENCH_FOREIGNKERNEL_H
#define NORM_BENCH_FOREIGNKERNEL_H

#include "norm/Runtime/Device.h"

namespace norm::bench {

/// A kernel in a cubin or PTX file, and how it is launched. It is called with
/// one 64-bit parameter for each argument of the op, then for each result,
/// their addresses, then the number of rows and the number of columns.
struct ForeignKernel {
  std::string file;
  std::string symbol;
  unsigned block = 256;         ///< threads of a CTA
  uint64_t rowsPerCta = 1;      ///< the grid is rows / rowsPerCta, rounded up
  std::optional<uint64_t> grid; ///< CTAs, instead
  uint64_t dynamicShared = 0;   ///< bytes of a CTA
  std::string code;             ///< the file's content

  /// Reads `FILE:KERNEL[:block=N][:rows-per-cta=N][:grid=N][:shared=N]` and the
  /// file. An error quotes what isn't understood.
  static llvm::Expected<ForeignKernel> parse(llvm::StringRef text);

  /// Loads it for a function with the arguments of `manifest`, whose rows are
  /// the leading dim of the first one.
  llvm::Expected<std::unique_ptr<Executable>>
  load(Device &device, const Manifest &manifest) const;

  /// `rms.cubin:my_rms_norm`
  std::string name() const;
};

} // namespace norm::bench

#endif // NORM_BENCH_FOREIGNKERNEL_H
