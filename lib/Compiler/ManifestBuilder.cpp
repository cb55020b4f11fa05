//===- ManifestBuilder.cpp - The manifest of compiled launches ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManifestBuilder.h"

#include "BufferTrace.h"
#include "KernelEntry.h"

#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ::norm;
using mlir::norm_tile::KernelParam;
using mlir::norm_tile::LaunchOp;
using mlir::norm_tile::VariantAttr;

/// `#norm.schedule<...>` as it's written.
static std::string printAttribute(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

namespace {
/// Describes the launches of one function.
class ManifestBuilder {
public:
  ManifestBuilder(func::FuncOp entry, const EntrySignature &signature,
                  Manifest &manifest)
      : entry(entry), signature(signature), manifest(manifest) {}

  LogicalResult run();

private:
  LogicalResult addArgument(BlockArgument value);
  LogicalResult addTemporary(memref::AllocOp alloc);
  FailureOr<TemporaryExtent> traceExtent(Operation *user, Value extent);
  LogicalResult addKernel(LaunchOp launch);
  LogicalResult traceOperands(LaunchOp launch);
  void addBuffers(LaunchOp launch, Kernel &kernel);
  FailureOr<Param> describeParam(LaunchOp launch, const KernelParam &param,
                                 const Kernel &kernel);
  Variant describeVariant(LaunchOp launch, VariantAttr variant);
  uint64_t sharedBytes(StringRef symbol);
  bool isWalked(LaunchOp launch, unsigned operand);

  func::FuncOp entry;
  const EntrySignature &signature;
  Manifest &manifest;
  llvm::DenseMap<Value, unsigned> buffers;
  /// The operands of the current launch.
  SmallVector<BufferTrace> traces;
};
} // namespace

LogicalResult ManifestBuilder::run() {
  for (BlockArgument argument : entry.getArguments())
    if (failed(addArgument(argument)))
      return failure();
  for (Operation &op : entry.getBody().front()) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      if (failed(addTemporary(alloc)))
        return failure();
    } else if (auto launch = dyn_cast<LaunchOp>(op)) {
      if (failed(addKernel(launch)))
        return failure();
    } else if (!isPure(&op) && !op.hasTrait<OpTrait::IsTerminator>()) {
      return op.emitError("expects launches of kernels only but got '")
             << op.getName() << "'";
    }
  }
  for (Kernel &kernel : manifest.kernels)
    for (unsigned write : kernel.writes)
      if (write < manifest.arguments.size())
        manifest.arguments[write].role = ArgumentRole::Output;
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult ManifestBuilder::addArgument(BlockArgument value) {
  unsigned index = value.getArgNumber();
  Argument argument;
  argument.name = signature.names[index];
  auto memref = dyn_cast<MemRefType>(value.getType());
  Type element = memref ? memref.getElementType() : value.getType();
  std::optional<DType> dtype = toDType(element);
  if (!dtype)
    return entry.emitError("expects a supported element type of argument ")
           << index << " but got " << element;
  argument.dtype = *dtype;
  argument.alignment = byteSize(*dtype);
  if (!memref) {
    argument.role = ArgumentRole::Scalar;
  } else {
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    if (failed(memref.getStridesAndOffset(strides, offset)))
      return entry.emitError("expects a strided argument ")
             << index << " but got " << memref;
    argument.shape.assign(memref.getShape().begin(), memref.getShape().end());
    argument.strides.assign(strides.begin(), strides.end());
    argument.contiguous = memref.getLayout().isIdentity() &&
                          llvm::is_contained(strides, ShapedType::kDynamic);
    if (index >= signature.numArguments)
      argument.role = ArgumentRole::Output;
    if (index < signature.equals.size())
      argument.equals = signature.equals[index];
    if (llvm::none_of(argument.equals,
                      [](const auto &dim) { return dim.has_value(); }))
      argument.equals.clear();
  }
  buffers[value] = index;
  manifest.arguments.push_back(std::move(argument));
  return success();
}

/// Where a dynamic extent of a temporary comes from.
FailureOr<TemporaryExtent> ManifestBuilder::traceExtent(Operation *user,
                                                        Value extent) {
  IntegerAttr constant;
  if (matchPattern(extent, m_Constant(&constant)))
    return TemporaryExtent(constant.getInt());
  auto dim = extent.getDefiningOp<memref::DimOp>();
  std::optional<int64_t> axis = dim ? dim.getConstantIndex() : std::nullopt;
  if (!axis)
    return user->emitError("expects the extents of a temporary to be those of "
                           "arguments");
  FailureOr<BufferTrace> trace = traceBuffer(dim.getSource());
  if (failed(trace))
    return failure();
  ArrayRef<unsigned> dims = trace->axes[*axis];
  if (dims.size() != 1 || !trace->parts[*axis].isWhole)
    return user->emitError("expects the extents of a temporary to be those of "
                           "arguments");
  unsigned buffer = buffers.lookup(trace->base);
  if (buffer < manifest.arguments.size())
    return TemporaryExtent(BufferDim{buffer, dims.front()});
  return manifest.temporaries[buffer - manifest.arguments.size()]
      .shape[dims.front()];
}

LogicalResult ManifestBuilder::addTemporary(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  std::optional<DType> dtype = toDType(type.getElementType());
  if (!dtype || !type.getLayout().isIdentity())
    return alloc.emitError("expects a contiguous temporary but got ") << type;
  Temporary temporary;
  temporary.dtype = *dtype;
  unsigned next = 0;
  for (int64_t extent : type.getShape()) {
    if (ShapedType::isStatic(extent)) {
      temporary.shape.push_back(TemporaryExtent(extent));
      continue;
    }
    FailureOr<TemporaryExtent> traced =
        traceExtent(alloc, alloc.getDynamicSizes()[next++]);
    if (failed(traced))
      return failure();
    temporary.shape.push_back(*traced);
  }
  buffers[alloc] = manifest.numBuffers();
  manifest.temporaries.push_back(std::move(temporary));
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LogicalResult ManifestBuilder::traceOperands(LaunchOp launch) {
  traces.clear();
  for (Value operand : launch.getOperands()) {
    FailureOr<BufferTrace> trace = traceBuffer(operand);
    if (failed(trace))
      return failure();
    if (!buffers.contains(trace->base))
      return launch.emitError("expects arguments and temporaries as operands "
                              "but got ")
             << trace->base;
    if (!llvm::all_of(trace->parts, [](const BufferTrace::Part &part) {
          return part.isWhole;
        }))
      return launch.emitError("expects no split of an operand's dims but got ")
             << trace->base.getType() << " as " << operand.getType();
    traces.push_back(*trace);
  }
  return success();
}

void ManifestBuilder::addBuffers(LaunchOp launch, Kernel &kernel) {
  unsigned firstOutput = traces.size() - launch.getNumOutputs();
  for (auto [index, trace] : llvm::enumerate(traces)) {
    if (!isa<MemRefType>(trace.base.getType()))
      continue;
    std::vector<unsigned> &list =
        index < firstOutput ? kernel.reads : kernel.writes;
    unsigned buffer = buffers.lookup(trace.base);
    if (!llvm::is_contained(list, buffer))
      list.push_back(buffer);
  }
}

FailureOr<Param> ManifestBuilder::describeParam(LaunchOp launch,
                                                const KernelParam &param,
                                                const Kernel &kernel) {
  switch (param.kind) {
  case KernelParam::Rows:
    return Param::extent(kernel.rows.buffer, kernel.rows.dims);
  case KernelParam::Columns:
    return Param::extent(kernel.columns.buffer, kernel.columns.dims);
  case KernelParam::Scalar:
    return Param::scalar(buffers.lookup(traces[param.operand].base));
  case KernelParam::Pointer:
    return Param::pointer(buffers.lookup(traces[param.operand].base));
  case KernelParam::Stride: {
    const BufferTrace &trace = traces[param.operand];
    std::optional<unsigned> dim = trace.strideDim(0);
    if (!dim) {
      launch.emitError("expects rows with one distance between them in "
                       "operand ")
          << param.operand << " of type "
          << launch.getOperands()[param.operand].getType();
      return failure();
    }
    return Param::stride(buffers.lookup(trace.base), *dim);
  }
  }
  llvm_unreachable("covered switch");
}

/// Bytes of shared memory that a GPU function declares by itself.
uint64_t ManifestBuilder::sharedBytes(StringRef symbol) {
  auto module = entry->getParentOfType<ModuleOp>();
  uint64_t bytes = 0;
  for (auto kernels : module.getOps<gpu::GPUModuleOp>())
    if (auto function = kernels.lookupSymbol<gpu::GPUFuncOp>(symbol))
      bytes += staticSharedBytes(function);
  return bytes;
}

/// Whether chunks of columns of the operand are accessed. Of one with a single
/// dim that isn't known for certain: it then counts as such.
bool ManifestBuilder::isWalked(LaunchOp launch, unsigned operand) {
  auto type = dyn_cast<MemRefType>(launch.getOperands()[operand].getType());
  if (!type || type.getRank() == 0)
    return false;
  int64_t extent = type.getShape().back();
  // The accessor's type is unsigned.
  int64_t columns = launch.getColumns();
  return type.getRank() == 2 || (columns < 0 ? ShapedType::isDynamic(extent)
                                             : extent == columns);
}

Variant ManifestBuilder::describeVariant(LaunchOp launch, VariantAttr attr) {
  Variant variant;
  variant.symbol = attr.getSymbol().str();
  variant.block = attr.getBlock();
  variant.rowsPerCta = attr.getRowsPerCta();
  variant.dynamicShared = attr.getShared();
  variant.staticShared = sharedBytes(variant.symbol);
  uint64_t chunk =
      launch.getOrder().getLeaf() * launch.getSchedule().getVector();
  for (auto [index, trace] : llvm::enumerate(traces)) {
    if (!isWalked(launch, index))
      continue;
    unsigned buffer = buffers.lookup(trace.base);
    uint64_t element = byteSize(manifest.dtype(buffer));
    uint64_t alignment =
        std::min<uint64_t>(attr.getAlignment(), chunk * element);
    // Every buffer is aligned to its elements.
    bool known = llvm::any_of(variant.requirements, [&](const auto &other) {
      return other.buffer == buffer && other.alignment >= alignment;
    });
    if (alignment > element && !known)
      variant.requirements.push_back({buffer, alignment});
  }
  return variant;
}

LogicalResult ManifestBuilder::addKernel(LaunchOp launch) {
  if (failed(traceOperands(launch)))
    return failure();
  Kernel kernel;
  kernel.program = launch.getProgram().str();
  kernel.order = printAttribute(launch.getOrder());
  kernel.schedule = printAttribute(launch.getSchedule());
  addBuffers(launch, kernel);

  const BufferTrace &rows = traces[launch.getRowsOf()];
  const BufferTrace &columns = traces[launch.getColumnsOf()];
  kernel.rows = {buffers.lookup(rows.base), rows.axes.front()};
  kernel.columns = {buffers.lookup(columns.base), columns.axes.back()};
  for (const KernelParam &param : mlir::norm_tile::getKernelParams(
           launch.getOperandTypes(), launch.getColumns())) {
    FailureOr<Param> described = describeParam(launch, param, kernel);
    if (failed(described))
      return failure();
    kernel.params.push_back(*described);
  }

  std::optional<ArrayAttr> variants = launch.getVariants();
  if (!variants || variants->empty())
    return launch.emitError("expects a kernel converted for the target");
  for (Attribute variant : *variants)
    kernel.variants.push_back(
        describeVariant(launch, cast<VariantAttr>(variant)));
  manifest.kernels.push_back(std::move(kernel));
  return success();
}

namespace norm {

std::optional<DType> toDType(Type type) {
  if (type.isIndex())
    return DType::I64;
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return parseDType(text);
}

LogicalResult buildManifest(func::FuncOp entry, const EntrySignature &signature,
                            Manifest &manifest) {
  return ManifestBuilder(entry, signature, manifest).run();
}

} // namespace norm
