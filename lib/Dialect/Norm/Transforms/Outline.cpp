//===- Outline.cpp - Programs become functions of their own ---------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Dialect/Norm/Transforms/Passes.h"

#include "Foreign.h"

#include "norm/Dialect/Norm/IR/Norm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::norm {
#define GEN_PASS_DEF_NORMOUTLINEPASS
#include "norm/Dialect/Norm/Transforms/Passes.h.inc"
} // namespace mlir::norm

using namespace mlir;
using namespace mlir::norm;

SmallVector<Operation *>
mlir::norm::findForeignOps(FunctionOpInterface function) {
  SmallVector<Operation *> foreign;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function)
      return WalkResult::advance();
    bool isNested = op->getParentOp() != function;
    // A program that isn't always run is none of a sequence of kernels.
    if (isa<GenericOp>(op)) {
      if (isNested && (foreign.empty() || foreign.back() != op->getParentOp()))
        foreign.push_back(op->getParentOp());
      return WalkResult::skip();
    }
    if (isOpTriviallyDead(op) || !isForeign(op))
      return WalkResult::advance();
    foreign.push_back(op);
    return WalkResult::skip();
  });
  return foreign;
}

ModuleOp mlir::norm::findKernelModule(ModuleOp module) {
  for (auto nested : module.getOps<ModuleOp>())
    if (nested->hasAttr(NormDialect::kKernelsAttrName))
      return nested;
  return {};
}

static bool isOtherWork(FunctionOpInterface function) {
  return !function.getFunctionBody().hasOneBlock() ||
         !findForeignOps(function).empty();
}

namespace {
/// Cuts the programs out of one module.
class Outliner {
public:
  Outliner(ModuleOp module, ModuleOp kernels)
      : rewriter(module.getContext()), outer(module), inner(kernels) {}

  void outline(func::FuncOp function);

private:
  std::string findName(func::FuncOp function, GenericOp program);
  func::FuncOp makeFunction(func::FuncOp function, GenericOp program,
                            SmallVectorImpl<Value> &operands);
  Value makeDestination(GenericOp program, OpOperand &init, func::FuncOp made,
                        const IRMapping &mapping,
                        SmallVectorImpl<Value> &operands);

  IRRewriter rewriter;
  SymbolTable outer, inner;
};
} // namespace

std::string Outliner::findName(func::FuncOp function, GenericOp program) {
  std::string base = function.getName().str();
  StringRef name = program.getName().value_or("");
  bool isSymbol = !name.empty() && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || c == '_';
  });
  base += "_" + (isSymbol ? name.str() : "program");
  std::string unique = base;
  for (unsigned number = 2; outer.lookup(unique) || inner.lookup(unique);
       ++number)
    unique = base + "_" + std::to_string(number);
  return unique;
}

/// An operand of another program of the same op that has a dim, and its axis.
static std::pair<Value, int64_t>
findTensorWith(GenericOp program, AffineExpr dim, const IRMapping &mapping) {
  for (OpOperand &operand : program->getOpOperands()) {
    Value value = mapping.lookupOrNull(operand.get());
    if (!value || !isa<RankedTensorType>(value.getType()))
      continue;
    AffineMap map = program.getMatchingIndexingMap(&operand);
    if (std::optional<unsigned> axis = map.getResultPosition(dim))
      return {value, *axis};
  }
  return {Value(), 0};
}

/// A tensor.empty of the same size in the new function: by the extents of its
/// arguments where these tell, by further ones where not.
Value Outliner::makeDestination(GenericOp program, OpOperand &init,
                                func::FuncOp made, const IRMapping &mapping,
                                SmallVectorImpl<Value> &operands) {
  auto empty = init.get().getDefiningOp<tensor::EmptyOp>();
  AffineMap map = program.getMatchingIndexingMap(&init);
  SmallVector<Value> sizes;
  for (auto [axis, size] : llvm::enumerate(empty.getMixedSizes())) {
    auto dynamic = dyn_cast<Value>(size);
    if (!dynamic)
      continue;
    auto [tensor, from] = findTensorWith(program, map.getResult(axis), mapping);
    if (tensor) {
      sizes.push_back(
          tensor::DimOp::create(rewriter, empty.getLoc(), tensor, from));
      continue;
    }
    operands.push_back(dynamic);
    unsigned number = made.getNumArguments();
    (void)made.insertArgument(number, dynamic.getType(), {}, dynamic.getLoc());
    sizes.push_back(made.getArgument(number));
  }
  return tensor::EmptyOp::create(rewriter, empty.getLoc(), empty.getType(),
                                 sizes);
}

func::FuncOp Outliner::makeFunction(func::FuncOp function, GenericOp program,
                                    SmallVectorImpl<Value> &operands) {
  auto isConstant = [](Value value) {
    Operation *def = value.getDefiningOp();
    return def && def->hasTrait<OpTrait::ConstantLike>() &&
           !isa<TensorType>(value.getType());
  };
  SmallVector<OpOperand *> inits;
  for (OpOperand &operand : program->getOpOperands()) {
    Value value = operand.get();
    if (program.isDpsInit(&operand) && value.getDefiningOp<tensor::EmptyOp>())
      inits.push_back(&operand);
    else if (!isConstant(value) && !llvm::is_contained(operands, value))
      operands.push_back(value);
  }
  auto made = func::FuncOp::create(
      program.getLoc(), findName(function, program),
      rewriter.getFunctionType(ValueRange(operands).getTypes(),
                               program->getResultTypes()));
  made.addEntryBlock();
  IRMapping mapping;
  for (auto [operand, argument] :
       llvm::zip_equal(operands, made.getArguments())) {
    mapping.map(operand, argument);
    argument.setLoc(operand.getLoc());
    auto outside = dyn_cast<BlockArgument>(operand);
    if (!outside || outside.getOwner()->getParentOp() != function ||
        !outside.getOwner()->isEntryBlock())
      continue;
    if (Attribute layout = function.getArgAttr(outside.getArgNumber(),
                                               NormDialect::kLayoutAttrName))
      made.setArgAttr(argument.getArgNumber(), NormDialect::kLayoutAttrName,
                      layout);
  }

  rewriter.setInsertionPointToStart(&made.getBody().front());
  for (Value operand : program->getOperands())
    if (isConstant(operand) && !mapping.contains(operand))
      rewriter.clone(*operand.getDefiningOp(), mapping);
  // Two outputs may share one tensor.empty, and have different maps.
  SmallVector<std::pair<unsigned, Value>> destinations;
  for (OpOperand *init : inits)
    destinations.emplace_back(
        init->getOperandNumber(),
        makeDestination(program, *init, made, mapping, operands));
  Operation *copy = rewriter.clone(*program, mapping);
  for (auto [number, destination] : destinations)
    copy->setOperand(number, destination);
  func::ReturnOp::create(rewriter, program.getLoc(), copy->getResults());
  return made;
}

/// What the outer function has written in place of an argument is so in the
/// new one, where the program makes the result and nothing else reads the
/// argument.
static void copyInPlace(func::FuncOp function, GenericOp program,
                        func::FuncOp made, ArrayRef<Value> operands) {
  StringRef inPlace = NormDialect::kInPlaceAttrName;
  StringRef layout = NormDialect::kLayoutAttrName;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto result = function.getArgAttrOfType<IntegerAttr>(number, inPlace);
    auto operand = llvm::find(operands, argument);
    bool isOwn = llvm::all_of(argument.getUsers(), [&](Operation *user) {
      return user == program || isa<tensor::DimOp>(user);
    });
    if (!result || operand == operands.end() || !isOwn)
      continue;
    for (OpResult output : program->getResults())
      for (OpOperand &use : output.getUses())
        if (isa<func::ReturnOp>(use.getOwner()) &&
            use.getOperandNumber() == unsigned(result.getInt())) {
          unsigned index = output.getResultNumber();
          OpBuilder builder(program);
          made.setArgAttr(operand - operands.begin(), inPlace,
                          builder.getI64IntegerAttr(index));
          if (Attribute attr = function.getResultAttr(result.getInt(), layout))
            made.setResultAttr(index, layout, attr);
        }
  }
}

void Outliner::outline(func::FuncOp function) {
  SmallVector<GenericOp> programs;
  function.walk([&](GenericOp program) {
    if (program.hasTensorSemantics())
      programs.push_back(program);
  });
  Operation *last = function;
  for (GenericOp program : programs) {
    SmallVector<Value> operands;
    func::FuncOp made = makeFunction(function, program, operands);
    copyInPlace(function, program, made, operands);
    auto declaration = func::FuncOp::create(program.getLoc(), made.getName(),
                                            made.getFunctionType());
    declaration.setPrivate();
    inner.insert(made);
    outer.insert(declaration);
    declaration->moveAfter(last);
    last = declaration;
    rewriter.setInsertionPoint(program);
    SmallVector<Value> inits(program.getOutputs());
    rewriter.replaceOpWithNewOp<func::CallOp>(program, declaration, operands);
    for (Value init : inits)
      if (Operation *def = init.getDefiningOp(); def && isOpTriviallyDead(def))
        rewriter.eraseOp(def);
  }
}

namespace {
struct NormOutlinePass
    : public mlir::norm::impl::NormOutlinePassBase<NormOutlinePass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> functions;
    bool isMixed = false;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal()) {
        functions.push_back(function);
        isMixed |= isOtherWork(function);
      }
    if (!isMixed || findKernelModule(module))
      return;
    auto kernels = ModuleOp::create(module.getLoc());
    kernels->setAttr(NormDialect::kKernelsAttrName,
                     UnitAttr::get(&getContext()));
    module.push_back(kernels);
    Outliner outliner(module, kernels);
    for (func::FuncOp function : functions)
      outliner.outline(function);
  }
};
} // namespace
