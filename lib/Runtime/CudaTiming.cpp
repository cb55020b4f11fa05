//===- CudaTiming.cpp - Durations on a CUDA stream ------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaContext.h"
#include <algorithm>

using namespace norm;
using namespace norm::cuda;

namespace {

/// Reads `vectors` times 16 bytes from `base` on, and writes to `base` only if
/// their exclusive or has a value that zeros never have, which keeps the loads.
constexpr llvm::StringLiteral kReadKernel = R"(
.version 7.0
.target sm_80
.address_size 64

.visible .entry norm_read_all(.param .u64 base, .param .u64 vectors)
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<8>;

  ld.param.u64 %rd1, [base];
  ld.param.u64 %rd2, [vectors];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %rd3, %r1, %r2;
  cvt.u64.u32 %rd4, %r3;
  add.u64 %rd3, %rd3, %rd4;
  mul.wide.u32 %rd5, %r4, %r2;
  mov.u32 %r5, 0;
LOOP:
  setp.ge.u64 %p1, %rd3, %rd2;
  @%p1 bra DONE;
  shl.b64 %rd6, %rd3, 4;
  add.u64 %rd6, %rd1, %rd6;
  ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd6];
  xor.b32 %r6, %r6, %r7;
  xor.b32 %r8, %r8, %r9;
  xor.b32 %r6, %r6, %r8;
  xor.b32 %r5, %r5, %r6;
  add.u64 %rd3, %rd3, %rd5;
  bra LOOP;
DONE:
  setp.ne.u32 %p2, %r5, 305419896;
  @%p2 bra END;
  st.global.u32 [%rd1], %r5;
END:
  ret;
}
)";

constexpr unsigned kReadBlock = 256;
constexpr unsigned kReadCtasPerMultiprocessor = 8;
/// How many times its size the cache is read through to be replaced: its
/// policy isn't least recently used.
constexpr uint64_t kFlushFactor = 3;
/// From this many times the size of the cache, traffic evicts itself.
constexpr uint64_t kStreamingFactor = 4;
/// Launches enqueued before the host waits.
constexpr unsigned kBatch = 32;

/// Replaces the content of the L2 cache by clean lines of other memory.
class CacheFlusher {
public:
  static llvm::Expected<std::unique_ptr<CacheFlusher>>
  create(std::shared_ptr<DeviceContext> context);
  llvm::Error enqueue();

private:
  std::shared_ptr<DeviceContext> context;
  std::unique_ptr<LoadedModule> module;
  Function function = nullptr;
  std::unique_ptr<CudaBuffer> memory;
};

llvm::Expected<std::unique_ptr<CacheFlusher>>
CacheFlusher::create(std::shared_ptr<DeviceContext> context) {
  auto flusher = std::make_unique<CacheFlusher>();
  flusher->context = context;
  if (llvm::Error error =
          LoadedModule::load(context, kReadKernel).moveInto(flusher->module))
    return error;
  if (llvm::Error error = flusher->module->function("norm_read_all")
                              .moveInto(flusher->function))
    return error;
  uint64_t bytes = kFlushFactor * uint64_t(context->properties().l2Bytes);
  if (llvm::Error error =
          CudaBuffer::create(context, bytes, 0).moveInto(flusher->memory))
    return error;
  const Driver &cu = context->driver();
  if (llvm::Error error =
          cu.check(cu.memsetD8Async(flusher->memory->address(), 0,
                                    size_t(bytes), context->stream()),
                   "cuMemsetD8Async"))
    return error;
  return flusher;
}

llvm::Error CacheFlusher::enqueue() {
  const Driver &cu = context->driver();
  Address base = memory->address();
  uint64_t vectors = memory->bytes() / 16;
  void *params[] = {&base, &vectors};
  unsigned grid = kReadCtasPerMultiprocessor *
                  unsigned(context->properties().multiprocessors);
  return cu.check(cu.launchKernel(function, grid, 1, 1, kReadBlock, 1, 1, 0,
                                  context->stream(), params, nullptr),
                  "cuLaunchKernel");
}

/// The events around one batch of launches.
class EventPairs {
public:
  explicit EventPairs(std::shared_ptr<DeviceContext> context)
      : context(std::move(context)) {}
  ~EventPairs() {
    for (Event event : events)
      (void)context->driver().eventDestroy(event);
  }

  llvm::Error create(unsigned pairs) {
    const Driver &cu = context->driver();
    while (events.size() < 2 * size_t(pairs)) {
      Event event = nullptr;
      if (llvm::Error error =
              cu.check(cu.eventCreate(&event, 0), "cuEventCreate"))
        return error;
      events.push_back(event);
    }
    return llvm::Error::success();
  }
  llvm::Error record(unsigned index) {
    const Driver &cu = context->driver();
    return cu.check(cu.eventRecord(events[index], context->stream()),
                    "cuEventRecord");
  }
  llvm::Expected<double> milliseconds(unsigned pair) {
    const Driver &cu = context->driver();
    Event start = events[2 * pair], end = events[2 * pair + 1];
    if (llvm::Error error =
            cu.check(cu.eventSynchronize(end), "cuEventSynchronize"))
      return error;
    float elapsed = 0;
    if (llvm::Error error = cu.check(cu.eventElapsedTime(&elapsed, start, end),
                                     "cuEventElapsedTime"))
      return error;
    return double(elapsed);
  }

private:
  std::shared_ptr<DeviceContext> context;
  std::vector<Event> events;
};

/// Times batches of rounds over several bodies.
class StreamTimer {
public:
  StreamTimer(std::shared_ptr<DeviceContext> context,
              llvm::ArrayRef<DeviceWork> bodies)
      : context(context), bodies(bodies), events(context),
        timings(bodies.size()) {}

  std::unique_ptr<CacheFlusher> flusher;

  llvm::Error warmUp(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      for (const DeviceWork &body : bodies)
        if (llvm::Error error = body())
          return error;
    return context->synchronize();
  }

  llvm::Error batch(unsigned rounds) {
    unsigned count = rounds * unsigned(bodies.size());
    if (llvm::Error error = events.create(count))
      return error;
    // Keeps the device busy while the first launch is enqueued.
    if (llvm::Error error = flusher ? flusher->enqueue() : bodies.back()())
      return error;
    for (unsigned i = 0; i < count; ++i)
      if (llvm::Error error = enqueue(i))
        return error;
    for (unsigned i = 0; i < count; ++i) {
      llvm::Expected<double> elapsed = events.milliseconds(i);
      if (!elapsed)
        return elapsed.takeError();
      timings[i % bodies.size()].milliseconds.push_back(*elapsed);
    }
    return llvm::Error::success();
  }

  size_t rounds() const { return timings.front().milliseconds.size(); }

  /// Milliseconds of a slow round.
  double slowestRound() const {
    double total = 0;
    for (const Timing &timing : timings)
      total += timing.quantile(1.0);
    return std::max(total, 1e-3);
  }

  std::vector<Timing> take() { return std::move(timings); }

private:
  llvm::Error enqueue(unsigned index) {
    if (flusher)
      if (llvm::Error error = flusher->enqueue())
        return error;
    if (llvm::Error error = events.record(2 * index))
      return error;
    if (llvm::Error error = bodies[index % bodies.size()]())
      return error;
    return events.record(2 * index + 1);
  }

  std::shared_ptr<DeviceContext> context;
  llvm::ArrayRef<DeviceWork> bodies;
  EventPairs events;
  std::vector<Timing> timings;
};

} // namespace

llvm::Expected<std::vector<Timing>>
cuda::timeTurnsOnStream(std::shared_ptr<DeviceContext> context,
                        llvm::ArrayRef<DeviceWork> bodies,
                        const TurnOptions &options) {
  if (bodies.empty())
    return std::vector<Timing>();
  CurrentContext current(*context);
  if (llvm::Error error = current.enter())
    return error;
  StreamTimer timer(context, bodies);
  if (options.flush)
    if (llvm::Error error =
            CacheFlusher::create(context).moveInto(timer.flusher))
      return error;
  if (llvm::Error error = timer.warmUp(options.warmups))
    return error;
  // The first few tell how many fit into the budget.
  if (llvm::Error error = timer.batch(std::min(options.launches, 3u)))
    return error;
  unsigned affordable = unsigned(
      std::clamp(options.budget / timer.slowestRound(), 3.0, 1e6));
  unsigned total = std::min(options.launches, affordable);
  unsigned mostRounds = std::max(kBatch / unsigned(bodies.size()), 1u);
  while (timer.rounds() < total) {
    unsigned left = total - unsigned(timer.rounds());
    if (llvm::Error error = timer.batch(std::min(left, mostRounds)))
      return error;
  }
  return timer.take();
}

llvm::Expected<Timing>
cuda::timeOnStream(std::shared_ptr<DeviceContext> context, uint64_t traffic,
                   const TimingOptions &options,
                   llvm::function_ref<llvm::Error()> body) {
  TurnOptions turns;
  static_cast<TimingOptions &>(turns) = options;
  turns.flush =
      traffic / kStreamingFactor < uint64_t(context->properties().l2Bytes);
  llvm::Expected<std::vector<Timing>> timings =
      timeTurnsOnStream(std::move(context), DeviceWork(body), turns);
  if (!timings)
    return timings.takeError();
  return std::move(timings->front());
}
