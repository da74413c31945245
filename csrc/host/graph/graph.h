// Graphs: what a capture has seen, as nodes and the order between them.
#ifndef GRIDSTRIDE_HOST_GRAPH_H
#define GRIDSTRIDE_HOST_GRAPH_H

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "host/device/counted.h"
#include "gridstride/runtime_types.h"
#include "host/device/live_handles.h"
#include "host/stream/stream.h"

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
};

using GraphNodes = std::vector<std::shared_ptr<const GraphNode>>;

// A node stays where it is, so that its address can be its handle. Thread-safe.
class Graph : private Counted<Graph> {
 public:
  using Counted<Graph>::live;

  Graph() = default;
  explicit Graph(GraphNodes nodes) : nodes_(std::move(nodes)) {}

  // The new node's index.
  std::size_t append(GraphNode node);

  GraphNodes nodes() const;
  cudaGraphNode_t handle_of(std::size_t node) const;

  // A graph that is still being captured belongs to the capture: nobody else may destroy it.
  std::atomic<bool> is_being_captured{false};

 private:
  mutable std::mutex mutex_;
  GraphNodes nodes_;
};

LiveHandles<Graph>& live_graphs();

cudaGraphNode_t handle_of(const GraphNode& node);

}  // namespace gridstride::host

#endif
