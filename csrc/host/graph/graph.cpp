// The nodes of a graph, and the table of live graphs.
#include "host/graph/graph.h"

#include <utility>

namespace gridstride::host {

std::size_t Graph::append(GraphNode node) {
  auto kept = std::make_shared<const GraphNode>(std::move(node));
  const std::lock_guard<std::mutex> lock(mutex_);
  nodes_.push_back(std::move(kept));
  return nodes_.size() - 1;
}

GraphNodes Graph::nodes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return nodes_;
}

cudaGraphNode_t Graph::handle_of(std::size_t node) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return host::handle_of(*nodes_[node]);
}

LiveHandles<Graph>& live_graphs() {
  static auto& handles = *new LiveHandles<Graph>(0x10004);
  return handles;
}

cudaGraphNode_t handle_of(const GraphNode& node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(&node));
}

}  // namespace gridstride::host
