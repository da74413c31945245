// The table of live events.
#include "host/stream/stream_graph.h"

#include <exception>
#include <string>
#include <thread>

#include "host/device/device.h"
#include "host/execution/fault_signals.h"
#include "host/execution/worker_pool.h"
#include "host/stream/stream.h"

namespace gridstride::host {

LiveHandles<Event>& live_events() {
  static auto& handles = *new LiveHandles<Event>(0x10008);
  return handles;
}

// ---- the table of live streams, and what a handle means -----------------------------------------

cudaError_t find_stream_despite_fault(cudaStream_t handle, std::shared_ptr<Stream>& stream) {
  if (handle == cudaStreamPerThread) return cudaErrorNotSupported;
  if (handle == nullptr || handle == cudaStreamLegacy) {
    Device* const device = current_device();
    if (device == nullptr) return cudaErrorNoDevice;
    stream = device->legacy_stream();
    return cudaSuccess;
  }
  stream = live_streams().find(reinterpret_cast<std::uintptr_t>(handle));
  return stream == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

LiveHandles<Stream>& live_streams() {
  static auto& handles = *new LiveHandles<Stream>(0x10000);
  return handles;
}

cudaError_t find_stream(cudaStream_t handle, std::shared_ptr<Stream>& stream) {
  const cudaError_t status = find_stream_despite_fault(handle, stream);
  return status == cudaSuccess ? stream->device().fault_code() : status;
}

// ---- a thread that is started on first use and lives as long as the process ---------------------

HostFunctionThread& HostFunctionThread::instance() {
  static HostFunctionThread& thread = *new HostFunctionThread;
  return thread;
}

HostFunctionThread::HostFunctionThread() {
  const BlockedSignals blocked;
  std::thread([this] { serve(); }).detach();
}

void HostFunctionThread::run(cudaHostFn_t function, void* user_data,
                             std::shared_ptr<Stream> stream) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    calls_.push_back({function, user_data, std::move(stream)});
  }
  arrival_.notify_one();
}

void HostFunctionThread::serve() {
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    arrival_.wait(lock, [this] { return !calls_.empty(); });
    const Call call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call.function(call.user_data);
    StreamGraph::instance().finish(*call.stream);
  }
}

// ---- moving operations from queues to workers, and threads that wait for them -------------------

namespace {

// Waking a sleeping thread takes longer than many kernels: it first polls for about as long.
constexpr int polls_before_sleep = 400;

}  // namespace

StreamGraph& StreamGraph::instance() {
  static StreamGraph& graph = *new StreamGraph;
  return graph;
}

// ---- the queue of one stream -------------------------------------------------------------------

void StreamGraph::activate(Stream& stream) {
  std::vector<std::shared_ptr<Stream>>& active = stream.device_.active_streams();
  stream.active_index_ = active.size();
  active.push_back(stream.shared_from_this());
}

void StreamGraph::deactivate(Stream& stream) {
  std::vector<std::shared_ptr<Stream>>& active = stream.device_.active_streams();
  std::swap(active[stream.active_index_], active.back());
  active[stream.active_index_]->active_index_ = stream.active_index_;
  active.pop_back();
}

void StreamGraph::append(Stream& stream, Operation operation) {
  if (stream.enqueued_ == stream.finished_.load(std::memory_order_relaxed)) activate(stream);
  stream.queue_.push_back(std::move(operation));
  ++stream.enqueued_;
}

// The release pairs with the acquire of a thread that polls: it sees what the operation wrote.
void StreamGraph::count_finished(Stream& stream) {
  const std::uint64_t finished = stream.finished_.load(std::memory_order_relaxed) + 1;
  stream.finished_.store(finished, std::memory_order_release);
  if (stream.waiting_threads_ != 0) stream.progress_.notify_all();
  if (finished == stream.enqueued_) deactivate(stream);
}

void StreamGraph::complete(EventRecord& record, std::vector<std::shared_ptr<Stream>>& freed) {
  record.completed_at = std::chrono::steady_clock::now();
  record.complete.store(true, std::memory_order_release);
  if (record.waiting_threads != 0) record.completion.notify_all();
  for (std::shared_ptr<Stream>& stream : record.waiting_streams) {
    stream->occupied_ = false;
    freed.push_back(std::move(stream));
  }
  record.waiting_streams.clear();
}

// Takes operations from the queue until one has to run or to wait. The caller keeps the stream
// alive.
void StreamGraph::advance_one(Stream& stream, Starts& starts,
                              std::vector<std::shared_ptr<Stream>>& freed) {
  while (!stream.occupied_ && !stream.queue_.empty()) {
    Operation& head = stream.queue_.front();
    const bool faulted = stream.device_.fault_code() != cudaSuccess;
    if (head.record != nullptr) {
      complete(*head.record, freed);
    } else if (head.wait != nullptr) {
      if (!faulted && !head.wait->complete.load(std::memory_order_relaxed)) {
        stream.occupied_ = true;
        head.wait->waiting_streams.push_back(stream.shared_from_this());
        return;
      }
    } else if (!faulted) {
      stream.occupied_ = true;
      starts.push_back({stream.shared_from_this(), std::move(head)});
      stream.queue_.pop_front();
      return;
    }
    stream.queue_.pop_front();
    count_finished(stream);
  }
}

// A list and not a recursion: a chain of events may lead through any number of streams.
void StreamGraph::advance(Stream& stream, Starts& starts) {
  const std::shared_ptr<Stream> keep = stream.shared_from_this();
  std::vector<std::shared_ptr<Stream>> freed;
  advance_one(stream, starts, freed);
  while (!freed.empty()) {
    const std::shared_ptr<Stream> next = std::move(freed.back());
    freed.pop_back();
    advance_one(*next, starts, freed);
  }
}

// Order within a stream is kept without the lock: a started stream stays occupied until finish.
void StreamGraph::start_all(Starts& starts) {
  for (Start& start : starts) {
    Device& device = start.stream->device_;
    try {
      start_one(start);
    } catch (const std::exception& error) {
      // No thread could be made. The enqueued work is lost, and threads that wait for it must not
      // hang.
      device.report_fault(cudaErrorOperatingSystem,
                          "Cannot start the threads of the host device: " +
                              std::string(error.what()));
      finish(*start.stream);
    }
  }
}

void StreamGraph::start_one(const Start& start) {
  if (start.operation.work != nullptr) {
    WorkerPool::instance().submit(start.operation.work);
  } else {
    HostFunctionThread::instance().run(start.operation.host_function, start.operation.user_data,
                                       start.stream);
  }
}

// ---- the legacy default stream -----------------------------------------------------------------

// An operation of a device's legacy stream waits for all that blocking streams have by then, and an
// operation of a blocking stream for all that the legacy stream has by then.
void StreamGraph::append_edge(Stream& from, Stream& to) {
  Operation record;
  record.record = std::make_shared<EventRecord>();
  Operation wait;
  wait.wait = record.record;
  append(from, std::move(record));
  append(to, std::move(wait));
}

bool StreamGraph::has_legacy_edges(Stream& stream) const {
  if (!stream.waits_for_legacy_stream()) return false;
  const bool is_legacy = stream.device_.is_legacy_stream(stream);
  for (const std::shared_ptr<Stream>& active : stream.device_.active_streams()) {
    if (active.get() == &stream || !active->waits_for_legacy_stream()) continue;
    if (is_legacy || stream.device_.is_legacy_stream(*active)) return true;
  }
  return false;
}

void StreamGraph::append_legacy_edges(Stream& stream) {
  if (!has_legacy_edges(stream)) return;
  const bool is_legacy = stream.device_.is_legacy_stream(stream);
  // A copy of the list: the stream itself may join it.
  const std::vector<std::shared_ptr<Stream>> active = stream.device_.active_streams();
  for (const std::shared_ptr<Stream>& other : active) {
    if (other.get() == &stream || !other->waits_for_legacy_stream()) continue;
    if (is_legacy || stream.device_.is_legacy_stream(*other)) append_edge(*other, stream);
  }
}

// ---- operations --------------------------------------------------------------------------------

void StreamGraph::enqueue(Stream& stream, Operation operation) {
  Starts starts;
  {
    const Lock lock(mutex_);
    append_legacy_edges(stream);
    append(stream, std::move(operation));
    advance(stream, starts);
  }
  start_all(starts);
}

void StreamGraph::enqueue(Stream& launched, std::vector<Entry> entries) {
  Starts starts;
  {
    const Lock lock(mutex_);
    append_legacy_edges(launched);
    for (Entry& entry : entries) append(*entry.stream, std::move(entry.operation));
    for (const Entry& entry : entries) advance(*entry.stream, starts);
  }
  start_all(starts);
}

void StreamGraph::record(Stream& stream, Event& event) {
  Operation operation;
  operation.record = std::make_shared<EventRecord>();
  Starts starts;
  {
    const Lock lock(mutex_);
    event.latest = operation.record;
    append_legacy_edges(stream);
    append(stream, std::move(operation));
    advance(stream, starts);
  }
  start_all(starts);
}

void StreamGraph::record(Device& device, Event& event) {
  Operation operation;
  operation.record = std::make_shared<EventRecord>();
  // Where the work of all streams meets. The device keeps it until the recording is complete.
  const auto meeting = std::make_shared<Stream>(device, cudaStreamNonBlocking, 0);
  Starts starts;
  {
    const Lock lock(mutex_);
    event.latest = operation.record;
    const std::vector<std::shared_ptr<Stream>> active = device.active_streams();
    for (const std::shared_ptr<Stream>& stream : active) append_edge(*stream, *meeting);
    append(*meeting, std::move(operation));
    for (const std::shared_ptr<Stream>& stream : active) advance(*stream, starts);
    advance(*meeting, starts);
  }
  start_all(starts);
}

void StreamGraph::wait_for_event(Stream& stream, Event& event) {
  // The edge only delays: nothing can start here that could not before, and nothing is freed.
  Starts starts;
  const Lock lock(mutex_);
  if (event.latest == nullptr || event.latest->complete.load(std::memory_order_relaxed)) return;
  Operation operation;
  operation.wait = event.latest;
  append(stream, std::move(operation));
  advance(stream, starts);
}

bool StreamGraph::begin_here(Stream& stream) {
  const Lock lock(mutex_);
  if (stream.enqueued_ != stream.finished_.load(std::memory_order_relaxed)) return false;
  if (has_legacy_edges(stream)) return false;
  activate(stream);
  ++stream.enqueued_;
  stream.occupied_ = true;
  return true;
}

void StreamGraph::finish(Stream& stream) {
  Starts starts;
  {
    const Lock lock(mutex_);
    const std::shared_ptr<Stream> keep = stream.shared_from_this();
    stream.occupied_ = false;
    count_finished(stream);
    advance(stream, starts);
  }
  start_all(starts);
}

// ---- waiting -----------------------------------------------------------------------------------

// done reads atomics only: callers poll it without the lock.
template <typename Done>
void StreamGraph::wait_until(std::condition_variable& changed, unsigned& waiting_threads,
                             Done done) {
  for (int poll = 0; poll < polls_before_sleep; ++poll) {
    if (done()) return;
    pause_processor();
  }
  Lock lock(mutex_);
  ++waiting_threads;
  changed.wait(lock, done);
  --waiting_threads;
}

bool StreamGraph::is_idle(Stream& stream) {
  const Lock lock(mutex_);
  return stream.enqueued_ == stream.finished_.load(std::memory_order_relaxed) &&
         !has_legacy_edges(stream);
}

void StreamGraph::synchronize(Stream& stream) {
  std::uint64_t target = 0;
  Starts starts;
  {
    const Lock lock(mutex_);
    append_legacy_edges(stream);
    advance(stream, starts);
    target = stream.enqueued_;
  }
  start_all(starts);
  wait_until(stream.progress_, stream.waiting_threads_, [&] {
    return stream.finished_.load(std::memory_order_acquire) >= target;
  });
}

void StreamGraph::synchronize(Device& device) {
  std::vector<std::pair<std::shared_ptr<Stream>, std::uint64_t>> targets;
  {
    const Lock lock(mutex_);
    for (const std::shared_ptr<Stream>& stream : device.active_streams()) {
      targets.emplace_back(stream, stream->enqueued_);
    }
  }
  for (const auto& [stream, target] : targets) {
    const Stream& awaited = *stream;
    const std::uint64_t operations = target;
    wait_until(stream->progress_, stream->waiting_threads_, [&awaited, operations] {
      return awaited.finished_.load(std::memory_order_acquire) >= operations;
    });
  }
}

std::shared_ptr<EventRecord> StreamGraph::latest_record(Event& event) {
  const Lock lock(mutex_);
  return event.latest;
}

void StreamGraph::synchronize(EventRecord& record) {
  wait_until(record.completion, record.waiting_threads, [&] {
    return record.complete.load(std::memory_order_acquire);
  });
}

}  // namespace gridstride::host
