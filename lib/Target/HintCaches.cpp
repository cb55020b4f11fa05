//===- HintCaches.cpp - What the L2 cache keeps ---------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel at the memory's speed reads and writes at once. Lines that were read
// are of no more use, and those written have to leave for memory. Where both
// have the same priority, the cache mixes them. With a higher one for what was
// read, results leave sooner and in longer runs: on an H200 1.5 to 4% more
// bytes a second (docs/benchmarks/h200.md). Any lower priority, on loads or on
// stores, and loads that don't allocate in L1, are slower than none.
//
// While everything fits the cache there is nothing to win, and the next kernel
// would find the dead lines in the place of its input. So the priority is
// chosen when the kernel starts, by the bytes that its grid moves. The choice
// is uniform and takes no register of a thread.
//
//===----------------------------------------------------------------------===//

#include "norm/Target/Passes.h"

#include "norm/Conversion/KernelHints.h"
#include "norm/Support/Targets.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMHINTCACHESPASS
#include "norm/Target/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

static Value emitAssembly(OpBuilder &b, Location loc, Type type,
                          ValueRange operands, StringRef text,
                          StringRef constraints, bool hasSideEffects) {
  return LLVM::InlineAsmOp::create(b, loc, type, operands, text, constraints,
                                   hasSideEffects, /*is_align_stack=*/false,
                                   LLVM::tailcallkind::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

/// The policy of a kernel whose CTAs move `ctaBytes` each: lines stay longer
/// than others where the grid moves at least `cacheBytes`.
static Value emitPolicy(OpBuilder &b, Location loc, int64_t ctaBytes,
                        int64_t cacheBytes) {
  auto create = [&](StringRef priority) {
    std::string text =
        ("createpolicy.fractional.L2::" + priority + ".b64 $0, 1.0;").str();
    return emitAssembly(b, loc, b.getI64Type(), {}, text, "=l",
                        /*hasSideEffects=*/false);
  };
  Type i32 = b.getI32Type();
  Value ctas = NVVM::GridDimXOp::create(b, loc, i32);
  Value least = LLVM::ConstantOp::create(
      b, loc, i32, b.getI32IntegerAttr(llvm::divideCeil(cacheBytes, ctaBytes)));
  Value isLarge =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::uge, ctas, least);
  return LLVM::SelectOp::create(b, loc, isLarge, create("evict_last"),
                                create("evict_normal"));
}

/// Whether nobody writes the memory of a kernel's pointer while it runs.
static bool isConstantMemory(Value pointer, LLVM::LLVMFuncOp kernel) {
  while (auto step = pointer.getDefiningOp<LLVM::GEPOp>())
    pointer = step.getBase();
  auto argument = dyn_cast<BlockArgument>(pointer);
  if (!argument || argument.getOwner() != &kernel.front())
    return false;
  unsigned number = argument.getArgNumber();
  return kernel.getArgAttr(number, "llvm.noalias") &&
         kernel.getArgAttr(number, "llvm.readonly");
}

/// Bits of a value that one load instruction of whole words can load, else 0.
static unsigned loadedBits(Type type) {
  unsigned bits = 0;
  if (auto vector = dyn_cast<VectorType>(type)) {
    Type element = vector.getElementType();
    if (element.isIntOrFloat() && !vector.isScalable())
      bits = element.getIntOrFloatBitWidth() * vector.getNumElements();
  } else if (type.isIntOrFloat()) {
    bits = type.getIntOrFloatBitWidth();
  }
  return bits == 32 || bits == 64 || bits == 128 ? bits : 0;
}

/// Loads with a policy what `load` loads, `bits` in all.
static Value emitLoad(OpBuilder &b, LLVM::LoadOp load, unsigned bits,
                      Value policy, bool isConstant) {
  Location loc = load.getLoc();
  Type i32 = b.getI32Type();
  unsigned words = bits / 32;
  std::string results, constraints;
  for (unsigned i = 0; i < words; ++i) {
    results += (i ? ", $" : "$") + std::to_string(i);
    constraints += "=r,";
  }
  std::string text =
      isConstant ? "ld.global.nc.L2::cache_hint." : "ld.global.L2::cache_hint.";
  if (words > 1)
    text += "v" + std::to_string(words) + ".b32 {" + results + "}";
  else
    text += "b32 " + results;
  text +=
      ", [$" + std::to_string(words) + "], $" + std::to_string(words + 1) + ";";
  Type type = i32;
  if (words > 1)
    type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                            SmallVector<Type>(words, i32));
  // It stays behind what the kernel waits for, and in order with stores.
  Value loaded = emitAssembly(b, loc, type, {load.getAddr(), policy}, text,
                              constraints + "l,l", /*hasSideEffects=*/true);
  if (words > 1) {
    Value joined =
        LLVM::PoisonOp::create(b, loc, VectorType::get({words}, i32));
    for (unsigned i = 0; i < words; ++i) {
      Value word = LLVM::ExtractValueOp::create(b, loc, loaded, i);
      Value at = LLVM::ConstantOp::create(b, loc, i32, b.getI32IntegerAttr(i));
      joined = LLVM::InsertElementOp::create(b, loc, joined, word, at);
    }
    loaded = joined;
  }
  if (loaded.getType() == load.getType())
    return loaded;
  return LLVM::BitcastOp::create(b, loc, load.getType(), loaded);
}

static void hintLoads(LLVM::LLVMFuncOp kernel, int64_t cacheBytes) {
  auto ctaBytes = kernel->getAttrOfType<IntegerAttr>(kCtaBytesAttr);
  if (!ctaBytes || ctaBytes.getInt() <= 0)
    return;
  SmallVector<LLVM::LoadOp> loads;
  kernel.walk([&](LLVM::LoadOp load) {
    constexpr unsigned kGlobal = 1;
    bool isGlobal = cast<LLVM::LLVMPointerType>(load.getAddr().getType())
                        .getAddressSpace() == kGlobal;
    unsigned bits = loadedBits(load.getType());
    if (load.getNontemporal() && isGlobal && bits &&
        load.getAlignment().value_or(0) * 8 >= bits)
      loads.push_back(load);
  });
  if (loads.empty())
    return;
  OpBuilder b = OpBuilder::atBlockBegin(&kernel.front());
  Value policy = emitPolicy(b, kernel.getLoc(), ctaBytes.getInt(), cacheBytes);
  for (LLVM::LoadOp load : loads) {
    b.setInsertionPoint(load);
    load.replaceAllUsesWith(emitLoad(b, load, loadedBits(load.getType()),
                                     policy,
                                     isConstantMemory(load.getAddr(), kernel)));
    load.erase();
  }
}

namespace {
struct NormHintCachesPass
    : public mlir::norm::impl::NormHintCachesPassBase<NormHintCachesPass> {
  using Base::Base;

  void runOnOperation() override {
    const ::norm::GPUTarget *chip = ::norm::findGPUTarget(target);
    if (!chip) {
      getOperation()->emitError()
          << "expects a GPU as target but got '" << target << "'";
      return signalPassFailure();
    }
    getOperation()->walk([&](LLVM::LLVMFuncOp kernel) {
      if (!kernel.isExternal())
        hintLoads(kernel, chip->l2Bytes);
    });
  }
};
} // namespace
