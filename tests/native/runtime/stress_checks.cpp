// Many threads at once, and random work on random streams compared with doing it in order.
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "suites.h"

namespace runtime_test {
namespace {

using gridstride::host::kernel_descriptor;
using Random = std::mt19937;

unsigned below(Random& random, unsigned limit) { return static_cast<unsigned>(random() % limit); }

// ---- threads -----------------------------------------------------------------------------------

// One thread's life: its own stream and events, allocations that come and go, checked contents.
bool work_alone(int thread, int device) {
  Random random(static_cast<unsigned>(thread));
  bool right = cudaSetDevice(device) == cudaSuccess;
  cudaStream_t stream = nullptr;
  right = right && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
  for (int round = 0; round < 150 && right; ++round) {
    const std::size_t bytes = 1 + below(random, 200000);
    const auto value = static_cast<unsigned char>(random());
    unsigned char* memory = nullptr;
    cudaEvent_t event = nullptr;
    std::vector<unsigned char> result(bytes);
    right = cudaMalloc(&memory, bytes) == cudaSuccess &&
            cudaEventCreate(&event) == cudaSuccess &&
            cudaMemsetAsync(memory, value, bytes, stream) == cudaSuccess &&
            cudaEventRecord(event, stream) == cudaSuccess &&
            cudaMemcpyAsync(result.data(), memory, bytes, cudaMemcpyDeviceToHost, stream) ==
                cudaSuccess &&
            cudaEventSynchronize(event) == cudaSuccess && cudaEventDestroy(event) == cudaSuccess &&
            cudaFree(memory) == cudaSuccess &&
            result == std::vector<unsigned char>(bytes, value);
  }
  return right && cudaStreamDestroy(stream) == cudaSuccess;
}

// ---- random graphs -----------------------------------------------------------------------------

constexpr std::size_t buffer_count = 6;
constexpr std::size_t stream_count = 5;
constexpr std::size_t words = 300;
using Buffer = std::array<unsigned, words>;

__global__ void mix(unsigned* destination, const unsigned* source, unsigned seed, unsigned count) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    destination[i] = destination[i] * 31 + source[i] + seed;
  }
}

void mix_here(Buffer& destination, const Buffer& source, unsigned seed) {
  for (std::size_t i = 0; i < words; ++i) destination[i] = destination[i] * 31 + source[i] + seed;
}

void delay(void* microseconds) {
  std::this_thread::sleep_for(
      std::chrono::microseconds(reinterpret_cast<std::uintptr_t>(microseconds)));
}

// Device buffers, of which each operation waits for exactly those before it that it conflicts with.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {
    for (std::size_t index = 0; index < buffer_count; ++index) {
      REQUIRE(cudaSetDevice(index % 2 == 0 ? first_device : second_device));
      REQUIRE(cudaMalloc(&buffers_[index], sizeof(Buffer)));
      REQUIRE(cudaMemset(buffers_[index], 0, sizeof(Buffer)));
      REQUIRE(cudaDeviceSynchronize());
      model_[index].fill(0);
    }
    for (std::size_t index = 0; index < stream_count; ++index) {
      REQUIRE(cudaSetDevice(device_of(index)));
      REQUIRE(cudaStreamCreateWithFlags(&streams_[index], cudaStreamNonBlocking));
    }
    REQUIRE(cudaHostRegister(host_.data(), host_.size() * sizeof(Buffer), 0));
  }

  ~RandomGraph() {
    for (const cudaStream_t stream : streams_) REQUIRE(cudaStreamSynchronize(stream));
    for (unsigned* buffer : buffers_) REQUIRE(cudaFree(buffer));
    for (const cudaStream_t stream : streams_) REQUIRE(cudaStreamDestroy(stream));
    for (const cudaEvent_t event : events_) REQUIRE(cudaEventDestroy(event));
    REQUIRE(cudaHostUnregister(host_.data()));
    REQUIRE(cudaSetDevice(first_device));
  }

  void run(int operations) {
    for (int count = 0; count < operations; ++count) step();
  }

  bool matches_model() {
    for (const cudaStream_t stream : streams_) REQUIRE(cudaStreamSynchronize(stream));
    for (std::size_t index = 0; index < buffer_count; ++index) {
      Buffer result;
      REQUIRE(cudaMemcpy(result.data(), buffers_[index], sizeof result, cudaMemcpyDeviceToHost));
      if (result != model_[index]) return false;
    }
    return true;
  }

 private:
  static int device_of(std::size_t stream) {
    return stream % 2 == 0 ? first_device : second_device;
  }

  void step() {
    const std::size_t stream = below(random_, stream_count);
    const std::size_t destination = below(random_, buffer_count);
    const std::size_t source = below(random_, buffer_count);
    REQUIRE(cudaSetDevice(device_of(stream)));
    // A writer waits for the writer and all readers before it, a reader for the writer.
    wait_for(stream, written_[destination]);
    wait_for(stream, written_[source]);
    for (const cudaEvent_t reader : read_[destination]) wait_for(stream, reader);
    if (below(random_, 20) == 0) {
      REQUIRE(cudaLaunchHostFunc(streams_[stream], delay,
                                 reinterpret_cast<void*>(std::uintptr_t{below(random_, 300)})));
    }
    operate(streams_[stream], destination, source);
    const cudaEvent_t done = record(stream);
    written_[destination] = done;
    read_[destination].clear();
    if (source != destination) read_[source].push_back(done);
  }

  void operate(cudaStream_t stream, std::size_t destination, std::size_t source) {
    switch (below(random_, 4)) {
      case 0: return fill(stream, destination);
      case 1: return copy(stream, destination, source);
      case 2: return copy_through_host(stream, destination, source);
      default: return mix_buffers(stream, destination, source);
    }
  }

  void fill(cudaStream_t stream, std::size_t destination) {
    const unsigned value = below(random_, 256);
    REQUIRE(cudaMemsetAsync(buffers_[destination], static_cast<int>(value), sizeof(Buffer),
                            stream));
    model_[destination].fill(value * 0x01010101u);
  }

  void copy(cudaStream_t stream, std::size_t destination, std::size_t source) {
    REQUIRE(cudaMemcpyAsync(buffers_[destination], buffers_[source], sizeof(Buffer),
                            cudaMemcpyDeviceToDevice, stream));
    model_[destination] = model_[source];
  }

  // The registered buffer of the destination is protected by the destination's own edges.
  void copy_through_host(cudaStream_t stream, std::size_t destination, std::size_t source) {
    unsigned* const host = host_[destination].data();
    REQUIRE(cudaMemcpyAsync(host, buffers_[source], sizeof(Buffer), cudaMemcpyDeviceToHost,
                            stream));
    REQUIRE(cudaMemcpyAsync(buffers_[destination], host, sizeof(Buffer), cudaMemcpyHostToDevice,
                            stream));
    model_[destination] = model_[source];
  }

  void mix_buffers(cudaStream_t stream, std::size_t destination, std::size_t source) {
    unsigned* to = buffers_[destination];
    const unsigned* from = buffers_[source];
    unsigned seed = static_cast<unsigned>(random_());
    unsigned count = words;
    void* arguments[] = {&to, &from, &seed, &count};
    REQUIRE(cudaLaunchKernel(kernel_descriptor<&mix>("mix"), 1 + below(random_, 5), 64, arguments,
                             0, stream));
    const Buffer source_values = model_[source];
    mix_here(model_[destination], source_values, seed);
  }

  void wait_for(std::size_t stream, cudaEvent_t event) {
    if (event != nullptr) REQUIRE(cudaStreamWaitEvent(streams_[stream], event));
  }

  cudaEvent_t record(std::size_t stream) {
    cudaEvent_t event = nullptr;
    REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    REQUIRE(cudaEventRecord(event, streams_[stream]));
    events_.push_back(event);
    return event;
  }

  Random random_;
  std::array<unsigned*, buffer_count> buffers_{};
  std::array<Buffer, buffer_count> host_{};
  std::array<Buffer, buffer_count> model_{};
  std::array<cudaStream_t, stream_count> streams_{};
  std::array<cudaEvent_t, buffer_count> written_{};
  std::array<std::vector<cudaEvent_t>, buffer_count> read_;
  std::vector<cudaEvent_t> events_;
};

}  // namespace

void check_threads() {
  constexpr int thread_count = 8;
  std::array<std::atomic<bool>, thread_count> right{};
  std::vector<std::thread> threads;
  for (int index = 0; index < thread_count; ++index) {
    threads.emplace_back([&right, index] {
      right[static_cast<std::size_t>(index)] = work_alone(index, index % 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  bool all = true;
  for (const auto& one : right) all = all && one;
  CHECK(all, "8 threads allocate, copy, record and wait without disturbing one another");
}

void check_random_graphs() {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    RandomGraph graph(seed);
    graph.run(400);
    CHECK(graph.matches_model(), "random graph " + std::to_string(seed) +
                                     " gives what doing its operations in order gives");
  }
}

}  // namespace runtime_test
