//===- Elementwise.cpp - Ops on whole tensors, on a device ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

#include "norm/Compiler/Compiler.h"
#include "norm/Runtime/Device.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace norm;
using norm::test::Elementwise;

static constexpr int64_t kColumns = 1000;

static std::string print(const Elementwise &program, int64_t rows) {
  auto tensorOf = [&](DType type) {
    return "tensor<" + printShape({rows, kColumns}) + "x" + name(type).str() +
           ">";
  };
  std::string input = tensorOf(program.input);
  std::string output = tensorOf(program.output);
  std::string text = "func.func @main(%a: $I) -> $O {\n" + program.body.str() +
                     "  return %r : $O\n}\n";
  for (auto [from, to] : {std::pair("$I", input), std::pair("$O", output),
                          std::pair("$M", tensorOf(DType::I1))})
    for (size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, 2, to);
  return text;
}

static llvm::Expected<std::vector<uint8_t>>
runBytes(Device &device, const Elementwise &program,
         llvm::ArrayRef<uint8_t> input, int64_t rows) {
  Compiler compiler;
  CompileOptions options;
  options.target = device.target();
  options.emulate = device.isEmulated();
  auto artifact = compiler.compile(print(program, rows), "main.mlir", options);
  if (!artifact)
    return artifact.takeError();
  auto executable = device.load(artifact->code, artifact->manifest);
  if (!executable)
    return executable.takeError();
  auto x = device.allocate(input.size());
  if (!x)
    return x.takeError();
  std::vector<uint8_t> output(bytesOf(program.output, rows * kColumns));
  auto y = device.allocate(output.size());
  if (!y)
    return y.takeError();
  if (llvm::Error error = device.copyIn(**x, 0, input))
    return error;
  if (llvm::Error error =
          (*executable)
              ->launch(
                  {BoundArgument::contiguous(program.input, (*x)->address(),
                                             {rows, kColumns}),
                   BoundArgument::contiguous(program.output, (*y)->address(),
                                             {rows, kColumns})}))
    return error;
  if (llvm::Error error = device.copyOut(output, **y, 0))
    return error;
  return output;
}

std::vector<uint64_t> norm::test::runOn(llvm::StringRef name,
                                        const Elementwise &program,
                                        const std::vector<uint64_t> &elements) {
  int64_t rows = (elements.size() + kColumns - 1) / kColumns;
  std::vector<uint8_t> bytes(bytesOf(program.input, rows * kColumns));
  unsigned size = byteSize(program.input);
  for (size_t i = 0; i < elements.size(); ++i)
    if (isPacked(program.input))
      bytes[i / 2] |= elements[i] << (i % 2 * 4);
    else
      memcpy(bytes.data() + i * size, &elements[i], size);
  auto device = openDevice(name);
  if (!device) {
    ADD_FAILURE() << llvm::toString(device.takeError());
    return {};
  }
  auto output = runBytes(**device, program, bytes, rows);
  if (!output) {
    ADD_FAILURE() << llvm::toString(output.takeError());
    return {};
  }
  size = byteSize(program.output);
  std::vector<uint64_t> result(elements.size());
  for (size_t i = 0; i < elements.size(); ++i)
    if (isPacked(program.output))
      result[i] = (*output)[i / 2] >> (i % 2 * 4) & 15;
    else
      memcpy(&result[i], output->data() + i * size, size);
  return result;
}

void norm::test::OnDevice::SetUp() {
  auto device = openDevice(GetParam());
  if (!device)
    GTEST_SKIP() << llvm::toString(device.takeError());
}

std::string
norm::test::deviceName(const testing::TestParamInfo<const char *> &info) {
  std::string name = info.param;
  llvm::replace(name, ':', '_');
  return name;
}

const llvm::fltSemantics &norm::test::semanticsOf(DType type) {
  switch (type) {
  case DType::F64:
    return llvm::APFloat::IEEEdouble();
  case DType::F32:
    return llvm::APFloat::IEEEsingle();
  case DType::F16:
    return llvm::APFloat::IEEEhalf();
  case DType::BF16:
    return llvm::APFloat::BFloat();
  case DType::F8E4M3FN:
    return llvm::APFloat::Float8E4M3FN();
  case DType::F8E5M2:
    return llvm::APFloat::Float8E5M2();
  case DType::F8E8M0FNU:
    return llvm::APFloat::Float8E8M0FNU();
  case DType::F4E2M1FN:
    return llvm::APFloat::Float4E2M1FN();
  default:
    llvm_unreachable("expects a floating point type");
  }
}

llvm::APFloat norm::test::valueOf(DType type, uint64_t bits) {
  return {semanticsOf(type), llvm::APInt(bitSize(type), bits)};
}

uint64_t norm::test::bitsOf(const llvm::APFloat &value) {
  return value.bitcastToAPInt().getZExtValue();
}

std::vector<uint64_t> norm::test::allOf(unsigned bits) {
  std::vector<uint64_t> all(size_t(1) << bits);
  std::iota(all.begin(), all.end(), uint64_t(0));
  return all;
}
