// Every thread of every block runs once, with its own indices, whether or not threads park.
#include <cstdint>
#include <vector>

#include "execution_check.h"

namespace execution {
namespace {

struct Seen {
  uint3 thread, block;
  uint32_t count;
};

__device__ void note_indices(Seen* seen) {
  const size_t block = (size_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const size_t threads = size_t{blockDim.x} * blockDim.y * blockDim.z;
  Seen& mine = seen[block * threads + host::thread_number()];
  mine.thread = threadIdx;
  mine.block = blockIdx;
  ++mine.count;
}

__global__ void indices_without_parking(Seen* seen) { note_indices(seen); }

// After the barrier the thread has been away: its indices must have come back with it.
__global__ void indices_after_parking(Seen* seen) {
  __syncthreads();
  note_indices(seen);
}

// Threads park or not by turns: the plain loop is left in the middle of the block.
__global__ void indices_after_late_parking(Seen* seen, unsigned parks_from) {
  if (host::thread_number() >= parks_from) __nanosleep(1);
  note_indices(seen);
}

bool all_seen_once(const std::vector<Seen>& seen, dim3 grid, dim3 block) {
  size_t i = 0;
  for (unsigned bz = 0; bz < grid.z; ++bz)
    for (unsigned by = 0; by < grid.y; ++by)
      for (unsigned bx = 0; bx < grid.x; ++bx)
        for (unsigned tz = 0; tz < block.z; ++tz)
          for (unsigned ty = 0; ty < block.y; ++ty)
            for (unsigned tx = 0; tx < block.x; ++tx) {
              const Seen& one = seen[i++];
              const bool thread = one.thread.x == tx && one.thread.y == ty && one.thread.z == tz;
              const bool place = one.block.x == bx && one.block.y == by && one.block.z == bz;
              if (!thread || !place || one.count != 1) return false;
            }
  return i == seen.size();
}

void check_shape(dim3 grid, dim3 block) {
  const size_t threads = size_t{block.x} * block.y * block.z;
  const size_t total = threads * grid.x * grid.y * grid.z;
  const std::string shape = " in grid " + to_text(grid) + " of blocks " + to_text(block);
  std::vector<Seen> seen(total);
  Outcome outcome = run<indices_without_parking>(grid, block, 0, seen.data());
  check(outcome.code == cudaSuccess && all_seen_once(seen, grid, block),
        "every thread runs once" + shape, outcome.description);
  seen.assign(total, {});
  outcome = run<indices_after_parking>(grid, block, 0, seen.data());
  check(outcome.code == cudaSuccess && all_seen_once(seen, grid, block),
        "every thread keeps its indices over a barrier" + shape, outcome.description);
  seen.assign(total, {});
  const auto half = static_cast<unsigned>(threads / 2);
  outcome = run<indices_after_late_parking>(grid, block, 0, seen.data(), half);
  check(outcome.code == cudaSuccess && all_seen_once(seen, grid, block),
        "threads may begin to park in the middle of a block" + shape, outcome.description);
}

__global__ void sums_of_parameters(double* out, char a, short b, long long c, float d, double e,
                                   uint3 f) {
  if (threadIdx.x == 0) *out = a + b + static_cast<double>(c) + d + e + f.x + f.y + f.z;
}

struct alignas(64) Wide {
  unsigned char bytes[128];
};

__global__ void takes_wide(int* misaligned, unsigned char before, Wide wide, unsigned char after) {
  const auto address = reinterpret_cast<uintptr_t>(&wide);
  bool same = before == 1 && after == 2;
  for (unsigned i = 0; i < sizeof(wide.bytes); ++i) same = same && wide.bytes[i] == i;
  *misaligned = address % alignof(Wide) != 0 || !same;
}

__global__ void changes_parameter(int* out, int value) { out[threadIdx.x] = value++; }

void check_parameters() {
  double sum = 0;
  run<sums_of_parameters>(1, 1, 0, &sum, 'a', short{-3}, 1ll << 40, 0.5f, 0.25, uint3{1, 2, 3});
  check(sum == 97 - 3 + 1099511627776.0 + 0.75 + 6, "parameters of mixed sizes arrive");
  Wide wide;
  for (unsigned i = 0; i < sizeof(wide.bytes); ++i) wide.bytes[i] = static_cast<unsigned char>(i);
  int misaligned = -1;
  run<takes_wide>(1, 1, 0, &misaligned, 1, wide, 2);
  check(misaligned == 0, "an over-aligned parameter arrives aligned and whole");
  std::vector<int> values(100);
  run<changes_parameter>(1, 100, 0, values.data(), 7);
  check(values == std::vector<int>(100, 7), "a thread changes its own copy of a parameter");
}

}  // namespace

void check_indices() {
  const dim3 blocks[] = {1,    2,    31,           32,          33,          127,
                         1023, 1024, {7, 11, 13},  {1, 1, 64},  {1, 1024},   {16, 16},
                         {5, 1, 3}, {32, 32}};
  for (const dim3 block : blocks) check_shape({3, 2, 2}, block);
  check_shape(997, 1);
  check_shape({1, 1, 61}, 37);
  check_parameters();
}

}  // namespace execution
