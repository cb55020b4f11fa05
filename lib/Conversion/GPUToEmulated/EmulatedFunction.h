//===- EmulatedFunction.h - One kernel for the emulated device --*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NORM_LIB_CONVERSION_GPUTOEMULATED_EMULATEDFUNCTION_H
#define NORM_LIB_CONVERSION_GPUTOEMULATED_EMULATEDFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::norm {

/// The places of calls to the device, in the order of their numbers.
class SiteTable {
public:
  /// Number of a new site: `op`'s, on memory that parameter `param` leads to.
  unsigned add(Operation *op, int param = -1);
  /// All sites as one text, see the pass' description.
  std::string text() const { return entries + '\0'; }

private:
  std::string entries;
  unsigned count = 0;
};

/// Rewrites one `gpu.func` as a function of the emulated device.
class FunctionEmulator {
public:
  FunctionEmulator(ModuleOp module, gpu::GPUFuncOp source, SiteTable &sites)
      : module(module), source(source), sites(sites), b(source.getContext()),
        pointer(LLVM::LLVMPointerType::get(source.getContext())) {}

  /// Creates the function in the module and empties the source.
  LogicalResult run();

private:
  /// A buffer of shared memory that the function declares.
  struct Attribution {
    int64_t offset = 0; ///< bytes
    int64_t bytes = 0;
  };

  LogicalResult layOutShared();
  void loadParams(unsigned count);
  void stripAddressSpaces();
  LogicalResult rewrite(Operation *op);
  LogicalResult rewriteGPU(Operation *op);
  LogicalResult rewriteAccess(Operation *op, Value address, Type type,
                              std::optional<uint64_t> alignment);
  LogicalResult rewriteShared(Operation *op, Value memory, ValueRange indices,
                              Value stored);
  void rewriteShuffle(gpu::ShuffleOp op);
  LogicalResult rewriteAssembly(LLVM::InlineAsmOp op);
  LogicalResult rewriteAddressOf(LLVM::AddressOfOp op);
  /// Ops of clusters, mbarriers and copies (EmulatedCluster.cpp).
  LogicalResult rewriteCluster(Operation *op);
  /// The parameter that an address is computed from, -1 where not known.
  int paramOf(Value address) const;
  LogicalResult reject(Operation *op);
  void replaceByNumber(Operation *op, StringRef kind, unsigned dimension);

  Value i32(int64_t value);
  Value i64(int64_t value);
  Value toBits(Value value);
  Value fromBits(Value bits, Type type);
  /// Calls a routine of the device, which is declared where it's new.
  func::CallOp call(StringRef name, ValueRange operands, TypeRange results);

  ModuleOp module;
  gpu::GPUFuncOp source;
  SiteTable &sites;
  OpBuilder b;
  Location loc = UnknownLoc::get(source.getContext());
  Type pointer;
  func::FuncOp function;
  Value thread;
  llvm::DenseMap<Value, Attribution> attributions;
  /// What each pointer's address space was.
  llvm::DenseMap<Value, unsigned> spaces;
  /// The parameters as values, by number.
  llvm::DenseMap<Value, int> params;
};

} // namespace mlir::norm

#endif // NORM_LIB_CONVERSION_GPUTOEMULATED_EMULATEDFUNCTION_H
