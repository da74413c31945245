// Events: names for points in streams, and what streams and threads wait for.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "gridstride/runtime_types.h"
#include "host/device/live_handles.h"
#include "host/stream/work.h"

namespace gridstride::host {

class Device;
class Stream;
struct CapturedPoint;

// One recording of an event: an entry of a stream's queue that completes when it becomes the head.
// Recording the event again makes a new one; a waiting operation keeps this one alive. All but
// `complete` is guarded by the lock of the StreamGraph.
struct EventRecord : Counted<EventRecord> {
  std::atomic<bool> complete{false};
  std::chrono::steady_clock::time_point completed_at;
  std::vector<std::shared_ptr<Stream>> waiting_streams;
  std::condition_variable completion;
  unsigned waiting_threads = 0;
};

class Event : public Counted<Event> {
 public:
  Event(Device& device, unsigned flags) : device_(device), flags_(flags) {}

  Device& device() const { return device_; }
  bool has_timing() const { return (flags_ & cudaEventDisableTiming) == 0; }

  // The latest recording, null before the first. Guarded by the lock of the StreamGraph.
  std::shared_ptr<EventRecord> latest;

  // The latest recording where that was captured, and whether it was. Guarded by the lock of the
  // StreamCaptures.
  std::shared_ptr<const CapturedPoint> captured_point;
  std::atomic<bool> is_captured{false};

 private:
  Device& device_;
  const unsigned flags_;
};

LiveHandles<Event>& live_events();

// Streams: queues of operations of which one at a time is under way.

class Device;

// An entry of a stream's queue. Exactly one of the four is set.
struct Operation {
  std::shared_ptr<Work> work;           // run by the worker pool
  cudaHostFn_t host_function = nullptr;  // run by the host function thread, with user_data
  void* user_data = nullptr;
  std::shared_ptr<EventRecord> record;  // completed when reached
  std::shared_ptr<EventRecord> wait;    // passed when complete
};

// The state is the StreamGraph's and guarded by its lock; a stream outlives its handle for as long
// as it has work.
class Stream : public std::enable_shared_from_this<Stream>, public Counted<Stream> {
 public:
  Stream(Device& device, unsigned flags, int priority)
      : device_(device), flags_(flags), priority_(priority) {}

  Device& device() const { return device_; }
  // A hint in CUDA; the worker pool is fair and takes no hints.
  int priority() const { return priority_; }
  bool waits_for_legacy_stream() const { return (flags_ & cudaStreamNonBlocking) == 0; }

 private:
  friend class StreamGraph;

  Device& device_;
  const unsigned flags_;
  const int priority_;

  std::deque<Operation> queue_;
  // The latest operation taken from the queue is under way, or the first one waits for an event.
  bool occupied_ = false;
  // Where the device lists this stream among those with pending work.
  std::size_t active_index_ = 0;
  std::uint64_t enqueued_ = 0;
  // Written under the lock, read without it by threads that poll.
  std::atomic<std::uint64_t> finished_{0};
  std::condition_variable progress_;
  unsigned waiting_threads_ = 0;
};

LiveHandles<Stream>& live_streams();

// The stream of a handle, also of a device with a fault.
cudaError_t find_stream_despite_fault(cudaStream_t handle, std::shared_ptr<Stream>& stream);

// The stream of a handle: the calling thread's device's legacy stream for 0. An invalid handle is
// an error, and so is a fault of the stream's device: nothing can be done on it any more.
cudaError_t find_stream(cudaStream_t handle, std::shared_ptr<Stream>& stream);

}  // namespace gridstride::host
