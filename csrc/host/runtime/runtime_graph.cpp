// The CUDA runtime API: stream capture and graphs.
#include <algorithm>
#include <utility>

#include "gridstride/runtime_api.h"
#include "host/device/device.h"
#include "host/graph/capture.h"
#include "host/graph/graph.h"
#include "host/runtime/errors.h"

using namespace gridstride::host;

namespace {

constexpr unsigned long long known_instantiate_flags = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                                       cudaGraphInstantiateFlagDeviceLaunch |
                                                       cudaGraphInstantiateFlagUseNodePriority;

bool is_mode(cudaStreamCaptureMode mode) {
  return mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed;
}

cudaError_t begin_capture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  if (!is_mode(mode)) return cudaErrorInvalidValue;
  std::shared_ptr<Stream> stream;
  const cudaError_t status = find_stream(handle, stream);
  if (status != cudaSuccess) return status;
  if (stream->device().is_legacy_stream(*stream)) return cudaErrorStreamCaptureUnsupported;
  return StreamCaptures::instance().begin(stream, mode);
}

// A capture ends on a device with a fault as well: nothing else would end it.
cudaError_t end_capture(cudaStream_t handle, cudaGraph_t* graph) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  *graph = nullptr;
  std::shared_ptr<Stream> stream;
  cudaError_t status = find_stream_despite_fault(handle, stream);
  if (status != cudaSuccess) return status;
  std::uintptr_t captured = 0;
  status = StreamCaptures::instance().end(*stream, captured);
  const cudaError_t fault = stream->device().fault_code();
  if (fault != cudaSuccess) {
    live_graphs().remove(captured);
    return fault;
  }
  *graph = reinterpret_cast<cudaGraph_t>(captured);
  return status;
}

cudaError_t find_information(cudaStream_t handle, CaptureInformation& information) {
  std::shared_ptr<Stream> stream;
  const cudaError_t status = find_stream(handle, stream);
  if (status != cudaSuccess) return status;
  StreamCaptures& captures = StreamCaptures::instance();
  if (!captures.any()) return cudaSuccess;
  const Device& device = stream->device();
  if (device.is_legacy_stream(*stream)) return captures.legacy_status(device, false);
  information = captures.information(*stream);
  return cudaSuccess;
}

std::shared_ptr<Graph> find_graph(cudaGraph_t handle) {
  return live_graphs().find(reinterpret_cast<std::uintptr_t>(handle));
}

cudaError_t list_nodes(cudaGraph_t handle, cudaGraphNode_t* list, std::size_t* count) {
  const auto graph = find_graph(handle);
  if (graph == nullptr || count == nullptr) return cudaErrorInvalidValue;
  const GraphNodes nodes = graph->nodes();
  const std::size_t room = list == nullptr ? 0 : *count;
  for (std::size_t index = 0; index < room; ++index) {
    list[index] = index < nodes.size() ? handle_of(*nodes[index]) : nullptr;
  }
  *count = list == nullptr ? nodes.size() : std::min(room, nodes.size());
  return cudaSuccess;
}

cudaError_t destroy_graph(cudaGraph_t handle) {
  const auto graph = find_graph(handle);
  if (graph == nullptr || graph->is_being_captured) return cudaErrorInvalidValue;
  live_graphs().remove(reinterpret_cast<std::uintptr_t>(handle));
  return cudaSuccess;
}

cudaError_t instantiate(cudaGraphExec_t* executable, cudaGraph_t handle, unsigned long long flags) {
  const auto graph = find_graph(handle);
  if (graph == nullptr || executable == nullptr) return cudaErrorInvalidValue;
  if ((flags & ~known_instantiate_flags) != 0) return cudaErrorInvalidValue;
  if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0) return cudaErrorNotSupported;
  // It takes memory of the device, as an allocation does.
  const cudaError_t forbidden = capture_forbids();
  if (forbidden != cudaSuccess) return forbidden;
  auto made = std::make_shared<ExecutableGraph>(*graph);
  *executable = reinterpret_cast<cudaGraphExec_t>(live_executable_graphs().insert(std::move(made)));
  return cudaSuccess;
}

cudaError_t launch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  const auto graph = live_executable_graphs().find(reinterpret_cast<std::uintptr_t>(handle));
  if (graph == nullptr) return cudaErrorInvalidValue;
  std::shared_ptr<Stream> stream;
  const cudaError_t status = find_stream_for_work(stream_handle, stream);
  if (status != cudaSuccess) return status;
  if (is_captured(*stream)) return refuse_node(*stream);
  return graph->launch(stream);
}

cudaError_t add_child(cudaGraphNode_t* node, cudaGraph_t handle, const cudaGraphNode_t* before,
                      std::size_t count, cudaGraph_t child_handle) {
  const auto graph = find_graph(handle);
  const auto child = find_graph(child_handle);
  if (graph == nullptr || child == nullptr || graph == child || node == nullptr ||
      (before == nullptr && count != 0)) {
    return cudaErrorInvalidValue;
  }
  return StreamCaptures::instance().add_child(*graph, before, count,
                                              ExecutableGraph(*child).as_child(), *node);
}

cudaError_t update_dependencies(cudaStream_t handle, const cudaGraphNode_t* nodes,
                                std::size_t count, unsigned flags) {
  if ((nodes == nullptr && count != 0) || flags > cudaStreamSetCaptureDependencies) {
    return cudaErrorInvalidValue;
  }
  std::shared_ptr<Stream> stream;
  const cudaError_t status = find_stream(handle, stream);
  if (status != cudaSuccess) return status;
  return StreamCaptures::instance().update(*stream, nodes, count,
                                           flags == cudaStreamSetCaptureDependencies);
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return api_call([&] { return begin_capture(stream, mode); });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return api_call([&] { return end_capture(stream, graph); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return api_call([&] {
    if (status == nullptr) return cudaErrorInvalidValue;
    CaptureInformation information;
    const cudaError_t found = find_information(stream, information);
    if (found == cudaSuccess) *status = information.status;
    return found;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* dependency_count) {
  return api_call([&] {
    if (status == nullptr || (edges != nullptr && dependencies == nullptr)) {
      return cudaErrorInvalidValue;
    }
    CaptureInformation information;
    const cudaError_t found = find_information(stream, information);
    if (found != cudaSuccess) return found;
    *status = information.status;
    if (information.status != cudaStreamCaptureStatusActive) return cudaSuccess;
    if (id != nullptr) *id = information.id;
    if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(information.graph_handle);
    if (dependencies != nullptr) *dependencies = information.dependencies;
    if (edges != nullptr) *edges = information.edges;
    if (dependency_count != nullptr) *dependency_count = information.dependency_count;
    return cudaSuccess;
  });
}

// The edges of work are all alike here.
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                const cudaGraphEdgeData*, size_t count,
                                                unsigned int flags) {
  return api_call([&] { return update_dependencies(stream, nodes, count, flags); });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api_call([&] {
    if (mode == nullptr || !is_mode(*mode)) return cudaErrorInvalidValue;
    std::swap(*mode, thread_capture_mode);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return api_call([&] { return list_nodes(graph, nodes, count); });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t count,
                                       cudaGraph_t child) {
  return api_call([&] { return add_child(node, graph, dependencies, count, child); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return api_call([&] { return destroy_graph(graph); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  return api_call([&] { return instantiate(executable, graph, flags); });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  return api_call([&] { return instantiate(executable, graph, flags); });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return api_call([&] { return launch(executable, stream); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return api_call([&] {
    const auto removed =
        live_executable_graphs().remove(reinterpret_cast<std::uintptr_t>(executable));
    return removed == nullptr ? cudaErrorInvalidValue : cudaSuccess;
  });
}
