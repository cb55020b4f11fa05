//===- ResultsToDestinations.cpp - Results become destinations ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "Foreign.h"
#include "InPlace.h"
#include "ProgramBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMRESULTSTODESTINATIONSPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

/// Whether an operand is read or written as (row, column).
static bool isRowsAndColumns(GenericOp program, AffineMap map) {
  if (program.getNumDims() != 2 || !map.isIdentity())
    return false;
  return llvm::all_of(
      program.getBody().getOps<ReduceOp>(), [&](ReduceOp reduce) {
        return reduce.getDims().size() == 1 &&
               cast<StringAttr>(reduce.getDims()[0]) == program.getDimName(1);
      });
}

llvm::DenseSet<Type>
mlir::norm::findPitchedTypes(FunctionOpInterface function) {
  llvm::DenseSet<Type> pitched, others;
  function->walk([&](Operation *op) {
    // Only rows that lie close together are a whole.
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      others.insert(collapse.getSrcType());
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      others.insert(expand.getResultType());
    auto program = dyn_cast<GenericOp>(op);
    if (!program)
      return;
    for (OpOperand &operand : program->getOpOperands())
      (isRowsAndColumns(program, program.getMatchingIndexingMap(&operand))
           ? pitched
           : others)
          .insert(operand.get().getType());
  });
  for (Type type : others)
    pitched.erase(type);
  return pitched;
}

MemRefType mlir::norm::getBoundaryType(RankedTensorType type, bool hasPitch,
                                       StridedLayoutAttr layout) {
  if (!layout && hasPitch && type.getRank() == 2)
    layout = StridedLayoutAttr::get(type.getContext(), /*offset=*/0,
                                    {ShapedType::kDynamic, 1});
  return MemRefType::get(type.getShape(), type.getElementType(),
                         static_cast<MemRefLayoutAttrInterface>(layout));
}

/// A new tensor with the shape of `like` and no content.
static Value createEmptyLike(OpBuilder &builder, Location loc, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  SmallVector<Value> extents;
  for (auto [axis, extent] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(extent))
      extents.push_back(tensor::DimOp::create(builder, loc, like, axis));
  return tensor::EmptyOp::create(builder, loc, type, extents);
}

/// A program that copies `source`.
static Value createCopy(OpBuilder &builder, Location loc, Value source) {
  int64_t rank = cast<RankedTensorType>(source.getType()).getRank();
  SmallVector<std::string> names;
  for (int64_t axis = 0; axis < rank; ++axis)
    names.push_back(axis == rank - 1 ? "col"
                    : axis == 0      ? "row"
                                     : "row" + std::to_string(axis));
  SmallVector<StringRef> dims(names.begin(), names.end());
  AffineMap map = builder.getMultiDimIdentityMap(rank);
  Value empty = createEmptyLike(builder, loc, source);
  auto copy = GenericOp::create(builder, loc, source, empty, dims,
                                ArrayRef<AffineMap>{map, map});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(copy.getBlock());
  YieldOp::create(builder, loc, copy.getBlock()->getArgument(0));
  return copy.getResult(0);
}

/// Gives every output of a program a tensor of its own, by a copy where the
/// previous content counts, so that no argument is written.
static void separateOutputs(GenericOp program) {
  OpBuilder builder(program);
  unsigned numInputs = program.getInputs().size();
  for (OpOperand &output : program.getOutputsMutable()) {
    Value value = output.get();
    if (!isa<RankedTensorType>(value.getType()) ||
        value.getDefiningOp<tensor::EmptyOp>())
      continue;
    unsigned position = numInputs + (output.getOperandNumber() - numInputs);
    bool isRead = !program.getBlock()->getArgument(position).use_empty();
    output.set(isRead ? createCopy(builder, program.getLoc(), value)
                      : createEmptyLike(builder, program.getLoc(), value));
  }
}

/// Whether the value can be computed right in a destination: it comes out of a
/// program and nobody else asked for it.
static bool ownsItsBuffer(Value value, const DenseSet<Value> &returned) {
  return value.getDefiningOp<GenericOp>() && !returned.contains(value);
}

//===----------------------------------------------------------------------===//
// What is accepted
//===----------------------------------------------------------------------===//

static bool isScalar(Type type) {
  return isa<FloatType, IntegerType, IndexType>(type);
}

static LogicalResult checkSignature(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("expects a function of one block but got ")
           << function.getBody().getBlocks().size();
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !isScalar(tensor.getElementType()))
      return function.emitError("expects result ")
             << index << " to be a ranked tensor of numbers but got " << type;
  }
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    Type element = type;
    if (isa<RankedTensorType, MemRefType>(type))
      element = cast<ShapedType>(type).getElementType();
    if (!isScalar(element))
      return function.emitError("expects argument ")
             << index
             << " to be a number or a ranked tensor of numbers but got "
             << type;
  }
  return success();
}

/// Whether the op neither has nor makes tensors, or is one that can become
/// launches and views of buffers.
static LogicalResult checkOp(Operation &op) {
  if (isCall(&op))
    return op.emitError("expects no calls of functions here but got '")
           << op.getName() << "'";
  if (isTable(&op))
    return op.emitError("expects constants of one value, or of at most 256 "
                        "that aren't 8-bit floats, but got ")
           << op.getResult(0).getType() << " of several";
  if (isForeign(&op))
    return op.emitError("expects named, elementwise and reshaping ops on "
                        "tensors but got '")
           << op.getName() << "'";
  return success();
}

static LogicalResult checkFunction(func::FuncOp function) {
  if (failed(checkSignature(function)))
    return failure();
  for (Operation &op : function.getBody().front())
    if (!isOpTriviallyDead(&op) && failed(checkOp(op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

static void materialize(OpBuilder &builder, Location loc, Value source,
                        Value destination) {
  auto op = bufferization::MaterializeInDestinationOp::create(
      builder, loc, source, destination);
  op.setRestrict(true);
  op.setWritable(true);
}

/// A part of the destination `memory` shaped like the source of `collapse`.
/// Made where its sizes are known, before what is computed into it.
static Value expandDestination(IRRewriter &rewriter, DimSizes &dimSizes,
                               Value memory, tensor::CollapseShapeOp collapse) {
  Location loc = collapse.getLoc();
  RankedTensorType type = collapse.getSrcType();
  SmallVector<OpFoldResult> sizes;
  Operation *last = memory.getDefiningOp();
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (!type.isDynamicDim(axis)) {
      sizes.push_back(rewriter.getIndexAttr(type.getDimSize(axis)));
      continue;
    }
    Value size = dimSizes.get(loc, collapse.getSrc(), axis);
    sizes.push_back(size);
    Operation *def = size.getDefiningOp();
    if (def && (!last || last->isBeforeInBlock(def)))
      last = def;
  }
  OpBuilder::InsertionGuard guard(rewriter);
  if (last)
    rewriter.setInsertionPointAfter(last);
  else
    rewriter.setInsertionPointToStart(cast<BlockArgument>(memory).getOwner());
  return memref::ExpandShapeOp::create(rewriter, loc, type.getShape(), memory,
                                       collapse.getReassociationIndices(),
                                       sizes);
}

/// Looks through reshapes at the end: what is reshaped is computed before, in a
/// view of the destination.
static void undoReshapes(IRRewriter &rewriter, DimSizes &dimSizes,
                         Value &source, Value &memory) {
  while (Operation *op = source.getDefiningOp()) {
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
      memory = expandDestination(rewriter, dimSizes, memory, collapse);
      source = collapse.getSrc();
      continue;
    }
    auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
    if (!expand || !memref::CollapseShapeOp::isGuaranteedCollapsible(
                       cast<MemRefType>(memory.getType()),
                       expand.getReassociationIndices()))
      return;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfterValue(memory);
    memory = memref::CollapseShapeOp::create(rewriter, expand.getLoc(), memory,
                                             expand.getReassociationIndices());
    source = expand.getSrc();
  }
}

static void moveResults(func::FuncOp function,
                        MutableArrayRef<InPlaceResult> inPlace) {
  Operation *terminator = function.getBody().front().getTerminator();
  IRRewriter rewriter(function.getContext());
  DimSizes dimSizes(rewriter);
  DenseSet<Value> returned;
  // Copies made below take any layout, so the types are settled first.
  llvm::DenseSet<Type> pitched = findPitchedTypes(function);
  llvm::DenseSet<unsigned> placed;
  for (auto [index, result] : llvm::enumerate(inPlace)) {
    result.replaceArgument(rewriter, function, pitched);
    // The program's inputs behind those that are gone have moved up.
    for (InPlaceResult &later : inPlace.drop_front(index + 1))
      if (later.program == result.program)
        for (unsigned &number : later.reads)
          number -= llvm::count_if(
              result.reads, [&](unsigned gone) { return gone < number; });
    returned.insert(result.getProgramResult());
    placed.insert(result.result);
  }
  for (auto [index, value] :
       llvm::enumerate(llvm::to_vector(terminator->getOperands()))) {
    if (placed.contains(index))
      continue;
    Location loc = value.getLoc();
    unsigned position = function.getNumArguments();
    auto layout = function.getResultAttrOfType<StridedLayoutAttr>(
        index, NormDialect::kLayoutAttrName);
    MemRefType type =
        getBoundaryType(cast<RankedTensorType>(value.getType()),
                        pitched.contains(value.getType()), layout);
    (void)function.insertArgument(position, type, {}, loc);
    Value source = value, memory = function.getArgument(position);
    rewriter.setInsertionPoint(terminator);
    undoReshapes(rewriter, dimSizes, source, memory);
    bool owns = ownsItsBuffer(source, returned);
    returned.insert(source);
    if (!owns)
      source = createCopy(rewriter, loc, source);
    materialize(rewriter, loc, source, memory);
  }
  terminator->setOperands(ValueRange());
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*terminator->getBlock())))
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) &&
        op.use_empty())
      rewriter.eraseOp(&op);
  (void)function.eraseResults(BitVector(function.getNumResults(), true));
}

namespace {
struct NormResultsToDestinationsPass
    : public mlir::norm::impl::NormResultsToDestinationsPassBase<
          NormResultsToDestinationsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(checkFunction(function)))
        return signalPassFailure();

    for (func::FuncOp function : functions) {
      FailureOr<SmallVector<InPlaceResult>> inPlace =
          findInPlaceResults(function);
      if (failed(inPlace))
        return signalPassFailure();
      function.walk([](GenericOp program) { separateOutputs(program); });
      moveResults(function, *inPlace);
    }
  }
};
} // namespace
