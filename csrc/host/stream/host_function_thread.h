// The thread that runs the functions of cudaLaunchHostFunc.
#ifndef GRIDSTRIDE_HOST_HOST_FUNCTION_THREAD_H
#define GRIDSTRIDE_HOST_HOST_FUNCTION_THREAD_H

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "host/stream/stream.h"

namespace gridstride::host {

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

#endif
