// malloc and free in C loops: the same requests as bench/pool_bench.ts makes of the pool.
//
// The memory is not touched, because the pool does not touch its memory either. Sizes and
// addresses cross as doubles, as in csrc/gridstride.h. A loop returns -1 if there was no memory.
#include <stdint.h>
#include <stdlib.h>

#define BENCH_API extern "C" __attribute__((visibility("default")))

namespace {

// Hides from the compiler what becomes of an address, or it would leave out the pair.
void* kept(void* address) {
  asm volatile("" : "+r"(address) : : "memory");
  return address;
}

void* address_of(double number) { return reinterpret_cast<void*>(static_cast<uintptr_t>(number)); }

double number_of(void* address) {
  return static_cast<double>(reinterpret_cast<uintptr_t>(address));
}

}  // namespace

// Allocates and frees, one after the other.
BENCH_API int32_t bench_malloc_pairs(double bytes, int32_t count) {
  const auto size = static_cast<size_t>(bytes);
  for (int32_t turn = 0; turn < count; turn++) {
    void* const address = kept(malloc(size));
    if (address == nullptr) return -1;
    free(address);
  }
  return 0;
}

// Frees the block of live[order[i]] and allocates one of sizes[i] in its place, for every i; blocks
// of address 0 are those that are not there yet.
BENCH_API int32_t bench_malloc_replace(const double* sizes, const int32_t* order, double* live,
                                       int32_t count) {
  for (int32_t turn = 0; turn < count; turn++) {
    double& place = live[order[turn]];
    free(address_of(place));
    void* const address = kept(malloc(static_cast<size_t>(sizes[turn])));
    place = number_of(address);
    if (address == nullptr) return -1;
  }
  return 0;
}

// Frees all.
BENCH_API int32_t bench_malloc_free(double* live, int32_t count) {
  for (int32_t index = 0; index < count; index++) {
    free(address_of(live[index]));
    live[index] = 0;
  }
  return 0;
}
