// A thread that is started on first use and lives as long as the process.
#include "host_function_thread.h"

#include <pthread.h>
#include <signal.h>

#include <thread>

#include "stream_graph.h"

namespace gridstride::host {
namespace {

// The process's signals are for the program's own threads. Faults stay deliverable.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
      sigdelset(&blocked, fault);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

HostFunctionThread& HostFunctionThread::instance() {
  static HostFunctionThread& thread = *new HostFunctionThread;
  return thread;
}

// A new thread inherits the mask of the one that makes it.
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
