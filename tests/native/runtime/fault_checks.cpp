// Faults: they stick to their device, drop its pending work, and leave other devices alone.
#include <string>
#include <thread>

#include "check.h"
#include "gate.h"
#include "host/device/device.h"
#include "suites.h"

namespace runtime_test {
namespace {

using gridstride::host::fault_description;
using gridstride::host::kernel_descriptor;

__global__ void write_to(int* address) { *address = 1; }

__global__ void fail_at(unsigned thread) {
  if (threadIdx.x == thread) __trap();
}

cudaError_t launch_write(int* address, cudaStream_t stream) {
  void* arguments[] = {&address};
  return cudaLaunchKernel(kernel_descriptor<&write_to>("write_to"), 1, 1, arguments, 0, stream);
}

void check_other_devices() {
  REQUIRE(cudaSetDevice(first_device));
  CHECK_STATUS(cudaGetLastError(), cudaErrorIllegalAddress,
               "the thread's last error outlives the change of device");
  CHECK_STATUS(cudaGetLastError(), cudaSuccess, "but does not stick on a sound one");
  int* value = nullptr;
  CHECK_STATUS(cudaMalloc(&value, sizeof(int)), cudaSuccess, "other devices allocate");
  CHECK_STATUS(launch_write(value, nullptr), cudaSuccess, "launch");
  int result = 0;
  CHECK_STATUS(cudaMemcpy(&result, value, sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess,
               "and copy");
  CHECK(result == 1, "with right results");
  REQUIRE(cudaFree(value));
  CHECK(fault_description(first_device).empty(), "and have no fault to describe");
  CHECK(fault_description(device_total).empty(), "nor has a device that does not exist");
}

void check_sticky_fault() {
  REQUIRE(cudaSetDevice(victim_device));
  int* kept = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaMalloc(&kept, sizeof(int)));
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  REQUIRE(cudaEventCreate(&event));
  CHECK_STATUS(launch_write(nullptr, stream), cudaSuccess, "a launch that will fault is accepted");
  const auto fault = cudaErrorIllegalAddress;
  CHECK_STATUS(cudaStreamSynchronize(stream), fault, "waiting for it tells the fault");
  CHECK_STATUS(cudaDeviceSynchronize(), fault, "so does waiting for the device");
  CHECK_STATUS(launch_write(kept, stream), fault, "a later launch");
  CHECK_STATUS(cudaMemsetAsync(kept, 0, 4, stream), fault, "a fill");
  int local = 0;
  CHECK_STATUS(cudaMemcpy(&local, kept, 4, cudaMemcpyDeviceToHost), fault, "a copy");
  int* more = nullptr;
  CHECK_STATUS(cudaMalloc(&more, 4), fault, "an allocation");
  cudaStream_t other = nullptr;
  CHECK_STATUS(cudaStreamCreate(&other), fault, "a new stream");
  CHECK_STATUS(cudaEventRecord(event, stream), fault, "a recording");
  CHECK_STATUS(cudaEventQuery(event), fault, "a query of an event");
  CHECK_STATUS(cudaStreamQuery(stream), fault, "a query of a stream");
  CHECK_STATUS(cudaGetLastError(), fault, "the last error");
  CHECK_STATUS(cudaGetLastError(), fault, "and the last error read again");
  std::thread([&] {
    REQUIRE(cudaSetDevice(victim_device));
    CHECK_STATUS(cudaPeekAtLastError(), fault, "also from another thread");
  }).join();
  const std::string description = fault_description(victim_device);
  CHECK(description.find("write_to") != std::string::npos, "the description names the kernel");
  std::size_t free_before = gridstride::host::find_device(victim_device)->memory().free_bytes();
  CHECK_STATUS(cudaFree(kept), fault, "freeing tells the fault");
  CHECK(gridstride::host::find_device(victim_device)->memory().free_bytes() == free_before + 512,
        "and frees");
  CHECK_STATUS(cudaEventDestroy(event), fault, "as does destroying an event");
  CHECK_STATUS(cudaStreamDestroy(stream), fault, "and a stream");
  CHECK_STATUS(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle, "which is gone then");
  (void)cudaDeviceSynchronize();
  check_other_devices();
}

// Work behind the fault is dropped, but its events complete: a stream of another device goes on.
void check_pending_work() {
  REQUIRE(cudaSetDevice(first_device));
  cudaStream_t outside = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&outside, cudaStreamNonBlocking));
  unsigned char* witness = nullptr;
  REQUIRE(cudaMalloc(&witness, 1));
  REQUIRE(cudaMemset(witness, 1, 1));
  REQUIRE(cudaDeviceSynchronize());
  REQUIRE(cudaSetDevice(pending_victim_device));
  cudaStream_t inside = nullptr;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&inside, cudaStreamNonBlocking));
  REQUIRE(cudaEventCreate(&event));
  {
    Gate gate(inside);
    REQUIRE(launch_write(nullptr, inside));
    REQUIRE(cudaMemsetAsync(witness, 2, 1, inside));
    REQUIRE(cudaEventRecord(event, inside));
    REQUIRE(cudaStreamWaitEvent(outside, event));
    CHECK_STATUS(cudaStreamQuery(outside), cudaErrorNotReady,
                 "a stream waits for the victim's event");
  }
  CHECK_STATUS(cudaStreamSynchronize(outside), cudaSuccess, "and goes on after the fault");
  CHECK_STATUS(cudaEventSynchronize(event), cudaErrorIllegalAddress, "which the event tells");
  REQUIRE(cudaSetDevice(first_device));
  unsigned char result = 0;
  REQUIRE(cudaMemcpy(&result, witness, 1, cudaMemcpyDeviceToHost));
  CHECK(result == 1, "work behind the fault is dropped");
  REQUIRE(cudaFree(witness));
  REQUIRE(cudaStreamDestroy(outside));
  (void)cudaStreamDestroy(inside);
  (void)cudaEventDestroy(event);
  (void)cudaGetLastError();
}

void check_trap() {
  REQUIRE(cudaSetDevice(assert_victim_device));
  unsigned thread = 33;
  void* arguments[] = {&thread};
  REQUIRE(cudaLaunchKernel(kernel_descriptor<&fail_at>("fail_at"), 2, 64, arguments, 0, nullptr));
  CHECK_STATUS(cudaDeviceSynchronize(), cudaErrorLaunchFailure, "a trap is a launch failure");
  CHECK(fault_description(assert_victim_device).find("fail_at") != std::string::npos,
        "of the kernel that trapped");
  REQUIRE(cudaSetDevice(first_device));
  (void)cudaGetLastError();
}

}  // namespace

void check_faults() {
  (void)cudaGetLastError();
  check_sticky_fault();
  check_pending_work();
  check_trap();
}

}  // namespace runtime_test
