// Launches: accepted and refused ones, and how kernels and copies share streams.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"
#include "cuda.h"
#include "gate.h"
#include "host/execution/worker_pool.h"
#include "suites.h"

namespace runtime_test {
namespace {

using gridstride::host::kernel_descriptor;

__global__ void scale(float factor, float* values, unsigned long long count) {
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += 1ull * gridDim.x * blockDim.x) {
    values[i] *= factor;
  }
}

__global__ void nothing() {}

// Arguments of every width, which the runtime has to copy with their alignments.
__global__ void store_all(double* out, char a, short b, int c, long long d, float e, double f) {
  if (threadIdx.x != 0) return;
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = static_cast<double>(d);
  out[4] = e;
  out[5] = f;
}

// Ends when the host, or another kernel, sets the flag.
__global__ void wait_for_flag(std::atomic<int>* flag, std::atomic<int>* started) {
  started->store(1);
  while (flag->load() == 0) __nanosleep(100);
}

__global__ void set_flag(std::atomic<int>* flag) { flag->store(1); }

template <typename... Arguments>
cudaError_t launch(const void* function, dim3 grid, dim3 block, std::size_t shared,
                   cudaStream_t stream, Arguments... arguments) {
  void* addresses[] = {&arguments..., nullptr};
  return cudaLaunchKernel(function, grid, block, addresses, shared, stream);
}

void check_results() {
  constexpr unsigned long long count = 100003;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 1000);
  float* device = nullptr;
  REQUIRE(cudaMalloc(&device, count * sizeof(float)));
  REQUIRE(cudaMemcpy(device, values.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  const void* const kernel = kernel_descriptor<&scale>("scale");
  REQUIRE(launch(kernel, 57, 256, 0, nullptr, 2.0f, device, count));
  std::vector<float> result(count);
  REQUIRE(cudaMemcpy(result.data(), device, count * sizeof(float), cudaMemcpyDeviceToHost));
  bool right = true;
  for (std::size_t i = 0; i < count; ++i) right = right && result[i] == 2 * values[i];
  CHECK(right, "a kernel between two copies of one stream sees the first and feeds the second");
  REQUIRE(cudaFree(device));
}

void check_arguments() {
  double* out = nullptr;
  REQUIRE(cudaMalloc(&out, 6 * sizeof(double)));
  const void* const kernel = kernel_descriptor<&store_all>("store_all");
  REQUIRE(launch(kernel, 1, 32, 0, nullptr, out, char{-7}, short{-300}, 70000, -(1ll << 40), 0.5f,
                 0.1));
  double result[6] = {};
  REQUIRE(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
  const double expected[6] = {-7, -300, 70000, -1099511627776.0, 0.5, 0.1};
  CHECK(std::memcmp(result, expected, sizeof result) == 0, "arguments of all widths arrive");
  void* addresses[] = {&out, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
  CHECK_STATUS(cudaLaunchKernel(kernel, 1, 1, addresses, 0, nullptr), cudaErrorInvalidValue,
               "a missing argument is refused");
  CHECK_STATUS(cudaLaunchKernel(kernel, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidValue,
               "missing arguments are refused");
  REQUIRE(cudaFree(out));
}

void check_geometry() {
  const void* const kernel = kernel_descriptor<&nothing>("nothing");
  struct Case {
    dim3 grid;
    dim3 block;
    cudaError_t expected;
    const char* statement;
  };
  const auto invalid = cudaErrorInvalidConfiguration;
  const Case cases[] = {
      {1, 1, cudaSuccess, "one thread is a launch"},
      {1, 1024, cudaSuccess, "1024 threads are a block"},
      {1, 1025, invalid, "1025 are not"},
      {1, {32, 32, 1}, cudaSuccess, "32 by 32 threads are a block"},
      {1, {32, 33, 1}, invalid, "32 by 33 are not"},
      {1, {1, 1, 64}, cudaSuccess, "a block may be 64 deep"},
      {1, {1, 1, 65}, invalid, "but not 65"},
      {1, {65536, 65536, 1}, invalid, "2^32 threads do not become none"},
      {1, {1024, 1024, 64}, invalid, "2^26 threads are no block"},
      {1, 0, invalid, "no threads are refused"},
      {0, 1, invalid, "no blocks are refused"},
      {{1, 0, 1}, 1, invalid, "no blocks in y are refused"},
      {{1, 1, 0}, 1, invalid, "no blocks in z are refused"},
      {{1, 65535, 1}, 1, cudaSuccess, "65535 blocks in y are a grid"},
      {{1, 65536, 1}, 1, invalid, "65536 are not"},
      {{1, 1, 65536}, 1, invalid, "nor are 65536 in z"},
      {{1u << 31, 1, 1}, 1, invalid, "2^31 blocks in x are refused"},
  };
  for (const Case& one : cases) {
    CHECK_STATUS(cudaLaunchKernel(kernel, one.grid, one.block, nullptr, 0, nullptr), one.expected,
                 one.statement);
  }
  CHECK_STATUS(cudaDeviceSynchronize(), cudaSuccess, "what was accepted ran");
}

void check_functions() {
  int local = 0;
  for (const void* function : {static_cast<const void*>(nullptr), static_cast<const void*>(&local),
                               reinterpret_cast<const void*>(0x10)}) {
    cudaFuncAttributes attributes;
    CHECK_STATUS(cudaLaunchKernel(function, 1, 1, nullptr, 0, nullptr),
                 cudaErrorInvalidDeviceFunction, "what is no kernel is not launched");
    CHECK_STATUS(cudaFuncGetAttributes(&attributes, function), cudaErrorInvalidDeviceFunction,
                 "and has no attributes");
  }
  const void* const kernel = kernel_descriptor<&nothing>("nothing");
  CHECK_STATUS(cudaLaunchKernel(kernel, 1, 1, nullptr, 0, reinterpret_cast<cudaStream_t>(0x77)),
               cudaErrorInvalidResourceHandle, "a forged stream is refused");
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream));
  REQUIRE(cudaSetDevice(second_device));
  CHECK_STATUS(cudaLaunchKernel(kernel, 1, 1, nullptr, 0, stream), cudaErrorInvalidResourceHandle,
               "a stream of another than the current device is refused");
  REQUIRE(cudaSetDevice(first_device));
  REQUIRE(cudaStreamDestroy(stream));
}

void check_shared_memory() {
  const void* const kernel = kernel_descriptor<&nothing>("nothing");
  cudaFuncAttributes attributes;
  REQUIRE(cudaFuncGetAttributes(&attributes, kernel));
  CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.binaryVersion == 89 &&
            attributes.maxDynamicSharedSizeBytes == 48 * 1024,
        "a kernel has the limits of the device");
  const auto launch_with = [&](std::size_t bytes) {
    return cudaLaunchKernel(kernel, 1, 1, nullptr, bytes, nullptr);
  };
  CHECK_STATUS(launch_with(48 * 1024), cudaSuccess, "48 KiB of dynamic shared memory can be had");
  CHECK_STATUS(launch_with(48 * 1024 + 1), cudaErrorInvalidValue, "more cannot");
  CHECK_STATUS(launch_with(SIZE_MAX), cudaErrorInvalidValue, "nor can the largest size");
  const auto attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
  CHECK_STATUS(cudaFuncSetAttribute(kernel, attribute, 99 * 1024 + 1), cudaErrorInvalidValue,
               "the opt-in limit cannot be passed");
  CHECK_STATUS(cudaFuncSetAttribute(kernel, attribute, -1), cudaErrorInvalidValue,
               "nor can it be negative");
  CHECK_STATUS(cudaFuncSetAttribute(kernel, attribute, 99 * 1024), cudaSuccess,
               "up to it launches can be allowed more");
  CHECK_STATUS(launch_with(99 * 1024), cudaSuccess, "and then have it");
  REQUIRE(cudaSetDevice(second_device));
  CHECK_STATUS(launch_with(99 * 1024), cudaErrorInvalidValue, "on that device only");
  REQUIRE(cudaSetDevice(first_device));
  REQUIRE(cudaDeviceSynchronize());
}

// A kernel that waits must not keep copies of another stream, or the kernel it waits for, away. It
// keeps its worker, of which there are two at least unless the environment says otherwise.
void check_overlap() {
  if (gridstride::host::WorkerPool::instance().size() < 2) return;
  std::atomic<int> flag{0};
  std::atomic<int> started{0};
  cudaStream_t waiting = nullptr;
  cudaStream_t working = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
  REQUIRE(cudaStreamCreateWithFlags(&working, cudaStreamNonBlocking));
  std::vector<unsigned char> host(3 << 20, 5);
  unsigned char* device = nullptr;
  REQUIRE(cudaMalloc(&device, host.size()));
  REQUIRE(launch(kernel_descriptor<&wait_for_flag>("wait_for_flag"), 1, 1, 0, waiting, &flag,
                 &started));
  while (started.load() == 0) std::this_thread::yield();
  REQUIRE(cudaMemcpyAsync(device, host.data(), host.size(), cudaMemcpyHostToDevice, working));
  CHECK_STATUS(cudaStreamSynchronize(working), cudaSuccess,
               "a large copy completes while a kernel of another stream runs");
  CHECK_STATUS(cudaStreamQuery(waiting), cudaErrorNotReady, "which is still running");
  REQUIRE(launch(kernel_descriptor<&set_flag>("set_flag"), 1, 1, 0, working, &flag));
  CHECK_STATUS(cudaStreamSynchronize(waiting), cudaSuccess,
               "until a second kernel lets the first one end");
  REQUIRE(cudaDeviceSynchronize());
  REQUIRE(cudaStreamDestroy(waiting));
  REQUIRE(cudaStreamDestroy(working));
  REQUIRE(cudaFree(device));
}

__global__ void write_one(int* value) { *value = 1; }

// A GPU needs cudaDeviceEnablePeerAccess for this.
void check_memory_of_peers() {
  int* value = nullptr;
  int result = 0;
  REQUIRE(cudaSetDevice(small_device));
  REQUIRE(cudaMalloc(&value, sizeof *value));
  REQUIRE(cudaSetDevice(first_device));
  REQUIRE(launch(kernel_descriptor<&write_one>("write_one"), 1, 1, 0, nullptr, value));
  CHECK_STATUS(cudaDeviceSynchronize(), cudaSuccess, "a kernel reaches the memory of all devices");
  REQUIRE(cudaMemcpy(&result, value, sizeof result, cudaMemcpyDefault));
  CHECK(result == 1, "and writes it");
  REQUIRE(cudaFree(value));
}

__global__ void never_launched() {}

// CUDA loads a kernel at its first launch, or when it is told to.
void check_loading() {
  const auto function_of = [](const void* kernel) {
    cudaKernel_t found = nullptr;
    CUfunction function = nullptr;
    REQUIRE(cudaGetKernel(&found, kernel));
    REQUIRE(static_cast<cudaError_t>(cuKernelGetFunction(&function, found)));
    return function;
  };
  const auto is_loaded = [](CUfunction function) {
    CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_UNLOADED;
    REQUIRE(static_cast<cudaError_t>(cuFuncIsLoaded(&state, function)));
    return state == CU_FUNCTION_LOADING_STATE_LOADED;
  };
  const void* const kernel = kernel_descriptor<&never_launched>("never_launched");
  const CUfunction function = function_of(kernel);
  CHECK(!is_loaded(function), "a kernel is not loaded before its first launch");
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    Gate gate(stream);
    REQUIRE(launch(kernel, 1, 1, 0, nullptr));
    CHECK(is_loaded(function), "which loads it, and waits for no other stream");
    REQUIRE(cudaStreamSynchronize(nullptr));
  }
  REQUIRE(cudaSetDevice(second_device));
  CHECK(!is_loaded(function), "on this device alone");
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK(cuFuncLoad(function) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a capture forbids loading");
  cudaGraph_t graph = nullptr;
  CHECK_STATUS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated, "as usual");
  CHECK(cuFuncLoad(function) == CUDA_SUCCESS && is_loaded(function), "otherwise it can be loaded");
  REQUIRE(cudaSetDevice(first_device));
  CHECK(cuFuncLoad(nullptr) == CUDA_ERROR_INVALID_HANDLE, "there is no function 0");
  REQUIRE(cudaStreamDestroy(stream));
}

}  // namespace

void check_launches() {
  check_results();
  check_arguments();
  check_geometry();
  check_functions();
  check_shared_memory();
  check_overlap();
  check_loading();
  check_memory_of_peers();
}

}  // namespace runtime_test
