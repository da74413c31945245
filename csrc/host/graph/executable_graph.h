// Graphs that are ready to be launched.
#ifndef GRIDSTRIDE_HOST_EXECUTABLE_GRAPH_H
#define GRIDSTRIDE_HOST_EXECUTABLE_GRAPH_H

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "host/graph/graph.h"
#include "host/stream/stream_graph.h"

namespace gridstride::host {

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
  // A node, and what it has to wait for besides the one before it on its lane.
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

#endif
