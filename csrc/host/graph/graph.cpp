// The nodes of a graph, and the table of live graphs.
#include "host/graph/graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "host/device/device.h"

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

bool Graph::find_nodes(const cudaGraphNode_t* handles, std::size_t count,
                       std::vector<std::size_t>& indices) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t each = 0; each < count; ++each) {
    // From the last: a call mostly names nodes that were just added.
    const auto found = std::find_if(nodes_.rbegin(), nodes_.rend(), [&](const auto& node) {
      return host::handle_of(*node) == handles[each];
    });
    if (found == nodes_.rend()) return false;
    indices.push_back(static_cast<std::size_t>(nodes_.rend() - found) - 1);
  }
  return true;
}

LiveHandles<Graph>& live_graphs() {
  static auto& handles = *new LiveHandles<Graph>(0x10004);
  return handles;
}

cudaGraphNode_t handle_of(const GraphNode& node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(&node));
}

// ---- from a graph to lanes that run side by side, and from lanes to streams ---------------------

// ---- planning ----------------------------------------------------------------------------------

// Puts nodes, and those of child graphs in their place, on lanes. Nodes of one captured stream are
// a chain already and share a lane. So do those of all children that one lane has: they run one
// after another.
class ExecutableGraph::Planner {
 public:
  explicit Planner(ExecutableGraph& planned) : planned_(planned) {}

  void plan(const GraphNodes& nodes) {
    std::vector<Steps> ends(nodes.size());
    for (std::size_t index = 0; index < nodes.size(); ++index) {
      const GraphNode& node = *nodes[index];
      const Steps before = ends_of(node, ends);
      const std::size_t lane = lane_of({no_lane, node.branch}, node.device);
      ends[index] = node.content.child == nullptr ? add(nodes[index], lane, before)
                                                  : add_child(*node.content.child, lane, before);
    }
  }

 private:
  using Steps = std::vector<std::size_t>;
  // The lane of the child's place, and a branch of the child; or no lane, and one of the graph.
  using Branch = std::pair<std::size_t, std::size_t>;

  static constexpr std::size_t no_lane = ~std::size_t{0};

  static Steps ends_of(const GraphNode& node, const std::vector<Steps>& ends) {
    Steps all;
    for (const std::size_t dependency : node.dependencies) {
      all.insert(all.end(), ends[dependency].begin(), ends[dependency].end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  std::size_t lane_of(const Branch& branch, Device& device) {
    const auto [entry, is_new] = lane_of_branch_.emplace(branch, planned_.lanes_.size());
    if (is_new) planned_.lanes_.push_back(&device);
    return entry->second;
  }

  // The steps come before everything that depends on the child; an empty child stands for those
  // that come before it.
  Steps add_child(const Graph& child, std::size_t place, const Steps& before) {
    const GraphNodes nodes = child.nodes();
    std::vector<Steps> ends(nodes.size());
    std::vector<bool> has_dependents(nodes.size());
    for (std::size_t index = 0; index < nodes.size(); ++index) {
      const GraphNode& node = *nodes[index];
      for (const std::size_t dependency : node.dependencies) has_dependents[dependency] = true;
      const std::size_t lane = node.branch == 0 && planned_.lanes_[place] == &node.device
                                   ? place
                                   : lane_of({place, node.branch}, node.device);
      ends[index] =
          add(nodes[index], lane, node.dependencies.empty() ? before : ends_of(node, ends));
    }
    Steps last;
    for (std::size_t index = 0; index < nodes.size(); ++index) {
      if (!has_dependents[index]) last.insert(last.end(), ends[index].begin(), ends[index].end());
    }
    return nodes.empty() ? before : last;
  }

  Steps add(const std::shared_ptr<const GraphNode>& node, std::size_t lane, const Steps& before) {
    // Of the steps of another lane the latest stands for all.
    std::map<std::size_t, std::size_t> latest;
    for (const std::size_t step : before) {
      const std::size_t its_lane = planned_.steps_[step].lane;
      if (its_lane != lane) latest[its_lane] = step;
    }
    Step added{node, lane, {}};
    for (const auto& [its_lane, step] : latest) {
      planned_.steps_[step].is_awaited = true;
      added.awaited.push_back(step);
    }
    planned_.steps_.push_back(std::move(added));
    return {planned_.steps_.size() - 1};
  }

  ExecutableGraph& planned_;
  std::map<Branch, std::size_t> lane_of_branch_;
};

ExecutableGraph::ExecutableGraph(const Graph& graph) { Planner(*this).plan(graph.nodes()); }

// ---- launching ---------------------------------------------------------------------------------

// The operations of one launch. The stream it is launched in is one of the lanes, if its device is
// that of one: a graph without branches then needs no events.
class ExecutableGraph::Launch {
 public:
  Launch(const ExecutableGraph& graph, const std::shared_ptr<Stream>& stream)
      : graph_(graph), launched_(stream), records_(graph.steps_.size()) {
    bool is_placed = false;
    for (Device* const device : graph.lanes_) {
      const bool is_here = !is_placed && device == &stream->device();
      is_placed = is_placed || is_here;
      streams_.push_back(
          is_here ? stream
                  : std::make_shared<Stream>(*device, cudaStreamNonBlocking, stream->priority()));
    }
  }

  // What the launch behind this one waits for.
  std::shared_ptr<EventRecord> enqueue(const std::shared_ptr<EventRecord>& last_launch) {
    if (last_launch != nullptr) wait(launched_, last_launch);
    fork();
    for (std::size_t index = 0; index < graph_.steps_.size(); ++index) run(index);
    join();
    std::shared_ptr<EventRecord> end = record(launched_);
    StreamGraph::instance().enqueue(*launched_, std::move(entries_));
    return end;
  }

 private:
  bool is_launched(const std::shared_ptr<Stream>& lane) const { return lane == launched_; }

  void fork() {
    std::shared_ptr<EventRecord> start;
    for (const std::shared_ptr<Stream>& lane : streams_) {
      if (is_launched(lane)) continue;
      if (start == nullptr) start = record(launched_);
      wait(lane, start);
    }
  }

  void run(std::size_t index) {
    const Step& step = graph_.steps_[index];
    const std::shared_ptr<Stream>& lane = streams_[step.lane];
    for (const std::size_t awaited : step.awaited) wait(lane, records_[awaited]);
    entries_.push_back({lane, step.node->content.make_operation(lane)});
    if (step.is_awaited) records_[index] = record(lane);
  }

  void join() {
    for (const std::shared_ptr<Stream>& lane : streams_) {
      if (!is_launched(lane)) wait(launched_, record(lane));
    }
  }

  std::shared_ptr<EventRecord> record(const std::shared_ptr<Stream>& stream) {
    Operation operation;
    operation.record = std::make_shared<EventRecord>();
    std::shared_ptr<EventRecord> made = operation.record;
    entries_.push_back({stream, std::move(operation)});
    return made;
  }

  void wait(const std::shared_ptr<Stream>& stream, const std::shared_ptr<EventRecord>& record) {
    Operation operation;
    operation.wait = record;
    entries_.push_back({stream, std::move(operation)});
  }

  const ExecutableGraph& graph_;
  const std::shared_ptr<Stream> launched_;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::vector<std::shared_ptr<EventRecord>> records_;
  std::vector<StreamGraph::Entry> entries_;
};

cudaError_t ExecutableGraph::launch(const std::shared_ptr<Stream>& stream) {
  for (const Device* const device : lanes_) {
    if (device->fault_code() != cudaSuccess) return device->fault_code();
  }
  const std::lock_guard<std::mutex> lock(launching_);
  last_launch_ = Launch(*this, stream).enqueue(last_launch_);
  return cudaSuccess;
}

// The steps again as nodes: in their order, with lanes for branches.
std::shared_ptr<const Graph> ExecutableGraph::as_child() const {
  GraphNodes nodes;
  std::vector<std::size_t> last_of_lane(lanes_.size(), steps_.size());
  for (std::size_t index = 0; index < steps_.size(); ++index) {
    const Step& step = steps_[index];
    std::vector<std::size_t> dependencies = step.awaited;
    std::size_t& last = last_of_lane[step.lane];
    if (last != steps_.size()) dependencies.push_back(last);
    last = index;
    nodes.push_back(std::make_shared<const GraphNode>(
        GraphNode{step.node->device, step.lane, std::move(dependencies), step.node->content}));
  }
  return std::make_shared<const Graph>(std::move(nodes));
}

LiveHandles<ExecutableGraph>& live_executable_graphs() {
  static auto& handles = *new LiveHandles<ExecutableGraph>(0x1000c);
  return handles;
}

}  // namespace gridstride::host
