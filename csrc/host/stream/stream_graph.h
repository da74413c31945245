// The scheduler: which operation of which stream runs next.
//
// Streams are queues and events are edges between them. One lock guards the queues and the edges of
// all devices. It is held for a few assignments at a time and never while user code, a kernel or a
// copy runs, nor while work is handed to the pool.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "host/stream/stream.h"

namespace gridstride::host {

class StreamGraph {
 public:
  static StreamGraph& instance();

  // Appends work that calls finish(stream) when it is done.
  void enqueue(Stream& stream, Operation operation);

  // Appends operations to their streams, and lets nothing else in between. Only `launched` may be a
  // blocking stream.
  struct Entry {
    std::shared_ptr<Stream> stream;
    Operation operation;
  };
  void enqueue(Stream& launched, std::vector<Entry> entries);

  // Appends a recording of the event and makes it the event's latest.
  void record(Stream& stream, Event& event);

  // The same after the work that all streams of the device, also destroyed ones, have by now.
  void record(Device& device, Event& event);

  // Later operations of the stream wait for the event's latest recording, if it has one.
  void wait_for_event(Stream& stream, Event& event);

  // True when the stream had nothing to do: the calling thread then does the next operation itself
  // and calls finish(stream).
  bool begin_here(Stream& stream);

  // The operation of the stream that was under way is done: starts what can run now.
  void finish(Stream& stream);

  bool is_idle(Stream& stream);
  void synchronize(Stream& stream);
  // Waits for the work that all streams of the device, also destroyed ones, have by now.
  void synchronize(Device& device);

  // The event's latest recording, null before the first.
  std::shared_ptr<EventRecord> latest_record(Event& event);
  void synchronize(EventRecord& record);

 private:
  struct Start {
    std::shared_ptr<Stream> stream;
    Operation operation;
  };
  using Starts = std::vector<Start>;
  using Lock = std::unique_lock<std::mutex>;

  // All of these need the lock.
  void append(Stream& stream, Operation operation);
  void append_legacy_edges(Stream& stream);
  void append_edge(Stream& from, Stream& to);
  bool has_legacy_edges(Stream& stream) const;
  void advance(Stream& stream, Starts& starts);
  void advance_one(Stream& stream, Starts& starts, std::vector<std::shared_ptr<Stream>>& freed);
  void complete(EventRecord& record, std::vector<std::shared_ptr<Stream>>& freed);
  void count_finished(Stream& stream);
  void activate(Stream& stream);
  void deactivate(Stream& stream);

  // Needs the lock not to be held.
  void start_all(Starts& starts);
  static void start_one(const Start& start);

  template <typename Done>
  void wait_until(std::condition_variable& changed, unsigned& waiting_threads, Done done);

  std::mutex mutex_;
};

// The thread that runs the functions of cudaLaunchHostFunc.

// One thread for all streams, as in CUDA, where host functions may run one after the other. Not a
// worker of the pool: a function may wait for another thread, and kernels must go on meanwhile.
class HostFunctionThread {
 public:
  static HostFunctionThread& instance();

  // Calls function(user_data) and then finishes the stream's operation.
  void run(cudaHostFn_t function, void* user_data, std::shared_ptr<Stream> stream);

 private:
  struct Call {
    cudaHostFn_t function;
    void* user_data;
    std::shared_ptr<Stream> stream;
  };

  HostFunctionThread();
  [[noreturn]] void serve();

  std::mutex mutex_;
  std::condition_variable arrival_;
  std::deque<Call> calls_;
};

}  // namespace gridstride::host
