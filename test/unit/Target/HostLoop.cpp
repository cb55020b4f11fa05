//===- HostLoop.cpp - Vector code run on the host -------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLoop.h"

#include "norm/Pipelines/Pipelines.h"
#include "norm/Runtime/Device.h"
#include "norm/Target/Object.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"
#include "gtest/gtest.h"

using namespace norm;
using norm::test::HostLoop;

static constexpr int64_t kWidth = 16;

static std::string replaceAll(std::string text, llvm::StringRef from,
                              llvm::StringRef to) {
  for (size_t at = 0; (at = text.find(from.str(), at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to.str());
  return text;
}

static std::string vectorOf(DType type) {
  return "vector<" + std::to_string(kWidth) + "x" + name(type).str() + ">";
}

/// What LLVM moves in place of an 8-bit float.
static DType memoryType(DType type) {
  bool isEightBit = type == DType::F8E4M3FN || type == DType::F8E5M2;
  return isEightBit ? DType::I8 : type;
}

/// A load of the row `%i` of the buffer in slot `slot` as `%name`.
static std::string loadRow(llvm::StringRef name, unsigned slot) {
  std::string text = R"(
    %NAME_slot = llvm.getelementptr %p[SLOT] : (!llvm.ptr) -> !llvm.ptr, i64
    %NAME_base = llvm.load %NAME_slot : !llvm.ptr -> !llvm.ptr
    %NAME_row = llvm.getelementptr %NAME_base[%i] : (!llvm.ptr, i64) -> !llvm.ptr, TYPE
)";
  text = replaceAll(text, "SLOT", std::to_string(slot));
  return replaceAll(text, "NAME", name);
}

static std::string makeModule(const HostLoop &loop) {
  std::string text = R"(
func.func @main(%p: !llvm.ptr, %begin: i64, %end: i64) {
  %one = arith.constant 1 : i64
  scf.for %i = %begin to %end step %one : i64 {
)";
  std::string input = vectorOf(loop.input), output = vectorOf(loop.output);
  std::string inputBits = vectorOf(memoryType(loop.input));
  std::string outputBits = vectorOf(memoryType(loop.output));
  auto rowOf = [](const std::string &type) {
    return replaceAll(type, "vector<16x", "!llvm.array<16 x ");
  };
  for (unsigned i = 0; i < loop.numInputs; ++i) {
    std::string name(1, char('a' + i));
    text += replaceAll(loadRow(name, i), "TYPE", rowOf(inputBits));
    text += "    %" + name + "_bits = llvm.load %" + name +
            "_row {alignment = 1 : i64} : !llvm.ptr -> " + inputBits + "\n";
    text += "    %" + name + " = arith.bitcast %" + name + "_bits : " +
            inputBits + " to " + input + "\n";
  }
  text += replaceAll(replaceAll(loop.body.str(), "$I", input), "$O", output);
  text += replaceAll(loadRow("y", loop.numInputs), "TYPE", rowOf(outputBits));
  text += "    %r_bits = arith.bitcast %r : " + output + " to " + outputBits;
  text += "\n    llvm.store %r_bits, %y_row {alignment = 1 : i64} : " +
          outputBits + ", !llvm.ptr\n  }\n  return\n}\n";
  return text;
}

static std::string compile(const HostLoop &loop) {
  mlir::DialectRegistry registry;
  mlir::norm::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string text = makeModule(loop);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "doesn't parse:\n" << text;
    return {};
  }
  mlir::PassManager passes(&context);
  mlir::norm::buildHostLLVMPipeline(passes);
  EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
  mlir::norm::HostOptions options;
  options.cpu = loop.cpu.str();
  auto object = mlir::norm::translateToObject(*module, options);
  if (!object) {
    ADD_FAILURE() << llvm::toString(object.takeError());
    return {};
  }
  return *object;
}

/// Rows of 16 elements of each buffer.
static Manifest describe(const HostLoop &loop) {
  Manifest manifest;
  manifest.entry = "main";
  manifest.target = "host";
  Kernel kernel;
  for (unsigned i = 0; i <= loop.numInputs; ++i) {
    Argument argument;
    bool isOutput = i == loop.numInputs;
    argument.name = std::string(1, char('a' + i));
    argument.role = isOutput ? ArgumentRole::Output : ArgumentRole::Input;
    argument.dtype = isOutput ? loop.output : loop.input;
    argument.shape = {kDynamic, kWidth};
    argument.strides = {kWidth, 1};
    argument.alignment = byteSize(argument.dtype);
    manifest.arguments.push_back(argument);
    (isOutput ? kernel.writes : kernel.reads).push_back(i);
    kernel.params.push_back(Param::pointer(i));
  }
  kernel.rows = {0, {0}};
  kernel.columns = {0, {1}};
  kernel.variants.emplace_back().symbol = "main";
  manifest.kernels.push_back(kernel);
  return manifest;
}

/// The elements' bytes, padded by zeros to whole rows.
static std::vector<uint8_t> pack(DType type,
                                 const std::vector<uint64_t> &elements) {
  size_t rows = (elements.size() + kWidth - 1) / kWidth;
  unsigned size = byteSize(type);
  std::vector<uint8_t> bytes(rows * kWidth * size);
  for (size_t i = 0; i < elements.size(); ++i)
    memcpy(bytes.data() + i * size, &elements[i], size);
  return bytes;
}

std::vector<uint64_t> norm::test::run(const HostLoop &loop,
                                      const std::vector<uint64_t> &a,
                                      const std::vector<uint64_t> &b) {
  std::unique_ptr<Device> device = llvm::cantFail(openDevice("host"));
  auto executable = device->load(compile(loop), describe(loop));
  if (!executable) {
    ADD_FAILURE() << llvm::toString(executable.takeError());
    return {};
  }
  std::vector<std::vector<uint8_t>> data = {pack(loop.input, a)};
  if (loop.numInputs == 2)
    data.push_back(pack(loop.input, b));
  int64_t rows = data[0].size() / byteSize(loop.input) / kWidth;
  data.emplace_back(rows * kWidth * byteSize(loop.output));

  std::vector<BoundArgument> arguments;
  for (size_t i = 0; i < data.size(); ++i)
    arguments.push_back(BoundArgument::contiguous(
        i + 1 == data.size() ? loop.output : loop.input,
        reinterpret_cast<uintptr_t>(data[i].data()), {rows, kWidth}));
  if (llvm::Error error = (*executable)->launch(arguments))
    ADD_FAILURE() << llvm::toString(std::move(error));

  std::vector<uint64_t> result(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    memcpy(&result[i], data.back().data() + i * byteSize(loop.output),
           byteSize(loop.output));
  return result;
}
