// What stream capture means for the functions of the API: which of their calls become nodes of a
// graph, and which are refused. While no capture is running each of these costs one relaxed load.
//
// The rules are those of the CUDA programming guide, "Prohibited and unhandled operations", and of
// cudaThreadExchangeStreamCaptureMode. A call that breaks them invalidates the captures: until
// cudaStreamEndCapture, which then fails, everything about them is refused.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "host/graph/graph.h"
#include "host/stream/stream.h"

namespace gridstride::host {

// For calls that CUDA names potentially unsafe, which act at once and are no work of a stream:
// allocating, freeing, mapping, registering, waiting. First in such a call; anything but It returns
// cudaSuccess and does nothing.
cudaError_t capture_forbids();

// The stream of a handle, for calls that give it work or wait for it. A legacy stream would depend
// on all blocking streams of its device, so it cannot be used while one of them is captured.
cudaError_t find_stream_for_work(cudaStream_t handle, std::shared_ptr<Stream>& stream);

// Whether work for the stream becomes nodes of a graph.
bool is_captured(const Stream& stream);

// Adds a node behind what the captured stream has so far.
cudaError_t capture_node(Stream& stream, NodeContent content);

// Spoils the capture of a captured stream, for work that no graph can hold.
cudaError_t refuse_node(Stream& stream);

// For calls that query work or wait for it: captured work is never done.
cudaError_t capture_forbids_waiting(Stream& stream);
cudaError_t capture_forbids_waiting(Event& event);
cudaError_t capture_forbids_waiting(Device& device);

// An event of which the last recording was, or by this call becomes, part of a capture.
bool is_captured(const Event& event);
cudaError_t capture_record(Stream& stream, Event& event);

// A recording that is no part of a capture takes the place of one that was.
void forget_captured_record(Event& event);

// Stream or event are captured, or both: the stream joins the event's capture.
cudaError_t capture_wait(const std::shared_ptr<Stream>& stream, Event& event);

// A destroyed stream leaves its capture; its nodes stay. A capture that began on it is over.
void leave_capture(Stream& stream);

// The captures that are running: which streams belong to which, and what each has seen.

// A capture, from its begin to its end. Guarded by the lock of StreamCaptures.
struct Capture : Counted<Capture> {
  std::uint64_t id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  std::shared_ptr<Stream> origin;
  std::shared_ptr<Graph> graph;
  std::uintptr_t graph_handle = 0;
  // How many streams have joined, the first included.
  std::size_t branches = 0;
  bool invalidated = false;
  bool ended = false;
};

// A point in a captured stream, as an event keeps it. The nodes are those that come directly
// before.
struct CapturedPoint : Counted<CapturedPoint> {
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> nodes;
  // The branches of all streams that come before.
  std::vector<std::size_t> branches;
};

// The answer of cudaStreamGetCaptureInfo.
struct CaptureInformation {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  std::uint64_t id = 0;
  std::uintptr_t graph_handle = 0;
  // As long as the stream's capture goes on and until the next call for it.
  const cudaGraphNode_t* dependencies = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t dependency_count = 0;
};

// One lock for all captures: a capture is built once, and waits for nothing.
class StreamCaptures {
 public:
  static StreamCaptures& instance();

  // While this is false no stream is captured.
  bool any() const { return running_.load(std::memory_order_relaxed) != 0; }

  cudaError_t begin(const std::shared_ptr<Stream>& stream, cudaStreamCaptureMode mode);
  // The graph's handle, 0 where the capture fails. Which it does at its end, too: streams that were
  // part of it are not any more.
  cudaError_t end(Stream& stream, std::uintptr_t& graph_handle);
  void leave(Stream& stream);

  bool covers(const Stream& stream);
  // cudaErrorStreamCaptureImplicit while a blocking stream of the device is captured.
  cudaError_t legacy_status(const Device& device, bool invalidates);
  CaptureInformation information(const Stream& stream);
  // Replaces the nodes that the stream's next node comes after, or adds to them.
  cudaError_t update(const Stream& stream, const cudaGraphNode_t* nodes, std::size_t count,
                     bool replaces);
  // Adds a node to a graph that may be being captured.
  cudaError_t add_child(Graph& graph, const cudaGraphNode_t* before, std::size_t count,
                        std::shared_ptr<const Graph> child, cudaGraphNode_t& node);

  cudaError_t append(Stream& stream, NodeContent content);
  cudaError_t record(Stream& stream, Event& event);
  cudaError_t wait(const std::shared_ptr<Stream>& stream, Event& event);
  void forget_record(Event& event);

  // Each invalidates the captures that the call affects; cudaSuccess if there is none.
  cudaError_t refuse(const Stream& stream);
  cudaError_t refuse(const Event& event);
  cudaError_t refuse(const Device& device);
  cudaError_t refuse_unsafe_call();

 private:
  struct Member {
    std::shared_ptr<Stream> stream;
    std::shared_ptr<Capture> capture;
    std::size_t branch = 0;
    // What the stream's next node comes after.
    std::vector<std::size_t> tail;
    // The branches that have joined this one.
    std::vector<std::size_t> joined_branches;
    std::vector<cudaGraphNode_t> told_dependencies;
    std::vector<cudaGraphEdgeData> told_edges;
  };

  using Lock = std::lock_guard<std::mutex>;

  // All of these need the lock.
  Member* member(const Stream& stream);
  bool all_branches_joined(const Capture& capture, const Member& origin) const;
  std::size_t branch_for(Graph& graph, const std::vector<std::size_t>& before);
  Member& join(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture);
  void finish(Capture& capture);
  void discard_graph(Capture& capture);

  std::mutex mutex_;
  std::unordered_map<const Stream*, Member> members_;
  std::vector<std::shared_ptr<Capture>> captures_;
  std::atomic<std::size_t> running_{0};
  std::uint64_t last_id_ = 0;
};

// The calling thread's mode, see cudaThreadExchangeStreamCaptureMode.
extern thread_local cudaStreamCaptureMode thread_capture_mode;

}  // namespace gridstride::host
