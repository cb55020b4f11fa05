//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Fuzz/Shrink.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>
#include <numeric>

using namespace norm;
using namespace norm::fuzz;

namespace {

/// Tries smaller cases until none fails in the same way.
class Shrinker {
public:
  Shrinker(Case start, Outcome &failure, Evaluate evaluate, double seconds)
      : best(std::move(start)), failure(failure), evaluate(evaluate),
        until(std::chrono::steady_clock::now() +
              std::chrono::milliseconds(int64_t(seconds * 1000))) {}

  Case run();

private:
  bool attempt(Case candidate);
  bool timeIsUp() const { return std::chrono::steady_clock::now() > until; }

  bool shrinkVariants();
  bool shrinkOutputs();
  bool shrinkOps();
  bool shrinkNamed();
  bool shrinkBodies();
  bool shrinkSpace();
  bool shrinkData();
  bool shrinkTypes();
  bool shrinkVariant();

  Case best;
  Outcome &failure;
  Evaluate evaluate;
  std::chrono::steady_clock::time_point until;
};

/// A message without its numbers and names, which change as a case shrinks.
std::string stem(llvm::StringRef text) {
  std::string result;
  size_t at = text.find("error: ");
  if (at != llvm::StringRef::npos)
    text = text.drop_front(at);
  for (char c : text.take_until([](char c) { return c == '\n'; }))
    if (!llvm::isDigit(c))
      result += c;
  return result.substr(0, 60);
}

bool isSameFailure(const Outcome &a, const Outcome &b) {
  if (a.kind != b.kind)
    return false;
  if (a.kind == Outcome::Kind::Differed)
    return (a.variant < 0) == (b.variant < 0);
  bool isTold =
      a.kind == Outcome::Kind::Refused || a.kind == Outcome::Kind::Faulty;
  return !isTold || stem(a.text) == stem(b.text);
}

/// Removes what the graph no longer uses, from the data and layouts too;
/// `keptOutputs` are the positions of the outputs that are left.
void clean(Case &edited, llvm::ArrayRef<unsigned> keptOutputs,
           size_t numArguments) {
  std::vector<unsigned> kept;
  // Arguments that an edit has added come last, and have data already.
  removeDead(edited.graph, &kept);
  std::vector<ArgumentData> data;
  for (unsigned position : kept)
    data.push_back(edited.data[position]);
  edited.data = std::move(data);
  for (Rerun &variant : edited.variants) {
    if (variant.layouts.empty())
      continue;
    std::vector<Layout> layouts;
    for (unsigned position : kept)
      layouts.push_back(position < numArguments ? variant.layouts[position]
                                                : Layout());
    for (unsigned position : keptOutputs)
      layouts.push_back(numArguments + position < variant.layouts.size()
                            ? variant.layouts[numArguments + position]
                            : Layout());
    variant.layouts = std::move(layouts);
  }
}

std::vector<unsigned> allOutputs(const Case &made) {
  std::vector<unsigned> list(made.graph.outputs.size());
  for (unsigned i = 0; i < list.size(); ++i)
    list[i] = i;
  return list;
}

void replace(Graph &graph, unsigned from, unsigned to) {
  for (Op &op : graph.ops)
    std::replace(op.operands.begin(), op.operands.end(), from, to);
  std::replace(graph.outputs.begin(), graph.outputs.end(), from, to);
}

/// Whether a function may return the outputs: results of ops, each once.
bool isReturnable(const Graph &graph) {
  for (auto [i, output] : llvm::enumerate(graph.outputs))
    if (llvm::is_contained(graph.arguments, output) ||
        llvm::is_contained(llvm::ArrayRef(graph.outputs).take_front(i), output))
      return false;
  return !graph.outputs.empty();
}

bool isUsed(const Graph &graph, unsigned value) {
  return llvm::is_contained(graph.outputs, value) ||
         llvm::any_of(graph.ops, [&](const Op &op) {
           return llvm::is_contained(op.operands, value);
         });
}

bool Shrinker::attempt(Case candidate) {
  if (timeIsUp() || !isReturnable(candidate.graph))
    return false;
  Outcome outcome = evaluate(candidate);
  if (!isSameFailure(failure, outcome))
    return false;
  best = std::move(candidate);
  failure = std::move(outcome);
  return true;
}

bool Shrinker::shrinkVariants() {
  Case candidate = best;
  if (failure.variant < 0)
    candidate.variants.clear();
  else
    candidate.variants = {best.variants[size_t(failure.variant)]};
  return candidate.variants.size() != best.variants.size() &&
         attempt(std::move(candidate));
}

bool Shrinker::shrinkOutputs() {
  bool any = false;
  for (unsigned i = 0;
       best.graph.outputs.size() > 1 && i < best.graph.outputs.size();) {
    Case candidate = best;
    std::vector<unsigned> kept = allOutputs(best);
    kept.erase(kept.begin() + i);
    candidate.graph.outputs.erase(candidate.graph.outputs.begin() + i);
    clean(candidate, kept, best.graph.arguments.size());
    if (attempt(std::move(candidate)))
      any = true;
    else
      ++i;
  }
  return any;
}

/// Results become operands of the op, or arguments; outputs become the operands
/// of what makes them.
bool Shrinker::shrinkOps() {
  bool any = false;
  for (size_t i = best.graph.ops.size(); i-- > 0;) {
    if (i >= best.graph.ops.size())
      continue;
    for (size_t r = 0;
         i < best.graph.ops.size() && r < best.graph.ops[i].results.size();
         ++r) {
      const Op &op = best.graph.ops[i];
      unsigned result = op.results[r];
      if (!isUsed(best.graph, result))
        continue;
      bool done = false;
      for (unsigned operand : op.operands) {
        if (done || !(best.graph.values[operand] == best.graph.values[result]))
          continue;
        Case candidate = best;
        replace(candidate.graph, result, operand);
        clean(candidate, allOutputs(best), best.graph.arguments.size());
        done = attempt(std::move(candidate));
      }
      if (!done) {
        Case candidate = best;
        unsigned fresh = candidate.graph.add(best.graph.values[result]);
        candidate.graph.arguments.push_back(fresh);
        candidate.data.push_back({/*seed=*/i, {RowData::Normal}});
        replace(candidate.graph, result, fresh);
        clean(candidate, allOutputs(best), best.graph.arguments.size());
        done = attempt(std::move(candidate));
      }
      any |= done;
      if (done)
        break;
    }
  }
  return any;
}

bool Shrinker::shrinkNamed() {
  bool any = false;
  auto edit = [&](size_t index, llvm::function_ref<bool(Op &)> change) {
    Case candidate = best;
    if (index >= candidate.graph.ops.size() ||
        !change(candidate.graph.ops[index]))
      return;
    clean(candidate, allOutputs(best), best.graph.arguments.size());
    any |= attempt(std::move(candidate));
  };
  // Operands come in this order.
  static constexpr bool Op::*parts[] = {&Op::hasScale, &Op::hasBias,
                                        &Op::hasMask, &Op::hasLengths,
                                        &Op::hasRunning};
  for (size_t i = 0; i < best.graph.ops.size(); ++i) {
    for (bool Op::*part : parts)
      edit(i, [&](Op &op) {
        // Updated running statistics are results.
        if (!(op.*part) || (part == &Op::hasRunning))
          return false;
        size_t at = 1;
        for (bool Op::*before : parts) {
          if (before == part)
            break;
          at += op.*before;
        }
        op.operands.erase(op.operands.begin() + int64_t(at));
        op.*part = false;
        if (part == &Op::hasScale)
          op.offset = 0;
        return true;
      });
    edit(i, [](Op &op) { return std::exchange(op.offset, 0) != 0; });
    edit(i, [](Op &op) {
      if (op.kind == Op::Kind::Custom || op.attributes.empty())
        return false;
      op.attributes.clear();
      return true;
    });
    edit(i, [](Op &op) { return std::exchange(op.axes, 0) != 0; });
    edit(i, [&](Op &op) {
      if (!op.hasRstd || isUsed(best.graph, op.results.back()))
        return false;
      op.results.pop_back();
      op.hasRstd = false;
      return true;
    });
    edit(i, [&](Op &op) {
      size_t at = op.results.size() - 1 - op.hasRstd;
      if (!op.hasMean || isUsed(best.graph, op.results[at]))
        return false;
      op.results.erase(op.results.begin() + int64_t(at));
      op.hasMean = false;
      return true;
    });
  }
  return any;
}

bool Shrinker::shrinkBodies() {
  bool any = false;
  auto edit = [&](size_t index,
                  llvm::function_ref<bool(Op &, Graph &)> change) {
    Case candidate = best;
    Op &op = candidate.graph.ops[index];
    auto body = std::make_shared<Graph>(*op.body);
    if (!change(op, *body))
      return false;
    // The operands stay; those that aren't read are removed below.
    std::vector<unsigned> arguments = body->arguments;
    removeDead(*body);
    body->arguments = std::move(arguments);
    op.body = std::move(body);
    clean(candidate, allOutputs(best), best.graph.arguments.size());
    if (!attempt(std::move(candidate)))
      return false;
    return any = true;
  };
  for (size_t i = 0; i < best.graph.ops.size(); ++i) {
    if (best.graph.ops[i].kind != Op::Kind::Custom)
      continue;
    for (size_t k = best.graph.ops[i].body->ops.size(); k-- > 0;) {
      if (k >= best.graph.ops[i].body->ops.size())
        continue;
      Op inner = best.graph.ops[i].body->ops[k];
      for (unsigned result : inner.results)
        for (unsigned operand : inner.operands)
          if (edit(i, [&](Op &, Graph &body) {
                if (body.values[operand].dtype != body.values[result].dtype)
                  return false;
                replace(body, result, operand);
                return true;
              }))
            break;
    }
    // Operands but the first, which spans the space, and results but the first.
    for (size_t k = best.graph.ops[i].operands.size(); k-- > 1;)
      edit(i, [&](Op &op, Graph &body) {
        if (isUsed(body, body.arguments[k]))
          return false;
        op.operands.erase(op.operands.begin() + int64_t(k));
        body.arguments.erase(body.arguments.begin() + int64_t(k));
        return true;
      });
    for (size_t k = best.graph.ops[i].results.size(); k-- > 1;)
      edit(i, [&](Op &op, Graph &body) {
        if (isUsed(best.graph, op.results[k]))
          return false;
        op.results.erase(op.results.begin() + int64_t(k));
        body.outputs.erase(body.outputs.begin() + int64_t(k));
        return true;
      });
  }
  return any;
}

/// Whether a dim can go: no value or op names it by its place.
static bool isPlaceless(const Graph &graph) {
  auto isPlain = [](const Value &value) {
    return value.isWhole() && value.support <= Support::Full;
  };
  return llvm::all_of(graph.values, isPlain) &&
         llvm::none_of(graph.ops, [](const Op &op) {
           return op.axes || !op.group.empty() ||
                  op.kind == Op::Kind::GroupNorm ||
                  op.kind == Op::Kind::InstanceNorm ||
                  op.kind == Op::Kind::BatchNorm ||
                  llvm::StringRef(op.attributes).contains("causal");
         });
}

static void dropDim(Space &space, unsigned dim) {
  space.dims.erase(space.dims.begin() + dim);
  space.channel = 0;
  space.groups = 1;
  space.order.clear();
  for (unsigned i = 0; i < space.rank(); ++i)
    space.order.push_back(i);
}

bool Shrinker::shrinkSpace() {
  bool any = false;
  auto edit = [&](llvm::function_ref<void(Space &)> change) {
    Case candidate = best;
    change(candidate.space);
    Space &space = candidate.space;
    space.groups = std::gcd(space.groups, space.dims[space.channel].extent);
    if (space.groups == 0)
      space.groups = 1;
    for (Rerun &variant : candidate.variants)
      if (variant.rows && variant.rows->second > space.dims[0].extent)
        return false;
    if (!attempt(std::move(candidate)))
      return false;
    return any = true;
  };
  for (unsigned dim = best.space.rank(); dim-- > 0;)
    if (best.space.rank() > 1 && isPlaceless(best.graph) &&
        (!best.space.dims[dim].isColumn || best.space.count(true) > 1))
      edit([&](Space &space) { dropDim(space, dim); });
  for (unsigned dim = 0; dim < best.space.rank(); ++dim)
    if (best.space.dims[dim].dynamic)
      edit([&](Space &space) { space.dims[dim].dynamic = false; });
  auto shorten = [&](auto extentOf) {
    for (int64_t wanted : {0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 33})
      if (wanted < extentOf(best.space) &&
          edit([&](Space &space) { extentOf(space) = wanted; }))
        return;
    while (extentOf(best.space) > 1 &&
           edit([&](Space &space) { extentOf(space) /= 2; }))
      ;
    for (int64_t step = extentOf(best.space) / 4; step > 0; step /= 2)
      while (extentOf(best.space) > step &&
             edit([&](Space &space) { extentOf(space) -= step; }))
        ;
  };
  for (unsigned dim = 0; dim < best.space.rank(); ++dim)
    shorten(
        [dim](Space &space) -> int64_t & { return space.dims[dim].extent; });
  return any;
}

bool Shrinker::shrinkData() {
  bool any = false;
  for (size_t i = 0; i < best.data.size(); ++i) {
    static constexpr RowData simple[] = {RowData::Zeros, RowData::Integers,
                                         RowData::Normal};
    auto rank = [&](llvm::ArrayRef<RowData> kinds) {
      if (kinds.size() > 1)
        return int(kinds.size()) + 3;
      auto *found = llvm::find(simple, kinds.front());
      return int(found - std::begin(simple));
    };
    auto use = [&](std::vector<RowData> kinds) {
      if (rank(kinds) >= rank(best.data[i].kinds))
        return false;
      Case candidate = best;
      candidate.data[i].kinds = std::move(kinds);
      if (!attempt(std::move(candidate)))
        return false;
      return any = true;
    };
    if (use({RowData::Zeros}) || use({RowData::Integers}) ||
        use({RowData::Normal}))
      continue;
    for (RowData kind : std::vector<RowData>(best.data[i].kinds))
      if (use({kind}))
        break;
  }
  return any;
}

/// f64 and the narrow types become f32.
bool Shrinker::shrinkTypes() {
  bool any = false;
  for (DType from :
       {DType::F64, DType::F16, DType::BF16, DType::F8E5M2, DType::F8E4M3FN}) {
    Case candidate = best;
    bool has = false;
    auto change = [&](Graph &graph) {
      for (Value &value : graph.values) {
        has |= value.dtype == from;
        value.dtype = value.dtype == from ? DType::F32 : value.dtype;
      }
      // Casts between equal types are none.
      for (Op &op : graph.ops)
        if (op.kind == Op::Kind::Cast &&
            graph.values[op.operands[0]].dtype ==
                graph.values[op.results[0]].dtype) {
          unsigned result = op.results[0], operand = op.operands[0];
          op.operands.clear();
          replace(graph, result, operand);
        }
      llvm::erase_if(graph.ops, [](const Op &op) {
        return op.kind == Op::Kind::Cast && op.operands.empty();
      });
    };
    change(candidate.graph);
    for (Op &op : candidate.graph.ops)
      if (op.body) {
        auto body = std::make_shared<Graph>(*op.body);
        change(*body);
        op.body = std::move(body);
      }
    clean(candidate, allOutputs(best), best.graph.arguments.size());
    any |= has && attempt(std::move(candidate));
  }
  return any;
}

bool Shrinker::shrinkVariant() {
  if (best.variants.size() != 1)
    return false;
  bool any = false;
  auto edit = [&](llvm::function_ref<bool(Rerun &)> change) {
    Case candidate = best;
    if (change(candidate.variants.front()))
      any |= attempt(std::move(candidate));
  };
  edit([](Rerun &v) { return !std::exchange(v.layouts, {}).empty(); });
  edit([](Rerun &v) { return !std::exchange(v.schedule, "").empty(); });
  edit([](Rerun &v) { return std::exchange(v.rows, {}).has_value(); });
  for (unsigned dim = 0; dim < best.space.rank(); ++dim)
    edit([&](Rerun &v) {
      uint8_t flipped = v.flipDynamic & ~(1u << dim);
      return std::exchange(v.flipDynamic, flipped) != flipped;
    });
  edit([](Rerun &v) { return std::exchange(v.extraOutput, false); });
  edit([](Rerun &v) { return std::exchange(v.launches, 1u) != 1; });
  edit([](Rerun &v) { return std::exchange(v.hostThreads, 0u) != 0; });
  llvm::SmallVector<llvm::StringRef> fields;
  std::string schedule = best.variants.front().schedule;
  llvm::StringRef(schedule).split(fields, ',');
  for (llvm::StringRef field : fields)
    edit([&](Rerun &v) {
      llvm::SmallVector<llvm::StringRef> now;
      llvm::StringRef(v.schedule).split(now, ',');
      if (now.size() < 2 || !llvm::is_contained(now, field))
        return false;
      llvm::erase(now, field);
      v.schedule = llvm::join(now, ",");
      return true;
    });
  for (size_t i = 0; i < best.variants.front().layouts.size(); ++i)
    edit([&](Rerun &v) {
      return i < v.layouts.size() &&
             !(std::exchange(v.layouts[i], Layout()) == Layout());
    });
  return any;
}

Case Shrinker::run() {
  shrinkVariants();
  bool any = true;
  while (any && !timeIsUp()) {
    any = shrinkOutputs();
    any |= shrinkOps();
    any |= shrinkNamed();
    any |= shrinkBodies();
    any |= shrinkSpace();
    any |= shrinkData();
    any |= shrinkVariant();
    any |= shrinkTypes();
  }
  return std::move(best);
}

} // namespace

Case fuzz::shrink(Case failing, Outcome &failure, Evaluate evaluate,
                  double seconds) {
  return Shrinker(std::move(failing), failure, evaluate, seconds).run();
}
