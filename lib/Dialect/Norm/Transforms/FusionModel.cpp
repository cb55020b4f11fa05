//===- FusionModel.cpp - What fusing two programs is worth ----------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionModel.h"

#include "norm/Analysis/Program.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace mlir::norm;

//===----------------------------------------------------------------------===//
// Bytes saved
//===----------------------------------------------------------------------===//

/// How often tensors of each type are read and written by some programs.
using Traffic = llvm::MapVector<RankedTensorType, int64_t>;

static void addTraffic(Traffic &traffic, GenericOp op, int64_t sign) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    BlockArgument element =
        op.getBlock()->getArgument(operand.getOperandNumber());
    bool isRead = !element.use_empty();
    if (type)
      traffic[type] += sign * (isRead + op.isDpsInit(&operand));
  }
}

static std::string printSaved(const Traffic &traffic) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t bytes = 0;
  bool isKnown = true;
  for (auto [type, count] : traffic) {
    if (count <= 0)
      continue;
    if (!text.empty())
      os << ", ";
    llvm::interleave(
        type.getShape(), os,
        [&](int64_t extent) {
          if (ShapedType::isDynamic(extent))
            os << '?';
          else
            os << extent;
        },
        "x");
    if (type.getRank() != 0)
      os << ' ';
    os << type.getElementType()
       << (count == 1   ? std::string(" once")
           : count == 2 ? " twice"
                        : " " + std::to_string(count) + " times");
    isKnown &= type.hasStaticShape();
    if (!isKnown)
      continue;
    Type element = type.getElementType();
    int64_t size = element.isIndex()
                       ? 8
                       : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
    for (int64_t extent : type.getShape())
      isKnown &= !llvm::MulOverflow(size, extent, size);
    isKnown &= !llvm::MulOverflow(size, count, size) &&
               !llvm::AddOverflow(bytes, size, bytes);
  }
  if (text.empty())
    return "no memory";
  if (isKnown)
    os << " (" << bytes << " bytes)";
  return text;
}

//===----------------------------------------------------------------------===//
// Whether a kernel can run it
//===----------------------------------------------------------------------===//

/// Analyzes a program without a word to anybody; `message` is what would have
/// been said.
static FailureOr<Program> analyzeQuietly(GenericOp op, std::string &message) {
  uint64_t thread = llvm::get_threadid();
  ScopedDiagnosticHandler handler(op.getContext(),
                                  [&](Diagnostic &diagnostic) -> LogicalResult {
                                    // Other functions may be compiled at the
                                    // same time.
                                    if (llvm::get_threadid() != thread)
                                      return failure();
                                    if (message.empty())
                                      message = diagnostic.str();
                                    return success();
                                  });
  return Program::analyze(op);
}

//===----------------------------------------------------------------------===//
// Whether a CTA can hold it
//===----------------------------------------------------------------------===//

namespace {
/// How a program gets along on a GPU: what is known without a target, given as
/// much shared memory as the largest have.
struct Cost {
  explicit Cost(const Program &program);

  int64_t columns;
  int64_t heldBytes;
  /// Whether inputs are read again because a CTA can't hold them.
  bool isStreamed;
  /// Bytes that are read and written for each element of the space.
  int64_t bytes = 0;
};
} // namespace

static int64_t bytesOf(Type type) {
  return type.isIndex() ? 8 : llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

/// Adds the inputs of the whole space that `value` is computed from.
static void collectInputs(const Program &program, Value value,
                          llvm::SetVector<Value> &inputs,
                          llvm::DenseSet<Value> &seen) {
  if (!program.variesOnColumns(value) || !seen.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (program.accesses[argument.getArgNumber()] == Access::Full)
      inputs.insert(value);
    return;
  }
  for (Value operand : value.getDefiningOp()->getOperands())
    collectInputs(program, operand, inputs, seen);
}

Cost::Cost(const Program &program) {
  ::norm::TargetLimits limits;
  limits.sharedPerCta = 227 << 10;
  ::norm::ProgramFacts facts = program.facts();
  columns = facts.columns;
  heldBytes = facts.heldBytes;
  isStreamed =
      facts.phases > 1 && ::norm::chooseSchedule(facts, limits).residency ==
                              ::norm::Residency::Stream;
  GenericOp op = program.op;
  // What each phase computes from, or all phases together.
  SmallVector<llvm::SetVector<Value>> inputs(isStreamed ? facts.phases : 1);
  SmallVector<llvm::DenseSet<Value>> seen(inputs.size());
  for (Operation &inner : *op.getBlock()) {
    if (!isa<ReduceOp, YieldOp>(inner))
      continue;
    for (Value operand : inner.getOperands()) {
      unsigned phase = isStreamed ? program.ready.lookup(operand) : 0;
      collectInputs(program, operand, inputs[phase], seen[phase]);
    }
  }
  for (const llvm::SetVector<Value> &phase : inputs)
    for (Value input : phase)
      bytes += bytesOf(input.getType());
  for (BlockArgument output :
       op.getBlock()->getArguments().drop_front(op.getInputs().size()))
    if (program.accesses[output.getArgNumber()] == Access::Full)
      bytes += bytesOf(output.getType());
}

/// Reading inputs again may cost more than was to be saved; where it costs the
/// same, there is one launch less.
static LogicalResult checkHeld(const Program &producer, const Program &consumer,
                               const Program &fused, std::string &reason) {
  Cost first(producer), second(consumer), both(fused);
  if (!both.isStreamed || first.isStreamed || second.isStreamed ||
      both.bytes <= first.bytes + second.bytes)
    return success();
  reason = llvm::formatv(
      "as one they would hold {0} bytes of each of {1} columns, "
      "more than registers and shared memory have room for, and "
      "move {2} bytes of each by reading again instead of {3}",
      both.heldBytes, both.columns, both.bytes, first.bytes + second.bytes);
  return failure();
}

FailureOr<std::string> mlir::norm::judgeFusion(ProgramFusion &fusion,
                                               OrderAttr order,
                                               std::string &reason) {
  GenericOp producer = fusion.getProducer(), consumer = fusion.getConsumer();
  IRRewriter rewriter(producer.getContext());
  rewriter.setInsertionPoint(consumer);
  GenericOp fused = fusion.build(rewriter);
  if (order && !fused.getBody().getOps<ReduceOp>().empty())
    if (FailureOr<OrderAttr> natural = naturalOrder(fused);
        failed(natural) || *natural != order)
      fused.setOrderAttr(order);

  Traffic traffic;
  addTraffic(traffic, producer, 1);
  addTraffic(traffic, consumer, 1);
  addTraffic(traffic, fused, -1);
  std::string saved = printSaved(traffic);

  // Where no kernel can run one of the two, another pass has to change that.
  std::string ignored, message;
  LogicalResult judged = success();
  FailureOr<Program> first = analyzeQuietly(producer, ignored);
  FailureOr<Program> second = analyzeQuietly(consumer, ignored);
  if (succeeded(first) && succeeded(second)) {
    FailureOr<Program> both = analyzeQuietly(fused, message);
    if (failed(both)) {
      StringRef text = message;
      text.consume_front("'norm.generic' op ");
      reason = ("no kernel runs both: " + text).str();
      judged = failure();
    } else {
      judged = checkHeld(*first, *second, *both, reason);
    }
  }
  rewriter.eraseOp(fused);
  if (failed(judged))
    return failure();
  return saved;
}
