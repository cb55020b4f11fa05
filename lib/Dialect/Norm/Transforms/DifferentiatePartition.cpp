//===- DifferentiatePartition.cpp - Programs by what they reduce over -----===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DifferentiateProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

#include <map>

using namespace mlir;
using namespace mlir::norm;

namespace {
/// What makes a program of its own: how many programs come before it, what its
/// reductions go over, and the other dims.
struct PartKey {
  unsigned level = 0;
  uint64_t over = 0, rows = 0;

  bool isAlike(const PartKey &other) const {
    return over == other.over && rows == other.rows;
  }
  bool operator<(const PartKey &other) const {
    return std::tuple(level, over, rows) <
           std::tuple(other.level, other.over, other.rows);
  }
  bool operator==(const PartKey &other) const {
    return isAlike(other) && level == other.level;
  }
  /// Whether a value of some dims may be an output.
  bool fits(uint64_t dims) const {
    return (rows & ~dims) == 0 && (dims & ~(rows | over)) == 0 &&
           ((dims & over) == over || (dims & over) == 0);
  }
};

struct Part {
  /// What the program yields, and for which results of the whole.
  llvm::SetVector<Value> wanted;
  SmallVector<std::pair<unsigned, Value>> results;
  /// What it reads of other programs, and computes.
  llvm::SetVector<Value> read;
  llvm::DenseSet<Value> planned;
  uint64_t space = 0;
};

class Partition {
public:
  Partition(RewriterBase &rewriter, DimSizes &sizes, GenericOp whole);
  FailureOr<SmallVector<Value>> run();

private:
  void findLevels();
  void delay();
  uint64_t getMapDims(unsigned operand);
  std::optional<PartKey> getHome(Value value);
  PartKey choosePart(unsigned result);
  uint64_t getTold(Operation &op);
  bool isRead(Value value, const PartKey &key);
  void plan(Value value, const PartKey &key);
  void emit(const Part &part);
  uint64_t getSpace(const PartKey &key, const Part &part);
  AffineMap getPartMap(ArrayRef<AffineExpr> results, uint64_t space);
  void declareExtents(ProgramBuilder &builder, uint64_t space, uint64_t told);
  Value cloneInto(Value value, IRMapping &mapping);
  RankedTensorType getTensorType(Value value);

  RewriterBase &rewriter;
  DimSizes &sizes;
  GenericOp whole;
  llvm::DenseMap<Value, uint64_t> supports;
  SmallVector<ReduceOp> reduces;
  SmallVector<PartKey> keys;
  /// Dims whose extents are told by operands from which a value is computed.
  llvm::DenseMap<Value, uint64_t> told;
  /// The reductions on which each value depends.
  llvm::DenseMap<Value, llvm::SmallBitVector> needs;
  std::map<PartKey, Part> parts;
  llvm::DenseMap<Value, Value> tensors;
  SmallVector<Value> results;
  /// An op that no program has the dims for.
  Operation *misplaced = nullptr;
};
} // namespace

Partition::Partition(RewriterBase &rewriter, DimSizes &sizes, GenericOp whole)
    : rewriter(rewriter), sizes(sizes), whole(whole),
      supports(whole.computeSupports()), results(whole.getNumResults()) {}

uint64_t Partition::getMapDims(unsigned operand) {
  uint64_t dims = 0;
  for (AffineExpr expr : whole.getMap(operand).getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      dims |= uint64_t(1) << dim.getPosition();
  return dims;
}

//===----------------------------------------------------------------------===//
// Which reductions are in one program
//===----------------------------------------------------------------------===//

uint64_t Partition::getTold(Operation &op) {
  uint64_t dims = 0;
  for (Value operand : op.getOperands())
    dims |= told.lookup(operand);
  return dims;
}

/// Each as early as can be.
void Partition::findLevels() {
  reduces = llvm::to_vector(whole.getBlock()->getOps<ReduceOp>());
  unsigned count = 0;
  for (BlockArgument argument : whole.getBlock()->getArguments())
    told[argument] = getMapDims(argument.getArgNumber());
  for (Operation &op : *whole.getBlock()) {
    llvm::SmallBitVector needed(reduces.size());
    uint64_t toldDims = getTold(op);
    for (Value operand : op.getOperands())
      if (auto found = needs.find(operand); found != needs.end())
        needed |= found->second;
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      PartKey key;
      for (StringRef name : reduce.getDims().getAsValueRange<StringAttr>())
        key.over |= uint64_t(1) << *whole.getDimNumber(name);
      key.rows = supports.lookup(reduce.getValue()) & ~key.over;
      // As of positions only; the space of all operands then.
      if (key.over & ~toldDims)
        key.rows =
            llvm::maskTrailingOnes<uint64_t>(whole.getNumDims()) & ~key.over;
      for (unsigned other : needed.set_bits())
        key.level =
            std::max(key.level, keys[other].level + !keys[other].isAlike(key));
      keys.push_back(key);
      needed.set(count++);
    }
    for (Value result : op.getResults()) {
      needs[result] = needed;
      told[result] = isa<ReduceOp>(op) ? supports.lookup(result) : toldDims;
    }
  }
}

/// Each as late as can be, where others over the same dims are.
void Partition::delay() {
  for (unsigned i = reduces.size(); i-- > 0;) {
    std::optional<unsigned> latest;
    for (unsigned other = i + 1, e = reduces.size(); other < e; ++other) {
      if (!needs[reduces[other].getResult(0)].test(i))
        continue;
      unsigned level = keys[other].level - !keys[other].isAlike(keys[i]);
      latest = std::min(latest.value_or(level), level);
    }
    for (unsigned other = 0, e = reduces.size(); other < e && !latest; ++other)
      if (keys[other].isAlike(keys[i]))
        keys[i].level = std::max(keys[i].level, keys[other].level);
    if (latest)
      keys[i].level = std::max(keys[i].level, *latest);
  }
}

/// The last program on which a value depends, if it is one.
std::optional<PartKey> Partition::getHome(Value value) {
  std::optional<PartKey> home;
  auto found = needs.find(value);
  if (found == needs.end())
    return std::nullopt;
  for (unsigned reduce : found->second.set_bits())
    if (!home || keys[reduce].level > home->level)
      home = keys[reduce];
  for (unsigned reduce : found->second.set_bits())
    if (home && keys[reduce].level == home->level && !(keys[reduce] == *home))
      return std::nullopt;
  return home;
}

/// The program that writes a result.
PartKey Partition::choosePart(unsigned result) {
  Value value = whole.getBlock()->getTerminator()->getOperand(result);
  uint64_t dims = getMapDims(whole.getInputs().size() + result);
  std::optional<PartKey> home = getHome(value);
  if (home && home->fits(dims))
    return *home;
  PartKey alone{0, 0, dims};
  auto found = needs.find(value);
  if (found == needs.end() || found->second.none()) {
    // Beside what reads the same.
    for (const PartKey &key : keys)
      if ((key.over | key.rows) == dims && key.level == 0)
        return key;
    return alone;
  }
  for (unsigned reduce : found->second.set_bits())
    alone.level = std::max(alone.level, keys[reduce].level + 1);
  return alone;
}

//===----------------------------------------------------------------------===//
// What passes from one program to another
//===----------------------------------------------------------------------===//

/// Whether a program reads a value rather than to compute it.
bool Partition::isRead(Value value, const PartKey &key) {
  auto found = needs.find(value);
  if (found == needs.end() || found->second.none() ||
      !(value.getType().isF32() || value.getType().isF64() ||
        value.getDefiningOp<ReduceOp>()))
    return false;
  for (unsigned reduce : found->second.set_bits())
    if (keys[reduce] == key)
      return false;
  std::optional<PartKey> home = getHome(value);
  uint64_t support = supports.lookup(value), space = key.rows | key.over;
  if (!home || !home->fits(support) || (support & ~space))
    return false;
  return value.getDefiningOp<ReduceOp>() || support != space;
}

void Partition::plan(Value value, const PartKey &key) {
  Part &part = parts[key];
  if (!part.planned.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (isRead(value, key)) {
    part.read.insert(value);
    parts[*getHome(value)].wanted.insert(value);
    return;
  }
  // Of positions only: no operand of this program has their dims.
  uint64_t space = key.rows | key.over;
  bool isElsewhere = supports.lookup(value) & ~space;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    isElsewhere |=
        !(keys[llvm::find(reduces, reduce) - reduces.begin()] == key);
  if (isElsewhere && !misplaced)
    misplaced = op;
  for (Value operand : op->getOperands())
    plan(operand, key);
}

//===----------------------------------------------------------------------===//
// The programs
//===----------------------------------------------------------------------===//

/// The dims of a program: also those that its ops name, and those of an operand
/// that tells their extents.
uint64_t Partition::getSpace(const PartKey &key, const Part &part) {
  uint64_t space = key.over | key.rows;
  for (Operation &op : *whole.getBlock()) {
    auto extent = dyn_cast<ExtentOp>(op);
    if (!extent || !part.planned.contains(extent.getResult()))
      continue;
    uint64_t dim = uint64_t(1) << *whole.getDimNumber(extent.getDim());
    for (unsigned number = 0, e = whole.getInputs().size();
         number != e && !(space & dim); ++number)
      if (getMapDims(number) & dim)
        space |= getMapDims(number);
    if (!(space & dim) && !misplaced)
      misplaced = extent;
  }
  return space;
}

/// A map from the whole space as one from that of a program.
AffineMap Partition::getPartMap(ArrayRef<AffineExpr> results, uint64_t space) {
  SmallVector<AffineExpr> dims(whole.getNumDims());
  unsigned count = 0;
  for (unsigned dim = 0, e = whole.getNumDims(); dim != e; ++dim)
    dims[dim] = space >> dim & 1 ? rewriter.getAffineDimExpr(count++)
                                 : rewriter.getAffineConstantExpr(0);
  SmallVector<AffineExpr> mapped;
  for (AffineExpr expr : results)
    mapped.push_back(expr.replaceDims(dims));
  return AffineMap::get(count, 0, mapped, rewriter.getContext());
}

/// Declares operands of the whole for dims whose extents nothing else tells.
void Partition::declareExtents(ProgramBuilder &builder, uint64_t space,
                               uint64_t told) {
  for (unsigned number = 0, e = whole.getInputs().size(); number != e;
       ++number) {
    uint64_t dims = getMapDims(number);
    if ((dims & ~space) || !(dims & ~told))
      continue;
    builder.addInput(whole.getInputs()[number],
                     getPartMap(whole.getMap(number).getResults(), space));
    told |= dims;
  }
}

RankedTensorType Partition::getTensorType(Value value) {
  SmallVector<int64_t> extents = whole.getExtents(), shape;
  for (unsigned dim = 0, e = whole.getNumDims(); dim != e; ++dim)
    if (supports.lookup(value) >> dim & 1)
      shape.push_back(extents[dim]);
  return RankedTensorType::get(shape, value.getType());
}

static SmallVector<AffineExpr> getExprs(MLIRContext *context, uint64_t dims) {
  SmallVector<AffineExpr> exprs;
  for (unsigned dim = 0; dim != 64; ++dim)
    if (dims >> dim & 1)
      exprs.push_back(getAffineDimExpr(dim, context));
  return exprs;
}

Value Partition::cloneInto(Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    cloneInto(operand, mapping);
  rewriter.clone(*op, mapping);
  return mapping.lookup(value);
}

void Partition::emit(const Part &part) {
  MLIRContext *context = rewriter.getContext();
  uint64_t space = part.space, told = 0;
  SmallVector<std::string> names;
  for (unsigned dim = 0, e = whole.getNumDims(); dim != e; ++dim)
    if (space >> dim & 1)
      names.push_back(whole.getDimName(dim).str());
  ProgramBuilder builder(rewriter, sizes, whole.getLoc(), names);

  SmallVector<std::pair<Value, unsigned>> inputs;
  for (BlockArgument argument : whole.getBlock()->getArguments()) {
    if (!part.planned.contains(argument))
      continue;
    unsigned number = argument.getArgNumber();
    inputs.emplace_back(
        argument,
        builder.addInput(whole.getOperand(number),
                         getPartMap(whole.getMap(number).getResults(), space)));
    told |= getMapDims(number);
  }
  for (Value value : part.read) {
    uint64_t dims = supports.lookup(value);
    inputs.emplace_back(
        value, builder.addInput(tensors.lookup(value),
                                getPartMap(getExprs(context, dims), space)));
    told |= dims;
  }
  declareExtents(builder, space, told);
  for (auto [result, value] : part.results)
    builder.addOutput(
        cast<RankedTensorType>(whole.getResult(result).getType()),
        getPartMap(whole.getMap(whole.getInputs().size() + result).getResults(),
                   space));
  for (Value value : part.wanted)
    builder.addOutput(
        getTensorType(value),
        getPartMap(getExprs(context, supports.lookup(value)), space));

  builder.begin();
  IRMapping mapping;
  for (auto [value, input] : inputs)
    mapping.map(value, builder.getValue(input));
  SmallVector<Value> yielded;
  for (auto [result, value] : part.results)
    yielded.push_back(cloneInto(value, mapping));
  for (Value value : part.wanted)
    yielded.push_back(cloneInto(value, mapping));
  GenericOp program = builder.finish(yielded, *whole.getName());
  unsigned next = 0;
  for (auto [result, value] : part.results)
    results[result] = program.getResult(next++);
  for (Value value : part.wanted)
    tensors[value] = program.getResult(next++);
}

FailureOr<SmallVector<Value>> Partition::run() {
  findLevels();
  delay();
  for (const PartKey &key : keys)
    parts[key];
  Operation *yield = whole.getBlock()->getTerminator();
  for (unsigned result = 0, e = whole.getNumResults(); result != e; ++result)
    parts[choosePart(result)].results.emplace_back(result,
                                                   yield->getOperand(result));
  // Later ones say what earlier ones have to yield.
  for (auto &[key, part] : llvm::reverse(parts)) {
    for (auto [result, value] : part.results)
      plan(value, key);
    for (Value value : SmallVector<Value>(part.wanted.getArrayRef()))
      plan(value, key);
  }
  for (auto &[key, part] : parts)
    part.space = getSpace(key, part);
  if (misplaced)
    return misplaced->emitOpError(
        "is needed by a gradient over other dims, which norm-differentiate "
        "can't write as a program");
  for (auto &[key, part] : parts)
    if (!part.results.empty() || !part.wanted.empty())
      emit(part);
  return results;
}

FailureOr<SmallVector<Value>> norm::partitionProgram(RewriterBase &rewriter,
                                                     DimSizes &sizes,
                                                     GenericOp program) {
  rewriter.setInsertionPoint(program);
  FailureOr<SmallVector<Value>> results =
      Partition(rewriter, sizes, program).run();
  if (succeeded(results))
    rewriter.replaceOp(program, *results);
  return results;
}
