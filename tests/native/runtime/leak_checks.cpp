// Leaks: after use nothing of streams, events, recordings and mappings is left.
#include <unistd.h>

#include <fstream>
#include <string>

#include "check.h"
#include "gate.h"
#include "host/device/device.h"
#include "host/graph/capture.h"
#include "host/graph/graph.h"
#include "host/memory/host_memory.h"
#include "host/module/loaded_module.h"
#include "host/stream/stream.h"
#include "suites.h"

namespace runtime_test {
namespace {

using namespace gridstride::host;

struct Census {
  std::int64_t streams = Stream::live();
  std::int64_t events = Event::live();
  std::int64_t records = EventRecord::live();
  std::int64_t ranges = MappedRange::live();
  std::int64_t captures = Capture::live() + CapturedPoint::live();
  std::int64_t graphs = Graph::live() + ExecutableGraph::live();
  std::int64_t modules = LoadedModule::live();
  std::size_t allocations = find_device(first_device)->memory().allocation_count();
  std::size_t registered = RegisteredMemory::instance().count();

  bool operator==(const Census& other) const {
    return streams == other.streams && events == other.events && records == other.records &&
           ranges == other.ranges && captures == other.captures && graphs == other.graphs &&
           modules == other.modules && allocations == other.allocations &&
           registered == other.registered;
  }
};

// Everything the runtime has, with copies in progress while their memory is freed and their stream
// destroyed.
void use_everything() {
  cudaStream_t stream = nullptr;
  cudaStream_t waiting = nullptr;
  cudaEvent_t event = nullptr;
  unsigned char* memory = nullptr;
  std::string host(1000, 'x');
  REQUIRE(cudaStreamCreate(&stream));
  REQUIRE(cudaStreamCreate(&waiting));
  REQUIRE(cudaEventCreate(&event));
  REQUIRE(cudaMalloc(&memory, 1000));
  REQUIRE(cudaHostRegister(host.data(), host.size(), 0));
  {
    Gate gate(stream);
    REQUIRE(cudaMemcpyAsync(memory, host.data(), 1000, cudaMemcpyHostToDevice, stream));
    REQUIRE(cudaEventRecord(event, stream));
    REQUIRE(cudaStreamWaitEvent(waiting, event));
    REQUIRE(cudaEventRecord(event, waiting));
    REQUIRE(cudaMemsetAsync(memory, 0, 1000, nullptr));
    REQUIRE(cudaEventDestroy(event));
    REQUIRE(cudaStreamDestroy(stream));
    REQUIRE(cudaStreamDestroy(waiting));
  }
  REQUIRE(cudaDeviceSynchronize());
  REQUIRE(cudaFree(memory));
  REQUIRE(cudaHostUnregister(host.data()));
}

// Captures that end well, invalidated, or with their stream; a graph destroyed while it runs.
void use_graphs() {
  cudaStream_t stream = nullptr;
  cudaStream_t side = nullptr;
  cudaEvent_t event = nullptr;
  unsigned char* memory = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  REQUIRE(cudaEventCreate(&event));
  REQUIRE(cudaMalloc(&memory, 1000));
  for (int round = 0; round < 3; ++round) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    REQUIRE(cudaEventRecord(event, stream));
    REQUIRE(cudaStreamWaitEvent(side, event));
    REQUIRE(cudaMemsetAsync(memory, 0, 1000, side));
    REQUIRE(cudaEventRecord(event, side));
    REQUIRE(cudaStreamWaitEvent(stream, event));
    if (round == 1) (void)cudaStreamSynchronize(side);
    if (round == 2) break;
    (void)cudaStreamEndCapture(stream, &graph);
    if (round == 1) continue;
    REQUIRE(cudaGraphInstantiate(&executable, graph));
    REQUIRE(cudaGraphDestroy(graph));
    Gate gate(stream);
    for (int launch = 0; launch < 3; ++launch) REQUIRE(cudaGraphLaunch(executable, stream));
    REQUIRE(cudaGraphExecDestroy(executable));
  }
  REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaStreamDestroy(side));
  REQUIRE(cudaEventDestroy(event));
  REQUIRE(cudaDeviceSynchronize());
  REQUIRE(cudaFree(memory));
  (void)cudaGetLastError();
}

// The worker or thread that ended the last operation may hold it for a moment longer: the counts
// when nothing has changed for a while.
Census settled_census() {
  Census census;
  for (int same = 0; same < 5; ++same) {
    usleep(10000);
    const Census next;
    if (!(next == census)) same = -1;
    census = next;
  }
  return census;
}

bool returns_to(const Census& before) {
  for (int attempt = 0; attempt < 2000; ++attempt) {
    if (Census() == before) return true;
    usleep(1000);
  }
  return false;
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void touch_and_free() {
  constexpr std::size_t bytes = 32 * mebibyte;
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, bytes));
  REQUIRE(cudaMemset(memory, 1, bytes));
  REQUIRE(cudaFree(memory));
}

// A copy of another device's stream keeps memory mapped that its owner has freed meanwhile.
void check_freed_during_copy() {
  unsigned char* here = nullptr;
  unsigned char* there = nullptr;
  REQUIRE(cudaMalloc(&here, 4096));
  REQUIRE(cudaSetDevice(second_device));
  cudaStream_t stream = nullptr;
  REQUIRE(cudaMalloc(&there, 4096));
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    Gate gate(stream);
    REQUIRE(cudaMemcpyPeerAsync(there, second_device, here, first_device, 4096, stream));
    CHECK_STATUS(cudaFree(here), cudaSuccess,
                 "memory can be freed while another device's stream is to copy it");
  }
  CHECK_STATUS(cudaStreamSynchronize(stream), cudaSuccess, "and the copy harms nobody");
  REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaFree(there));
  REQUIRE(cudaSetDevice(first_device));
}

}  // namespace

void check_leaks() {
  use_everything();
  use_graphs();
  const Census before = settled_census();
  for (int round = 0; round < 100; ++round) use_everything();
  CHECK(returns_to(before), "streams, events, recordings and mappings all go away");
  for (int round = 0; round < 100; ++round) use_graphs();
  CHECK(returns_to(before), "and so do captures and graphs");
  check_freed_during_copy();
  CHECK(returns_to(before), "also those that a copy kept");
  touch_and_free();
  const std::size_t resident = resident_bytes();
  for (int round = 0; round < 30; ++round) touch_and_free();
  CHECK(resident_bytes() < resident + 64 * mebibyte, "freed memory goes back to the system");
}

}  // namespace runtime_test
