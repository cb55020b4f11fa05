//===- CHeader.h - Compiled programs as a C header --------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_EMBED_CHEADER_H
#define NORM_EMBED_CHEADER_H

#include "norm/Support/Manifest.h"
#include "llvm/Support/Error.h"
#include <string>

namespace norm {

/// One function compiled for one GPU target.
struct EmbeddedImage {
  Manifest manifest;
  std::string code; ///< PTX, or a cubin
  bool isCubin = false;
};

/// A header of C99 and C++ that has the images of one function, picks the best
/// for a device, checks arguments by the manifest and launches, by the CUDA
/// driver alone. `docs/CApi.md` shows its use. An error for no images, images
/// of other functions or targets than GPUs, kernels with clusters, and what is
/// beyond the limits of its tables.
llvm::Expected<std::string> printCHeader(llvm::ArrayRef<EmbeddedImage> images);

} // namespace norm

#endif // NORM_EMBED_CHEADER_H
