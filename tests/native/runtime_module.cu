// A module as the compiler of kernels makes them, for the checks of runtime/module_*.cpp: kernels
// of every kind of name, variables, and what can go wrong in a kernel.
#include <cuda_runtime.h>
#include <gridstride/warp_exchange.h>
#include <gridstride/module_table.h>

namespace filter {

__constant__ float weights[3];
__constant__ const int fixed[5] = {2, 3, 5, 7, 11};

}  // namespace filter

__device__ unsigned counter;
__device__ double large[1000];

// Its extern "C" name is its whole name.
extern "C" __global__ void weigh(const float* in, float* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = in[i] * filter::weights[i % 3];
  atomicAdd(&counter, 1u);
}

template <typename Value, int Size>
__global__ void reverse(const Value* in, Value* out) {
  __shared__ Value tile[Size];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[Size - 1 - threadIdx.x];
}

struct Wide {
  double first;
  char last;
};

static __global__ void read_fixed(char, Wide wide, int* out, short) {
  out[threadIdx.x] = filter::fixed[threadIdx.x] + static_cast<int>(wide.first);
}

namespace {

__device__ float first_of(float value) {
  // All of it is written: no compiler makes it smaller.
  __shared__ float firsts[4];
  if (threadIdx.x < 4) firsts[threadIdx.x] = value;
  __syncthreads();
  return firsts[0];
}

__global__ void spread(const float* in, float* out) {
  __shared__ float values[64];
  values[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = first_of(values[threadIdx.x]);
}

}  // namespace

// Ends when the host sets the flag.
__global__ void wait_for(int* flag) {
  while (atomicAdd(flag, 0) == 0) __nanosleep(100);
}

__global__ void write_null(int* address) { *address = 1; }

// Each block adds its neighbours' values, after all blocks wrote theirs.
__global__ void meet(const int* in, int* between, int* out) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) between[blockIdx.x] = sum;
  gridstride::host::grid_barrier();
  if (threadIdx.x == 0) out[blockIdx.x] = between[(blockIdx.x + 1) % gridDim.x];
}

GS_MODULE_BEGIN
GS_MODULE_KERNEL("weigh", weigh)
GS_MODULE_KERNEL("reverse<float, 256>", reverse<float, 256>)
GS_MODULE_KERNEL("reverse<double, 32>", reverse<double, 32>)
GS_MODULE_KERNEL("read_fixed", read_fixed)
GS_MODULE_KERNEL("spread", spread)
GS_MODULE_KERNEL("wait_for", wait_for)
GS_MODULE_KERNEL("write_null", write_null)
GS_MODULE_KERNEL("meet", meet)
GS_MODULE_VARIABLE("filter::weights", filter::weights)
GS_MODULE_VARIABLE("filter::fixed", filter::fixed)
GS_MODULE_VARIABLE("counter", counter)
GS_MODULE_VARIABLE("large", large)
GS_MODULE_END
