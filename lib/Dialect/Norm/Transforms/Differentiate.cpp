//===- Differentiate.cpp - The backward of a function ---------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "DifferentiateProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <map>

namespace mlir::norm {
#define GEN_PASS_DEF_NORMDIFFERENTIATEPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

static bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// The element type of the cotangents and gradients of a tensor: its own, or
/// f32 where that is one of codes, which can't hold them.
static Type getOwnType(Type element) {
  return element.getIntOrFloatBitWidth() < 16
             ? Type(Float32Type::get(element.getContext()))
             : element;
}

static RankedTensorType getOwnTensorType(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return type.clone(getOwnType(type.getElementType()));
}

//===----------------------------------------------------------------------===//
// Reverse mode over the ops of a function
//===----------------------------------------------------------------------===//

namespace {
/// The gradient of an argument.
struct AskedGradient {
  unsigned argument;
  Type elementType;
  /// Whether it is added to what its destination holds.
  bool isAdded = false;
};

/// Turns a copy of a function into its backward.
class FunctionBackward {
public:
  FunctionBackward(func::FuncOp function, ArrayRef<AskedGradient> wrt)
      : function(function), wrt(wrt), rewriter(function.getContext()),
        sizes(rewriter) {}

  LogicalResult run(StringRef of, bool isSaving);

  /// What the forward function has to return as well: a value of a program of
  /// the copy that was given.
  struct Kept {
    unsigned program;
    Value value;
  };
  ArrayRef<Kept> getKept() const { return kept; }

private:
  void addSaved();
  void findActive();
  void countParts();
  void addCotangents();
  void addPrevious();
  LogicalResult propagate(Operation *op);
  LogicalResult propagate(GenericOp program);
  void propagateReshape(Operation *op);
  Type getFinalType(Value tensor);
  const AskedGradient *findAsked(BlockArgument argument);
  Value getGradient(const AskedGradient &asked);
  Value addUp(BlockArgument argument, RankedTensorType type,
              ArrayRef<Value> parts);
  void finish(StringRef of, ArrayRef<Value> gradients);
  bool isActive(Value value) const { return active.contains(value); }

  func::FuncOp function;
  ArrayRef<AskedGradient> wrt;
  IRRewriter rewriter;
  DimSizes sizes;
  unsigned numInputs = 0;
  /// By the number of the argument: what its gradient is added to.
  llvm::DenseMap<unsigned, Value> previous;
  llvm::DenseSet<Value> active;
  /// Tensors to be added.
  llvm::DenseMap<Value, SmallVector<Value>> cotangents;
  llvm::DenseMap<Value, unsigned> numParts;
  /// Of each argument, what it is.
  SmallVector<std::string> names;
  llvm::DenseMap<Operation *, SmallVector<SavedValue>> saved;
  SmallVector<Kept> kept;
};
} // namespace

void FunctionBackward::findActive() {
  for (const AskedGradient &asked : wrt)
    active.insert(function.getArgument(asked.argument));
  for (Operation &op : function.front())
    if (llvm::any_of(op.getOperands(), [&](Value v) { return isActive(v); }))
      for (Value result : op.getResults())
        if (isa<RankedTensorType>(result.getType()))
          active.insert(result);
}

/// An argument for each statistic of each program that depends on what is
/// wanted.
void FunctionBackward::addSaved() {
  for (auto [number, program] :
       llvm::enumerate(function.front().getOps<GenericOp>())) {
    if (!llvm::any_of(program.getResults(),
                      [&](Value result) { return isActive(result); }))
      continue;
    for (Value value : findStatistics(program)) {
      (void)function.insertArgument(function.getNumArguments(),
                                    getSavedType(program, value).first, {},
                                    function.getLoc());
      saved[program].push_back({value, function.getArguments().back()});
      kept.push_back({unsigned(number), value});
      names.push_back("saved");
    }
  }
}

/// An argument for each result that depends on what is wanted.
void FunctionBackward::addCotangents() {
  Operation *terminator = function.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    if (!isFloatTensor(value.getType()) || !isActive(value))
      continue;
    (void)function.insertArgument(function.getNumArguments(),
                                  getOwnTensorType(value), {},
                                  function.getLoc());
    cotangents[value].push_back(function.getArguments().back());
    names.push_back("cotangent " + std::to_string(i));
  }
}

/// An argument for each gradient that is added to what is there; the sum is
/// written in its place.
void FunctionBackward::addPrevious() {
  for (auto [result, asked] : llvm::enumerate(wrt)) {
    if (!asked.isAdded)
      continue;
    auto type =
        cast<RankedTensorType>(function.getArgument(asked.argument).getType());
    NamedAttribute inPlace = rewriter.getNamedAttr(
        NormDialect::kInPlaceAttrName, rewriter.getI64IntegerAttr(result));
    (void)function.insertArgument(
        function.getNumArguments(), type.clone(asked.elementType),
        rewriter.getDictionaryAttr(inPlace), function.getLoc());
    previous[asked.argument] = function.getArguments().back();
    names.push_back("previous " + std::to_string(asked.argument));
  }
}

/// Counts the parts that the cotangent of each tensor will have.
void FunctionBackward::countParts() {
  for (Operation &op : function.front()) {
    if (isa<tensor::DimOp>(op))
      continue;
    llvm::DenseSet<std::pair<Value, Attribute>> seen;
    auto program = dyn_cast<GenericOp>(op);
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      if (!program ||
          seen.insert({operand, program.getIndexingMaps()[i]}).second)
        ++numParts[operand];
  }
}

const AskedGradient *FunctionBackward::findAsked(BlockArgument argument) {
  for (const AskedGradient &asked : wrt)
    if (asked.argument == argument.getArgNumber())
      return &asked;
  return nullptr;
}

/// The element type of a cotangent, which is the gradient's where there is one
/// part only.
Type FunctionBackward::getFinalType(Value tensor) {
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  if (numParts.lookup(tensor) != 1)
    return getCotangentType(element);
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    const AskedGradient *asked = findAsked(argument);
    return asked && !asked->isAdded ? asked->elementType
                                    : getCotangentType(element);
  }
  Operation *op = tensor.getDefiningOp();
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return getFinalType(op->getOperand(0));
  return getCotangentType(element);
}

LogicalResult FunctionBackward::propagate(GenericOp program) {
  SmallVector<SmallVector<Value>> ofResults;
  bool isNeeded = false;
  for (Value result : program.getResults()) {
    ofResults.push_back(cotangents.lookup(result));
    isNeeded |= !ofResults.back().empty();
  }
  SmallVector<WantedGradient> wanted;
  llvm::DenseSet<std::pair<Value, Attribute>> seen;
  for (auto [i, input] : llvm::enumerate(program.getInputs()))
    if (isActive(input) &&
        seen.insert({input, program.getIndexingMaps()[i]}).second)
      wanted.push_back({unsigned(i), getFinalType(input)});
  if (!isNeeded || wanted.empty())
    return success();
  FailureOr<GenericOp> backward = differentiateProgram(
      rewriter, sizes, program, ofResults, saved.lookup(program), wanted);
  if (failed(backward))
    return failure();
  FailureOr<SmallVector<Value>> gradients =
      partitionProgram(rewriter, sizes, *backward);
  if (failed(gradients))
    return failure();
  rewriter.setInsertionPoint(function.front().getTerminator());
  for (auto [gradient, value] : llvm::zip(wanted, *gradients))
    cotangents[program.getInputs()[gradient.input]].push_back(value);
  return success();
}

/// The other way round.
void FunctionBackward::propagateReshape(Operation *op) {
  Value source = op->getOperand(0);
  auto type = cast<RankedTensorType>(source.getType());
  for (Value part : cotangents.lookup(op->getResult(0))) {
    RankedTensorType partType =
        type.clone(getElementTypeOrSelf(part.getType()));
    Value reshaped;
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      reshaped = tensor::CollapseShapeOp::create(
          rewriter, op->getLoc(), partType, part,
          expand.getReassociationIndices());
    } else {
      auto collapse = cast<tensor::CollapseShapeOp>(op);
      SmallVector<OpFoldResult> shape;
      for (int64_t axis = 0; axis != type.getRank(); ++axis)
        shape.push_back(
            type.isDynamicDim(axis)
                ? OpFoldResult(sizes.get(op->getLoc(), source, axis))
                : rewriter.getIndexAttr(type.getDimSize(axis)));
      reshaped = tensor::ExpandShapeOp::create(
          rewriter, op->getLoc(), partType, part,
          collapse.getReassociationIndices(), shape);
    }
    cotangents[source].push_back(reshaped);
  }
}

LogicalResult FunctionBackward::propagate(Operation *op) {
  if (auto program = dyn_cast<GenericOp>(op))
    return propagate(program);
  bool isNeeded = llvm::any_of(op->getResults(), [&](Value result) {
    return isActive(result) && cotangents.contains(result);
  });
  if (!isNeeded)
    return success();
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    propagateReshape(op);
    return success();
  }
  return op->emitOpError("has no derivative that norm-differentiate knows of");
}

/// Adds the parts of a gradient, with one rounding to its type. No part is a
/// gradient of 0.
Value FunctionBackward::addUp(BlockArgument argument, RankedTensorType type,
                              ArrayRef<Value> parts) {
  unsigned rank = type.getRank();
  AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
  ProgramBuilder builder(rewriter, sizes, function.getLoc(),
                         rank == 0 ? SmallVector<std::string>()
                                   : getSpaceNames(rank - 1, 1));
  SmallVector<unsigned> inputs;
  for (Value part : parts)
    inputs.push_back(builder.addInput(part, identity));
  builder.addShape(argument, identity);
  builder.addOutput(type, identity);
  builder.begin();
  Location loc = function.getLoc();
  Type compute = getCotangentType(type.getElementType());
  for (Value part : parts)
    if (getElementTypeOrSelf(part.getType()).isF64())
      compute = rewriter.getF64Type();
  Value sum;
  for (unsigned input : inputs) {
    Value value = builder.getValue(input);
    if (value.getType() != compute)
      value = arith::ExtFOp::create(rewriter, loc, compute, value);
    sum = sum ? arith::AddFOp::create(rewriter, loc, sum, value) : value;
  }
  if (!sum)
    sum = arith::ConstantOp::create(rewriter, loc,
                                    rewriter.getFloatAttr(compute, 0.0));
  if (sum.getType() != type.getElementType())
    sum = arith::TruncFOp::create(rewriter, loc, type.getElementType(), sum);
  return builder.finish(sum, "gradient").getResult(0);
}

Value FunctionBackward::getGradient(const AskedGradient &asked) {
  BlockArgument argument = function.getArgument(asked.argument);
  RankedTensorType type =
      cast<RankedTensorType>(argument.getType()).clone(asked.elementType);
  SmallVector<Value> parts = cotangents.lookup(argument);
  if (asked.isAdded)
    parts.push_back(previous.lookup(asked.argument));
  else if (parts.size() == 1 && parts[0].getType() == type)
    return parts[0];
  return addUp(argument, type, parts);
}

/// Returns the gradients, and drops what they don't need.
void FunctionBackward::finish(StringRef of, ArrayRef<Value> gradients) {
  Operation *terminator = function.front().getTerminator();
  rewriter.modifyOpInPlace(terminator,
                           [&] { terminator->setOperands(gradients); });
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::reverse(function.front().without_terminator()))
    ops.push_back(&op);
  for (Operation *op : ops)
    if (isOpTriviallyDead(op))
      rewriter.eraseOp(op);

  llvm::BitVector unread(function.getNumArguments());
  SmallVector<Attribute> arguments, results;
  SmallVector<Kept> read;
  for (auto [i, name] : llvm::enumerate(names)) {
    bool isUnread = function.getArgument(i).use_empty();
    bool isSaved = i >= numInputs && i < numInputs + kept.size();
    if (isUnread && (isSaved || i < numInputs)) {
      unread.set(i);
      continue;
    }
    if (isSaved) {
      name += " " + std::to_string(read.size());
      read.push_back(kept[i - numInputs]);
    }
    arguments.push_back(rewriter.getStringAttr(name));
  }
  kept = read;
  for (const AskedGradient &asked : wrt)
    results.push_back(
        rewriter.getStringAttr("gradient " + std::to_string(asked.argument)));
  (void)function.eraseArguments(unread);
  SmallVector<Type> types(ValueRange(gradients).getTypes());
  function.setType(
      rewriter.getFunctionType(function.front().getArgumentTypes(), types));
  function->setAttr(
      "norm.backward",
      rewriter.getDictionaryAttr(
          {rewriter.getNamedAttr(
               "of", FlatSymbolRefAttr::get(rewriter.getContext(), of)),
           rewriter.getNamedAttr("arguments", rewriter.getArrayAttr(arguments)),
           rewriter.getNamedAttr("results", rewriter.getArrayAttr(results))}));
}

LogicalResult FunctionBackward::run(StringRef of, bool isSaving) {
  numInputs = function.getNumArguments();
  for (unsigned i = 0; i != numInputs; ++i)
    names.push_back("input " + std::to_string(i));
  findActive();
  countParts();
  if (isSaving)
    addSaved();
  SmallVector<Operation *> ops;
  for (Operation &op : function.front().without_terminator())
    ops.push_back(&op);
  addCotangents();
  addPrevious();
  rewriter.setInsertionPoint(function.front().getTerminator());
  for (Operation *op : llvm::reverse(ops))
    if (failed(propagate(op)))
      return failure();
  SmallVector<Value> gradients;
  for (const AskedGradient &asked : wrt)
    gradients.push_back(getGradient(asked));
  finish(of, gradients);
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct NormDifferentiatePass
    : public mlir::norm::impl::NormDifferentiatePassBase<
          NormDifferentiatePass> {
  using Base::Base;
  void runOnOperation() override;

private:
  FailureOr<func::FuncOp> findFunction();
  FailureOr<SmallVector<AskedGradient>> findArguments(func::FuncOp function);
  LogicalResult readTypes(func::FuncOp function,
                          MutableArrayRef<AskedGradient> asked);
  LogicalResult readAdded(func::FuncOp function,
                          MutableArrayRef<AskedGradient> asked);
  LogicalResult simplify(func::FuncOp function, bool isForward);
  LogicalResult checkNew(func::FuncOp function, StringRef newName);
};
} // namespace

FailureOr<func::FuncOp> NormDifferentiatePass::findFunction() {
  ModuleOp module = getOperation();
  SmallVector<func::FuncOp> functions;
  for (auto candidate : module.getOps<func::FuncOp>())
    if (!candidate.isExternal() &&
        (function.empty() || candidate.getName() == function))
      functions.push_back(candidate);
  if (!function.empty() && functions.empty())
    return module.emitError("expects a function '")
           << function << "' with a body but got none";
  if (functions.size() != 1)
    return module.emitError("expects one function, or option 'function', but "
                            "got ")
           << functions.size() << " functions";
  func::FuncOp found = functions[0];
  if (!llvm::hasSingleElement(found.getBody()))
    return found.emitOpError("expects one block but got ")
           << llvm::range_size(found.getBody());
  return found;
}

FailureOr<SmallVector<AskedGradient>>
NormDifferentiatePass::findArguments(func::FuncOp function) {
  SmallVector<unsigned> indices;
  auto types = function.getArgumentTypes();
  for (unsigned index : wrt) {
    if (index >= types.size())
      return function.emitOpError("expects one of ")
             << types.size() << " arguments in option 'wrt' but got " << index;
    if (!isFloatTensor(types[index]))
      return function.emitOpError("expects a ranked tensor of floats as "
                                  "argument ")
             << index << ", of which a gradient is wanted, but got "
             << types[index];
    if (llvm::is_contained(indices, index))
      return function.emitOpError("expects distinct arguments in option 'wrt' "
                                  "but got ")
             << index << " twice";
    indices.push_back(index);
  }
  if (wrt.empty())
    for (unsigned i = 0; i != types.size(); ++i)
      if (isFloatTensor(types[i]) &&
          getElementTypeOrSelf(types[i]).getIntOrFloatBitWidth() >= 16)
        indices.push_back(i);
  if (indices.empty())
    return function.emitOpError("expects an argument that is a ranked tensor "
                                "of floats but got none");
  llvm::sort(indices);
  SmallVector<AskedGradient> asked;
  for (unsigned index : indices)
    asked.push_back({index, getOwnType(getElementTypeOrSelf(types[index]))});
  if (failed(readTypes(function, asked)) || failed(readAdded(function, asked)))
    return failure();
  return asked;
}

static AskedGradient *find(MutableArrayRef<AskedGradient> asked,
                           unsigned argument) {
  AskedGradient *found =
      llvm::find_if(asked, [&](const AskedGradient &gradient) {
        return gradient.argument == argument;
      });
  return found == asked.end() ? nullptr : found;
}

/// f32 is for all gradients, 1:f32 for that of argument 1.
LogicalResult
NormDifferentiatePass::readTypes(func::FuncOp function,
                                 MutableArrayRef<AskedGradient> asked) {
  for (StringRef entry : gradientType) {
    StringRef name = entry;
    std::optional<unsigned> argument;
    if (entry.contains(':')) {
      auto [number, rest] = entry.split(':');
      unsigned index = 0;
      if (number.getAsInteger(10, index))
        return function.emitOpError("expects a type, or an argument's number, "
                                    "a colon and a type, in option "
                                    "'gradient-type' but got '")
               << entry << "'";
      argument = index;
      name = rest;
    }
    Type type = llvm::StringSwitch<Type>(name)
                    .Case("f64", Float64Type::get(&getContext()))
                    .Case("f32", Float32Type::get(&getContext()))
                    .Case("f16", Float16Type::get(&getContext()))
                    .Case("bf16", BFloat16Type::get(&getContext()))
                    .Default(nullptr);
    if (!type)
      return function.emitOpError("expects f64, f32, f16 or bf16 in option "
                                  "'gradient-type' but got '")
             << name << "'";
    if (argument && !find(asked, *argument))
      return function.emitOpError("expects an argument of which a gradient is "
                                  "wanted in option 'gradient-type' but got ")
             << *argument;
    for (AskedGradient &gradient : asked)
      if (!argument || gradient.argument == *argument)
        gradient.elementType = type;
  }
  return success();
}

LogicalResult
NormDifferentiatePass::readAdded(func::FuncOp function,
                                 MutableArrayRef<AskedGradient> asked) {
  for (unsigned argument : accumulate) {
    AskedGradient *gradient = find(asked, argument);
    if (!gradient)
      return function.emitOpError("expects an argument of which a gradient is "
                                  "wanted in option 'accumulate' but got ")
             << argument;
    gradient->isAdded = true;
  }
  return success();
}

LogicalResult NormDifferentiatePass::simplify(func::FuncOp function,
                                              bool isForward) {
  OpPassManager passes(func::FuncOp::getOperationName());
  if (isForward) {
    passes.addPass(createNormGeneralizePass());
    passes.addPass(createNormFusePass());
  }
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  return runPipeline(passes, function);
}

LogicalResult NormDifferentiatePass::checkNew(func::FuncOp function,
                                              StringRef newName) {
  if (!SymbolTable::lookupSymbolIn(getOperation(), newName))
    return success();
  return function.emitOpError("expects no '")
         << newName << "', which is the name of a new function, but got one";
}

/// Has a copy of a simplified function return what the backward reads.
static void returnKept(func::FuncOp training,
                       ArrayRef<FunctionBackward::Kept> kept,
                       const IRMapping &mapping, func::FuncOp forward) {
  IRRewriter rewriter(training.getContext());
  DimSizes sizes(rewriter);
  auto programs = llvm::to_vector(training.front().getOps<GenericOp>());
  std::map<unsigned, SmallVector<Value>> values;
  for (const FunctionBackward::Kept &one : kept)
    values[one.program].push_back(mapping.lookup(one.value));
  Operation *terminator = training.front().getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  SmallVector<Attribute> names;
  for (unsigned i = 0, e = results.size(); i != e; ++i)
    names.push_back(rewriter.getStringAttr("result " + std::to_string(i)));
  SmallVector<Value> extra;
  for (auto &[program, ofProgram] : values)
    llvm::append_range(extra,
                       yieldToo(rewriter, sizes, programs[program], ofProgram));
  results.assign(terminator->operand_begin(), terminator->operand_end());
  for (auto [i, value] : llvm::enumerate(extra)) {
    results.push_back(value);
    names.push_back(rewriter.getStringAttr("saved " + std::to_string(i)));
  }
  terminator->setOperands(results);
  training.setType(rewriter.getFunctionType(
      training.getArgumentTypes(), SmallVector<Type>(TypeRange(results))));
  for (unsigned i = 0, e = forward.getNumArguments(); i != e; ++i)
    training.setArgAttrs(i, forward.getArgAttrDict(i));
  for (unsigned i = 0, e = forward.getNumResults(); i != e; ++i)
    training.setResultAttrs(i, forward.getResultAttrDict(i));
  training->setAttr(
      "norm.forward",
      rewriter.getDictionaryAttr(
          {rewriter.getNamedAttr("of", FlatSymbolRefAttr::get(forward)),
           rewriter.getNamedAttr("results", rewriter.getArrayAttr(names))}));
}

void NormDifferentiatePass::runOnOperation() {
  FailureOr<func::FuncOp> forward = findFunction();
  if (failed(forward))
    return signalPassFailure();
  FailureOr<SmallVector<AskedGradient>> asked = findArguments(*forward);
  if (failed(asked))
    return signalPassFailure();
  bool isSaving = save == "statistics";
  if (!isSaving && save != "none") {
    forward->emitOpError("expects none or statistics as option 'save' but got ")
        << save;
    return signalPassFailure();
  }
  std::string forwardName = (forward->getName() + "_forward").str();
  std::string newName = name.empty() ? (forward->getName() + "_backward").str()
                                     : std::string(name);
  if (failed(checkNew(*forward, newName)) ||
      (isSaving && failed(checkNew(*forward, forwardName))))
    return signalPassFailure();

  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(*forward);
  auto backward = cast<func::FuncOp>(builder.clone(**forward));
  backward.setName(newName);
  for (unsigned i = 0, e = backward.getNumArguments(); i != e; ++i)
    backward.removeArgAttr(i, NormDialect::kInPlaceAttrName);
  backward.removeResAttrsAttr();
  if (failed(simplify(backward, /*isForward=*/true)))
    return signalPassFailure();
  func::FuncOp training;
  IRMapping mapping;
  if (isSaving) {
    builder.setInsertionPoint(backward);
    training = cast<func::FuncOp>(builder.clone(*backward, mapping));
    training.setName(forwardName);
  }
  FunctionBackward reverse(backward, *asked);
  if (failed(reverse.run(forward->getName(), isSaving)))
    return signalPassFailure();
  if (isSaving)
    returnKept(training, reverse.getKept(), mapping, *forward);
  if (failed(simplify(backward, /*isForward=*/false)))
    return signalPassFailure();
}
