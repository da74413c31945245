// Stream capture, and the graphs it makes.
#include "shim/stream/stream.h"

#include <mutex>
#include <utility>

#include "shim/block.h"

namespace gridstride {

HandleTable<Graph> graphs;

void Graph::end() {
  make_current(device);
  const RelaxedCapture relaxed;
  // A step that is done is not repeated when the other has failed.
  if (graph != nullptr) GS_CALL(cudaGraphDestroy, graph);
  graph = nullptr;
  GS_CALL(cudaGraphExecDestroy, executable);
}

namespace {

// CUDA's graphs are not synchronised: threads must not launch the same one at once. Each of these
// locks serves a share of the graphs, so one rarely waits for another.
constexpr uint32_t launch_lock_count = 64;
std::mutex launch_locks[launch_lock_count];

std::mutex& launch_lock_of(int32_t graph) {
  return launch_locks[static_cast<uint32_t>(graph) % launch_lock_count];
}

// The end of a capture, and the graph that it gives.
class CapturedGraph {
 public:
  explicit CapturedGraph(cudaStream_t stream) : stream_(stream) {}
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  ~CapturedGraph() {
    if (!ended_) abandon_capture();
    if (graph_ != nullptr) GS_ATTEMPT(cudaGraphDestroy, graph_);
  }

  void end_capture() {
    GS_CALL(cudaStreamEndCapture, stream_, &graph_);
    ended_ = true;
  }

  uint64_t node_count() const {
    size_t count = 0;
    GS_CALL(cudaGraphGetNodes, graph_, nullptr, &count);
    return count;
  }

  // Not cudaGraphInstantiate: CUDA 11 declares it with other parameters. It takes memory, which a
  // capture that this one lies within would forbid.
  cudaGraphExec_t instantiate() const {
    const RelaxedCapture relaxed;
    cudaGraphExec_t executable = nullptr;
    GS_CALL(cudaGraphInstantiateWithFlags, &executable, graph_, 0ull);
    return executable;
  }

  cudaGraph_t release() { return std::exchange(graph_, nullptr); }

 private:
  // Where something failed before the capture could end, the stream is still captured: nothing
  // could be done with it any more.
  void abandon_capture() {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    GS_ATTEMPT(cudaStreamIsCapturing, stream_, &capture);
    if (capture != cudaStreamCaptureStatusNone) {
      GS_ATTEMPT(cudaStreamEndCapture, stream_, &graph_);
    }
  }

  const cudaStream_t stream_;
  bool ended_ = false;
  cudaGraph_t graph_ = nullptr;
};

// Where the work of a captured stream goes: into a graph, behind these of its nodes.
struct CapturePoint {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 0;
};

CapturePoint capture_point(cudaStream_t stream) {
  CapturePoint found;
  call(CallKind::cudaStreamGetCaptureInfo, [&] {
#if CUDART_VERSION >= 13000
    return cudaStreamGetCaptureInfo(stream, &found.status, nullptr, &found.graph, &found.nodes,
                                    nullptr, &found.count);
#else
    return cudaStreamGetCaptureInfo_v2(stream, &found.status, nullptr, &found.graph, &found.nodes,
                                       &found.count);
#endif
  });
  return found;
}

void continue_behind(cudaStream_t stream, cudaGraphNode_t node) {
  call(CallKind::cudaStreamUpdateCaptureDependencies, [&] {
#if CUDART_VERSION >= 13000
    return cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1,
                                               cudaStreamSetCaptureDependencies);
#else
    return cudaStreamUpdateCaptureDependencies(stream, &node, 1, cudaStreamSetCaptureDependencies);
#endif
  });
}

// CUDA launches no graph into a captured stream. The graph becomes a node of the captured one.
void add_to_capture(cudaStream_t stream, const CapturePoint& point, cudaGraph_t child) {
  require(point.status == cudaStreamCaptureStatusActive, cudaErrorStreamCaptureInvalidated);
  cudaGraphNode_t node = nullptr;
  GS_CALL(cudaGraphAddChildGraphNode, &node, point.graph, point.nodes, point.count, child);
  continue_behind(stream, node);
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_stream_capture(int32_t stream, int32_t mode) {
  return guarded([&] {
    require(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed,
            GS_ERROR_ARGUMENT);
    const StreamUse used = use_stream(stream);
    make_current(used->device);
    GS_CALL(cudaStreamBeginCapture, used->stream, static_cast<cudaStreamCaptureMode>(mode));
  });
}

int32_t gs_stream_capture_end(int32_t stream, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const StreamUse used = use_stream(stream);
    CapturedGraph captured(used->stream);
    make_current(used->device);
    captured.end_capture();
    HandleTable<Graph>::Reservation made = graphs.reserve();
    made->device = used->device;
    made->node_count = captured.node_count();
    made->executable = captured.instantiate();
    made->graph = captured.release();
    result[0] = made.publish();
  });
}

int32_t gs_stream_capture_query(int32_t stream, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const StreamUse used = use_stream(stream);
    make_current(used->device);
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    GS_CALL(cudaStreamGetCaptureInfo, used->stream, &capture, &id);
    result[0] = capture;
    // The id of a valid capture. CUDA does not bound it: the low 53 bits distinguish captures.
    result[1] = capture == cudaStreamCaptureStatusActive
                    ? static_cast<double>(id & largest_safe_integer)
                    : 0;
  });
}

int32_t gs_graph_launch(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const StreamUse stream = use_stream(in.stream());
    const int32_t handle = in.handle(0);
    const GraphUse graph = graphs.use(handle);
    make_current(stream->device);
    const CapturePoint point = capture_point(stream->stream);
    const std::lock_guard<std::mutex> lock(launch_lock_of(handle));
    if (point.status == cudaStreamCaptureStatusNone) {
      GS_CALL(cudaGraphLaunch, graph->executable, stream->stream);
    } else {
      add_to_capture(stream->stream, point, graph->graph);
    }
  });
}

int32_t gs_graph_nodes(int32_t graph, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    result[0] = static_cast<double>(graphs.use(graph)->node_count);
  });
}

int32_t gs_graph_destroy(int32_t graph) {
  return guarded([&] { graphs.destroy(graph); });
}
