//===- ResultsToDestinations.cpp - Results become destinations ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CallInterfaces.h"
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
  function->walk([&](GenericOp program) {
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

MemRefType mlir::norm::getBoundaryType(RankedTensorType type, bool hasPitch) {
  MemRefLayoutAttrInterface layout;
  if (hasPitch && type.getRank() == 2)
    layout = StridedLayoutAttr::get(type.getContext(), /*offset=*/0,
                                    {ShapedType::kDynamic, 1});
  return MemRefType::get(type.getShape(), type.getElementType(), layout);
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

static bool isTensor(Type type) { return isa<TensorType>(type); }

/// Whether the op neither has nor makes tensors, or is one that can become
/// launches and views of buffers.
static LogicalResult checkOp(Operation &op) {
  if (auto call = dyn_cast<CallOpInterface>(op))
    return call->emitError("expects no calls of functions here but got '")
           << op.getName() << "'";
  if (isa<arith::ConstantOp>(op) && isTensor(op.getResult(0).getType()))
    return op.emitError("expects tensors of one value as constants but got ")
           << op.getResult(0).getType() << " of several";
  bool touchesTensors = llvm::any_of(op.getOperandTypes(), isTensor) ||
                        llvm::any_of(op.getResultTypes(), isTensor);
  if (touchesTensors &&
      !isa<GenericOp, tensor::CastOp, tensor::CollapseShapeOp, tensor::DimOp,
           tensor::EmptyOp, tensor::ExpandShapeOp, func::ReturnOp,
           bufferization::MaterializeInDestinationOp>(op))
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

static void moveResult(OpBuilder &builder, func::FuncOp function, Value value,
                       bool hasPitch, DenseSet<Value> &returned) {
  Location loc = value.getLoc();
  unsigned position = function.getNumArguments();
  auto type = cast<RankedTensorType>(value.getType());
  (void)function.insertArgument(position, getBoundaryType(type, hasPitch), {},
                                loc);
  Value destination = function.getArgument(position);

  // What is split into more dims at the end is computed before, with the same
  // elements in the same order; a contiguous destination has them so too.
  Value source = value;
  auto expand = value.getDefiningOp<tensor::ExpandShapeOp>();
  if (expand && expand.getResultType().getRank() > 2) {
    source = expand.getSrc();
    destination = memref::CollapseShapeOp::create(
        builder, loc, destination, expand.getReassociationIndices());
  }
  bool owns = ownsItsBuffer(source, returned);
  returned.insert(source);
  if (!owns)
    source = createCopy(builder, loc, source);
  materialize(builder, loc, source, destination);
}

static void moveResults(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  DenseSet<Value> returned;
  // Copies made below take any layout, so the types are settled first.
  llvm::DenseSet<Type> pitched = findPitchedTypes(function);
  for (Value value : llvm::to_vector(terminator->getOperands()))
    moveResult(builder, function, value, pitched.contains(value.getType()),
               returned);
  terminator->setOperands(ValueRange());
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
      function.walk([](GenericOp program) { separateOutputs(program); });
      moveResults(function);
    }
  }
};
} // namespace
