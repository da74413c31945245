// The short way past captures when none is running, and the long way when one is.
#include "host/graph/capture.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "host/device/device.h"

namespace gridstride::host {

cudaError_t capture_forbids() {
  StreamCaptures& captures = StreamCaptures::instance();
  return captures.any() ? captures.refuse_unsafe_call() : cudaSuccess;
}

cudaError_t find_stream_for_work(cudaStream_t handle, std::shared_ptr<Stream>& stream) {
  const cudaError_t status = find_stream(handle, stream);
  StreamCaptures& captures = StreamCaptures::instance();
  if (status != cudaSuccess || !captures.any()) return status;
  const Device& device = stream->device();
  return device.is_legacy_stream(*stream) ? captures.legacy_status(device, true) : cudaSuccess;
}

bool is_captured(const Stream& stream) {
  StreamCaptures& captures = StreamCaptures::instance();
  return captures.any() && captures.covers(stream);
}

cudaError_t capture_node(Stream& stream, NodeContent content) {
  return StreamCaptures::instance().append(stream, std::move(content));
}

cudaError_t refuse_node(Stream& stream) { return StreamCaptures::instance().refuse(stream); }

cudaError_t capture_forbids_waiting(Stream& stream) {
  StreamCaptures& captures = StreamCaptures::instance();
  if (!captures.any()) return cudaSuccess;
  const cudaError_t status = captures.refuse(stream);
  return status == cudaSuccess ? captures.refuse_unsafe_call() : status;
}

// Also when nothing is captured any more: what an event marks in a graph is never reached.
cudaError_t capture_forbids_waiting(Event& event) {
  StreamCaptures& captures = StreamCaptures::instance();
  if (is_captured(event)) {
    const cudaError_t status = captures.refuse(event);
    if (status != cudaSuccess) return status;
  }
  return capture_forbids();
}

cudaError_t capture_forbids_waiting(Device& device) {
  StreamCaptures& captures = StreamCaptures::instance();
  if (!captures.any()) return cudaSuccess;
  const cudaError_t status = captures.refuse(device);
  return status == cudaSuccess ? captures.refuse_unsafe_call() : status;
}

bool is_captured(const Event& event) { return event.is_captured.load(std::memory_order_relaxed); }

cudaError_t capture_record(Stream& stream, Event& event) {
  return StreamCaptures::instance().record(stream, event);
}

void forget_captured_record(Event& event) {
  if (is_captured(event)) StreamCaptures::instance().forget_record(event);
}

cudaError_t capture_wait(const std::shared_ptr<Stream>& stream, Event& event) {
  return StreamCaptures::instance().wait(stream, event);
}

void leave_capture(Stream& stream) {
  StreamCaptures& captures = StreamCaptures::instance();
  if (captures.any()) captures.leave(stream);
}

// ---- building graphs, and invalidating captures -------------------------------------------------

namespace {

void add_once(std::vector<std::size_t>& list, const std::vector<std::size_t>& more) {
  for (const std::size_t node : more) {
    if (std::find(list.begin(), list.end(), node) == list.end()) list.push_back(node);
  }
}

// Whether every node comes before the end of the stream that the capture began on. Dependencies
// lead to smaller indices: one pass from the last node to the first finds them all.
bool all_joined(const GraphNodes& nodes, const std::vector<std::size_t>& tail) {
  std::vector<bool> reached(nodes.size());
  for (const std::size_t node : tail) reached[node] = true;
  for (std::size_t node = nodes.size(); node-- > 0;) {
    if (!reached[node] && nodes[node]->is_added) continue;
    if (!reached[node]) return false;
    for (const std::size_t earlier : nodes[node]->dependencies) reached[earlier] = true;
  }
  return true;
}

}  // namespace

thread_local cudaStreamCaptureMode thread_capture_mode = cudaStreamCaptureModeGlobal;

StreamCaptures& StreamCaptures::instance() {
  static StreamCaptures& captures = *new StreamCaptures;
  return captures;
}

// ---- begin and end -----------------------------------------------------------------------------

StreamCaptures::Member* StreamCaptures::member(const Stream& stream) {
  const auto entry = members_.find(&stream);
  return entry == members_.end() ? nullptr : &entry->second;
}

StreamCaptures::Member& StreamCaptures::join(const std::shared_ptr<Stream>& stream,
                                             const std::shared_ptr<Capture>& capture) {
  Member& joined = members_[stream.get()];
  joined.stream = stream;
  joined.capture = capture;
  joined.branch = capture->branches++;
  return joined;
}

cudaError_t StreamCaptures::begin(const std::shared_ptr<Stream>& stream,
                                  cudaStreamCaptureMode mode) {
  auto capture = std::make_shared<Capture>();
  auto graph = std::make_shared<Graph>();
  graph->is_being_captured = true;
  const Lock lock(mutex_);
  if (member(*stream) != nullptr) return cudaErrorIllegalState;
  capture->id = ++last_id_;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  capture->graph = graph;
  // What can fail comes first.
  captures_.reserve(captures_.size() + 1);
  join(stream, capture);
  try {
    capture->graph_handle = live_graphs().insert(std::move(graph));
  } catch (...) {
    members_.erase(stream.get());
    throw;
  }
  captures_.push_back(capture);
  running_.store(captures_.size(), std::memory_order_relaxed);
  return cudaSuccess;
}

void StreamCaptures::finish(Capture& capture) {
  capture.ended = true;
  // Events may keep the capture for long.
  capture.origin = nullptr;
  for (auto entry = members_.begin(); entry != members_.end();) {
    entry = entry->second.capture.get() == &capture ? members_.erase(entry) : std::next(entry);
  }
  captures_.erase(std::find_if(captures_.begin(), captures_.end(),
                               [&](const auto& each) { return each.get() == &capture; }));
  running_.store(captures_.size(), std::memory_order_relaxed);
}

void StreamCaptures::discard_graph(Capture& capture) {
  live_graphs().remove(std::exchange(capture.graph_handle, 0));
  capture.graph = nullptr;
}

cudaError_t StreamCaptures::end(Stream& stream, std::uintptr_t& graph_handle) {
  graph_handle = 0;
  const Lock lock(mutex_);
  const Member* const ending = member(stream);
  if (ending == nullptr) return cudaErrorIllegalState;
  const std::shared_ptr<Capture> capture = ending->capture;
  if (capture->origin.get() != &stream) return cudaErrorStreamCaptureUnmatched;
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  const bool joined = all_branches_joined(*capture, *ending) &&
                      all_joined(capture->graph->nodes(), ending->tail);
  finish(*capture);
  if (capture->invalidated || !joined) {
    discard_graph(*capture);
    return capture->invalidated ? cudaErrorStreamCaptureInvalidated
                                : cudaErrorStreamCaptureUnjoined;
  }
  capture->graph->is_being_captured = false;
  capture->graph = nullptr;
  graph_handle = capture->graph_handle;
  return cudaSuccess;
}

// A stream that the capture forked to has to join it again, even without work.
bool StreamCaptures::all_branches_joined(const Capture& capture, const Member& origin) const {
  const std::vector<std::size_t>& joined = origin.joined_branches;
  return std::all_of(members_.begin(), members_.end(), [&](const auto& entry) {
    const Member& each = entry.second;
    return each.capture.get() != &capture || &each == &origin ||
           std::find(joined.begin(), joined.end(), each.branch) != joined.end();
  });
}

void StreamCaptures::leave(Stream& stream) {
  const Lock lock(mutex_);
  const Member* const leaving = member(stream);
  if (leaving == nullptr) return;
  const std::shared_ptr<Capture> capture = leaving->capture;
  if (capture->origin.get() == &stream) {
    finish(*capture);
    discard_graph(*capture);
  } else {
    members_.erase(&stream);
  }
}

// ---- what the streams are given ----------------------------------------------------------------

bool StreamCaptures::covers(const Stream& stream) {
  const Lock lock(mutex_);
  return member(stream) != nullptr;
}

cudaError_t StreamCaptures::append(Stream& stream, NodeContent content) {
  const Lock lock(mutex_);
  Member* const writer = member(stream);
  if (writer == nullptr) return cudaErrorIllegalState;
  if (writer->capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  const std::size_t node = writer->capture->graph->append(
      {stream.device(), writer->branch, writer->tail, std::move(content)});
  writer->tail.assign(1, node);
  return cudaSuccess;
}

cudaError_t StreamCaptures::record(Stream& stream, Event& event) {
  const Lock lock(mutex_);
  const Member* const recorded = member(stream);
  if (recorded == nullptr) return cudaErrorIllegalState;
  if (recorded->capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  auto point = std::make_shared<CapturedPoint>();
  point->capture = recorded->capture;
  point->nodes = recorded->tail;
  point->branches = recorded->joined_branches;
  point->branches.push_back(recorded->branch);
  event.captured_point = std::move(point);
  event.is_captured.store(true, std::memory_order_relaxed);
  return cudaSuccess;
}

void StreamCaptures::forget_record(Event& event) {
  const Lock lock(mutex_);
  event.is_captured.store(false, std::memory_order_relaxed);
  event.captured_point = nullptr;
}

cudaError_t StreamCaptures::wait(const std::shared_ptr<Stream>& stream, Event& event) {
  const Lock lock(mutex_);
  const std::shared_ptr<const CapturedPoint> point = event.captured_point;
  Member* waiting = member(*stream);
  if (waiting != nullptr && waiting->capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (point == nullptr && waiting == nullptr) return cudaErrorCapturedEvent;
  if (point == nullptr) {
    // The work before the event runs now, and the work that waits for it runs with every launch.
    waiting->capture->invalidated = true;
    return cudaErrorStreamCaptureIsolation;
  }
  Capture& capture = *point->capture;
  if (waiting == nullptr && capture.ended) return cudaErrorCapturedEvent;
  if (waiting != nullptr && waiting->capture != point->capture) {
    waiting->capture->invalidated = true;
    capture.invalidated = true;
    return cudaErrorStreamCaptureMerge;
  }
  if (capture.invalidated) return cudaErrorStreamCaptureInvalidated;
  if (stream->device().is_legacy_stream(*stream)) {
    capture.invalidated = true;
    return cudaErrorStreamCaptureImplicit;
  }
  if (waiting == nullptr) waiting = &join(stream, point->capture);
  add_once(waiting->tail, point->nodes);
  add_once(waiting->joined_branches, point->branches);
  return cudaSuccess;
}

cudaError_t StreamCaptures::update(const Stream& stream, const cudaGraphNode_t* nodes,
                                   std::size_t count, bool replaces) {
  const Lock lock(mutex_);
  Member* const updated = member(stream);
  if (updated == nullptr) return cudaErrorIllegalState;
  if (updated->capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  const Graph& graph = *updated->capture->graph;
  std::vector<std::size_t> found;
  if (!graph.find_nodes(nodes, count, found)) return cudaErrorInvalidValue;
  const GraphNodes all = graph.nodes();
  for (const std::size_t node : found) add_once(updated->joined_branches, {all[node]->branch});
  if (replaces) updated->tail.clear();
  add_once(updated->tail, found);
  return cudaSuccess;
}

cudaError_t StreamCaptures::add_child(Graph& graph, const cudaGraphNode_t* before,
                                      std::size_t count, std::shared_ptr<const Graph> child,
                                      cudaGraphNode_t& node) {
  const Lock lock(mutex_);
  std::vector<std::size_t> dependencies;
  if (!graph.find_nodes(before, count, dependencies)) return cudaErrorInvalidValue;
  const GraphNodes nodes = child->nodes();
  Device* const device = nodes.empty() ? current_device() : &nodes.front()->device;
  if (device == nullptr) return cudaErrorNoDevice;
  const std::size_t branch = branch_for(graph, dependencies);
  node = graph.handle_of(
      graph.append({*device, branch, std::move(dependencies), {nullptr, std::move(child)}, true}));
  return cudaSuccess;
}

// The branch of the captured stream that ends with these nodes: it will continue behind the new
// one. A branch of its own if that is no stream, or several.
std::size_t StreamCaptures::branch_for(Graph& graph, const std::vector<std::size_t>& before) {
  const Member* only = nullptr;
  std::size_t found = 0;
  Capture* capture = nullptr;
  for (const auto& [stream, each] : members_) {
    if (each.capture->graph.get() != &graph) continue;
    capture = each.capture.get();
    if (each.tail != before) continue;
    only = &each;
    ++found;
  }
  if (found == 1) return only->branch;
  if (capture != nullptr) return capture->branches++;
  std::size_t branches = 0;
  for (const auto& node : graph.nodes()) branches = std::max(branches, node->branch + 1);
  return branches;
}

CaptureInformation StreamCaptures::information(const Stream& stream) {
  const Lock lock(mutex_);
  CaptureInformation told;
  Member* const asked = member(stream);
  if (asked == nullptr) return told;
  told.status =
      asked->capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                  : cudaStreamCaptureStatusActive;
  asked->told_dependencies.clear();
  for (const std::size_t node : asked->tail) {
    asked->told_dependencies.push_back(asked->capture->graph->handle_of(node));
  }
  asked->told_edges.assign(asked->tail.size(), cudaGraphEdgeData{});
  told.id = asked->capture->id;
  told.graph_handle = asked->capture->graph_handle;
  told.dependencies = asked->told_dependencies.data();
  told.edges = asked->told_edges.data();
  told.dependency_count = asked->tail.size();
  return told;
}

// ---- refused calls ------------------------------------------------------------------------------

cudaError_t StreamCaptures::legacy_status(const Device& device, bool invalidates) {
  const Lock lock(mutex_);
  cudaError_t status = cudaSuccess;
  for (const auto& [stream, captured] : members_) {
    if (&stream->device() != &device || !stream->waits_for_legacy_stream()) continue;
    status = cudaErrorStreamCaptureImplicit;
    if (invalidates) captured.capture->invalidated = true;
  }
  return status;
}

cudaError_t StreamCaptures::refuse(const Stream& stream) {
  const Lock lock(mutex_);
  Member* const refused = member(stream);
  if (refused == nullptr) return cudaSuccess;
  return std::exchange(refused->capture->invalidated, true) ? cudaErrorStreamCaptureInvalidated
                                                       : cudaErrorStreamCaptureUnsupported;
}

cudaError_t StreamCaptures::refuse(const Event& event) {
  const Lock lock(mutex_);
  if (event.captured_point == nullptr) return cudaSuccess;
  event.captured_point->capture->invalidated = true;
  return cudaErrorCapturedEvent;
}

cudaError_t StreamCaptures::refuse(const Device& device) {
  const Lock lock(mutex_);
  cudaError_t status = cudaSuccess;
  for (const auto& [stream, captured] : members_) {
    if (&stream->device() != &device) continue;
    captured.capture->invalidated = true;
    status = cudaErrorStreamCaptureUnsupported;
  }
  return status;
}

cudaError_t StreamCaptures::refuse_unsafe_call() {
  if (thread_capture_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  const bool heeds_others = thread_capture_mode == cudaStreamCaptureModeGlobal;
  const Lock lock(mutex_);
  cudaError_t status = cudaSuccess;
  for (const std::shared_ptr<Capture>& capture : captures_) {
    const bool is_own = capture->thread == std::this_thread::get_id();
    const bool forbids = is_own ? capture->mode != cudaStreamCaptureModeRelaxed
                                : heeds_others && capture->mode == cudaStreamCaptureModeGlobal;
    if (!forbids) continue;
    capture->invalidated = true;
    status = cudaErrorStreamCaptureUnsupported;
  }
  return status;
}

}  // namespace gridstride::host
