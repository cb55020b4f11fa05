//===- Npy.h - NumPy files --------------------------------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading and writing of .npy files, versions 1 and 2 (and 3, whose header
// differs only in its encoding), little endian, in C order. Source of the
// format: the NumPy Enhancement Proposal 1.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_RUNTIME_NPY_H
#define NORM_RUNTIME_NPY_H

#include "norm/Runtime/HostTensor.h"
#include "llvm/Support/MemoryBuffer.h"

namespace norm {

/// An opened .npy file. The elements are those of the file, in C order.
class NpyFile {
public:
  /// Opens and checks a file. An error, naming the file, if it cannot be read,
  /// isn't a .npy file, is big endian or in Fortran order, holds another kind
  /// of elements than those of `dtypeFor`, or is shorter than its shape says.
  static llvm::Expected<NpyFile> open(llvm::StringRef path);

  llvm::ArrayRef<int64_t> shape() const { return extents; }
  /// The shape of the file as a tensor of type `wanted`: the last extent is
  /// twice the file's where two elements share one of its bytes.
  llvm::SmallVector<int64_t, 4> shapeFor(DType wanted) const;
  /// The element type as the file names it: `<f4`.
  llvm::StringRef descriptor() const { return descr; }
  llvm::ArrayRef<uint8_t> data() const;

  /// The element type the elements stand for where `wanted` is asked for:
  /// `<u2` is bf16 where bf16 is wanted, and `|u1` an 8-bit floating point
  /// type, or two `F4E2M1FN`, where one is. Empty for unsigned integers otherwise.
  std::optional<DType> dtypeFor(DType wanted) const;

  /// The file as a tensor of type `wanted`; an error, naming the file, if its
  /// elements aren't of that type.
  llvm::Expected<HostTensor> tensor(DType wanted, const Placement &placement,
                                    Workers &workers) const;

private:
  std::string path;
  std::string descr;
  llvm::SmallVector<int64_t, 4> extents;
  uint64_t dataOffset = 0;
  uint64_t dataBytes = 0;
  std::unique_ptr<llvm::MemoryBuffer> file;
};

/// Writes the elements as a version 1 file; bf16 as `<u2` and the 8-bit
/// floating point types, and pairs of `F4E2M1FN`, as `|u1`, which hold the raw
/// bits. An error names the file.
llvm::Error writeNpy(llvm::StringRef path, const HostTensor &tensor);

} // namespace norm

#endif // NORM_RUNTIME_NPY_H
