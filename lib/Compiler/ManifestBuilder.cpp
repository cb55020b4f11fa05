//===- ManifestBuilder.cpp - The manifest of compiled launches ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManifestBuilder.h"

#include "BufferTrace.h"
#include "KernelEntry.h"

#include "norm/Analysis/TilePlan.h"
#include "norm/Conversion/KernelHints.h"
#include "norm/Dialect/Norm/IR/Norm.h"
#include "norm/Dialect/NormTile/IR/NormTile.h"
#include "norm/Support/Targets.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

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
  void addInPlaceResults();
  LogicalResult addTemporary(memref::AllocOp alloc);
  FailureOr<TemporaryExtent> traceExtent(Operation *user, Value extent);
  void addMultiples(const BufferTrace &trace);
  LogicalResult addKernel(LaunchOp launch);
  LogicalResult traceOperands(LaunchOp launch);
  void addBuffers(LaunchOp launch, Kernel &kernel);
  FailureOr<Param> describeParam(LaunchOp launch, const KernelParam &param,
                                 const Kernel &kernel);
  Variant describeVariant(LaunchOp launch, VariantAttr variant);
  uint64_t sharedBytes(StringRef symbol);
  uint64_t waitingCtas(StringRef symbol);
  bool isWalked(LaunchOp launch, unsigned operand);
  FailureOr<BufferDims> describeDims(LaunchOp launch, ArrayRef<unsigned> dims);

  func::FuncOp entry;
  const EntrySignature &signature;
  Manifest &manifest;
  llvm::DenseMap<Value, unsigned> buffers;
  /// By argument, the result that is written in its place, and whether its
  /// content is read before.
  llvm::DenseMap<unsigned, std::pair<unsigned, bool>> results;
  /// The operands of the current launch.
  SmallVector<BufferTrace> traces;
};
} // namespace

/// Lets temporaries that aren't needed at the same time share memory: each, in
/// the order in which they're first written, takes the slot of one of its size
/// that is free, or any free slot, or a new one.
static void assignSlots(Manifest &manifest) {
  struct Slot {
    unsigned last; ///< kernel that needs it
    unsigned temporary;
  };
  unsigned numArguments = manifest.arguments.size();
  auto lifetime = [&](unsigned i) {
    return manifest.lifetime(numArguments + i).value_or(std::pair(0u, 0u));
  };
  std::vector<unsigned> order(manifest.temporaries.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return lifetime(a).first < lifetime(b).first;
  });
  std::vector<Slot> slots;
  for (unsigned i : order) {
    Temporary &temporary = manifest.temporaries[i];
    auto [first, last] = lifetime(i);
    std::optional<unsigned> best;
    for (unsigned slot = 0; slot < slots.size(); ++slot) {
      const Temporary &other = manifest.temporaries[slots[slot].temporary];
      if (slots[slot].last >= first)
        continue;
      bool isSame =
          other.dtype == temporary.dtype && other.shape == temporary.shape;
      if (!best || isSame)
        best = slot;
      if (isSame)
        break;
    }
    if (!best) {
      best = slots.size();
      slots.emplace_back();
    }
    slots[*best] = {last, i};
    temporary.slot = *best;
  }
}

LogicalResult ManifestBuilder::run() {
  addInPlaceResults();
  for (BlockArgument argument : entry.getArguments()) {
    if (failed(addArgument(argument)))
      return failure();
    addInPlaceResults();
  }
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
  assignSlots(manifest);
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult ManifestBuilder::addArgument(BlockArgument value) {
  unsigned index = manifest.arguments.size();
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
    if (index < signature.extents.equals.size()) {
      argument.equals = signature.extents.equals[index];
      argument.shape.assign(signature.extents.shapes[index].begin(),
                            signature.extents.shapes[index].end());
    }
    if (llvm::none_of(argument.equals,
                      [](const auto &dim) { return dim.has_value(); }))
      argument.equals.clear();
  }
  buffers[value] = index;
  manifest.arguments.push_back(std::move(argument));
  return success();
}

/// Appends the results that come next and are no arguments in the IR, since
/// they are written to others.
void ManifestBuilder::addInPlaceResults() {
  while (true) {
    unsigned index = manifest.arguments.size();
    unsigned result = index - signature.numArguments;
    if (index < signature.numArguments || result >= signature.inPlace.size() ||
        !signature.inPlace[result])
      return;
    InPlaceFact fact = *signature.inPlace[result];
    Argument argument = manifest.arguments[fact.argument];
    argument.name = signature.names[index];
    argument.role = ArgumentRole::Output;
    argument.aliases = {fact.argument};
    argument.inPlace = fact.argument;
    argument.equals.clear();
    for (unsigned dim = 0; dim < argument.shape.size(); ++dim)
      argument.equals.push_back(
          argument.shape[dim] == kDynamic
              ? std::optional(BufferDim{fact.argument, dim})
              : std::nullopt);
    if (llvm::none_of(argument.equals,
                      [](const auto &dim) { return dim.has_value(); }))
      argument.equals.clear();
    results[fact.argument] = {index, fact.isRead};
    manifest.arguments.push_back(std::move(argument));
  }
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
  addMultiples(*trace);
  BufferTrace::Axis::Product &source = trace->axes[*axis].extent;
  if (source.dims.size() != 1 || source.factor != 1)
    return user->emitError("expects the extents of a temporary to be those of "
                           "arguments");
  unsigned buffer = buffers.lookup(trace->base), number = source.dims.front();
  if (buffer < manifest.arguments.size())
    return TemporaryExtent(BufferDim{buffer, number}, source.divisor);
  TemporaryExtent found =
      manifest.temporaries[buffer - manifest.arguments.size()].shape[number];
  if (found.source)
    found.divisor *= source.divisor;
  else
    found.value /= int64_t(source.divisor);
  return found;
}

/// Notes what extents of arguments are split into whole parts.
void ManifestBuilder::addMultiples(const BufferTrace &trace) {
  for (BufferTrace::Multiple multiple : trace.multiples) {
    BufferDim dim = {buffers.lookup(trace.base), multiple.dim};
    uint64_t of = multiple.of;
    if (dim.buffer >= manifest.arguments.size()) {
      const TemporaryExtent &extent =
          manifest.temporaries[dim.buffer - manifest.arguments.size()]
              .shape[dim.dim];
      if (!extent.source)
        continue;
      dim = *extent.source;
      of *= extent.divisor;
    }
    Argument &argument = manifest.arguments[dim.buffer];
    if (argument.multiples.empty())
      argument.multiples.resize(argument.shape.size(), 1);
    uint64_t &known = argument.multiples[dim.dim];
    known = std::lcm(known, of);
  }
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
    addMultiples(*trace);
    traces.push_back(*trace);
  }
  return success();
}

void ManifestBuilder::addBuffers(LaunchOp launch, Kernel &kernel) {
  unsigned firstOutput = traces.size() - launch.getNumOutputs();
  for (auto [index, trace] : llvm::enumerate(traces)) {
    if (!isa<MemRefType>(trace.base.getType()) ||
        (index < firstOutput && !launch.isRead(index)))
      continue;
    unsigned buffer = buffers.lookup(trace.base);
    auto add = [](std::vector<unsigned> &list, unsigned buffer) {
      if (!llvm::is_contained(list, buffer))
        list.push_back(buffer);
    };
    auto replaced = results.find(buffer);
    if (index < firstOutput || replaced == results.end()) {
      add(index < firstOutput ? kernel.reads : kernel.writes, buffer);
      continue;
    }
    auto [result, isRead] = replaced->second;
    add(kernel.writes, result);
    if (isRead)
      add(kernel.reads, buffer);
  }
}

FailureOr<Param> ManifestBuilder::describeParam(LaunchOp launch,
                                                const KernelParam &param,
                                                const Kernel &kernel) {
  switch (param.kind) {
  case KernelParam::Rows:
    return Param::extent(kernel.rows);
  case KernelParam::Columns:
    return Param::extent(kernel.columns);
  case KernelParam::Extent: {
    FailureOr<BufferDims> dims = describeDims(launch, {param.axis});
    if (failed(dims))
      return failure();
    return Param::extent(*dims);
  }
  case KernelParam::Scalar:
    return Param::scalar(buffers.lookup(traces[param.operand].base));
  case KernelParam::Pointer: {
    unsigned buffer = buffers.lookup(traces[param.operand].base);
    // What is written is the result, wherever it is.
    auto replaced = results.find(buffer);
    bool isOutput = param.operand >= traces.size() - launch.getNumOutputs();
    return Param::pointer(isOutput && replaced != results.end()
                              ? replaced->second.first
                              : buffer);
  }
  case KernelParam::Stride: {
    const BufferTrace &trace = traces[param.operand];
    const BufferTrace::Axis &axis = trace.axes[param.axis];
    // Nobody steps along one of extent 1: the stride of any dim will do.
    Param stride = Param::stride(buffers.lookup(trace.base),
                                 axis.strideDim.value_or(0),
                                 axis.steps.factor);
    llvm::append_range(stride.dims, axis.steps.dims);
    stride.divisor = axis.steps.divisor;
    return stride;
  }
  case KernelParam::Split:
    return Param::split();
  case KernelParam::Workspace:
    return Param::workspace();
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

/// CTAs of the largest grid that waits by itself for those before it.
uint64_t ManifestBuilder::waitingCtas(StringRef symbol) {
  const ::norm::GPUTarget *gpu = ::norm::findGPUTarget(manifest.target);
  if (!gpu || !gpu->hasDependentLaunch())
    return 0;
  auto module = entry->getParentOfType<ModuleOp>();
  for (auto kernels : module.getOps<gpu::GPUModuleOp>())
    if (auto function = kernels.lookupSymbol<gpu::GPUFuncOp>(symbol))
      if (auto most = function->getAttrOfType<IntegerAttr>(
              mlir::norm::kDependentLaunchAttr))
        return most.getInt();
  return 0;
}

/// Whether chunks of the operand are accessed: of columns or, across memory, of
/// neighbours.
bool ManifestBuilder::isWalked(LaunchOp launch, unsigned operand) {
  if (!isa<MemRefType>(launch.getOperands()[operand].getType()))
    return false;
  mlir::norm_tile::SpaceAttr space = launch.getSpace();
  return launch.getOrder().isAcross()
             ? space.hasRows(operand) || space.hasColumns(operand)
             : space.hasColumns(operand);
}

/// The product of some dims of a launch's space, as that of dims of a buffer.
FailureOr<BufferDims> ManifestBuilder::describeDims(LaunchOp launch,
                                                    ArrayRef<unsigned> dims) {
  mlir::norm_tile::SpaceAttr space = launch.getSpace();
  BufferTrace::Axis::Product product;
  std::optional<unsigned> buffer;
  for (unsigned dim : dims) {
    if (space.getExtent(dim) >= 0) {
      product.multiply({{}, uint64_t(space.getExtent(dim)), 1});
      continue;
    }
    // One operand has all of them, if any has.
    int64_t operand = -1;
    for (unsigned i = 0; i < space.getAxes().size() && operand < 0; ++i)
      if (!space.getAxes()[i].empty() &&
          llvm::all_of(dims, [&](unsigned other) {
            return space.getExtent(other) >= 0 || space.getAxis(i, other) >= 0;
          }))
        operand = i;
    if (operand < 0)
      return launch.emitError(
          "expects an operand that has all dims of rows (or all of columns) "
          "whose extents are known at launch only");
    const BufferTrace &trace = traces[operand];
    for (unsigned axis : space.getAxesOf(operand, dim))
      product.multiply(trace.axes[axis].extent);
    buffer = buffers.lookup(trace.base);
  }
  // Without a dim, any tensor.
  unsigned first = 0;
  while (!buffer && first < manifest.arguments.size() &&
         manifest.arguments[first].role == ::norm::ArgumentRole::Scalar)
    ++first;
  return BufferDims{buffer.value_or(first), product.dims, product.factor,
                    product.divisor};
}

Variant ManifestBuilder::describeVariant(LaunchOp launch, VariantAttr attr) {
  Variant variant;
  variant.symbol = attr.getSymbol().str();
  variant.block = attr.getBlock();
  variant.rowsPerCta = attr.getRowsPerCta();
  variant.dynamicShared = attr.getShared();
  variant.staticShared = sharedBytes(variant.symbol);
  variant.split = attr.getSplit();
  variant.waits = waitingCtas(variant.symbol);
  variant.cluster = attr.getCluster();
  variant.persistent = attr.getPersistent();
  uint64_t chunk = launch.getSchedule().getVector();
  if (!launch.getOrder().isAcross())
    chunk *= launch.getOrder().getLeaf();
  for (auto [index, trace] : llvm::enumerate(traces)) {
    if (!isWalked(launch, index))
      continue;
    unsigned buffer = buffers.lookup(trace.base);
    ::norm::DType dtype = manifest.dtype(buffer);
    uint64_t element = byteSize(dtype);
    bool isOfRows =
        launch.getOrder().isAcross() || launch.getSpace().hasRows(index);
    int64_t wanted = isOfRows || !attr.getColumnAlignment()
                         ? attr.getAlignment()
                         : attr.getColumnAlignment();
    uint64_t alignment =
        std::min<uint64_t>(wanted, ::norm::bytesOf(dtype, chunk));
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

  mlir::norm_tile::SpaceAttr space = launch.getSpace();
  mlir::norm::OrderAttr order = launch.getOrder();
  auto numbers = llvm::to_vector(llvm::seq<unsigned>(0, space.getNumDims()));
  unsigned numRowDims = space.getNumRowDims();
  FailureOr<BufferDims> rows =
      describeDims(launch, ArrayRef(numbers).take_front(numRowDims));
  FailureOr<BufferDims> columns =
      describeDims(launch, ArrayRef(numbers).drop_front(numRowDims));
  if (failed(rows) || failed(columns))
    return failure();
  kernel.rows = *rows;
  kernel.columns = *columns;
  if (order.isAcross()) {
    kernel.rows.factor *= order.getInner();
    int64_t count = launch.getColumns();
    kernel.slices = count < 0 ? ::norm::maxSlices
                              : ::norm::countSlices(count / order.getInner());
  }
  for (const KernelParam &param : mlir::norm_tile::getKernelParams(
           launch.getOperandTypes(), space, order, launch.getSchedule())) {
    FailureOr<Param> described = describeParam(launch, param, kernel);
    if (failed(described))
      return failure();
    kernel.params.push_back(*described);
  }
  // Workers that share all rows are what CTAs are launched for.
  if (space.getWorkers())
    kernel.rows = {rows->buffer, {}, uint64_t(space.getWorkers())};

  std::optional<ArrayAttr> variants = launch.getVariants();
  if (!variants || variants->empty())
    return launch.emitError("expects a kernel converted for the target");
  for (auto variant : variants->getAsRange<VariantAttr>()) {
    kernel.variants.push_back(describeVariant(launch, variant));
    kernel.counterBytes =
        std::max<uint64_t>(kernel.counterBytes, variant.getCounters());
    kernel.unitBytes =
        std::max<uint64_t>(kernel.unitBytes, variant.getWorkspace());
  }
  manifest.kernels.push_back(std::move(kernel));
  return success();
}

namespace norm {

std::vector<std::optional<InPlaceFact>> findInPlace(func::FuncOp function) {
  std::vector<std::optional<InPlaceFact>> facts(function.getNumResults());
  for (BlockArgument argument : function.getArguments())
    if (auto result = function.getArgAttrOfType<IntegerAttr>(
            argument.getArgNumber(), mlir::norm::NormDialect::kInPlaceAttrName))
      facts[result.getInt()] = {
          argument.getArgNumber(),
          llvm::any_of(argument.getUsers(), [](Operation *user) {
            return !isa<tensor::DimOp>(user);
          })};
  return facts;
}

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
