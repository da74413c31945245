// The end of isolates. A Worker has a thread of its own. When that ends, also by terminate(), a
// thread of the library waits for the isolate's work and gives back all that the isolate owned.
#include "shim/isolate.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "shim/launch/cublaslt.h"
#include "shim/memory/memory_tables.h"
#include "shim/memory/pinned.h"
#include "shim/module/module.h"
#include "shim/stream/waiter.h"

namespace gridstride {

namespace {

constexpr std::chrono::milliseconds max_pause{10};

struct UnfinishedWork {
  int32_t isolate;
  int device;
  cudaEvent_t end;
};

struct State {
  std::mutex mutex;
  int32_t last_isolate = 0;
  std::vector<UnfinishedWork> unfinished;
};

// Never destroyed: threads may still be running when the process exits.
State& state() {
  static State& made = *new State;
  return made;
}

bool is_running(const UnfinishedWork& work) {
  const RelaxedQueries relaxed;
  status_of(cudaSetDevice(work.device));
  if (status_of(cudaEventQuery(work.end)) == cudaErrorNotReady) return true;
  status_of(cudaEventDestroy(work.end));
  return false;
}

bool is_running(int32_t handle) {
  try {
    const StreamUse stream = streams.use(handle);
    const RelaxedQueries relaxed;
    status_of(cudaSetDevice(stream->device));
    return status_of(cudaStreamQuery(stream->stream)) == cudaErrorNotReady;
  } catch (const Failure&) {
    return false;  // it is gone
  }
}

bool has_running_work(int32_t isolate) {
  const std::vector<int32_t> own = streams.handles_of(isolate);
  if (std::any_of(own.begin(), own.end(), [](int32_t handle) { return is_running(handle); })) {
    return true;
  }
  const std::lock_guard<std::mutex> lock(state().mutex);
  std::vector<UnfinishedWork>& all = state().unfinished;
  const auto is_done = [isolate](const UnfinishedWork& work) {
    return work.isolate == isolate && !is_running(work);
  };
  all.erase(std::remove_if(all.begin(), all.end(), is_done), all.end());
  return std::any_of(all.begin(), all.end(), [isolate](const UnfinishedWork& work) {
    return work.isolate == isolate;
  });
}

// Frees by the functions of the interface, which read their operands from a command block.
void free_memory(int32_t isolate) {
  gs_command_block block = {};
  thread_state.block = &block;
  const auto call = [&block](int32_t (*function)(), int device, const MemoryRange& range) {
    block.device = device;
    block.operand[0] = static_cast<double>(range.address);
    block.operand[1] = static_cast<double>(range.bytes);
    function();
  };
  for (const auto& [range, device] : allocations().owned_by(isolate)) {
    call(gs_memory_free, device, range);
  }
  for (const auto& [range, device] : mappings().mapped_by(isolate)) {
    call(gs_virtual_unmap, device, range);
  }
  for (const auto& [range, device] : mappings().owned_by(isolate)) {
    gs_virtual_release(device, static_cast<double>(range.address));
  }
  thread_state.block = nullptr;
}

template <class Resource>
void destroy_all(HandleTable<Resource>& table, int32_t isolate, int32_t (*destroy)(int32_t)) {
  for (const int32_t handle : table.handles_of(isolate)) destroy(handle);
}

// A resource that cannot be given back stays, as after a failed call.
void give_back(int32_t isolate) {
  destroy_all(waiters, isolate, gs_waiter_destroy);
  destroy_programs(isolate);
  destroy_products(isolate);
  destroy_all(files, isolate, gs_file_close);
  std::chrono::milliseconds pause{1};
  for (; has_running_work(isolate); pause = std::min(pause * 2, max_pause)) {
    std::this_thread::sleep_for(pause);
  }
  destroy_all(graphs, isolate, gs_graph_destroy);
  destroy_all(events, isolate, gs_event_destroy);
  destroy_all(modules, isolate, gs_module_destroy);
  destroy_all(pinned_slabs, isolate, gs_pinned_release);
  destroy_all(streams, isolate, gs_stream_destroy);
  free_memory(isolate);
}

// Runs on the isolate's thread when that ends.
void end_isolate(void* value) {
  const int32_t isolate = static_cast<int32_t>(reinterpret_cast<intptr_t>(value));
  try {
    std::thread([isolate] { guarded([isolate] { give_back(isolate); }); }).detach();
  } catch (...) {
    // Without a thread the resources stay until the process ends.
  }
}

// Not a destructor of a thread-local object: those also run for the main thread when the process
// exits.
pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    require(pthread_key_create(&made, end_isolate) == 0, GS_ERROR_SYSTEM);
    return made;
  }();
  return key;
}

}  // namespace

void remember_work(const Stream& stream) {
  if (thread_state.isolate == 0 || stream.adopted) return;
  const RelaxedQueries relaxed;
  status_of(cudaSetDevice(stream.device));
  if (status_of(cudaStreamQuery(stream.stream)) != cudaErrorNotReady) return;
  cudaEvent_t end = nullptr;
  if (status_of(cudaEventCreateWithFlags(&end, cudaEventDisableTiming)) != 0) return;
  const std::lock_guard<std::mutex> lock(state().mutex);
  std::vector<UnfinishedWork>& all = state().unfinished;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const UnfinishedWork& work) { return !is_running(work); }),
            all.end());
  if (status_of(cudaEventRecord(end, stream.stream)) == 0) {
    all.push_back(UnfinishedWork{thread_state.isolate, stream.device, end});
  } else {
    status_of(cudaEventDestroy(end));
  }
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_isolate_join(void) {
  return guarded([] {
    if (thread_state.isolate != 0) return;
    const std::lock_guard<std::mutex> lock(state().mutex);
    const int32_t isolate = state().last_isolate + 1;
    const void* value = reinterpret_cast<const void*>(static_cast<intptr_t>(isolate));
    require(pthread_setspecific(end_key(), value) == 0, GS_ERROR_SYSTEM);
    state().last_isolate = thread_state.isolate = isolate;
  });
}
