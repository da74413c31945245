// Streams: order, independence, destruction, handles; and the legacy default stream.
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "check.h"
#include "gate.h"
#include "suites.h"

namespace runtime_test {
namespace {

cudaStream_t make_stream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, flags));
  return stream;
}

// Appends its number to a list: shows in which order operations ran.
struct Note {
  std::vector<int>* list;
  int number;
};

void write_note(void* data) {
  const Note& note = *static_cast<Note*>(data);
  note.list->push_back(note.number);
}

void check_order() {
  constexpr int count = 500;
  std::vector<int> list;
  std::vector<Note> notes;
  for (int number = 0; number < count; ++number) notes.push_back({&list, number});
  int* value = nullptr;
  REQUIRE(cudaMalloc(&value, count * sizeof(int)));
  const cudaStream_t stream = make_stream();
  for (int number = 0; number < count; ++number) {
    REQUIRE(cudaMemsetAsync(value, number & 255, sizeof(int), stream));
    REQUIRE(cudaMemcpyAsync(value + 1, value, sizeof(int), cudaMemcpyDeviceToDevice, stream));
    REQUIRE(cudaLaunchHostFunc(stream, write_note, &notes[static_cast<std::size_t>(number)]));
  }
  REQUIRE(cudaStreamSynchronize(stream));
  bool ordered = list.size() == count;
  for (std::size_t index = 0; index < list.size(); ++index) {
    ordered = ordered && list[index] == static_cast<int>(index);
  }
  CHECK(ordered, "the operations of a stream run in the order of their enqueueing");
  unsigned last = 0;
  REQUIRE(cudaMemcpy(&last, value + 1, sizeof last, cudaMemcpyDeviceToHost));
  CHECK(last == ((count - 1) & 255) * 0x01010101u, "each sees what the one before it wrote");
  REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaFree(value));
}

void check_independence() {
  const cudaStream_t held = make_stream();
  const cudaStream_t free_stream = make_stream();
  int* value = nullptr;
  REQUIRE(cudaMalloc(&value, sizeof(int)));
  {
    Gate gate(held);
    CHECK_STATUS(cudaStreamQuery(held), cudaErrorNotReady, "a stream with work is not ready");
    int result = 5;
    REQUIRE(cudaMemsetAsync(value, 0, sizeof(int), free_stream));
    REQUIRE(cudaMemcpyAsync(&result, value, sizeof(int), cudaMemcpyDeviceToHost, free_stream));
    CHECK_STATUS(cudaStreamSynchronize(free_stream), cudaSuccess,
                 "another stream goes on while one is held");
    CHECK(result == 0, "with right results");
    CHECK_STATUS(cudaStreamQuery(held), cudaErrorNotReady, "the held one is still held");
  }
  CHECK_STATUS(cudaStreamSynchronize(held), cudaSuccess, "it ends when it is let go");
  CHECK_STATUS(cudaStreamQuery(held), cudaSuccess, "and is ready then");
  REQUIRE(cudaStreamDestroy(held));
  REQUIRE(cudaStreamDestroy(free_stream));
  REQUIRE(cudaFree(value));
}

// What CUDA says of cudaMemcpyAsync with memory that is not registered: the call is done with it.
void check_pageable_copies() {
  constexpr std::size_t bytes = 3 << 20;
  std::vector<unsigned char> host(bytes, 7);
  unsigned char* device = nullptr;
  REQUIRE(cudaMalloc(&device, bytes));
  const cudaStream_t stream = make_stream();
  {
    Gate gate(stream);
    std::thread opener([&gate] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      gate.open();
    });
    REQUIRE(cudaMemcpyAsync(device, host.data(), bytes, cudaMemcpyHostToDevice, stream));
    std::fill(host.begin(), host.end(), static_cast<unsigned char>(1));
    opener.join();
  }
  {
    Gate gate(stream);
    std::thread opener([&gate] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      gate.open();
    });
    REQUIRE(cudaMemcpyAsync(host.data(), device, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(host == std::vector<unsigned char>(bytes, 7),
          "copies of pageable memory are done with it when they return");
    opener.join();
  }
  REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaFree(device));
}

void check_registered_copies() {
  std::vector<int> host(1000, 7);
  REQUIRE(cudaHostRegister(host.data(), 1000 * sizeof(int), 0));
  int* device = nullptr;
  REQUIRE(cudaMalloc(&device, 1000 * sizeof(int)));
  // Fills do not wait, and a non-blocking stream does not wait for the stream they are in.
  REQUIRE(cudaMemset(device, 1, 1000 * sizeof(int)));
  REQUIRE(cudaDeviceSynchronize());
  const cudaStream_t stream = make_stream();
  {
    Gate gate(stream);
    REQUIRE(cudaMemcpyAsync(host.data(), device, 1000 * sizeof(int), cudaMemcpyDeviceToHost,
                            stream));
    CHECK(host[999] == 7, "a copy to registered memory returns before it is done");
  }
  REQUIRE(cudaStreamSynchronize(stream));
  CHECK(host[0] == 0x01010101 && host[999] == 0x01010101, "and is done after its stream");
  REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaFree(device));
  REQUIRE(cudaHostUnregister(host.data()));
}

void check_thousand_streams() {
  constexpr std::size_t count = 1000;
  std::vector<cudaStream_t> streams;
  for (std::size_t index = 0; index < count; ++index) streams.push_back(make_stream());
  unsigned char* values = nullptr;
  REQUIRE(cudaMalloc(&values, count));
  for (int round = 1; round <= 3; ++round) {
    for (std::size_t index = 0; index < count; ++index) {
      REQUIRE(cudaMemsetAsync(values + index, static_cast<int>(index % 83) + round, 1,
                              streams[index]));
    }
  }
  REQUIRE(cudaDeviceSynchronize());
  std::vector<unsigned char> result(count);
  REQUIRE(cudaMemcpy(result.data(), values, count, cudaMemcpyDeviceToHost));
  bool right = true;
  for (std::size_t index = 0; index < count; ++index) {
    right = right && result[index] == index % 83 + 3;
  }
  CHECK(right, "1000 streams do their work, and the device waits for all of them");
  for (const cudaStream_t stream : streams) REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaFree(values));
}

void check_destruction() {
  unsigned char* value = nullptr;
  REQUIRE(cudaMalloc(&value, 1));
  REQUIRE(cudaMemset(value, 0, 1));
  REQUIRE(cudaDeviceSynchronize());
  const cudaStream_t stream = make_stream();
  {
    Gate gate(stream);
    REQUIRE(cudaMemsetAsync(value, 9, 1, stream));
    CHECK_STATUS(cudaStreamDestroy(stream), cudaSuccess, "a stream with work can be destroyed");
    CHECK_STATUS(cudaMemsetAsync(value, 1, 1, stream), cudaErrorInvalidResourceHandle,
                 "its handle is invalid at once");
    CHECK_STATUS(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle, "and for ever");
  }
  REQUIRE(cudaDeviceSynchronize());
  unsigned char result = 0;
  REQUIRE(cudaMemcpy(&result, value, 1, cudaMemcpyDeviceToHost));
  CHECK(result == 9, "its work still completes");
  REQUIRE(cudaFree(value));
}

void check_handles() {
  const cudaStream_t stream = make_stream();
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreate(&event));
  int local = 0;
  const cudaStream_t forged[] = {reinterpret_cast<cudaStream_t>(&local),
                                 reinterpret_cast<cudaStream_t>(0x3),
                                 reinterpret_cast<cudaStream_t>(~std::uintptr_t{0}),
                                 reinterpret_cast<cudaStream_t>(event)};
  bool refused = true;
  for (const cudaStream_t handle : forged) {
    refused = refused && cudaStreamSynchronize(handle) == cudaErrorInvalidResourceHandle &&
              cudaStreamDestroy(handle) == cudaErrorInvalidResourceHandle &&
              cudaEventRecord(event, handle) == cudaErrorInvalidResourceHandle;
  }
  CHECK(refused, "forged stream handles are refused");
  CHECK_STATUS(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle,
               "the default stream cannot be destroyed");
  CHECK_STATUS(cudaStreamCreateWithFlags(nullptr, 0), cudaErrorInvalidValue,
               "a stream needs a place for its handle");
  cudaStream_t other = nullptr;
  CHECK_STATUS(cudaStreamCreateWithFlags(&other, 8), cudaErrorInvalidValue, "flags are checked");
  int device = -1;
  REQUIRE(cudaSetDevice(second_device));
  REQUIRE(cudaStreamGetDevice(stream, &device));
  CHECK(device == first_device, "a stream knows its device whatever the current one is");
  REQUIRE(cudaSetDevice(first_device));
  REQUIRE(cudaEventDestroy(event));
  REQUIRE(cudaStreamDestroy(stream));
}

void check_priorities() {
  int least = -1;
  int greatest = 1;
  REQUIRE(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(least == 0 && greatest < 0, "the greatest priority is the smallest number");
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest - 100));
  CHECK(stream != nullptr, "a priority beyond the range becomes its end");
  REQUIRE(cudaStreamDestroy(stream));
}

}  // namespace

void check_streams() {
  check_order();
  check_independence();
  check_pageable_copies();
  check_registered_copies();
  check_thousand_streams();
  check_destruction();
  check_handles();
  check_priorities();
}

void check_legacy_stream() {
  const cudaStream_t blocking = make_stream(cudaStreamDefault);
  const cudaStream_t other_blocking = make_stream(cudaStreamDefault);
  const cudaStream_t non_blocking = make_stream();
  unsigned char* value = nullptr;
  REQUIRE(cudaMalloc(&value, 2));
  {
    Gate gate(blocking);
    REQUIRE(cudaMemsetAsync(value, 1, 1, nullptr));
    CHECK_STATUS(cudaStreamQuery(nullptr), cudaErrorNotReady,
                 "the legacy stream waits for a blocking stream");
    REQUIRE(cudaMemsetAsync(value, 2, 1, other_blocking));
    CHECK_STATUS(cudaStreamQuery(other_blocking), cudaErrorNotReady,
                 "and a blocking stream for the legacy stream");
    REQUIRE(cudaMemsetAsync(value + 1, 3, 1, non_blocking));
    CHECK_STATUS(cudaStreamSynchronize(non_blocking), cudaSuccess,
                 "a non-blocking stream waits for neither");
    REQUIRE(cudaSetDevice(second_device));
    CHECK_STATUS(cudaStreamSynchronize(nullptr), cudaSuccess,
                 "nor does another device's legacy stream");
    REQUIRE(cudaSetDevice(first_device));
  }
  CHECK_STATUS(cudaStreamSynchronize(nullptr), cudaSuccess, "the legacy stream ends");
  REQUIRE(cudaDeviceSynchronize());
  unsigned char result[2] = {};
  REQUIRE(cudaMemcpy(result, value, 2, cudaMemcpyDeviceToHost));
  CHECK(result[0] == 2 && result[1] == 3, "with everything in its order");
  CHECK_STATUS(cudaStreamSynchronize(cudaStreamPerThread), cudaErrorNotSupported,
               "per-thread default streams are not supported");
  for (const cudaStream_t stream : {blocking, other_blocking, non_blocking}) {
    REQUIRE(cudaStreamDestroy(stream));
  }
  REQUIRE(cudaFree(value));
}

}  // namespace runtime_test
