//===- ArgumentChecks.cpp - Checks of a call's arguments ------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentChecks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/FormatVariadic.h"

using namespace norm;

namespace {

llvm::Error fail(const Manifest &manifest, unsigned index,
                 const llvm::Twine &message) {
  return llvm::createStringError(manifest.describe(index) + ": " + message);
}

/// The bytes [begin, end) that a tensor may touch; empty without elements.
struct Footprint {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool empty() const { return begin == end; }
};

bool hasElements(const BoundArgument &argument) {
  return !llvm::is_contained(argument.shape, 0);
}

/// Empty if the span doesn't fit 64 bits.
std::optional<Footprint> footprint(const BoundArgument &elements) {
  BoundArgument argument = elements.inBytes();
  if (!hasElements(argument))
    return Footprint();
  std::optional<int64_t> last = 0;
  for (auto [extent, stride] : llvm::zip(argument.shape, argument.strides)) {
    std::optional<int64_t> reach = llvm::checkedMul(extent - 1, stride);
    last = reach && last ? llvm::checkedAdd(*last, *reach) : std::nullopt;
    if (!last)
      return std::nullopt;
  }
  std::optional<uint64_t> bytes = llvm::checkedMulUnsigned<uint64_t>(
      uint64_t(*last) + 1, byteSize(argument.dtype));
  std::optional<uint64_t> end =
      bytes ? llvm::checkedAddUnsigned(argument.address, *bytes) : std::nullopt;
  if (!end)
    return std::nullopt;
  return Footprint{argument.address, *end};
}

/// Whether two elements of the tensor are the same memory.
bool overlapsItself(const BoundArgument &argument) {
  if (!hasElements(argument))
    return false;
  llvm::SmallVector<std::pair<int64_t, int64_t>, 4> dims;
  for (auto [extent, stride] : llvm::zip(argument.shape, argument.strides))
    if (extent > 1)
      dims.emplace_back(stride, extent);
  llvm::sort(dims);
  int64_t reach = 1;
  for (auto [stride, extent] : dims) {
    if (stride < reach)
      return true;
    reach += stride * (extent - 1);
  }
  return false;
}

/// Whether both are the same elements at the same places.
bool sameMemory(const BoundArgument &a, const BoundArgument &b) {
  if (a.address != b.address || a.shape != b.shape ||
      bitSize(a.dtype) != bitSize(b.dtype))
    return false;
  for (size_t i = 0; i < a.shape.size(); ++i)
    if (a.shape[i] > 1 && a.strides[i] != b.strides[i])
      return false;
  return true;
}

/// The bytes that a tensor touches beyond its address where steps by multiples
/// of `pitch` bytes aren't counted; none if they don't fit 64 bits.
std::optional<uint64_t> widthWithin(const BoundArgument &argument,
                                    uint64_t pitch) {
  BoundArgument within = argument;
  for (size_t dim = 0; dim < within.shape.size(); ++dim)
    if (uint64_t(within.strides[dim]) * byteSize(argument.dtype) % pitch == 0)
      within.shape[dim] = 1;
  std::optional<Footprint> extent = footprint(within);
  if (!extent)
    return std::nullopt;
  return extent->end - extent->begin;
}

/// Whether the two lie side by side in memory that repeats itself every so many
/// bytes, as columns of one matrix or heads of one row do: then they share no
/// byte although their footprints interleave.
bool interleaveApart(const BoundArgument &a, const BoundArgument &b) {
  for (const BoundArgument *steps : {&a, &b})
    for (auto [extent, stride] : llvm::zip(steps->shape, steps->strides)) {
      uint64_t pitch = uint64_t(stride) * byteSize(steps->dtype);
      if (extent < 2 || pitch == 0)
        continue;
      std::optional<uint64_t> first = widthWithin(a, pitch);
      std::optional<uint64_t> second = widthWithin(b, pitch);
      if (!first || !second)
        continue;
      // `b` must start after `a` ends and end before `a` begins again, counted
      // modulo the pitch.
      uint64_t apart = (b.address % pitch + pitch - a.address % pitch) % pitch;
      if (apart >= *first && *second <= pitch - apart)
        return true;
    }
  return false;
}

bool mayAlias(const Manifest &manifest, unsigned a, unsigned b) {
  return llvm::is_contained(manifest.arguments[a].aliases, b) ||
         llvm::is_contained(manifest.arguments[b].aliases, a);
}

/// The checks of all arguments of one call.
class Checker {
public:
  Checker(const Manifest &manifest, llvm::ArrayRef<BoundArgument> arguments)
      : manifest(manifest), arguments(arguments) {}

  llvm::Error run();

private:
  llvm::Error type(unsigned index);
  llvm::Error extents(unsigned index);
  llvm::Error strides(unsigned index);
  llvm::Error address(unsigned index);
  llvm::Error overlap(unsigned index, unsigned other);
  llvm::Error inPlace(unsigned index);

  const Manifest &manifest;
  llvm::ArrayRef<BoundArgument> arguments;
};

llvm::Error Checker::type(unsigned index) {
  const Argument &want = manifest.arguments[index];
  const BoundArgument &got = arguments[index];
  if (want.dtype != got.dtype)
    return fail(manifest, index,
                "expects " + name(want.dtype) + " but got " + name(got.dtype));
  if (want.shape.size() != got.shape.size() ||
      got.strides.size() != got.shape.size())
    return fail(manifest, index,
                "expects rank " + llvm::Twine(want.shape.size()) + " (" +
                    printShape(want.shape) + ") but got " +
                    printShape(got.shape));
  return llvm::Error::success();
}

llvm::Error Checker::extents(unsigned index) {
  const Argument &want = manifest.arguments[index];
  const BoundArgument &got = arguments[index];
  for (auto [expected, extent] : llvm::zip(want.shape, got.shape))
    if (extent < 0 || (expected != kDynamic && expected != extent))
      return fail(manifest, index,
                  "expects shape " + printShape(want.shape) + " but got " +
                      printShape(got.shape));
  for (size_t dim = 0; dim < want.multiples.size(); ++dim)
    if (got.shape[dim] % int64_t(want.multiples[dim]) != 0)
      return fail(manifest, index,
                  "expects a multiple of " + llvm::Twine(want.multiples[dim]) +
                      " as extent of dim " + llvm::Twine(dim) + " but got " +
                      llvm::Twine(got.shape[dim]));
  for (size_t dim = 0; dim < want.equals.size(); ++dim) {
    const std::optional<BufferDim> &source = want.equals[dim];
    if (!source)
      continue;
    int64_t expected = arguments[source->buffer].shape[source->dim];
    if (expected != got.shape[dim])
      return fail(manifest, index,
                  "expects extent " + llvm::Twine(expected) + " in dim " +
                      llvm::Twine(dim) + ", that of dim " +
                      llvm::Twine(source->dim) + " of " +
                      manifest.describe(source->buffer) + ", but got " +
                      llvm::Twine(got.shape[dim]));
  }
  return llvm::Error::success();
}

llvm::Error Checker::strides(unsigned index) {
  const Argument &want = manifest.arguments[index];
  const BoundArgument &got = arguments[index];
  llvm::SmallVector<int64_t, 4> contiguous = contiguousStrides(got.shape);
  for (size_t dim = 0; dim < got.strides.size(); ++dim) {
    if (got.strides[dim] < 0)
      return fail(manifest, index,
                  "expects strides of 0 or more but got " +
                      llvm::Twine(got.strides[dim]) + " in dim " +
                      llvm::Twine(dim));
    int64_t expected = want.contiguous ? contiguous[dim] : want.strides[dim];
    // A stride that is never stepped by may be anything.
    if (expected != kDynamic && got.shape[dim] > 1 &&
        expected != got.strides[dim])
      return fail(manifest, index,
                  "expects stride " + llvm::Twine(expected) + " in dim " +
                      llvm::Twine(dim) + " but got " +
                      llvm::Twine(got.strides[dim]));
  }
  if (llvm::Error error = checkPacked(got.dtype, got.shape, got.strides))
    return fail(manifest, index, llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Error Checker::address(unsigned index) {
  const BoundArgument &got = arguments[index];
  if (!footprint(got))
    return fail(manifest, index,
                "expects a tensor within the address space but got shape " +
                    printShape(got.shape));
  if (!hasElements(got))
    return llvm::Error::success();
  if (got.address == 0)
    return fail(manifest, index, "expects memory but got a null address");
  uint64_t alignment = manifest.arguments[index].alignment;
  if (got.address % alignment != 0)
    return fail(manifest, index,
                "expects an address aligned to " + llvm::Twine(alignment) +
                    " bytes but got 0x" + llvm::utohexstr(got.address));
  if (manifest.arguments[index].role == ArgumentRole::Output &&
      overlapsItself(got))
    return fail(manifest, index,
                "expects distinct elements in an output but its strides make "
                "some overlap");
  return llvm::Error::success();
}

llvm::Error Checker::overlap(unsigned index, unsigned other) {
  const BoundArgument &a = arguments[index], &b = arguments[other];
  Footprint first = *footprint(a), second = *footprint(b);
  if (first.empty() || second.empty() || first.end <= second.begin ||
      second.end <= first.begin || interleaveApart(a.inBytes(), b.inBytes()))
    return llvm::Error::success();
  if (!mayAlias(manifest, index, other))
    return fail(manifest, index,
                "expects memory of its own but overlaps " +
                    manifest.describe(other));
  if (!sameMemory(a, b))
    return fail(manifest, index,
                "expects to be the same memory as " + manifest.describe(other) +
                    " or apart from it but overlaps it in part");
  return llvm::Error::success();
}

/// An output that is written in place of an input is where the input is.
llvm::Error Checker::inPlace(unsigned index) {
  const std::optional<unsigned> &input = manifest.arguments[index].inPlace;
  if (!input || !hasElements(arguments[index]) ||
      sameMemory(arguments[index], arguments[*input]))
    return llvm::Error::success();
  return fail(manifest, index,
              "expects the memory of " + manifest.describe(*input) +
                  ", in place of which it is written, but got another address "
                  "or other strides");
}

llvm::Error Checker::run() {
  if (arguments.size() != manifest.arguments.size())
    return llvm::createStringError(
        "expects " + llvm::Twine(manifest.arguments.size()) +
        " arguments but got " + llvm::Twine(arguments.size()));
  for (unsigned i = 0; i < arguments.size(); ++i) {
    if (llvm::Error error = type(i))
      return error;
    if (manifest.arguments[i].role == ArgumentRole::Scalar)
      continue;
    if (llvm::Error error = extents(i))
      return error;
    if (llvm::Error error = strides(i))
      return error;
    if (llvm::Error error = address(i))
      return error;
  }
  for (unsigned i = 0; i < arguments.size(); ++i) {
    if (manifest.arguments[i].role != ArgumentRole::Output)
      continue;
    if (llvm::Error error = inPlace(i))
      return error;
    for (unsigned j = 0; j < arguments.size(); ++j) {
      ArgumentRole role = manifest.arguments[j].role;
      // Each pair of outputs once.
      bool skip = role == ArgumentRole::Scalar || j == i ||
                  (role == ArgumentRole::Output && j < i);
      if (skip)
        continue;
      if (llvm::Error error = overlap(i, j))
        return error;
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error norm::checkPacked(DType dtype, llvm::ArrayRef<int64_t> shape,
                              llvm::ArrayRef<int64_t> strides) {
  if (!isPacked(dtype) || llvm::is_contained(shape, 0))
    return llvm::Error::success();
  std::string why =
      (" of " + name(dtype) + ", two of which share a byte, but got ").str();
  if (shape.empty() || shape.back() % 2 != 0)
    return llvm::createStringError("expects an even last extent" + why +
                                   printShape(shape));
  for (size_t dim = 0; dim + 1 < shape.size(); ++dim)
    if (shape[dim] > 1 && strides[dim] % 2 != 0)
      return llvm::createStringError("expects even strides" + why +
                                     llvm::Twine(strides[dim]) + " in dim " +
                                     llvm::Twine(dim));
  if (strides.back() != 1)
    return llvm::createStringError("expects stride 1 in the last dim" + why +
                                   llvm::Twine(strides.back()));
  return llvm::Error::success();
}

llvm::Error norm::checkArguments(const Manifest &manifest,
                                 llvm::ArrayRef<BoundArgument> arguments) {
  return Checker(manifest, arguments).run();
}
