//===- DifferentiateProgram.cpp - The backward of one program -------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DifferentiateProgram.h"

#include "DifferentiateRules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::norm;

Type norm::getCotangentType(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

/// The type of the arithmetic: f64 where a tensor of the program is.
static Type getComputeType(GenericOp program) {
  for (Value operand : program.getOperands())
    if (getElementTypeOrSelf(operand.getType()).isF64())
      return Float64Type::get(program.getContext());
  return Float32Type::get(program.getContext());
}

static uint64_t getReduced(GenericOp program) {
  uint64_t dims = 0;
  for (auto reduce : program.getBlock()->getOps<ReduceOp>())
    for (StringRef name : reduce.getDims().getAsValueRange<StringAttr>())
      dims |= uint64_t(1) << *program.getDimNumber(name);
  return dims;
}

namespace {
/// The program on its way.
class BackwardProgram {
public:
  BackwardProgram(RewriterBase &rewriter, DimSizes &sizes, GenericOp forward,
                  ArrayRef<SmallVector<Value>> cotangents,
                  ArrayRef<SavedValue> saved, ArrayRef<WantedGradient> wanted);

  FailureOr<GenericOp> build();

private:
  void declare();
  void cloneForward(TermBuilder &terms);
  Value emitWithoutConstantDims(ReduceOp op, TermBuilder &terms);
  void seed(TermBuilder &terms, CotangentRules &rules);
  SmallVector<Value> emitGradients(TermBuilder &terms, CotangentRules &rules);

  RewriterBase &rewriter;
  GenericOp forward;
  ArrayRef<SmallVector<Value>> cotangents;
  ArrayRef<SavedValue> saved;
  ArrayRef<WantedGradient> wanted;
  ProgramBuilder builder;
  /// Numbers of the builder's inputs.
  SmallVector<SmallVector<unsigned>> cotangentInputs;
  SmallVector<unsigned> forwardInputs, savedInputs;
  IRMapping mapping;
  SmallVector<Operation *> ops;
};
} // namespace

BackwardProgram::BackwardProgram(RewriterBase &rewriter, DimSizes &sizes,
                                 GenericOp forward,
                                 ArrayRef<SmallVector<Value>> cotangents,
                                 ArrayRef<SavedValue> saved,
                                 ArrayRef<WantedGradient> wanted)
    : rewriter(rewriter), forward(forward), cotangents(cotangents),
      saved(saved), wanted(wanted),
      builder(rewriter, sizes, forward.getLoc(),
              llvm::map_to_vector(forward.getDims(), [](Attribute name) {
                return cast<StringAttr>(name).getValue().str();
              })) {}

/// Cotangents come first: they tell extents, so that inputs needn't be kept for
/// them.
void BackwardProgram::declare() {
  unsigned numInputs = forward.getInputs().size();
  for (auto [result, tensors] : llvm::enumerate(cotangents)) {
    cotangentInputs.emplace_back();
    for (Value tensor : tensors)
      cotangentInputs.back().push_back(
          builder.addInput(tensor, forward.getMap(numInputs + result)));
  }
  for (auto [number, input] : llvm::enumerate(forward.getInputs()))
    forwardInputs.push_back(builder.addInput(input, forward.getMap(number)));
  for (const SavedValue &value : saved)
    savedInputs.push_back(builder.addInput(
        value.tensor, getSavedType(forward, value.value).second));
  for (const WantedGradient &gradient : wanted) {
    Value input = forward.getInputs()[gradient.input];
    auto type = cast<RankedTensorType>(input.getType());
    builder.addOutput(type.clone(gradient.elementType),
                      forward.getMap(gradient.input));
  }
}

static bool isExtremum(ReduceKind kind) {
  return kind == ReduceKind::Max || kind == ReduceKind::Min ||
         kind == ReduceKind::MaxNum || kind == ReduceKind::MinNum;
}

/// A reduction along dims on which its operand doesn't vary without them: a sum
/// is a product with their extents. So no operand of another program need tell
/// them. Null for others.
Value BackwardProgram::emitWithoutConstantDims(ReduceOp op,
                                               TermBuilder &terms) {
  Value value = mapping.lookup(op.getValue());
  bool isSum = op.getKind() == ReduceKind::Add &&
               value.getType() == terms.getComputeType();
  if (!isSum && !isExtremum(op.getKind()))
    return nullptr;
  uint64_t constant = 0;
  SmallVector<Attribute> varying;
  for (Attribute name : op.getDims()) {
    uint64_t dim = uint64_t(1)
                   << *forward.getDimNumber(cast<StringAttr>(name).getValue());
    if (terms.getSupport(value) & dim)
      varying.push_back(name);
    else
      constant |= dim;
  }
  if (!constant)
    return nullptr;
  if (!varying.empty())
    value = ReduceOp::create(rewriter, op.getLoc(), op.getKind(), value,
                             rewriter.getArrayAttr(varying))
                .getResult(0);
  if (!isSum)
    return value;
  return terms.emit(
      terms.multiply(terms.getTerm(value), terms.getExtent(constant)));
}

void BackwardProgram::cloneForward(TermBuilder &terms) {
  for (auto [number, input] : llvm::enumerate(forwardInputs))
    mapping.map(forward.getBlock()->getArgument(number),
                builder.getValue(input));
  for (Operation &op : forward.getBlock()->without_terminator()) {
    auto reduce = dyn_cast<ReduceOp>(op);
    Value sum = reduce ? emitWithoutConstantDims(reduce, terms) : Value();
    if (sum)
      mapping.map(reduce.getResult(0), sum);
    else
      rewriter.clone(op, mapping);
  }
  for (Operation &op : *rewriter.getInsertionBlock())
    ops.push_back(&op);
}

/// The cotangents of what was yielded.
void BackwardProgram::seed(TermBuilder &terms, CotangentRules &rules) {
  unsigned numInputs = forward.getInputs().size();
  Operation *yield = forward.getBlock()->getTerminator();
  for (auto [result, inputs] : llvm::enumerate(cotangentInputs)) {
    uint64_t dims = 0;
    for (AffineExpr expr : forward.getMap(numInputs + result).getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        dims |= uint64_t(1) << dim.getPosition();
    Value yielded = mapping.lookup(yield->getOperand(result));
    for (unsigned input : inputs)
      rules.contribute(yielded, {terms.getTerm(builder.getValue(input))}, dims);
  }
}

SmallVector<Value> BackwardProgram::emitGradients(TermBuilder &terms,
                                                  CotangentRules &rules) {
  terms.loc = forward.getLoc();
  SmallVector<Value> values;
  for (const WantedGradient &gradient : wanted) {
    Value input = builder.getValue(forwardInputs[gradient.input]);
    Value value = terms.emit(rules.getCotangent(input));
    Type type = gradient.elementType;
    if (value.getType().getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
      value = arith::TruncFOp::create(rewriter, forward.getLoc(), type, value);
    else if (value.getType() != type)
      value = arith::ExtFOp::create(rewriter, forward.getLoc(), type, value);
    values.push_back(value);
  }
  return values;
}

FailureOr<GenericOp> BackwardProgram::build() {
  declare();
  builder.begin();
  auto program = cast<GenericOp>(rewriter.getInsertionBlock()->getParentOp());
  TermBuilder terms(rewriter, program, getComputeType(program),
                    getReduced(forward));
  cloneForward(terms);
  for (ArrayRef<unsigned> inputs : cotangentInputs)
    for (unsigned input : inputs)
      terms.number(builder.getValue(input));
  // A product with what is broadcast comes first: others share it.
  SmallVector<Value> values = llvm::map_to_vector(
      forwardInputs, [&](unsigned input) { return builder.getValue(input); });
  for (Operation *op : ops)
    llvm::append_range(values, op->getResults());
  for (unsigned dims = 0, e = program.getNumDims(); dims <= e; ++dims)
    for (Value value : values)
      if (unsigned(llvm::popcount(terms.getSupport(value))) == dims)
        terms.number(value);
  terms.noteBody();

  CotangentRules rules(terms);
  for (const WantedGradient &gradient : wanted)
    rules.want(builder.getValue(forwardInputs[gradient.input]));
  rules.findActive(ops);
  seed(terms, rules);
  LogicalResult isDifferentiable = success();
  for (Operation *op : llvm::reverse(ops))
    if (succeeded(isDifferentiable))
      isDifferentiable = rules.propagate(op);
  SmallVector<Value> gradients = emitGradients(terms, rules);
  std::string name = forward.getName().value_or("").str();
  name += name.empty() ? "backward" : "_backward";
  builder.finish(gradients, name);
  if (failed(isDifferentiable)) {
    rewriter.eraseOp(program);
    return failure();
  }
  // In the place of what was written as if it were computed.
  for (auto [value, input] : llvm::zip_equal(saved, savedInputs))
    rewriter.replaceAllUsesWith(mapping.lookup(value.value),
                                builder.getValue(input));
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*program.getBlock())))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
  return program;
}

FailureOr<GenericOp> norm::differentiateProgram(
    RewriterBase &rewriter, DimSizes &sizes, GenericOp program,
    ArrayRef<SmallVector<Value>> cotangents, ArrayRef<SavedValue> saved,
    ArrayRef<WantedGradient> wanted) {
  unsigned numInputs = program.getInputs().size();
  for (unsigned i = 0, e = program.getOutputs().size(); i != e; ++i)
    if (!program.getBlock()->getArgument(numInputs + i).use_empty())
      return program.emitOpError("reads the previous content of output #")
             << i << ", which norm-differentiate doesn't know";
  return BackwardProgram(rewriter, sizes, program, cotangents, saved, wanted)
      .build();
}
