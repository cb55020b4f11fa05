//===- CudaGraph.cpp - Work of a CUDA stream as a graph -------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaContext.h"

using namespace norm;
using namespace norm::cuda;

namespace {

/// A graph that can be launched, and the work that it was made of, whose
/// memory it uses.
class RecordedGraph {
public:
  RecordedGraph(std::shared_ptr<DeviceContext> context, DeviceWork work)
      : context(std::move(context)), work(std::move(work)) {}
  ~RecordedGraph();
  RecordedGraph(const RecordedGraph &) = delete;
  RecordedGraph &operator=(const RecordedGraph &) = delete;

  llvm::Error capture();
  llvm::Error launch();

private:
  std::shared_ptr<DeviceContext> context;
  DeviceWork work;
  Graph graph = nullptr;
  GraphExec executable = nullptr;
};

RecordedGraph::~RecordedGraph() {
  const Driver &cu = context->driver();
  CurrentContext current(*context);
  llvm::consumeError(current.enter());
  if (executable)
    (void)cu.graphExecDestroy(executable);
  if (graph)
    (void)cu.graphDestroy(graph);
}

llvm::Error RecordedGraph::capture() {
  const Driver &cu = context->driver();
  CurrentContext current(*context);
  if (llvm::Error error = current.enter())
    return error;
  if (llvm::Error error = cu.check(
          cu.streamBeginCapture(context->stream(), kCaptureThreadLocal),
          "cuStreamBeginCapture"))
    return error;
  llvm::Error failed = work();
  // However the work went, the stream must leave its capture.
  if (llvm::Error error = llvm::joinErrors(
          std::move(failed),
          cu.check(cu.streamEndCapture(context->stream(), &graph),
                   "cuStreamEndCapture")))
    return error;
  return cu.check(cu.graphInstantiate(&executable, graph, 0),
                  "cuGraphInstantiateWithFlags");
}

llvm::Error RecordedGraph::launch() {
  const Driver &cu = context->driver();
  CurrentContext current(*context);
  if (llvm::Error error = current.enter())
    return error;
  return cu.check(cu.graphLaunch(executable, context->stream()),
                  "cuGraphLaunch");
}

} // namespace

llvm::Expected<DeviceWork>
cuda::recordGraph(std::shared_ptr<DeviceContext> context, DeviceWork work) {
  const Driver &cu = context->driver();
  if (!cu.streamBeginCapture || !cu.streamEndCapture || !cu.graphInstantiate ||
      !cu.graphLaunch || !cu.graphDestroy || !cu.graphExecDestroy)
    return llvm::createStringError(
        "expects a driver with graphs (CUDA 11.4) but got " +
        llvm::Twine(context->properties().driver));
  auto recorded =
      std::make_shared<RecordedGraph>(std::move(context), std::move(work));
  if (llvm::Error error = recorded->capture())
    return error;
  return DeviceWork([recorded] { return recorded->launch(); });
}
