// Fault injection: every wrapped call can be made to fail, the caller gets its failure, and a call
// that failed changes nothing.
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "module_stage.h"
#include "suites.h"

namespace {

constexpr int32_t injected = 999;

// What the provocations work on.
struct Bench {
  int32_t stream = make_stream(0);
  int32_t events[2] = {make_event(0, 1), make_event(0, 1)};
  double memory = allocate(0, 4096);
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* slab = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  double result[8] = {};
  char text[128] = {};
  double kernel = 0;
  std::vector<char> code = machine_code();

  Bench() {
    for (const int32_t event : events) {
      set_operands(0, stream, {static_cast<double>(event)});
      gs.gs_event_record();
    }
    gs.gs_stream_synchronize(stream);
    if (gs.gs_kernel_find("no_parameters", &kernel) != 0) gs.gs_kernel_find("empty", &kernel);
  }
  ~Bench() {
    free_memory(0, memory);
    for (const int32_t event : events) gs.gs_event_destroy(event);
    gs.gs_stream_destroy(stream);
    munmap(slab, page);
  }

  int32_t set(double width) {
    set_operands(0, stream, {memory, 1, width, 8});
    return gs.gs_memory_set();
  }
  int32_t copy_2d() {
    set_operands(0, stream, {memory, 64, memory + 2048, 64, 32, 4});
    return gs.gs_copy_device_2d();
  }
  int32_t copy_peer() {
    set_operands(0, stream, {memory, 0, memory + 2048, 0, 64});
    return gs.gs_copy_peer();
  }
  int32_t hot(int32_t (*function)(), double operand) {
    set_operands(0, stream, {operand});
    return function();
  }
  // Makes and ends a resource; returns the failure of either.
  int32_t make_and_end(int32_t made, int32_t (*end)(int32_t)) {
    if (made != 0) return made;
    const int32_t handle = static_cast<int32_t>(result[0]);
    const int32_t ended = end(handle);
    if (ended != 0) end(handle);
    return ended;
  }
  int32_t allocate_and_free() {
    const double address = allocate(0, 256);
    if (address == 0) return static_cast<int32_t>(last_status());
    const int32_t freed = free_memory(0, address);
    if (freed != 0) free_memory(0, address);
    return freed;
  }
  int32_t reserve_and_map() {
    double bytes = 0;
    int32_t status = gs.gs_virtual_granularity(0, &bytes);
    if (status == 0) status = gs.gs_virtual_reserve(0, bytes, result);
    if (status != 0) return status;
    const double address = result[0];
    set_operands(0, 0, {address, bytes, bytes});
    const int32_t mapped = gs.gs_virtual_map();
    const int32_t unmapped = mapped == 0 ? gs.gs_virtual_unmap() : 0;
    if (unmapped != 0) gs.gs_virtual_unmap();
    const int32_t released = gs.gs_virtual_release(0, address);
    if (released != 0) gs.gs_virtual_release(0, address);
    return mapped != 0 ? mapped : unmapped != 0 ? unmapped : released;
  }
  int32_t capture_and_launch() {
    const int32_t begun = gs.gs_stream_capture(stream, 1);
    if (begun != 0) return begun;
    const int32_t queried = gs.gs_stream_capture_query(stream, result);
    const int32_t ended = gs.gs_stream_capture_end(stream, result);
    if (ended != 0) return ended;
    const double graph = result[0];
    const int32_t launched = hot(gs.gs_graph_launch, graph);
    result[0] = graph;
    const int32_t destroyed = make_and_end(0, gs.gs_graph_destroy);
    return queried != 0 ? queried : launched != 0 ? launched : destroyed;
  }
  // Launches a graph into a capture.
  int32_t capture_twice() {
    if (gs.gs_stream_capture(stream, 1) != 0) return -1;
    if (gs.gs_stream_capture_end(stream, result) != 0) return -1;
    const double graph = result[0];
    if (gs.gs_stream_capture(stream, 1) != 0) return -1;
    const int32_t launched = hot(gs.gs_graph_launch, graph);
    if (gs.gs_stream_capture_end(stream, result) != 0) return -1;
    gs.gs_graph_destroy(static_cast<int32_t>(result[0]));
    gs.gs_graph_destroy(static_cast<int32_t>(graph));
    return launched;
  }
  int32_t load_kernel() {
    const int32_t loaded = gs.gs_kernel_load(0, static_cast<int32_t>(kernel));
    const int32_t asked = gs.gs_kernel_loaded(0, static_cast<int32_t>(kernel), result);
    return loaded != 0 ? loaded : asked;
  }
  // Also queries everything in a module.
  int32_t load_and_unload() {
    int32_t module = 0;
    int32_t status = create_module(0, code, module);
    if (status != 0) return status;
    status = gs.gs_module_load(module);
    if (status == 0) status = gs.gs_module_kernel_name(module, 0, text, sizeof(text));
    if (status == 0) status = find_in_module(module, "store_int", store_parameters).status;
    if (status == 0) status = gs.gs_module_variable(module, "counter", result);
    const int32_t destroyed = gs.gs_module_destroy(module);
    if (destroyed != 0) gs.gs_module_destroy(module);
    return status != 0 ? status : destroyed;
  }
  double last_status() {
    gs.gs_error_last(result);
    return result[0];
  }
  int32_t launch(double flags = 0) {
    set_operands(0, stream, {kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, flags, 0});
    return gs.gs_kernel_launch();
  }
};

using Provocations = std::map<std::string, std::function<int32_t()>>;

// For each wrapped call something that makes it and, without injection, succeeds.
Provocations provocations(Bench& on) {
  const int32_t kernel = static_cast<int32_t>(on.kernel);
  const auto stream = [&on] {
    return on.make_and_end(gs.gs_stream_create(0, 0, on.result), gs.gs_stream_destroy);
  };
  const auto event = [&on] {
    return on.make_and_end(gs.gs_event_create(0, 0, on.result), gs.gs_event_destroy);
  };
  const auto slab = [&on] {
    const double bytes = static_cast<double>(on.page);
    return on.make_and_end(gs.gs_pinned_register(0, on.slab, bytes, on.result),
                           gs.gs_pinned_release);
  };
  const auto allocation = [&on] { return on.allocate_and_free(); };
  const auto mapping = [&on] { return on.reserve_and_map(); };
  const auto graph = [&on] { return on.capture_and_launch(); };
  const auto nested_graph = [&on] { return on.capture_twice(); };
  const auto loading = [&on] { return on.load_kernel(); };
  const auto module = [&on] { return on.load_and_unload(); };
  return {
      {"cudaDriverGetVersion", [&on] { return gs.gs_device_versions(on.result); }},
      {"cudaRuntimeGetVersion", [&on] { return gs.gs_device_versions(on.result); }},
      {"cudaGetDeviceCount", [&on] { return gs.gs_device_count(on.result); }},
      {"cudaSetDevice", [] { return gs.gs_device_open(0); }},
      {"cudaDeviceGetAttribute", [&on] { return gs.gs_device_attribute(0, 16, on.result); }},
      {"cudaGetDeviceProperties", [&on] { return gs.gs_device_name(0, on.text, 128); }},
      {"cudaDeviceGetPCIBusId", [&on] { return gs.gs_device_bus(0, on.text, 128); }},
      {"cudaMemGetInfo", [&on] { return gs.gs_device_memory(0, on.result); }},
      {"cudaDeviceSynchronize", [] { return gs.gs_device_synchronize(0); }},
      {"cudaMalloc", allocation},
      {"cudaFree", allocation},
      {"cudaHostRegister", slab},
      {"cudaHostUnregister", slab},
      {"cudaMemsetAsync", [&on] { return on.set(1); }},
      {"cuMemsetD16Async", [&on] { return on.set(2); }},
      {"cuMemsetD32Async", [&on] { return on.set(4); }},
      {"cuMemGetAllocationGranularity", mapping},
      {"cuMemAddressReserve", mapping},
      {"cuMemAddressFree", mapping},
      {"cuMemCreate", mapping},
      {"cuMemRelease", mapping},
      {"cuMemMap", mapping},
      {"cuMemUnmap", mapping},
      {"cuMemSetAccess", mapping},
      {"cudaThreadExchangeStreamCaptureMode", allocation},
      {"cudaMemcpyAsync",
       [&on] { return gs.gs_copy_to_host(0, on.stream, on.text, on.memory, 8); }},
      {"cudaMemcpy2DAsync", [&on] { return on.copy_2d(); }},
      {"cudaMemcpyPeerAsync", [&on] { return on.copy_peer(); }},
      {"cudaDeviceGetStreamPriorityRange", [&on] { return gs.gs_stream_priorities(0, on.result); }},
      {"cudaStreamCreateWithPriority", stream},
      {"cudaStreamDestroy", stream},
      {"cudaStreamGetDevice",
       [&on] {
         gs.gs_stream_address(on.stream, on.result);
         return on.make_and_end(gs.gs_stream_adopt(0, on.result[0], on.result),
                                gs.gs_stream_destroy);
       }},
      {"cudaStreamQuery", [&on] { return on.hot(gs.gs_stream_query, 0); }},
      {"cudaStreamWaitEvent", [&on] { return on.hot(gs.gs_stream_wait, on.events[0]); }},
      {"cudaStreamSynchronize", [&on] { return gs.gs_stream_synchronize(on.stream); }},
      {"cudaEventCreateWithFlags", event},
      {"cudaEventDestroy", event},
      {"cudaEventRecord", [&on] { return on.hot(gs.gs_event_record, on.events[0]); }},
      {"cuCtxGetCurrent", [&on] { return gs.gs_event_record_device(0, on.events[0]); }},
      {"cuCtxRecordEvent", [&on] { return gs.gs_event_record_device(0, on.events[0]); }},
      {"cudaEventQuery", [&on] { return on.hot(gs.gs_event_query, on.events[0]); }},
      {"cudaEventSynchronize", [&on] { return gs.gs_event_synchronize(on.events[0]); }},
      {"cudaEventElapsedTime",
       [&on] {
         gs.gs_stream_synchronize(on.stream);
         return gs.gs_event_elapsed(on.events[0], on.events[1], on.result);
       }},
      {"cudaStreamBeginCapture", graph},
      {"cudaStreamEndCapture", graph},
      {"cudaStreamGetCaptureInfo", graph},
      {"cudaGraphGetNodes", graph},
      {"cudaGraphInstantiateWithFlags", graph},
      {"cudaGraphLaunch", graph},
      {"cudaGraphAddChildGraphNode", nested_graph},
      {"cudaStreamUpdateCaptureDependencies", nested_graph},
      {"cudaGraphExecDestroy", graph},
      {"cudaGraphDestroy", graph},
      {"cudaFuncGetAttributes",
       [&on, kernel] { return gs.gs_kernel_attributes(0, kernel, on.result); }},
      {"cudaFuncSetAttribute", [kernel] { return gs.gs_kernel_reserve(0, kernel, 1024); }},
      {"cudaOccupancyMaxActiveBlocksPerMultiprocessor",
       [&on, kernel] { return gs.gs_kernel_residency(0, kernel, 32, 0, on.result); }},
      {"cudaLaunchKernel", [&on] { return on.launch(); }},
      {"cudaLaunchKernelExC", [&on] { return on.launch(GS_LAUNCH_COOPERATIVE); }},
      {"cudaLibraryLoadData", module},
      {"cudaLibraryUnload", module},
      {"cudaLibraryGetKernelCount", module},
      {"cudaLibraryEnumerateKernels", module},
      {"cudaLibraryGetKernel", module},
      {"cudaLibraryGetGlobal", module},
      {"cudaGetKernel", loading},
      {"cuKernelGetFunction", loading},
      {"cuFuncLoad", loading},
      {"cuFuncIsLoaded", loading},
      {"cuLibraryGetModule", module},
      {"cuKernelGetName", module},
      {"cuKernelGetParamInfo", module},
  };
}

// Checked elsewhere, impossible to provoke with one device and without other libraries such as NVML
// and NVRTC, or made only after another failure.
bool is_provoked_elsewhere(const std::string& name) {
  return name == "cudaStreamIsCapturing" || name == "cudaPointerGetAttributes" ||
         name == "cudaDeviceCanAccessPeer" || name == "cudaDeviceEnablePeerAccess" ||
         name == "cuDeviceGetAttribute" || name.rfind("nvml", 0) == 0 ||
         name.rfind("nvrtc", 0) == 0 || name.rfind("cublasLt", 0) == 0;
}

// Whether machine code is needed to provoke it.
bool is_of_modules(const std::string& name) {
  return name.rfind("cudaLibrary", 0) == 0 || name.rfind("cuKernel", 0) == 0 ||
         name == "cuLibraryGetModule";
}

double tally_of(int32_t call) {
  double made = 0;
  gs.gs_call_tally(call, &made);
  return made;
}

void check_every_call() {
  Bench bench;
  const Provocations all = provocations(bench);
  double kinds = 0;
  gs.gs_call_kinds(&kinds);
  for (int32_t call = 1; call <= kinds; call++) {
    char name[64];
    gs.gs_call_name(call, name, sizeof(name));
    if (bench.code.empty() && is_of_modules(name)) continue;
    const auto provocation = all.find(name);
    if (provocation == all.end()) {
      check(is_provoked_elsewhere(name), std::string("a failing ") + name + " is provoked");
      continue;
    }
    const Tally before = tally();
    const double made = tally_of(call);
    gs.gs_call_fail(call, 1, injected);
    const int32_t failed = provocation->second();
    double last[3] = {};
    gs.gs_error_last(last);
    const int32_t succeeded = provocation->second();
    check(failed == injected && last[0] == injected && last[1] == call && tally() == before &&
              succeeded == 0 && tally_of(call) > made,
          std::string("a failing ") + name + " is told, changes nothing, and is over then (" +
              status_name(failed) + ", " + status_name(succeeded) + ")");
  }
}

void check_counting() {
  Bench bench;
  const int32_t query = call_id("cudaStreamQuery");
  const auto statuses = [&](int calls) {
    std::string text;
    for (int index = 0; index < calls; index++) {
      text += bench.hot(gs.gs_stream_query, 0) == injected ? 'F' : '.';
    }
    return text;
  };
  gs.gs_call_fail(query, 3, injected);
  check(statuses(5) == "..F..", "the third coming call fails, and no other");
  gs.gs_call_fail(query, 3, injected);
  gs.gs_call_fail(query, 1, injected);
  check(statuses(4) == "F...", "a later injection replaces an earlier one");
  gs.gs_call_fail(query, 2, injected);
  gs.gs_call_restore();
  check(statuses(3) == "...", "gs_call_restore() forgets injections");
  // gs_stream_query makes the device current, then queries: two calls of any kind.
  gs.gs_call_fail(0, 4, injected);
  check(statuses(3) == ".F.", "id 0 counts calls of any kind");
  gs.gs_call_fail(0, 2, 998);
  gs.gs_call_fail(query, 1, injected);
  check(statuses(2) == "F.", "when two are due at once both are used up");
  const double before = tally_of(query);
  const double before_all = tally_of(0);
  statuses(10);
  check(tally_of(query) - before == 10 && tally_of(0) - before_all == 20, "calls are counted");
  constexpr int32_t not_ready = 600;
  gs.gs_call_fail(query, 1, not_ready);
  check(bench.hot(gs.gs_stream_query, 0) == 0 && block.result[0] == 0,
        "cudaErrorNotReady is an answer, not a failure");
}

// Exactly one of many threads meets the failure.
void check_threads() {
  const int32_t count = call_id("cudaGetDeviceCount");
  gs.gs_call_fail(count, 5000, injected);
  int failed[4] = {};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; thread++) {
    threads.emplace_back([&, thread] {
      double result = 0;
      for (int call = 0; call < 2500; call++) {
        if (gs.gs_device_count(&result) == injected) failed[thread]++;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  check_equal(failed[0] + failed[1] + failed[2] + failed[3], 1,
              "of 10000 calls on four threads one fails");
}

}  // namespace

void check_injection() {
  check_every_call();
  check_counting();
  check_threads();
}
