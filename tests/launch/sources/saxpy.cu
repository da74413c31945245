// y = a x + y, as a first program does it: one file with kernel, host code and a check.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                        \
  do {                                                                                     \
    const cudaError_t status = (call);                                                     \
    if (status != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      std::exit(EXIT_FAILURE);                                                             \
    }                                                                                      \
  } while (0)

__global__ void saxpy(int n, float a, const float* __restrict__ x, float* __restrict__ y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    y[i] = a * x[i] + y[i];
  }
}

extern "C" __global__ void fill(float* values, float value, size_t count) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) values[i] = value;
}

int main() {
  const int n = 1 << 20;
  float *x = nullptr, *y = nullptr;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&y, n * sizeof(float)));
  fill<<<(n + 255) / 256, 256>>>(x, 1.0f, n);
  fill<<<(n + 255) / 256, 256>>>(y, 2.0f, n);
  saxpy<<<256, 256>>>(n, 3.0f, x, y);
  CHECK(cudaGetLastError());
  std::vector<float> result(n);
  CHECK(cudaMemcpy(result.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost));
  float worst = 0.0f;
  for (const float value : result) worst = std::fmax(worst, std::fabs(value - 5.0f));
  std::printf("largest error: %g\n", worst);
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  return worst == 0.0f ? EXIT_SUCCESS : EXIT_FAILURE;
}
