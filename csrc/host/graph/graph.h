// Graphs: what a capture has seen, as nodes and the order between them.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gridstride/runtime_types.h"
#include "host/device/device.h"
#include "host/device/live_handles.h"
#include "host/stream/stream.h"
#include "host/stream/stream_graph.h"
#include "host/stream/work.h"

namespace gridstride::host {

class Device;
class Graph;

// Makes a node's operation anew, for a launch on this stream.
using OperationMaker = std::function<Operation(const std::shared_ptr<Stream>&)>;

// Exactly one of the two is set. A node holds no memory: like a kernel's arguments its addresses
// are only looked up when it runs.
struct NodeContent {
  OperationMaker make_operation;
  std::shared_ptr<const Graph> child;  // which has no children itself
};

struct GraphNode {
  Device& device;
  // Which of the captured streams it came from. Its nodes form a chain.
  std::size_t branch;
  // Indices of earlier nodes.
  std::vector<std::size_t> dependencies;
  NodeContent content;
  // Added by a call for the graph and not by a stream: no stream has to join it.
  bool is_added = false;
};

using GraphNodes = std::vector<std::shared_ptr<const GraphNode>>;

// A node does not move: its address is its handle. Thread-safe.
class Graph : private Counted<Graph> {
 public:
  using Counted<Graph>::live;

  Graph() = default;
  explicit Graph(GraphNodes nodes) : nodes_(std::move(nodes)) {}

  // The new node's index.
  std::size_t append(GraphNode node);

  GraphNodes nodes() const;
  cudaGraphNode_t handle_of(std::size_t node) const;
  // The indices of nodes by their handles; false if one is no node of this graph.
  bool find_nodes(const cudaGraphNode_t* handles, std::size_t count,
                  std::vector<std::size_t>& indices) const;

  // A graph that is still being captured belongs to the capture: no other code may destroy it.
  std::atomic<bool> is_being_captured{false};

 private:
  mutable std::mutex mutex_;
  GraphNodes nodes_;
};

LiveHandles<Graph>& live_graphs();

cudaGraphNode_t handle_of(const GraphNode& node);

// The operation of a graph node that captured memory or a kernel which no longer exists: a fault.

// A copy or fill that ends with the fault that a kernel gets for such an address, or a launch that
// ends with another.
class LostMemoryWork final : public Work {
 public:
  LostMemoryWork(std::shared_ptr<Stream> stream, std::string description,
                 cudaError_t code = cudaErrorIllegalAddress)
      : stream_(std::move(stream)), description_(std::move(description)), code_(code) {}

  bool run_piece(Worker&) override { return false; }

  void completed() override {
    stream_->device().report_fault(code_, std::move(description_));
    StreamGraph::instance().finish(*stream_);
  }

 private:
  const std::shared_ptr<Stream> stream_;
  std::string description_;
  const cudaError_t code_;
};

// Graphs that are ready to be launched.

// A launch gives every branch of the graph a stream of its own, and events order the branches as
// the captured ones were: a graph is scheduled like any other work.
class ExecutableGraph : private Counted<ExecutableGraph> {
 public:
  using Counted<ExecutableGraph>::live;

  explicit ExecutableGraph(const Graph& graph);

  // Enqueues all of it behind the stream's work and behind the launch before; what the stream is
  // given afterwards waits for all of it. A fault of one of the devices is an error.
  cudaError_t launch(const std::shared_ptr<Stream>& stream);

  // As a child of another graph.
  std::shared_ptr<const Graph> as_child() const;

 private:
  // A node, and its dependencies besides the one before it on its lane.
  struct Step {
    std::shared_ptr<const GraphNode> node;
    std::size_t lane;
    std::vector<std::size_t> awaited;
    bool is_awaited = false;
  };

  class Planner;
  class Launch;

  std::vector<Device*> lanes_;
  std::vector<Step> steps_;
  std::mutex launching_;
  std::shared_ptr<EventRecord> last_launch_;
};

LiveHandles<ExecutableGraph>& live_executable_graphs();

}  // namespace gridstride::host
