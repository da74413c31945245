// Cooperative groups: rows by tiles of any size, a filter with one atomic for all lanes, and a grid
// that steps together.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// The length of every row, Tile threads for each.
template <int Tile>
__global__ void row_norms(const float* matrix, float* norms, int rows, int columns) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<Tile>(block);
  const int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
  if (row >= rows) return;
  float sum = 0.0f;
  for (int column = tile.thread_rank(); column < columns; column += tile.size()) {
    const float value = matrix[row * columns + column];
    sum += value * value;
  }
  sum = cg::reduce(tile, sum, cg::plus<float>());
  if (tile.thread_rank() == 0) norms[row] = sqrtf(sum);
}

template __global__ void row_norms<4>(const float*, float*, int, int);
template __global__ void row_norms<32>(const float*, float*, int, int);

__device__ unsigned int take_place(unsigned int* counter) {
  const cg::coalesced_group active = cg::coalesced_threads();
  unsigned int first = 0;
  if (active.thread_rank() == 0) first = atomicAdd(counter, active.size());
  return active.shfl(first, 0) + active.thread_rank();
}

__global__ void keep_positive(const int* in, int n, int* out, unsigned int* count) {
  const int i = cg::this_grid().thread_rank();
  if (i < n && in[i] > 0) out[take_place(count)] = in[i];
}

// For a cooperative launch: every round needs all of the one before.
__global__ void smooth(float* a, float* b, int n, int rounds) {
  const cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < rounds; round++) {
    for (int i = grid.thread_rank(); i < n; i += grid.size()) {
      const float left = a[i == 0 ? n - 1 : i - 1], right = a[i == n - 1 ? 0 : i + 1];
      b[i] = 0.25f * left + 0.5f * a[i] + 0.25f * right;
    }
    grid.sync();
    float* const other = a;
    a = b;
    b = other;
  }
}

int main() {
  float *a = nullptr, *b = nullptr;
  int n = 1000, rounds = 10;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  void* arguments[] = {&a, &b, &n, &rounds};
  cudaLaunchCooperativeKernel((void*)smooth, dim3(4), dim3(128), arguments, 0, nullptr);
  return cudaDeviceSynchronize();
}
