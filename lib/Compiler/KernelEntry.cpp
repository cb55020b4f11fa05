//===- KernelEntry.cpp - Texts that hold GPU kernels already --------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEntry.h"

#include "ManifestBuilder.h"

#include "norm/Dialect/NormTile/IR/NormTile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ::norm;

/// CTAs of a grid along x: CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability".
static constexpr uint64_t kMaxGrid = (uint64_t(1) << 31) - 1;

static SmallVector<gpu::GPUFuncOp> kernelsOf(ModuleOp module) {
  SmallVector<gpu::GPUFuncOp> kernels;
  for (auto device : module.getOps<gpu::GPUModuleOp>())
    for (auto function : device.getOps<gpu::GPUFuncOp>())
      if (function.isKernel())
        kernels.push_back(function);
  return kernels;
}

namespace norm {

bool hasKernels(ModuleOp module) { return !kernelsOf(module).empty(); }

bool hasLaunches(func::FuncOp function) {
  return !function.isExternal() &&
         !function.getOps<mlir::norm_tile::LaunchOp>().empty();
}

llvm::Expected<gpu::GPUFuncOp> findKernel(ModuleOp module, StringRef wanted) {
  SmallVector<gpu::GPUFuncOp> kernels = kernelsOf(module);
  SmallVector<std::string> names;
  for (gpu::GPUFuncOp kernel : kernels) {
    if (kernel.getName() == wanted)
      return kernel;
    names.push_back(kernel.getName().str());
  }
  if (wanted.empty() && kernels.size() == 1)
    return kernels.front();
  std::string all = llvm::join(names, ", ");
  if (wanted.empty())
    return llvm::createStringError(
        "expects one kernel or a named entry but found " + all);
  return llvm::createStringError("expects an entry named '" + wanted +
                                 "' but found " + all);
}

uint64_t staticSharedBytes(gpu::GPUFuncOp kernel) {
  uint64_t bytes = 0;
  for (BlockArgument memory : kernel.getWorkgroupAttributions()) {
    auto type = cast<MemRefType>(memory.getType());
    if (type.hasStaticShape() && type.getElementType().isIntOrFloat())
      bytes += type.getNumElements() *
               llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }
  return bytes;
}

} // namespace norm

//===----------------------------------------------------------------------===//
// Kernels that nothing launches
//===----------------------------------------------------------------------===//

namespace {
/// How a kernel uses the memory that one of its arguments leads to.
struct Uses {
  bool reads = false;
  bool writes = false;
  Type element; ///< what is loaded and stored; null for nothing
};

/// Describes one kernel.
class KernelDescriber {
public:
  KernelDescriber(gpu::GPUFuncOp kernel, llvm::ArrayRef<std::string> names,
                  const KernelLaunchOptions &options, Manifest &manifest)
      : kernel(kernel), names(names), options(options), manifest(manifest) {}

  llvm::Error run();

private:
  llvm::Error addArgument(unsigned index);
  llvm::Error addScalar(unsigned index, Type type);
  llvm::Error addMemRef(unsigned index, MemRefType type);
  llvm::Error addPointer(unsigned index);
  /// Buffers are described, all but their parameters.
  llvm::Error addBuffer(unsigned index, Argument argument, const Uses &uses);
  llvm::Error addLaunch();
  llvm::Error checkDType(unsigned index, DType found);
  llvm::Expected<unsigned> chooseBlock();

  const KernelArgument &given(unsigned index) const {
    static const KernelArgument nothing;
    auto found = options.arguments.find(index);
    return found == options.arguments.end() ? nothing : found->second;
  }
  llvm::Error fail(unsigned index, const llvm::Twine &text) const {
    return llvm::createStringError("argument " + llvm::Twine(index) + " '" +
                                   names[index] + "': " + text);
  }

  gpu::GPUFuncOp kernel;
  llvm::ArrayRef<std::string> names;
  const KernelLaunchOptions &options;
  Manifest &manifest;
  Kernel launch;
};
} // namespace

/// Follows addresses computed from `memory`.
static void collectUses(Value memory, Uses &uses) {
  auto note = [&](bool isWrite, Type type) {
    (isWrite ? uses.writes : uses.reads) = true;
    if (!uses.element)
      uses.element = getElementTypeOrSelf(type);
  };
  for (OpOperand &use : memory.getUses()) {
    Operation *user = use.getOwner();
    llvm::TypeSwitch<Operation *>(user)
        .Case<LLVM::GEPOp, LLVM::AddrSpaceCastOp>([&](Operation *) {
          if (use.getOperandNumber() == 0)
            collectUses(user->getResult(0), uses);
        })
        .Case([&](LLVM::LoadOp load) { note(false, load.getType()); })
        .Case([&](LLVM::StoreOp store) {
          if (store.getAddr() == memory)
            note(true, store.getValue().getType());
        })
        .Default([&](Operation *) {
          auto effects = dyn_cast<MemoryEffectOpInterface>(user);
          if (!effects || !isa<MemRefType>(memory.getType()))
            return;
          uses.reads |= effects.getEffectOnValue<MemoryEffects::Read>(memory)
                            .has_value();
          uses.writes |= effects.getEffectOnValue<MemoryEffects::Write>(memory)
                             .has_value();
        });
  }
}

llvm::Error KernelDescriber::checkDType(unsigned index, DType found) {
  std::optional<DType> wanted = given(index).dtype;
  if (!wanted || *wanted == found)
    return llvm::Error::success();
  return fail(index, "expects " + ::norm::name(found) + " but got " +
                         ::norm::name(*wanted));
}

llvm::Error KernelDescriber::addScalar(unsigned index, Type type) {
  std::optional<DType> dtype = toDType(type);
  if (!dtype) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return fail(index, "expects a memref, an address in global memory or a "
                       "number but got " +
                           text);
  }
  if (given(index).role && *given(index).role != ArgumentRole::Scalar)
    return fail(index, "expects a number but got a tensor");
  Argument argument;
  argument.name = names[index];
  argument.role = ArgumentRole::Scalar;
  argument.dtype = *dtype;
  argument.alignment = byteSize(*dtype);
  manifest.arguments.push_back(std::move(argument));
  launch.params.push_back(Param::scalar(index));
  return llvm::Error::success();
}

llvm::Error KernelDescriber::addBuffer(unsigned index, Argument argument,
                                       const Uses &uses) {
  const KernelArgument &wanted = given(index);
  if (wanted.role == ArgumentRole::Scalar)
    return fail(index, "expects a tensor but got a number");
  bool isReadOnly = bool(kernel.getArgAttr(index, "llvm.readonly"));
  argument.name = names[index];
  argument.role = wanted.role.value_or(uses.writes && !isReadOnly
                                           ? ArgumentRole::Output
                                           : ArgumentRole::Input);
  argument.alignment = byteSize(argument.dtype);
  if (auto alignment = dyn_cast_or_null<IntegerAttr>(
          kernel.getArgAttr(index, "llvm.align")))
    if (llvm::isPowerOf2_64(alignment.getInt()))
      argument.alignment = std::max(argument.alignment,
                                    uint64_t(alignment.getInt()));
  if (argument.role == ArgumentRole::Output)
    launch.writes.push_back(index);
  else
    launch.reads.push_back(index);
  launch.params.push_back(Param::pointer(index));
  manifest.arguments.push_back(std::move(argument));
  return llvm::Error::success();
}

llvm::Error KernelDescriber::addMemRef(unsigned index, MemRefType type) {
  std::optional<DType> dtype = toDType(type.getElementType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!dtype || failed(type.getStridesAndOffset(strides, offset))) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return fail(index, "expects a strided memref of a supported element type "
                       "but got " +
                           text);
  }
  if (llvm::Error error = checkDType(index, *dtype))
    return error;
  Argument argument;
  argument.dtype = *dtype;
  argument.shape.assign(type.getShape().begin(), type.getShape().end());
  argument.strides.assign(strides.begin(), strides.end());
  argument.contiguous = type.getLayout().isIdentity() &&
                        llvm::is_contained(strides, ShapedType::kDynamic);
  Uses uses;
  collectUses(kernel.getArgument(index), uses);
  if (llvm::Error error = addBuffer(index, std::move(argument), uses))
    return error;
  // As norm-unpack-kernel-memrefs passes them.
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      launch.params.push_back(Param::extent(index, {unsigned(dim)}));
  if (!type.getLayout().isIdentity())
    for (auto [dim, stride] : llvm::enumerate(strides))
      if (ShapedType::isDynamic(stride))
        launch.params.push_back(Param::stride(index, unsigned(dim)));
  return llvm::Error::success();
}

llvm::Error KernelDescriber::addPointer(unsigned index) {
  auto type = cast<LLVM::LLVMPointerType>(kernel.getArgument(index).getType());
  if (type.getAddressSpace() > 1)
    return fail(index, "expects an address in global memory but got one in "
                       "address space " +
                           llvm::Twine(type.getAddressSpace()));
  const KernelArgument &wanted = given(index);
  if (!wanted.rank)
    return fail(index, "expects to be given a shape, which its type doesn't "
                       "tell, but got none");
  Uses uses;
  collectUses(kernel.getArgument(index), uses);
  std::optional<DType> dtype = wanted.dtype;
  if (!dtype && uses.element)
    dtype = toDType(uses.element);
  if (!dtype)
    return fail(index, "expects to be given an element type, which its uses "
                       "don't tell, but got none");
  Argument argument;
  argument.dtype = *dtype;
  argument.shape.assign(*wanted.rank, kDynamic);
  argument.strides.assign(*wanted.rank, kDynamic);
  return addBuffer(index, std::move(argument), uses);
}

llvm::Error KernelDescriber::addArgument(unsigned index) {
  Type type = kernel.getArgument(index).getType();
  if (auto memref = dyn_cast<MemRefType>(type))
    return addMemRef(index, memref);
  if (isa<LLVM::LLVMPointerType>(type))
    return addPointer(index);
  return addScalar(index, type);
}

/// The threads that the options and the kernel's own attribute name.
llvm::Expected<unsigned> KernelDescriber::chooseBlock() {
  std::optional<unsigned> known;
  if (std::optional<ArrayRef<int32_t>> sizes = kernel.getKnownBlockSize()) {
    if (sizes->size() == 3 && ((*sizes)[1] != 1 || (*sizes)[2] != 1))
      return llvm::createStringError(
          "kernel '" + kernel.getName() +
          "': expects a block of one dimension but got " +
          llvm::Twine((*sizes)[0]) + "x" + llvm::Twine((*sizes)[1]) + "x" +
          llvm::Twine((*sizes)[2]));
    if (!sizes->empty())
      known = unsigned(sizes->front());
  }
  unsigned block = options.block.value_or(known.value_or(0));
  if (known && block != *known)
    return llvm::createStringError("kernel '" + kernel.getName() +
                                   "': expects " + llvm::Twine(*known) +
                                   " threads of a CTA, as known_block_size "
                                   "says, but got " +
                                   llvm::Twine(block));
  if (block == 0 || block > 1024)
    return llvm::createStringError(
        "kernel '" + kernel.getName() +
        "': expects 1 to 1024 threads of a CTA (block) but got " +
        (options.block ? llvm::utostr(block) : "none"));
  return block;
}

llvm::Error KernelDescriber::addLaunch() {
  StringRef name = kernel.getName();
  uint64_t grid = options.grid.value_or(0);
  if (grid == 0 || grid > kMaxGrid)
    return llvm::createStringError(
        "kernel '" + name + "': expects 1 to " + llvm::Twine(kMaxGrid) +
        " CTAs (grid) but got " +
        (options.grid ? llvm::utostr(grid) : "none"));
  Variant variant;
  if (llvm::Error error = chooseBlock().moveInto(variant.block))
    return error;
  variant.symbol = name.str();
  variant.dynamicShared = options.dynamicShared;
  variant.staticShared = staticSharedBytes(kernel);
  launch.program = name.str();
  launch.grid = grid;
  launch.schedule = "grid = " + std::to_string(grid) +
                    ", threads = " + std::to_string(variant.block);
  if (launch.reads.empty() && launch.writes.empty())
    return llvm::createStringError("kernel '" + name +
                                   "': expects a buffer as argument but got "
                                   "none");
  // One row of one column: the fields mean nothing here.
  unsigned buffer =
      launch.writes.empty() ? launch.reads.front() : launch.writes.front();
  launch.rows = launch.columns = {buffer, {}};
  launch.variants.push_back(std::move(variant));
  manifest.kernels.push_back(std::move(launch));
  return llvm::Error::success();
}

llvm::Error KernelDescriber::run() {
  unsigned count = kernel.getNumArguments();
  if (!options.arguments.empty() && options.arguments.rbegin()->first >= count)
    return llvm::createStringError(
        "kernel '" + kernel.getName() + "': expects an argument index below " +
        llvm::Twine(count) + " but got " +
        llvm::Twine(options.arguments.rbegin()->first));
  for (unsigned index = 0; index < count; ++index)
    if (llvm::Error error = addArgument(index))
      return error;
  return addLaunch();
}

namespace norm {

llvm::Error describeKernel(gpu::GPUFuncOp kernel,
                           llvm::ArrayRef<std::string> names,
                           const KernelLaunchOptions &options,
                           Manifest &manifest) {
  return KernelDescriber(kernel, names, options, manifest).run();
}

} // namespace norm

//===----------------------------------------------------------------------===//
// Kernels behind launches
//===----------------------------------------------------------------------===//

/// Whether a parameter of a kernel takes what the manifest passes.
static bool accepts(Type type, const Param &param, const Manifest &manifest) {
  switch (param.kind) {
  case Param::Kind::Pointer:
  case Param::Kind::Workspace:
    return isa<LLVM::LLVMPointerType>(type);
  case Param::Kind::Stride:
  case Param::Kind::Extent:
  case Param::Kind::Split:
    return type.isInteger(64) || type.isIndex();
  case Param::Kind::Scalar:
    return toDType(type) == manifest.dtype(param.buffer);
  }
  return false;
}

namespace norm {

llvm::Error checkVariants(ModuleOp module, const Manifest &manifest) {
  SmallVector<gpu::GPUFuncOp> kernels = kernelsOf(module);
  for (const Kernel &launch : manifest.kernels)
    for (const Variant &variant : launch.variants) {
      auto kernel = llvm::find_if(kernels, [&](gpu::GPUFuncOp function) {
        return function.getName() == variant.symbol;
      });
      if (kernel == kernels.end())
        return llvm::createStringError("expects a gpu.func '" +
                                       variant.symbol +
                                       "', which is launched, but found none");
      ArrayRef<Type> types = kernel->getArgumentTypes();
      if (types.size() != launch.params.size())
        return llvm::createStringError(
            "kernel '" + variant.symbol + "': expects " +
            llvm::Twine(launch.params.size()) +
            " arguments, as its launch passes, but got " +
            llvm::Twine(types.size()));
      for (auto [index, type] : llvm::enumerate(types)) {
        if (accepts(type, launch.params[index], manifest))
          continue;
        std::string text;
        llvm::raw_string_ostream(text) << type;
        return llvm::createStringError(
            "kernel '" + variant.symbol + "': expects argument " +
            llvm::Twine(index) + " of the type that its launch passes but " +
            "got " + text);
      }
    }
  return llvm::Error::success();
}

} // namespace norm
