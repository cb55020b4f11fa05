//===- Manifest.h - What a compiled function expects ------------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contract between compiled code and whoever launches it, as plain values
// with a JSON form. `docs/Manifest.md` describes every field and
// `docs/manifest.schema.json` is its schema. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef NORM_SUPPORT_MANIFEST_H
#define NORM_SUPPORT_MANIFEST_H

#include "norm/Support/DType.h"
#include "norm/Support/MathMode.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace norm {

/// An extent or stride known only at run time (`null` in JSON). The value is
/// that of `mlir::ShapedType::kDynamic`, so shapes copy over unchanged.
inline constexpr int64_t kDynamic = std::numeric_limits<int64_t>::min();

/// The version of the JSON form; a reader refuses any other.
inline constexpr unsigned kManifestVersion = 1;

/// Dimension `dim` of buffer `buffer`. Buffers 0 to A-1 are the A arguments,
/// the following ones the temporaries.
struct BufferDim {
  unsigned buffer = 0;
  unsigned dim = 0;
  bool operator==(const BufferDim &) const = default;
};

/// Some dimensions of one buffer; stands for `factor` times the product of
/// their extents, divided by `divisor`, which leaves no rest.
struct BufferDims {
  unsigned buffer = 0;
  std::vector<unsigned> dims;
  uint64_t factor = 1;
  uint64_t divisor = 1;
  bool operator==(const BufferDims &) const = default;
};

enum class ArgumentRole : uint8_t { Input, Output, Scalar };

/// A function argument, or a result (role `Output`, after the arguments).
struct Argument {
  std::string name;
  ArgumentRole role = ArgumentRole::Input;
  DType dtype = DType::F32;
  /// Extents; `kDynamic` where not fixed. Empty for a scalar and for rank 0.
  std::vector<int64_t> shape;
  /// Strides in elements, one per extent; `kDynamic` where any is taken.
  std::vector<int64_t> strides;
  /// Bytes which the base address must be a multiple of, whatever the variant.
  uint64_t alignment = 1;
  /// Arguments that may be the same memory (same address, shape, strides).
  std::vector<unsigned> aliases;
  /// For each extent, the dimension of an earlier argument that it equals, if
  /// known; empty when nothing is known. This is what tells the shape of an
  /// output with dynamic extents, and which inputs must agree.
  std::vector<std::optional<BufferDim>> equals;
  /// Whether the strides must be those of a row-major tensor without gaps, also
  /// where they depend on extents that aren't fixed.
  bool contiguous = false;
  /// Of an output: the input whose memory it must be in.
  std::optional<unsigned> inPlace = std::nullopt;
  /// For each extent, what it must be a multiple of; empty where that is 1.
  std::vector<uint64_t> multiples;
  bool operator==(const Argument &) const = default;
};

/// An extent of a temporary: a number, or the extent of an argument's dim
/// divided by `divisor`, a multiple of which it must be.
struct TemporaryExtent {
  int64_t value = 0;
  std::optional<BufferDim> source; // overrides `value`
  uint64_t divisor = 1;

  TemporaryExtent() = default;
  TemporaryExtent(int64_t value) : value(value) {}
  TemporaryExtent(BufferDim source, uint64_t divisor = 1)
      : source(source), divisor(divisor) {}
  bool operator==(const TemporaryExtent &) const = default;
};

/// A contiguous (row-major) buffer between two kernels, in the workspace.
/// Temporaries of one slot are the same memory, at different times; one without
/// a slot has memory of its own.
struct Temporary {
  DType dtype = DType::F32;
  std::vector<TemporaryExtent> shape;
  std::optional<unsigned> slot = std::nullopt;
  bool operator==(const Temporary &) const = default;
};

/// One 8-byte parameter slot of a kernel.
struct Param {
  enum class Kind : uint8_t {
    Pointer,   ///< address of `buffer`
    Stride,    ///< elements: `factor` times the stride of `dims[0]` of
               ///< `buffer`, times the extents of the other `dims`, over
               ///< `divisor`
    Extent,    ///< `factor` times the product of the extents `dims` of
               ///< `buffer`, over `divisor`
    Scalar,    ///< bits of the scalar argument `buffer`, in the low bytes
    Workspace, ///< address of the kernel's part of the workspace
    Split,     ///< CTAs that share a row, a signed integer
  };
  Kind kind = Kind::Pointer;
  unsigned buffer = 0;
  std::vector<unsigned> dims;
  uint64_t factor = 1;
  uint64_t divisor = 1;
  bool operator==(const Param &) const = default;

  static Param pointer(unsigned buffer) { return {Kind::Pointer, buffer, {}}; }
  static Param stride(unsigned buffer, unsigned dim, uint64_t factor = 1) {
    return {Kind::Stride, buffer, {dim}, factor};
  }
  static Param extent(unsigned buffer, std::vector<unsigned> dims,
                      uint64_t factor = 1) {
    return {Kind::Extent, buffer, std::move(dims), factor};
  }
  static Param extent(const BufferDims &dims) {
    return {Kind::Extent, dims.buffer, dims.dims, dims.factor, dims.divisor};
  }
  static Param scalar(unsigned argument) {
    return {Kind::Scalar, argument, {}};
  }
  static Param workspace() { return {Kind::Workspace, 0, {}}; }
  static Param split() { return {Kind::Split, 0, {}}; }
};

/// The address of `buffer`, the byte strides of all its dims but the last that
/// have more than one element, and those of the kernel's `Stride` parameters of
/// it with more than one dim, must be multiples of `alignment` bytes.
struct AlignmentRequirement {
  unsigned buffer = 0;
  uint64_t alignment = 1;
  bool operator==(const AlignmentRequirement &) const = default;
};

/// One compiled form of a kernel. The first one whose requirements hold is
/// launched. The fields from `block` on are for GPU targets.
struct Variant {
  std::string symbol;
  std::vector<AlignmentRequirement> requirements;
  unsigned block = 1;         ///< threads of a CTA
  uint64_t rowsPerCta = 1;    ///< of a cluster where `cluster` > 1
  unsigned cluster = 1;       ///< CTAs of a cluster
  uint64_t dynamicShared = 0; ///< bytes per CTA
  uint64_t staticShared = 0;  ///< bytes per CTA
  /// Registers per thread and spilled bytes, where an assembler told them.
  std::optional<unsigned> registers;
  std::optional<unsigned> spillBytes;
  /// CTAs that share a row (or `rowsPerCta` of them) and meet while they work
  /// on it, so that all CTAs of the grid must be resident at once. 0: the
  /// largest power of two up to `Kernel::slices` for which they are, else 1.
  uint64_t split = 1;
  /// CTAs of the largest grid that waits by itself for those before it, beside
  /// which it may then be launched; 0 for none.
  uint64_t waits = 0;
  /// Clusters do one group of rows after the other, so that no more of them
  /// are launched than are resident at once.
  bool persistent = false;
  bool operator==(const Variant &) const = default;
};

/// One launch of the sequence.
struct Kernel {
  std::string program;  ///< what it computes, for people
  std::string order;    ///< the `#norm.order` as text
  std::string schedule; ///< the `#norm.schedule` as text
  /// The buffers read and written; the minimal traffic of the kernel is each
  /// of them once.
  std::vector<unsigned> reads;
  std::vector<unsigned> writes;
  BufferDims rows; ///< the units of work, each by one CTA or several
  BufferDims columns;
  std::vector<Param> params;
  std::vector<Variant> variants;
  /// CTAs, for a kernel that isn't one over rows: it was written by hand, and
  /// may read its inputs in part.
  std::optional<uint64_t> grid = std::nullopt;
  /// Parts that a row can be cut into, a power of two.
  uint64_t slices = 1;
  /// The workspace needed for each group of `rowsPerCta` rows: bytes that are
  /// zero before and after every launch, and bytes of any content.
  uint64_t counterBytes = 0;
  uint64_t unitBytes = 0;
  bool operator==(const Kernel &) const = default;

  /// Whether the kernel has a part of the workspace for itself.
  bool hasOwnWorkspace() const { return counterBytes != 0 || unitBytes != 0; }
};

/// A part of the workspace, in bytes.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool operator==(const ByteRange &) const = default;
};

/// The part of the workspace that all kernels share, at its start; those of
/// single kernels follow, then the temporaries. The workspace is device memory that lives across
/// launches of one stream. The ranges `zeroed` are zero before the first
/// launch, and every launch leaves them zero.
struct Workspace {
  uint64_t bytes = 0;
  std::vector<ByteRange> zeroed;
  bool operator==(const Workspace &) const = default;
};

/// Everything needed to launch an artifact correctly.
struct Manifest {
  std::string norm; ///< version of the compiler that made it
  std::string entry;
  std::string target;     ///< `host` or `sm_NN`
  std::string ptx;        ///< PTX ISA version, `8.0`; empty for `host`
  unsigned minDriver = 0; ///< least `cuDriverGetVersion`, 12000 is CUDA 12.0
  MathMode math = MathMode::Exact; ///< what the code was compiled with
  std::vector<Argument> arguments;
  std::vector<Temporary> temporaries;
  std::vector<Kernel> kernels;
  Workspace workspace;
  bool operator==(const Manifest &) const = default;

  unsigned numBuffers() const {
    return unsigned(arguments.size() + temporaries.size());
  }
  /// Rank of buffer `buffer`, which must be below `numBuffers()`.
  unsigned rank(unsigned buffer) const;
  DType dtype(unsigned buffer) const;
  /// The first and the last kernel that read or write buffer `buffer`; none
  /// where no kernel does.
  std::optional<std::pair<unsigned, unsigned>> lifetime(unsigned buffer) const;
  /// `argument 2 'eps'` or `temporary 0`, for messages.
  std::string describe(unsigned buffer) const;
};

/// The JSON form. Fields at their default that the schema calls optional are
/// left out.
llvm::json::Value toJSON(const Manifest &manifest);

/// The JSON form as indented text that ends in a newline.
std::string printManifest(const Manifest &manifest);

/// Several functions whose code is one: `{"norm", "version", "functions"}`.
std::string printManifests(llvm::ArrayRef<Manifest> manifests);

/// Checks that every index, rank, extent and size makes sense: `parseManifest`
/// does so, and so does a runtime that is given a manifest as a value. The
/// message names the field (`kernels[0].params[2].buffer`).
llvm::Error verifyManifest(const Manifest &manifest);

/// Reads either form; a single manifest is a list of one.
llvm::Expected<std::vector<Manifest>> parseManifests(llvm::StringRef text);

/// Reads the JSON form. A malformed text, a missing or mistyped field, another
/// `version`, or a manifest that does not verify is an error that names the
/// field.
llvm::Expected<Manifest> parseManifest(llvm::StringRef text);

} // namespace norm

#endif // NORM_SUPPORT_MANIFEST_H
