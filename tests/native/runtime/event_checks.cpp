// Events: waiting for them in streams and threads, times, and refused calls.
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "gate.h"
#include "suites.h"

namespace runtime_test {
namespace {

cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

cudaEvent_t make_event(unsigned flags = cudaEventDefault) {
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&event, flags));
  return event;
}

// Two streams on one byte: the first writes 1 after a gate, the second copies it.
unsigned char copied_value(bool with_wait) {
  unsigned char* value = nullptr;
  REQUIRE(cudaMalloc(&value, 2));
  REQUIRE(cudaMemset(value, 0, 2));
  REQUIRE(cudaDeviceSynchronize());
  const cudaStream_t writer = make_stream();
  const cudaStream_t reader = make_stream();
  const cudaEvent_t written = make_event(cudaEventDisableTiming);
  {
    Gate gate(writer);
    REQUIRE(cudaMemsetAsync(value, 1, 1, writer));
    REQUIRE(cudaEventRecord(written, writer));
    if (with_wait) REQUIRE(cudaStreamWaitEvent(reader, written));
    REQUIRE(cudaMemcpyAsync(value + 1, value, 1, cudaMemcpyDeviceToDevice, reader));
    if (!with_wait) REQUIRE(cudaStreamSynchronize(reader));
  }
  REQUIRE(cudaDeviceSynchronize());
  unsigned char result = 0;
  REQUIRE(cudaMemcpy(&result, value + 1, 1, cudaMemcpyDeviceToHost));
  REQUIRE(cudaEventDestroy(written));
  REQUIRE(cudaStreamDestroy(writer));
  REQUIRE(cudaStreamDestroy(reader));
  REQUIRE(cudaFree(value));
  return result;
}

void check_edges() {
  CHECK(copied_value(true) == 1, "a stream that waits for an event sees what came before it");
  CHECK(copied_value(false) == 0, "one that does not wait overtakes");
}

// A wait means the recording of its time: recording again must not delay it.
void check_captured_record() {
  const cudaStream_t first = make_stream();
  const cudaStream_t second = make_stream();
  const cudaStream_t waiting = make_stream();
  const cudaEvent_t event = make_event();
  CHECK_STATUS(cudaStreamWaitEvent(waiting, event), cudaSuccess,
               "waiting for an event without recording succeeds");
  CHECK_STATUS(cudaStreamQuery(waiting), cudaSuccess, "and waits for nothing");
  {
    Gate gate(first);
    REQUIRE(cudaEventRecord(event, second));
    REQUIRE(cudaStreamWaitEvent(waiting, event));
    REQUIRE(cudaEventRecord(event, first));
    CHECK_STATUS(cudaStreamSynchronize(waiting), cudaSuccess,
                 "a wait means the latest recording when it was enqueued");
    CHECK_STATUS(cudaEventQuery(event), cudaErrorNotReady, "a query the latest of all");
    REQUIRE(cudaStreamWaitEvent(waiting, event));
    CHECK_STATUS(cudaStreamQuery(waiting), cudaErrorNotReady, "as does a later wait");
    CHECK_STATUS(cudaEventDestroy(event), cudaSuccess, "an event in use can be destroyed");
  }
  CHECK_STATUS(cudaStreamSynchronize(waiting), cudaSuccess, "its waiters go on when it completes");
  for (const cudaStream_t stream : {first, second, waiting}) REQUIRE(cudaStreamDestroy(stream));
}

// Longer than any recursion would stand, each stream waiting for the one before it.
void check_long_chain() {
  constexpr std::size_t length = 2000;
  std::vector<cudaStream_t> streams;
  const cudaEvent_t event = make_event(cudaEventDisableTiming);
  unsigned char* values = nullptr;
  REQUIRE(cudaMalloc(&values, length + 1));
  REQUIRE(cudaMemset(values, 0, length + 1));
  REQUIRE(cudaMemset(values, 77, 1));
  REQUIRE(cudaDeviceSynchronize());
  for (std::size_t index = 0; index < length; ++index) streams.push_back(make_stream());
  {
    Gate gate(streams[0]);
    for (std::size_t index = 0; index < length; ++index) {
      if (index > 0) REQUIRE(cudaStreamWaitEvent(streams[index], event));
      REQUIRE(cudaMemcpyAsync(values + index + 1, values + index, 1, cudaMemcpyDeviceToDevice,
                              streams[index]));
      REQUIRE(cudaEventRecord(event, streams[index]));
    }
    // Records without work between them complete in one go.
    for (std::size_t index = 0; index < length; ++index) {
      REQUIRE(cudaStreamWaitEvent(streams[index], event));
      REQUIRE(cudaEventRecord(event, streams[index]));
    }
  }
  REQUIRE(cudaEventSynchronize(event));
  unsigned char last = 0;
  REQUIRE(cudaMemcpy(&last, values + length, 1, cudaMemcpyDeviceToHost));
  CHECK(last == 77, "a value passes through a chain of 2000 streams");
  REQUIRE(cudaDeviceSynchronize());
  for (const cudaStream_t stream : streams) REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaEventDestroy(event));
  REQUIRE(cudaFree(values));
}

void sleep_twenty_milliseconds(void*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

void check_times() {
  const cudaStream_t stream = make_stream();
  const cudaEvent_t start = make_event();
  const cudaEvent_t end = make_event();
  const cudaEvent_t untimed = make_event(cudaEventDisableTiming);
  float milliseconds = -1;
  CHECK_STATUS(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle,
               "events without recording have no time between them");
  CHECK_STATUS(cudaEventQuery(start), cudaSuccess, "an event without recording is ready");
  CHECK_STATUS(cudaEventSynchronize(start), cudaSuccess, "and waiting for it returns");
  REQUIRE(cudaEventRecord(start, stream));
  REQUIRE(cudaLaunchHostFunc(stream, sleep_twenty_milliseconds, nullptr));
  REQUIRE(cudaEventRecord(end, stream));
  REQUIRE(cudaEventRecord(untimed, stream));
  CHECK_STATUS(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady,
               "a time is not ready before both events are");
  REQUIRE(cudaEventSynchronize(end));
  REQUIRE(cudaEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 20 && milliseconds < 2000,
        "the time between events is the time of the work between them");
  REQUIRE(cudaEventElapsedTime(&milliseconds, end, start));
  CHECK(milliseconds <= -20, "and negative in the other order");
  REQUIRE(cudaEventSynchronize(untimed));
  CHECK_STATUS(cudaEventElapsedTime(&milliseconds, start, untimed),
               cudaErrorInvalidResourceHandle, "an event without timing has no time");
  for (const cudaEvent_t event : {start, end, untimed}) REQUIRE(cudaEventDestroy(event));
  REQUIRE(cudaStreamDestroy(stream));
}

void check_refusals() {
  const cudaStream_t stream = make_stream();
  const cudaEvent_t destroyed = make_event();
  REQUIRE(cudaEventDestroy(destroyed));
  int local = 0;
  bool refused = true;
  for (const cudaEvent_t handle : {destroyed, reinterpret_cast<cudaEvent_t>(&local),
                                   reinterpret_cast<cudaEvent_t>(stream), cudaEvent_t{nullptr}}) {
    float milliseconds = 0;
    refused = refused && cudaEventRecord(handle, stream) == cudaErrorInvalidResourceHandle &&
              cudaEventQuery(handle) == cudaErrorInvalidResourceHandle &&
              cudaEventSynchronize(handle) == cudaErrorInvalidResourceHandle &&
              cudaEventDestroy(handle) == cudaErrorInvalidResourceHandle &&
              cudaStreamWaitEvent(stream, handle) == cudaErrorInvalidResourceHandle &&
              cudaEventElapsedTime(&milliseconds, handle, handle) ==
                  cudaErrorInvalidResourceHandle;
  }
  CHECK(refused, "destroyed and forged event handles are refused");
  cudaEvent_t event = nullptr;
  CHECK_STATUS(cudaEventCreateWithFlags(&event, 0x100), cudaErrorInvalidValue,
               "flags are checked");
  CHECK_STATUS(cudaEventCreate(nullptr), cudaErrorInvalidValue,
               "an event needs a place for its handle");
  REQUIRE(cudaSetDevice(second_device));
  event = make_event();
  REQUIRE(cudaSetDevice(first_device));
  CHECK_STATUS(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle,
               "an event is recorded in streams of its device only");
  CHECK_STATUS(cudaStreamWaitEvent(stream, event), cudaSuccess,
               "but waited for in those of all devices");
  REQUIRE(cudaEventDestroy(event));
  REQUIRE(cudaStreamDestroy(stream));
}

void check_across_devices() {
  const cudaStream_t here = make_stream();
  REQUIRE(cudaSetDevice(second_device));
  const cudaStream_t there = make_stream();
  const cudaEvent_t event = make_event();
  {
    Gate gate(there);
    REQUIRE(cudaEventRecord(event, there));
    REQUIRE(cudaStreamWaitEvent(here, event));
    CHECK_STATUS(cudaStreamQuery(here), cudaErrorNotReady,
                 "a stream waits for another device's event");
    REQUIRE(cudaSetDevice(huge_device));
    CHECK_STATUS(cudaDeviceSynchronize(), cudaSuccess, "a third device waits for nobody");
  }
  CHECK_STATUS(cudaStreamSynchronize(here), cudaSuccess, "and goes on after it");
  REQUIRE(cudaSetDevice(first_device));
  REQUIRE(cudaEventDestroy(event));
  REQUIRE(cudaStreamDestroy(here));
  REQUIRE(cudaStreamDestroy(there));
}

}  // namespace

void check_events() {
  check_edges();
  check_captured_record();
  check_long_chain();
  check_times();
  check_refusals();
  check_across_devices();
}

}  // namespace runtime_test
