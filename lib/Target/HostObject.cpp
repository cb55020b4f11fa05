//===- HostObject.cpp - From functions to host objects --------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Target/Object.h"

#include "Codegen.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace mlir;
using namespace mlir::norm;

static bool isKnownCpu(const llvm::Triple &triple, llvm::StringRef cpu) {
  initializeTargets();
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return true; // reported where the machine is made
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  return info && info->isCPUStringValid(cpu);
}

static llvm::Expected<MachineOptions> machineFor(const HostOptions &options) {
  MachineOptions machine;
  machine.triple = llvm::sys::getProcessTriple();
  machine.cpu = options.cpu;
  llvm::SubtargetFeatures features(options.features);
  if (machine.cpu.empty()) {
    machine.cpu = llvm::sys::getHostCPUName().str();
    llvm::SubtargetFeatures own;
    for (const auto &[name, enabled] : llvm::sys::getHostCPUFeatures())
      own.AddFeature(name, enabled);
    // The last one counts, so the caller's come after the machine's own.
    for (const std::string &feature : features.getFeatures())
      own.AddFeature(feature);
    features = own;
  } else if (!isKnownCpu(llvm::Triple(machine.triple), machine.cpu)) {
    return llvm::createStringError("unknown host CPU '" + machine.cpu + "'");
  }
  machine.features = features.getString();
  return machine;
}

/// Vectors in the kernels are as wide as the machine's registers. Some CPUs
/// prefer narrower ones for code of which little is vector code.
static void preferWideVectors(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("prefer-vector-width", "512");
}

/// Whether an op only moves values of its operands' types about.
static bool onlyMoves(Operation *op) {
  return isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::SelectOp, LLVM::BitcastOp,
             LLVM::ExtractElementOp, LLVM::InsertElementOp,
             LLVM::ShuffleVectorOp, LLVM::ConstantOp, LLVM::PoisonOp,
             LLVM::UndefOp, LLVM::ZeroOp, LLVM::FreezeOp, LLVM::BrOp,
             LLVM::CondBrOp>(op);
}

static bool isBrain(Type type) { return getElementTypeOrSelf(type).isBF16(); }

static bool canHoldAsIntegers(LLVM::LLVMFuncOp function) {
  if (llvm::any_of(function.getArgumentTypes(), isBrain))
    return false;
  return !function
              ->walk([](Operation *op) {
                bool touches = llvm::any_of(op->getOperandTypes(), isBrain) ||
                               llvm::any_of(op->getResultTypes(), isBrain);
                return touches && !onlyMoves(op) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
              })
              .wasInterrupted();
}

static void holdAsInteger(Value value) {
  Type type = value.getType(), i16 = IntegerType::get(type.getContext(), 16);
  if (isBrain(type)) {
    auto shaped = dyn_cast<ShapedType>(type);
    value.setType(shaped ? Type(shaped.clone(i16)) : i16);
  }
}

static Attribute integerConstant(Attribute value) {
  Type i16 = IntegerType::get(value.getContext(), 16);
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return dense.bitcast(i16);
  if (auto number = dyn_cast<FloatAttr>(value))
    return IntegerAttr::get(i16, number.getValue().bitcastToAPInt());
  return value;
}

/// Where bf16 are only moved, they become the integers of their bits. LLVM
/// carries a bf16 from block to block, or through an insertion into a vector, as
/// an f32, and comes back by an instruction that flushes subnormals (or, on a
/// CPU without it, by a library call).
static void holdBrainsAsIntegers(ModuleOp module) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!canHoldAsIntegers(function))
      continue;
    function->walk([](Operation *op) {
      if (auto constant = dyn_cast<LLVM::ConstantOp>(op);
          constant && isBrain(constant.getType()))
        constant.setValueAttr(integerConstant(constant.getValue()));
      llvm::for_each(op->getResults(), holdAsInteger);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          llvm::for_each(block.getArguments(), holdAsInteger);
    });
  }
}

static llvm::Expected<std::string>
translate(ModuleOp module, const HostOptions &options, CodeForm form) {
  llvm::Expected<MachineOptions> machine = machineFor(options);
  if (!machine)
    return machine.takeError();
  holdBrainsAsIntegers(module);
  return generateCode(module, *machine, form, /*allowExternal=*/true,
                      preferWideVectors);
}

llvm::Expected<std::string>
mlir::norm::translateToObject(ModuleOp module, const HostOptions &options) {
  return translate(module, options, CodeForm::Object);
}

llvm::Expected<std::string>
mlir::norm::translateToLLVM(ModuleOp module, const HostOptions &options) {
  return translate(module, options, CodeForm::LLVM);
}

llvm::Expected<std::string>
mlir::norm::translateToAssembly(ModuleOp module, const HostOptions &options) {
  return translate(module, options, CodeForm::Assembly);
}
