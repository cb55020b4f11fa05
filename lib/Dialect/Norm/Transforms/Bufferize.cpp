//===- Bufferize.cpp - Programs on tensors become programs on buffers -----===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "SplitForLayouts.h"

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMBUFFERIZEPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

static bufferization::OneShotBufferizationOptions makeOptions() {
  bufferization::OneShotBufferizationOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.setFunctionBoundaryTypeConversion(
      bufferization::LayoutMapOption::IdentityLayoutMap);
  options.unknownTypeConverterFn =
      [](TensorType type, Attribute,
         const bufferization::BufferizationOptions &) -> BaseMemRefType {
    return MemRefType::get(type.getShape(), type.getElementType());
  };
  return options;
}

/// Tells bufferization the layouts of arguments.
static void placeArguments(func::FuncOp function) {
  llvm::DenseSet<Type> pitched = findPitchedTypes(function);
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    auto declared = dyn_cast_if_present<StridedLayoutAttr>(
        function.removeArgAttr(index, NormDialect::kLayoutAttrName));
    MemRefLayoutAttrInterface layout =
        getBoundaryType(tensor, pitched.contains(type), declared).getLayout();
    if (!layout.isIdentity())
      function.setArgAttr(
          index, bufferization::BufferizationDialect::kBufferLayoutAttrName,
          layout);
  }
}

/// Whether a memref's axes of one group are as good as one axis.
static bool isCollapsible(MemRefType type, const ReassociationIndices &group) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (axis == group.front())
      groups.push_back(group);
    else if (!llvm::is_contained(group, axis))
      groups.push_back({axis});
  }
  return memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups);
}

/// Axes that lie apart are no axis, and no kernel copies them to where they
/// are.
static LogicalResult checkCollapses(func::FuncOp function) {
  WalkResult result = function.walk([&](tensor::CollapseShapeOp collapse) {
    FailureOr<MemRefType> type = getViewType(function, collapse.getSrc());
    if (collapse.use_empty() || failed(type))
      return WalkResult::advance();
    for (const ReassociationIndices &group :
         collapse.getReassociationIndices()) {
      if (group.size() < 2 || isCollapsible(*type, group))
        continue;
      collapse.emitError("expects axes ")
          << group.front() << " to " << group.back()
          << " to lie in memory as one but got " << *type;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// A buffer has a rank.
static LogicalResult checkRanks(ModuleOp module) {
  auto check = [&](Operation *op, TypeRange types) -> LogicalResult {
    for (Type type : types)
      if (isa<UnrankedTensorType>(type))
        return op->emitError("expects ranked tensors but got ") << type;
    return success();
  };
  WalkResult result = module.walk([&](Operation *op) {
    LogicalResult checked = check(op, op->getResultTypes());
    if (auto function = dyn_cast<FunctionOpInterface>(op);
        function && succeeded(checked)) {
      checked = check(op, function.getArgumentTypes());
      if (succeeded(checked))
        checked = check(op, function.getResultTypes());
    }
    return WalkResult(checked);
  });
  return failure(result.wasInterrupted());
}

/// No argument that came as a tensor is written.
static void protectArguments(ModuleOp module) {
  StringRef name = bufferization::BufferizationDialect::kWritableAttrName;
  auto no = BoolAttr::get(module.getContext(), false);
  for (auto function : module.getOps<func::FuncOp>())
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (isa<RankedTensorType>(type))
        function.setArgAttr(index, name, no);
}

/// A result that is computed split, in a view of a place with open strides, and
/// read whole: the place is what the split one is put together to, whether or
/// not strides can tell. True if nobody needs the copy then.
static bool readWhole(memref::CopyOp copy) {
  auto expand = copy.getSource().getDefiningOp<memref::ExpandShapeOp>();
  auto alloc = copy.getTarget().getDefiningOp<memref::AllocOp>();
  if (!expand || !alloc)
    return false;
  SmallVector<memref::CollapseShapeOp> collapses;
  for (Operation *user : alloc->getUsers()) {
    if (user == copy)
      continue;
    auto collapse = dyn_cast<memref::CollapseShapeOp>(user);
    if (!collapse || collapse.getReassociation() != expand.getReassociation() ||
        collapse.getType().getShape() != expand.getSrc().getType().getShape())
      return false;
    for (OpOperand &use : collapse->getUses()) {
      auto program = dyn_cast<GenericOp>(use.getOwner());
      bool isInput = program && program.isDpsInput(&use);
      if (!isInput && !isa<memref::DimOp>(use.getOwner()))
        return false;
    }
    collapses.push_back(collapse);
  }
  for (memref::CollapseShapeOp collapse : collapses) {
    collapse->replaceAllUsesWith(ValueRange(expand.getSrc()));
    collapse->erase();
  }
  copy->erase();
  alloc->erase();
  return true;
}

static LogicalResult finishCopies(ModuleOp module) {
  SmallVector<memref::CopyOp> copies;
  module.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  for (memref::CopyOp copy : copies) {
    if (readWhole(copy))
      continue;
    if (copy.getSource() != copy.getTarget())
      return copy->emitError(
                 "expects every value to be computed where it's needed but "
                 "needs a copy from ")
             << copy.getSource().getType() << " to "
             << copy.getTarget().getType();
    copy->erase();
  }
  return success();
}

namespace {
struct NormBufferizePass
    : public mlir::norm::impl::NormBufferizePassBase<NormBufferizePass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    arith::registerBufferizableOpInterfaceExternalModels(registry);
    bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
        registry);
    tensor::registerBufferizableOpInterfaceExternalModels(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkRanks(module)))
      return signalPassFailure();
    protectArguments(module);
    IRRewriter rewriter(&getContext());
    if (failed(bufferization::eliminateEmptyTensors(rewriter, module)))
      return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(checkCollapses(function)))
        return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>())
      placeArguments(function);
    bufferization::OneShotBufferizationOptions options = makeOptions();
    bufferization::BufferizationState state;
    if (failed(
            bufferization::runOneShotModuleBufferize(module, options, state)))
      return signalPassFailure();
    bufferization::removeBufferizationAttributesInModule(module);
    if (failed(finishCopies(module)))
      signalPassFailure();
  }
};
} // namespace
