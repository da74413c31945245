// Histograms of bytes and of floats: counted in shared memory, one atomic for each bin and block at
// the end. The shared array belongs to the file, as all kernels use it.
#include <cuda_runtime.h>

extern __shared__ unsigned int local_bins[];

namespace {

__device__ void clear_bins(int bins) {
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) local_bins[bin] = 0;
  __syncthreads();
}

__device__ void add_bins(unsigned int* total, int bins) {
  __syncthreads();
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
    if (local_bins[bin] != 0) atomicAdd(&total[bin], local_bins[bin]);
  }
}

}  // namespace

extern "C" {

__global__ void histogram_bytes(const unsigned char* data, size_t n, unsigned int* total) {
  clear_bins(256);
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
       i += (size_t)gridDim.x * blockDim.x) {
    atomicAdd(&local_bins[data[i]], 1u);
  }
  add_bins(total, 256);
}

// Values outside of [low, high) go to the first and the last bin.
__global__ void histogram_floats(const float* data, int n, float low, float high, int bins,
                                 unsigned int* total) {
  clear_bins(bins);
  const float scale = bins / (high - low);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int bin = min(max(__float2int_rd((data[i] - low) * scale), 0), bins - 1);
    atomicInc(&local_bins[bin], ~0u);
  }
  add_bins(total, bins);
}

}  // extern "C"
