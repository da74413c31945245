// A thread that is started on first use and lives as long as the process.
#include "host/stream/host_function_thread.h"

#include <thread>

#include "host/stream/stream_graph.h"
#include "host/execution/thread_signals.h"

namespace gridstride::host {

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

}  // namespace gridstride::host
