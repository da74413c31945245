// C = A B of half precision with float sums, tile by tile, and an activation in bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
struct Convert;
template <>
struct Convert<half> {
  __device__ static float widen(half value) { return __half2float(value); }
  __device__ static half narrow(float value) { return __float2half(value); }
};
template <>
struct Convert<float> {
  __device__ static float widen(float value) { return value; }
  __device__ static float narrow(float value) { return value; }
};

template <typename T, int TILE = 16>
__global__ void matmul(const T* a, const T* b, T* c, int m, int n, int k) {
  __shared__ T a_tile[TILE][TILE];
  __shared__ T b_tile[TILE][TILE + 2];
  const int row = blockIdx.y * TILE + threadIdx.y;
  const int column = blockIdx.x * TILE + threadIdx.x;
  const T zero = Convert<T>::narrow(0.0f);
  float sum = 0.0f;
  for (int start = 0; start < k; start += TILE) {
    const int a_column = start + threadIdx.x, b_row = start + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] = row < m && a_column < k ? a[row * k + a_column] : zero;
    b_tile[threadIdx.y][threadIdx.x] = b_row < k && column < n ? b[b_row * n + column] : zero;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++) {
      sum += Convert<T>::widen(a_tile[threadIdx.y][i]) * Convert<T>::widen(b_tile[i][threadIdx.x]);
    }
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = Convert<T>::narrow(sum);
}

template __global__ void matmul<half, 16>(const half*, const half*, half*, int, int, int);
template __global__ void matmul<float, 8>(const float*, const float*, float*, int, int, int);

// Two elements at a time.
__global__ void scale_pairs(const half2* x, half2* y, half factor, int pairs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pairs) y[i] = __hfma2(x[i], __half2half2(factor), __float2half2_rn(1.0f));
}

__global__ void silu(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float value = __bfloat162float(x[i]);
  y[i] = __float2bfloat16(value / (1.0f + __expf(-value)));
}
