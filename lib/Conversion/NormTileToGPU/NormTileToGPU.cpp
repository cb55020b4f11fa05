//===- NormTileToGPU.cpp - Tiled kernels as gpu.func ------*- C++ -*-===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUAcross.h"
#include "GPURing.h"
#include "GPUWorkers.h"
#include "norm/Analysis/Program.h"
#include "norm/Conversion/Passes.h"
#include "norm/Conversion/StorageTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::norm {
#define GEN_PASS_DEF_CONVERTNORMTILETOGPUPASS
#include "norm/Conversion/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;
using namespace mlir::norm_tile;

/// Declares the CTA's dynamic shared memory.
static void declareShared(OpBuilder &b, gpu::GPUModuleOp module) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/false,
                         LLVM::Linkage::External, "norm_shared", Attribute(),
                         /*alignment=*/128, /*addrSpace=*/3);
}

/// Bytes to which chunks of neighbours can be aligned, in operands that have
/// rows or in others: rows and pieces of rows that follow each other without a
/// gap are as aligned as their size.
static int64_t widestAlignment(KernelOp kernel, bool ofRows) {
  SpaceAttr space = kernel.getSpace();
  bool isAcross = kernel.getOrder().isAcross();
  int64_t alignment = 16;
  for (auto [operand, type] :
       llvm::enumerate(kernel.getBlock()->getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref || !(isAcross || space.hasColumns(operand)) ||
        (isAcross || space.hasRows(operand)) != ofRows)
      continue;
    auto narrow = [&](int64_t elements) {
      int64_t bytes = elements * memref.getElementTypeBitWidth() / 8;
      while (alignment > 1 && bytes % alignment)
        alignment /= 2;
    };
    auto [strides, offset] = memref.getStridesAndOffset();
    // Chunks follow each other along the last dims as far as there is no gap.
    int64_t run = 1;
    bool isStepped = false;
    for (unsigned dim = space.getNumDims(); dim-- > 0;) {
      int64_t axis = space.getAxis(operand, dim);
      if (space.getExtent(dim) == 1)
        continue;
      bool isRow = dim < space.getNumRowDims();
      bool isInner = kernel.getOrder().getInner() > 1 &&
                     dim + 1 == space.getNumDims();
      bool isOfChunks = isAcross ? isRow || isInner : !isRow;
      if (isOfChunks && axis >= 0 && strides[axis] == run && !isStepped) {
        run = space.getExtent(dim) < 0 ? -1 : run * space.getExtent(dim);
        continue;
      }
      if (isOfChunks && axis < 0)
        continue;
      isStepped |= isOfChunks;
      if (axis >= 0 && ShapedType::isStatic(strides[axis]))
        narrow(strides[axis]);
    }
    // Where the distance between rows is open, it is most likely that.
    if (!isAcross && run > 1 && space.hasRows(operand))
      narrow(run);
  }
  return alignment;
}

/// Whether rows have an operand with columns in common.
static bool hasCommonColumns(KernelOp kernel) {
  SpaceAttr space = kernel.getSpace();
  if (kernel.getOrder().isAcross())
    return false;
  for (auto [operand, type] :
       llvm::enumerate(kernel.getBlock()->getArgumentTypes()))
    if (isa<MemRefType>(type) && space.hasColumns(operand) &&
        !space.hasRows(operand))
      return true;
  return false;
}

/// What the variants of a kernel take to be aligned, the most first. Rows of an
/// odd length are at any address, while what they have in common isn't.
static SmallVector<Alignment, 3> alignmentsOf(KernelOp kernel) {
  SpaceAttr space = kernel.getSpace();
  int64_t narrowest = 16;
  for (auto [operand, type] :
       llvm::enumerate(kernel.getBlock()->getArgumentTypes()))
    if (auto memref = dyn_cast<MemRefType>(type);
        memref && space.hasRows(operand) && space.hasColumns(operand))
      narrowest = std::clamp<int64_t>(memref.getElementTypeBitWidth() / 8, 1,
                                      narrowest);
  int64_t rows = widestAlignment(kernel, /*ofRows=*/true);
  bool isCommon = hasCommonColumns(kernel);
  int64_t columns = isCommon ? widestAlignment(kernel, /*ofRows=*/false) : rows;
  SmallVector<Alignment, 3> alignments;
  if (rows > narrowest)
    alignments.push_back({rows, columns});
  if (isCommon && (alignments.empty() || kernel.getColumns() < 0))
    alignments.push_back({1, columns});
  alignments.push_back({1, 1});
  return alignments;
}

namespace {
struct ConvertNormTileToGPU
    : public mlir::norm::impl::ConvertNormTileToGPUPassBase<
          ConvertNormTileToGPU> {
  void runOnOperation() override;
  FailureOr<ArrayAttr> convert(KernelOp kernel, gpu::GPUModuleOp module);
  FailureOr<VariantAttr> convert(KernelOp kernel, gpu::GPUModuleOp module,
                                 std::string name, ScheduleAttr schedule,
                                 Alignment alignment,
                                 const llvm::SmallBitVector &overlapping);
};
} // namespace

/// The buffer that a value is a view of.
static Value bufferOf(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
}

/// The operands that some launch passes a view of an output's buffer for, and
/// those outputs.
static llvm::SmallBitVector findOverlapping(KernelOp kernel, ModuleOp module) {
  llvm::SmallBitVector overlapping(kernel.getBlock()->getNumArguments());
  module.walk([&](LaunchOp launch) {
    if (launch.getKernel() != kernel.getSymName())
      return;
    int64_t count = launch.getNumOperands();
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = std::max<int64_t>(
               i + 1, count - static_cast<int64_t>(launch.getNumOutputs()));
           j < count; ++j)
        if (bufferOf(launch.getOperand(i)) == bufferOf(launch.getOperand(j))) {
          overlapping.set(i);
          overlapping.set(j);
        }
  });
  return overlapping;
}

/// The schedule with which any number of CTAs do the work, across memory.
static ScheduleAttr streamed(ScheduleAttr schedule) {
  return ScheduleAttr::get(
      schedule.getContext(), schedule.getThreads(), schedule.getRowsPerCta(),
      Residency::Stream, /*prefetch=*/false, schedule.getVector(),
      /*max_registers=*/0, schedule.getSplit() == 1 ? 1 : 0, schedule.getPdl(),
      schedule.getStages(), /*cluster=*/1);
}

static bool exchanges(KernelOp kernel) {
  return kernel.getBody()
      .walk([](ExchangeStartOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// The schedule with which rows at any address are read, where copies take
/// those of a cluster: the same threads of one CTA.
static ScheduleAttr withoutCluster(ScheduleAttr schedule) {
  if (schedule.getCluster() == 1)
    return schedule;
  ::norm::Schedule other = toSchedule(schedule);
  other.cluster = 1;
  other.maxRegisters = 0;
  return toAttribute(schedule.getContext(), other);
}

FailureOr<VariantAttr> ConvertNormTileToGPU::convert(
    KernelOp kernel, gpu::GPUModuleOp module, std::string name,
    ScheduleAttr schedule, Alignment alignment,
    const llvm::SmallBitVector &overlapping) {
  OpBuilder b(kernel.getContext());
  while (name == "norm_shared" || module.lookupSymbol(name))
    name += "_";
  std::unique_ptr<GPULowering> lowering;
  if (kernel.getOrder().isAcross())
    lowering = std::make_unique<GPUAcross>(b, kernel, schedule, alignment,
                                           overlapping);
  else if (kernel.getSpace().getWorkers())
    lowering = std::make_unique<GPUWorkers>(b, kernel, schedule, alignment,
                                            overlapping);
  else if (schedule.getCluster() > 1)
    lowering = std::make_unique<GPURing>(b, kernel, schedule, alignment,
                                         overlapping);
  else
    lowering = std::make_unique<GPULowering>(b, kernel, schedule, alignment,
                                             overlapping);
  FailureOr<gpu::GPUFuncOp> function = lowering->lower(module, name);
  if (failed(function))
    return failure();
  if (lowering->getSharedBytes() && !module.lookupSymbol("norm_shared"))
    declareShared(b, module);
  return VariantAttr::get(
      b.getContext(), b.getStringAttr(name), alignment.rows, lowering->block(),
      kernel.getSpace().getWorkers() ? 1 : schedule.getRowsPerCta(),
      lowering->getSharedBytes(), schedule.getSplit(),
      lowering->counterBytes(), lowering->workspaceBytes(),
      alignment.columns == alignment.rows ? 0 : alignment.columns,
      schedule.getCluster(), lowering->isPersistent());
}

FailureOr<ArrayAttr> ConvertNormTileToGPU::convert(KernelOp kernel,
                                                   gpu::GPUModuleOp module) {
  OpBuilder b(kernel.getContext());
  llvm::SmallBitVector overlapping = findOverlapping(kernel, getOperation());
  SmallVector<Attribute> variants;
  SmallVector<Alignment, 3> alignments = alignmentsOf(kernel);
  for (auto [number, alignment] : llvm::enumerate(alignments)) {
    bool isFallback = number > 0 && number + 1 == alignments.size();
    ScheduleAttr own = kernel.getSchedule();
    // Without an exchange nothing keeps the CTAs of a cluster together.
    if (alignment.rows < 16 || !exchanges(kernel))
      own = withoutCluster(own);
    SmallVector<ScheduleAttr, 2> schedules;
    if (!isFallback || !kernel.getOrder().isAcross())
      schedules.push_back(own);
    // What all CTAs at once must hold may be more than fits at launch.
    if (kernel.getOrder().isAcross() && (isFallback || own.getSplit() > 1))
      schedules.push_back(streamed(own));
    for (auto [i, schedule] : llvm::enumerate(schedules)) {
      std::string name = kernel.getSymName().str();
      if (number > 0)
        name += isFallback ? "_unaligned" : "_odd";
      if (i != 0)
        name += "_streamed";
      FailureOr<VariantAttr> variant =
          convert(kernel, module, name, schedule, alignment, overlapping);
      if (failed(variant))
        return failure();
      variants.push_back(*variant);
    }
  }
  return b.getArrayAttr(variants);
}

void ConvertNormTileToGPU::runOnOperation() {
  ModuleOp module = getOperation();
  // How much shared memory there is depends on the architecture, which this
  // pass doesn't know: scheduling has checked it.
  ::norm::TargetLimits limits;
  limits.sharedPerCta = std::numeric_limits<int64_t>::max();
  limits.mostClusterCtas = 16;
  if (failed(checkKernels(module, limits, "a GPU")) ||
      failed(checkLaunches(module)))
    return signalPassFailure();
  SmallVector<KernelOp> kernels(module.getOps<KernelOp>());
  if (kernels.empty())
    return;
  OpBuilder b(module.getBodyRegion());
  auto gpuModule = gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
  SymbolTable(module).insert(gpuModule);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  b.getUnitAttr());
  llvm::StringMap<ArrayAttr> variants;
  for (KernelOp kernel : kernels) {
    useStorageTypes(kernel);
    FailureOr<ArrayAttr> converted = convert(kernel, gpuModule);
    if (failed(converted))
      return signalPassFailure();
    variants[kernel.getSymName()] = *converted;
    kernel.erase();
  }
  module.walk([&](LaunchOp launch) {
    if (ArrayAttr found = variants.lookup(launch.getKernel()))
      launch.setVariantsAttr(found);
  });
}
