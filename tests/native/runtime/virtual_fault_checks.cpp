// Unmapping does not wait: earlier work that runs afterwards is a fault of its device.
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

#include "check.h"
#include "gate.h"
#include "host/device/device.h"
#include "suites.h"
#include "virtual_range.h"

namespace runtime_test {
namespace {

using gridstride::host::fault_description;
using gridstride::host::kernel_descriptor;

constexpr auto fault = cudaErrorIllegalAddress;

__global__ void write_one(unsigned char* address) {
  if (blockIdx.x == 1 && threadIdx.x == 33) *address = 1;
}

// Writes until it faults.
__global__ void write_on(volatile unsigned char* address, std::atomic<int>* started) {
  started->store(1);
  for (;;) *address = 1;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string in_hexadecimal(CUdeviceptr address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", address);
  return text;
}

cudaStream_t stream_of(int device) {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaSetDevice(device));
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

// The fault sticks, and memory and addresses can still be released.
void check_afterwards(int device, cudaStream_t stream) {
  CHECK_STATUS(cudaMemsetAsync(nullptr, 0, 1, stream), fault, "the fault sticks to the device");
  const CUmemAllocationProp properties = memory_of(device);
  CUmemGenericAllocationHandle handle = 0;
  CHECK_RESULT(cuMemCreate(&handle, piece, &properties, 0), fault, "which gives no more memory");
  CHECK(free_memory_of(first_device) == ordinary_capacity, "other devices go on");
  (void)cudaStreamDestroy(stream);
  REQUIRE(cudaSetDevice(first_device));
  (void)cudaGetLastError();
}

void check_kernel() {
  const cudaStream_t stream = stream_of(kernel_victim_device);
  VirtualRange range(kernel_victim_device, 3);
  unsigned char* address = range.data() + piece + 7;
  void* arguments[] = {&address};
  {
    Gate gate(stream);
    REQUIRE(
        cudaLaunchKernel(kernel_descriptor<&write_one>("write_one"), 2, 64, arguments, 0, stream));
    CHECK_RESULT(cuMemUnmap(range.address() + piece, piece), CUDA_SUCCESS,
                 "memory that a kernel is going to use can be unmapped");
  }
  CHECK_STATUS(cudaStreamSynchronize(stream), fault, "and the kernel faults");
  const std::string text = fault_description(kernel_victim_device);
  CHECK(contains(text, "kernel write_one, block (1,0,0), thread (33,0,0)"),
        "the description names kernel, block and thread");
  CHECK(contains(text, "write to address " + in_hexadecimal(range.address() + piece + 7)),
        "and the address");
  CHECK_RESULT(cuMemMap(range.address() + piece, piece, 0, 0, 0), CUDA_ERROR_INVALID_VALUE,
               "arguments are still checked");
  CHECK_RESULT(cuMemUnmap(range.address(), piece), fault, "unmapping the rest tells the fault");
  CHECK_RESULT(cuMemUnmap(range.address(), piece), CUDA_ERROR_INVALID_VALUE, "and unmaps");
  CHECK_RESULT(cuMemUnmap(range.address() + 2 * piece, piece), fault, "each piece");
  check_afterwards(kernel_victim_device, stream);
}

// A kernel in the middle of its work.
void check_running_kernel() {
  const cudaStream_t stream = stream_of(running_victim_device);
  VirtualRange range(running_victim_device, 1);
  std::atomic<int> started{0};
  unsigned char* address = range.data();
  std::atomic<int>* flag = &started;
  void* arguments[] = {&address, &flag};
  REQUIRE(cudaLaunchKernel(kernel_descriptor<&write_on>("write_on"), 1, 1, arguments, 0, stream));
  while (started.load() == 0) std::this_thread::yield();
  // The kernel may fault before the call returns, which then says so, as calls do of earlier ones.
  const auto unmapped = static_cast<cudaError_t>(range.unmap());
  CHECK(unmapped == cudaSuccess || unmapped == fault,
        "memory that a kernel is using can be unmapped");
  CHECK_STATUS(cudaStreamSynchronize(stream), fault, "at once: the kernel faults");
  check_afterwards(running_victim_device, stream);
}

void check_queued_copy() {
  const cudaStream_t stream = stream_of(copy_victim_device);
  VirtualRange source(copy_victim_device, 1);
  VirtualRange target(copy_victim_device, 3);
  {
    Gate gate(stream);
    REQUIRE(cudaMemcpyAsync(target.data(), source.data(), 4096, cudaMemcpyDeviceToDevice, stream));
    REQUIRE(cudaMemcpyAsync(target.data() + 8192, target.data() + 2 * piece - 10, 20,
                            cudaMemcpyDeviceToDevice, stream));
    REQUIRE(cudaMemsetAsync(target.data() + 5, 1, 1, stream));
    CHECK_RESULT(cuMemUnmap(target.address() + 2 * piece, piece), CUDA_SUCCESS,
                 "memory that a copy is going to use can be unmapped");
  }
  CHECK_STATUS(cudaStreamSynchronize(stream), fault, "and the copy becomes a fault");
  const std::string text = fault_description(copy_victim_device);
  const std::string place = in_hexadecimal(target.address() + 2 * piece);
  CHECK(text == "copy of 20 bytes: read of address " + place + ", where no memory is",
        "which names the first address that is not there");
  CHECK(target.data()[5] == 0 && target.data()[8192] == 0,
        "of it and what follows nothing is done");
  CHECK_RESULT(cuMemUnmap(target.address(), 2 * piece), fault, "the rest can be unmapped");
  check_afterwards(copy_victim_device, stream);
}

void check_queued_fill() {
  const cudaStream_t stream = stream_of(fill_victim_device);
  VirtualRange range(fill_victim_device, 5);
  {
    Gate gate(stream);
    REQUIRE(cudaMemsetAsync(range.data(), 1, range.bytes(), stream));
    CHECK_RESULT(range.unmap(), CUDA_SUCCESS, "memory that a fill is going to use can be unmapped");
  }
  CHECK_STATUS(cudaStreamSynchronize(stream), fault, "and the fill becomes a fault");
  CHECK(contains(fault_description(fill_victim_device), "fill of 10485760 bytes: write to address"),
        "which says so");
  check_afterwards(fill_victim_device, stream);
}

// A fill in the middle of its work ends the piece that it has begun, and then faults. On a busy
// machine it may be done before the memory goes, which is no fault.
void check_running_fill() {
  const cudaStream_t stream = stream_of(midway_victim_device);
  cudaError_t status = cudaSuccess;
  for (int round = 0; round < 100 && status == cudaSuccess; ++round) {
    VirtualRange range(midway_victim_device, 32);
    const volatile unsigned char* const first = range.data();
    REQUIRE(cudaMemsetAsync(range.data(), 1, range.bytes(), stream));
    while (*first == 0) std::this_thread::yield();
    const CUresult unmapped = range.unmap();
    if (unmapped != CUDA_SUCCESS) {
      CHECK_RESULT(unmapped, fault, "memory that is being filled is unmapped at once");
    }
    status = cudaStreamSynchronize(stream);
  }
  CHECK_STATUS(status, fault, "a fill whose memory goes away becomes a fault");
  check_afterwards(midway_victim_device, stream);
}

// Access that was there when a copy was enqueued, and then was not.
void check_lost_access() {
  const cudaStream_t stream = stream_of(access_victim_device);
  VirtualRange range(first_device, 1);
  REQUIRE_RESULT(set_access(range.address(), piece, access_victim_device));
  {
    Gate gate(stream);
    REQUIRE(cudaMemsetAsync(range.data(), 1, piece, stream));
    REQUIRE_RESULT(
        set_access(range.address(), piece, access_victim_device, CU_MEM_ACCESS_FLAGS_PROT_READ));
  }
  CHECK_STATUS(cudaStreamSynchronize(stream), fault, "a fill without access becomes a fault");
  const std::string reason =
      "which device " + std::to_string(access_victim_device) + " is not allowed";
  CHECK(contains(fault_description(access_victim_device), reason),
        "which says that it is one of access");
  CHECK_STATUS(cudaMemset(nullptr, 0, 0), fault, "it is the fault of the device that fills");
  REQUIRE(cudaSetDevice(first_device));
  CHECK_STATUS(cudaMemset(range.data(), 1, piece), cudaSuccess, "not of the one with the memory");
  REQUIRE(cudaDeviceSynchronize());
  CHECK_RESULT(range.unmap(), CUDA_SUCCESS, "which is unmapped without one");
  check_afterwards(access_victim_device, stream);
}

}  // namespace

void check_virtual_faults() {
  (void)cudaGetLastError();
  check_kernel();
  check_running_kernel();
  check_queued_copy();
  check_queued_fill();
  check_running_fill();
  check_lost_access();
}

}  // namespace runtime_test
