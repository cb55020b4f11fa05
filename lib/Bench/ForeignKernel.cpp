//===- ForeignKernel.cpp - A user's kernel beside ours --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Bench/ForeignKernel.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace norm;
using namespace norm::bench;

static llvm::Error readField(llvm::StringRef field, ForeignKernel &kernel) {
  auto [key, value] = field.split('=');
  uint64_t number = 0;
  bool isNumber = !value.getAsInteger(10, number) && number < (1ull << 31);
  uint64_t least = key == "shared" ? 0 : 1;
  bool isKnown = key == "block" || key == "rows-per-cta" || key == "grid" ||
                 key == "shared";
  if (!isKnown)
    return llvm::createStringError(
        "--against: expects block, rows-per-cta, grid or shared but got '" +
        key + "'");
  if (!isNumber || number < least || (key == "block" && number > 1024))
    return llvm::createStringError("--against: expects a number of " +
                                   llvm::Twine(least) + " or more for " + key +
                                   (key == "block" ? ", up to 1024," : "") +
                                   " but got '" + value + "'");
  if (key == "block")
    kernel.block = unsigned(number);
  else if (key == "rows-per-cta")
    kernel.rowsPerCta = number;
  else if (key == "grid")
    kernel.grid = number;
  else
    kernel.dynamicShared = number;
  return llvm::Error::success();
}

llvm::Expected<ForeignKernel> ForeignKernel::parse(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  text.split(parts, ':');
  if (parts.size() < 2 || parts[0].empty() || parts[1].empty())
    return llvm::createStringError(
        "--against: expects FILE.json, FILE.cubin:KERNEL or FILE.ptx:KERNEL "
        "but got '" +
        text + "'");
  ForeignKernel kernel;
  kernel.file = parts[0].str();
  kernel.symbol = parts[1].str();
  for (llvm::StringRef field : llvm::ArrayRef(parts).drop_front(2))
    if (llvm::Error error = readField(field, kernel))
      return error;
  auto buffer = llvm::MemoryBuffer::getFile(kernel.file);
  if (!buffer)
    return llvm::createStringError(
        kernel.file + ": cannot read: " + buffer.getError().message());
  kernel.code = (*buffer)->getBuffer().str();
  return kernel;
}

llvm::Expected<std::unique_ptr<Executable>>
ForeignKernel::load(Device &device, const Manifest &manifest) const {
  Manifest own;
  own.norm = manifest.norm;
  own.entry = symbol;
  own.target = device.target();
  own.arguments = manifest.arguments;
  Kernel kernel;
  kernel.program = symbol;
  for (unsigned i = 0; i < own.arguments.size(); ++i) {
    bool isResult = own.arguments[i].role == ArgumentRole::Output;
    (isResult ? kernel.writes : kernel.reads).push_back(i);
    kernel.params.push_back(Param::pointer(i));
  }
  kernel.rows = {0, {0}};
  kernel.columns = {0, {1}};
  kernel.params.push_back(Param::extent(0, {0}));
  kernel.params.push_back(Param::extent(0, {1}));
  kernel.grid = grid;
  Variant variant;
  variant.symbol = symbol;
  variant.block = block;
  variant.rowsPerCta = rowsPerCta;
  variant.dynamicShared = dynamicShared;
  kernel.variants = {variant};
  own.kernels = {kernel};
  return device.load(code, own);
}

std::string ForeignKernel::name() const {
  return (llvm::sys::path::filename(file) + ":" + symbol).str();
}
