//===- Npy.cpp - NumPy files ----------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Runtime/Npy.h"
#include "norm/Runtime/Workers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <limits>

using namespace norm;

static constexpr llvm::StringLiteral kMagic = "\x93NUMPY";

namespace {

/// What the header of a file says.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  llvm::SmallVector<int64_t, 4> shape;
};

/// Reads the header's dictionary: Python literals of three known kinds.
class HeaderParser {
public:
  explicit HeaderParser(llvm::StringRef text) : rest(text) {}

  llvm::Expected<Header> parse();

private:
  llvm::Error fail(const llvm::Twine &expected) {
    return llvm::createStringError("expects " + expected +
                                   " in the header but got '" +
                                   rest.take_front(16).rtrim() + "'");
  }
  bool consume(llvm::StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  llvm::Expected<std::string> string();
  llvm::Error shape(llvm::SmallVectorImpl<int64_t> &extents);
  llvm::Error entry(llvm::StringRef key, Header &header);

  llvm::StringRef rest;
};

llvm::Expected<std::string> HeaderParser::string() {
  rest = rest.ltrim();
  char quote = rest.empty() ? '\0' : rest.front();
  if (quote != '\'' && quote != '"')
    return fail("a string");
  size_t end = rest.find(quote, 1);
  if (end == llvm::StringRef::npos)
    return fail("a closed string");
  std::string text = rest.slice(1, end).str();
  rest = rest.drop_front(end + 1);
  return text;
}

llvm::Error HeaderParser::shape(llvm::SmallVectorImpl<int64_t> &extents) {
  if (!consume("("))
    return fail("a shape");
  while (!consume(")")) {
    uint64_t extent = 0;
    rest = rest.ltrim();
    if (rest.consumeInteger(10, extent) ||
        extent > uint64_t(std::numeric_limits<int64_t>::max()))
      return fail("an extent");
    extents.push_back(int64_t(extent));
    if (!consume(",") && !rest.ltrim().starts_with(")"))
      return fail("',' or ')'");
  }
  return llvm::Error::success();
}

llvm::Error HeaderParser::entry(llvm::StringRef key, Header &header) {
  if (key == "descr")
    return string().moveInto(header.descr);
  if (key == "shape")
    return shape(header.shape);
  if (key != "fortran_order")
    return llvm::createStringError(
        "expects descr, fortran_order and shape in the header but got '" + key +
        "'");
  if (consume("True"))
    header.fortranOrder = true;
  else if (!consume("False"))
    return fail("True or False");
  return llvm::Error::success();
}

llvm::Expected<Header> HeaderParser::parse() {
  Header header;
  llvm::SmallVector<std::string, 3> keys;
  if (!consume("{"))
    return fail("'{'");
  while (!consume("}")) {
    llvm::Expected<std::string> key = string();
    if (!key)
      return key.takeError();
    if (!consume(":"))
      return fail("':'");
    if (llvm::Error error = entry(*key, header))
      return error;
    keys.push_back(*key);
    if (!consume(",") && !rest.ltrim().starts_with("}"))
      return fail("',' or '}'");
  }
  for (llvm::StringRef key : {"descr", "fortran_order", "shape"})
    if (!llvm::is_contained(keys, key))
      return llvm::createStringError("expects '" + key +
                                     "' in the header but got none");
  return header;
}

/// Bytes of an element of one of the types that are read; 0 for others.
unsigned descriptorBytes(llvm::StringRef descr) {
  return llvm::StringSwitch<unsigned>(descr)
      .Cases({"<f8", "<i8", "<u8"}, 8)
      .Cases({"<f4", "<i4", "<u4"}, 4)
      .Cases({"<f2", "<i2", "<u2"}, 2)
      .Cases({"|i1", "|u1", "|b1", "<i1", "<u1", "<b1"}, 1)
      .Default(0);
}

llvm::StringRef descriptorOf(DType type) {
  switch (type) {
  case DType::F64:
    return "<f8";
  case DType::F32:
    return "<f4";
  case DType::F16:
    return "<f2";
  case DType::BF16:
    return "<u2";
  case DType::F8E4M3FN:
  case DType::F8E5M2:
  case DType::F8E8M0FNU:
  case DType::F4E2M1FN:
    return "|u1";
  case DType::I1:
    return "|b1";
  case DType::I8:
    return "|i1";
  case DType::I16:
    return "<i2";
  case DType::I32:
    return "<i4";
  case DType::I64:
    return "<i8";
  }
  return "";
}

/// The header's text, and where the data begins.
llvm::Expected<std::pair<llvm::StringRef, uint64_t>>
splitHeader(llvm::StringRef content) {
  if (!content.starts_with(kMagic) || content.size() < 10)
    return llvm::createStringError(
        llvm::Twine("expects a .npy file but got other content"));
  unsigned major = uint8_t(content[6]);
  if (major < 1 || major > 3)
    return llvm::createStringError("expects .npy version 1, 2 or 3 but got " +
                                   llvm::Twine(major));
  size_t begin = major == 1 ? 10 : 12;
  if (content.size() < begin)
    return llvm::createStringError(
        llvm::Twine("expects a .npy header but got a cut file"));
  size_t length = major == 1
                      ? llvm::support::endian::read16le(content.data() + 8)
                      : llvm::support::endian::read32le(content.data() + 8);
  if (content.size() - begin < length)
    return llvm::createStringError("expects a .npy header of " +
                                   llvm::Twine(length) + " bytes but got " +
                                   llvm::Twine(content.size() - begin));
  return std::pair(content.substr(begin, length), uint64_t(begin + length));
}

llvm::Error inFile(llvm::StringRef path, llvm::Error error) {
  return llvm::createStringError(path + llvm::Twine(": ") +
                                 llvm::toString(std::move(error)));
}

llvm::Error inFile(llvm::StringRef path, const llvm::Twine &message) {
  return llvm::createStringError(path + llvm::Twine(": ") + message);
}

} // namespace

llvm::Expected<NpyFile> NpyFile::open(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return inFile(path, "cannot read: " + buffer.getError().message());
  NpyFile npy;
  npy.path = path.str();
  npy.file = std::move(*buffer);
  auto split = splitHeader(npy.file->getBuffer());
  if (!split)
    return inFile(path, split.takeError());
  llvm::Expected<Header> header = HeaderParser(split->first).parse();
  if (!header)
    return inFile(path, header.takeError());
  npy.descr = header->descr;
  npy.extents = header->shape;
  npy.dataOffset = split->second;
  if (llvm::StringRef(npy.descr).starts_with(">"))
    return inFile(path,
                  "expects little endian elements but got '" + npy.descr + "'");
  unsigned size = descriptorBytes(npy.descr);
  if (size == 0)
    return inFile(path, "expects elements of type f2, f4, f8, i1 to i8, u1, u2 "
                        "or b1 but got '" +
                            npy.descr + "'");
  if (header->fortranOrder && npy.extents.size() > 1)
    return inFile(path, llvm::Twine("expects C order but got Fortran order"));
  llvm::Expected<int64_t> count = numElements(npy.extents);
  if (!count)
    return inFile(path, count.takeError());
  std::optional<uint64_t> bytes =
      llvm::checkedMulUnsigned<uint64_t>(uint64_t(*count), size);
  uint64_t have = npy.file->getBufferSize() - npy.dataOffset;
  if (!bytes || *bytes > have)
    return inFile(path, "expects " + llvm::Twine(*count) + " elements of " +
                            llvm::Twine(size) + " bytes but got " +
                            llvm::Twine(have) + " bytes");
  npy.dataBytes = *bytes;
  return npy;
}

llvm::ArrayRef<uint8_t> NpyFile::data() const {
  return {reinterpret_cast<const uint8_t *>(file->getBufferStart()) +
              dataOffset,
          size_t(dataBytes)};
}

llvm::SmallVector<int64_t, 4> NpyFile::shapeFor(DType wanted) const {
  llvm::SmallVector<int64_t, 4> shape(extents);
  if (isPacked(wanted) && !shape.empty())
    shape.back() = llvm::checkedMul<int64_t>(shape.back(), 2)
                       .value_or(std::numeric_limits<int64_t>::max());
  return shape;
}

std::optional<DType> NpyFile::dtypeFor(DType wanted) const {
  // The byte order of a one byte type is written either way.
  std::string canonical =
      descriptorBytes(descr) == 1 ? "|" + descr.substr(1) : descr;
  if (descriptorOf(wanted) == canonical)
    return wanted;
  for (DType type : allDTypes())
    if (canonical[1] != 'u' && descriptorOf(type) == canonical)
      return type;
  return std::nullopt;
}

llvm::Expected<HostTensor> NpyFile::tensor(DType wanted,
                                           const Placement &placement,
                                           Workers &workers) const {
  if (dtypeFor(wanted) != wanted)
    return inFile(path, "expects " + name(wanted) + " ('" +
                            descriptorOf(wanted) + "') but got '" + descr +
                            "'");
  llvm::Expected<HostTensor> tensor =
      HostTensor::create(wanted, shapeFor(wanted), placement, workers);
  if (!tensor)
    return inFile(path, tensor.takeError());
  int64_t bytesPerRow =
      int64_t(bytesOf(wanted, uint64_t(tensor->columns())));
  const uint8_t *from = data().data();
  int64_t grain = (1 << 20) / std::max<int64_t>(bytesPerRow, 1) + 1;
  workers.forRanges(tensor->rows(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      std::memcpy(tensor->row(row), from + row * bytesPerRow,
                  size_t(bytesPerRow));
  });
  return tensor;
}

llvm::Error norm::writeNpy(llvm::StringRef path, const HostTensor &tensor) {
  std::string shape;
  llvm::SmallVector<int64_t, 4> extents(tensor.shape());
  if (isPacked(tensor.dtype()) && !extents.empty())
    extents.back() /= 2;
  for (int64_t extent : extents)
    shape += llvm::itostr(extent) + ", ";
  // A tuple of one keeps its comma; longer ones are written without.
  llvm::StringRef tuple = shape;
  tuple = tuple.rtrim(' ');
  if (tensor.shape().size() != 1)
    tuple = tuple.rtrim(',');
  std::string header =
      llvm::formatv("{{'descr': '{0}', 'fortran_order': False, "
                    "'shape': ({1}), }",
                    descriptorOf(tensor.dtype()), tuple);
  // The data starts at a multiple of 64 bytes; the header ends in a newline.
  constexpr size_t kPrefix = 10;
  size_t length = llvm::alignTo(kPrefix + header.size() + 1, 64) - kPrefix;
  header.resize(length - 1, ' ');
  header += '\n';

  std::error_code failed;
  llvm::raw_fd_ostream stream(path, failed, llvm::sys::fs::OF_None);
  if (failed)
    return inFile(path, "cannot write: " + failed.message());
  char size[2];
  llvm::support::endian::write16le(size, uint16_t(length));
  stream << kMagic << '\1' << '\0';
  stream.write(size, 2);
  stream << header;
  size_t bytesPerRow = bytesOf(tensor.dtype(), uint64_t(tensor.columns()));
  for (int64_t row = 0; row < tensor.rows(); ++row)
    stream.write(reinterpret_cast<const char *>(tensor.row(row)), bytesPerRow);
  stream.close();
  if (stream.has_error()) {
    std::string message = stream.error().message();
    // A stream destroyed with a pending error ends the process.
    stream.clear_error();
    return inFile(path, "cannot write: " + message);
  }
  return llvm::Error::success();
}
