// Prefix sums of blocks, with the checks that one writes while getting them right.
#include <assert.h>
#include <cstdio>

#include <cuda_runtime.h>

#ifndef BLOCK
#define BLOCK 256
#endif

#define LANE (static_cast<int>(threadIdx.x) & 31)
#define WARP (static_cast<int>(threadIdx.x) >> 5)

__device__ __noinline__ int scan_warp(int value) {
  for (int offset = 1; offset < 32; offset <<= 1) {
    const int other = __shfl_up_sync(0xffffffffu, value, offset);
    if (LANE >= offset) value += other;
  }
  return value;
}

// Inclusive within each block; the sums of the blocks go to `totals`, if that is given.
__global__ void __launch_bounds__(BLOCK) scan_blocks(const int* in, int* out, int* totals, int n) {
  __shared__ volatile int warp_sums[BLOCK / 32];
  assert(blockDim.x == BLOCK && "launch with blocks of BLOCK threads");
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  int value = scan_warp(i < n ? in[i] : 0);
  if (LANE == 31) warp_sums[WARP] = value;
  __syncthreads();
  for (int warp = 0; warp < WARP; ++warp) value += warp_sums[warp];
  if (i < n) out[i] = value;
  if (totals != nullptr && threadIdx.x == BLOCK - 1) totals[blockIdx.x] = value;
}

__global__ void add_before(int* out, const int* scanned_totals, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (blockIdx.x > 0 && i < n) out[i] += scanned_totals[blockIdx.x - 1];
}

__global__ void verify(const int* in, const int* out, int n, int* wrong) {
  const long long begin = clock64();
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += in[i];
    if (out[i] == sum) continue;
    printf("out[%d] is %d, not %d\n", i, out[i], sum);
    atomicExch(wrong, 1);
    return;
  }
  const clock_t end = clock();
  printf("%d prefix sums are right (%s)\n", n,
         clock64() > begin && end != 0 ? "timed" : "not timed");
}
