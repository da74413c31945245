// Events: names for points in streams, and what streams and threads wait for.
#ifndef GRIDSTRIDE_HOST_EVENT_H
#define GRIDSTRIDE_HOST_EVENT_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <vector>

#include "host/device/counted.h"
#include "gridstride/runtime_types.h"
#include "host/device/live_handles.h"

namespace gridstride::host {

class Device;
class Stream;
struct CapturedPoint;

// One recording of an event: an entry of a stream's queue that completes when it becomes the head.
// Recording the event again makes a new one; whoever waits for this one keeps it alive. All but
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

}  // namespace gridstride::host

#endif
