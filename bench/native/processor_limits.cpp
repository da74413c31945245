// Limits of the processor: products of integers and floats in registers, and reads of memory.
//
// Each thread runs the same loop. Integers are unsigned by signed elements, by the widest
// instruction for vectors: vpdpbusd; else vpmaddubsw and vpaddw; else products of 16-bit vectors.
// Floats are multiplied and added by the widest vectors, in one instruction where there is one.
// Tiles (AMX) are not among them; PyTorch uses these and may exceed the limit.
#include <pthread.h>
#include <stdint.h>

#define BENCH_API extern "C" __attribute__((visibility("default")))

namespace {

constexpr int most_threads = 1024;
constexpr int accumulators = 10;

struct Job {
  void (*work)(const Job& job);
  int64_t rounds;
  const char* from;
  int64_t bytes;
};

void* start(void* job) {
  const Job& own = *static_cast<Job*>(job);
  own.work(own);
  return nullptr;
}

// Runs the jobs; returns 0, or the error of a thread that does not start.
int32_t on_threads(Job* jobs, int32_t threads) {
  pthread_t started[most_threads];
  int32_t status = 0;
  int32_t count = 0;
  while (count < threads && status == 0) {
    status = pthread_create(&started[count], nullptr, start, &jobs[count]);
    if (status == 0) count++;
  }
  for (int32_t i = 0; i < count; i++) pthread_join(started[i], nullptr);
  return status;
}

#if defined(__x86_64__)

typedef int64_t V512 __attribute__((vector_size(64)));
typedef int64_t V256 __attribute__((vector_size(32)));

__attribute__((target("avx512f,avx512vnni"))) void products_512(const Job& job) {
  V512 sums[accumulators] = {};
  const V512 x = {1, 2, 3};
  for (int64_t round = 0; round < job.rounds; round++) {
#pragma GCC unroll 16
    for (int i = 0; i < accumulators; i++) {
      asm volatile("vpdpbusd %1, %1, %0" : "+v"(sums[i]) : "v"(x));
    }
  }
}

__attribute__((target("avx2"))) void products_256(const Job& job) {
  V256 sums[accumulators] = {};
  const V256 x = {1, 2, 3};
  for (int64_t round = 0; round < job.rounds; round++) {
#pragma GCC unroll 16
    for (int i = 0; i < accumulators; i++) {
      V256 pairs;
      asm volatile("vpmaddubsw %2, %2, %1\n\tvpaddw %1, %0, %0"
                   : "+x"(sums[i]), "=&x"(pairs)
                   : "x"(x));
    }
  }
}

#endif

void products_128(const Job& job) {
  typedef int16_t Shorts __attribute__((vector_size(16)));
  Shorts sums[accumulators] = {};
  Shorts x = {1, 2, 3};
  for (int64_t round = 0; round < job.rounds; round++) {
#pragma GCC unroll 16
    for (int i = 0; i < accumulators; i++) {
      // Otherwise all products are one.
#if defined(__x86_64__)
      asm volatile("" : "+x"(x));
#else
      asm volatile("" : "+w"(x));
#endif
      sums[i] += x * x;
    }
  }
  asm volatile("" : : "m"(sums));
}

template <typename T, int Bytes>
struct Floats {
  typedef T Vector __attribute__((vector_size(Bytes)));

  static inline __attribute__((always_inline)) void multiply_add(int64_t rounds) {
    Vector sums[accumulators];
    for (int i = 0; i < accumulators; i++) sums[i] = Vector{} + static_cast<T>(i);
    const Vector x = Vector{} + static_cast<T>(0.5);
    for (int64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 16
      for (int i = 0; i < accumulators; i++) sums[i] = sums[i] * x + x;
    }
    asm volatile("" : : "m"(sums));
  }
};

#if defined(__x86_64__)

template <typename T>
__attribute__((target("avx512f"))) void floats_512(const Job& job) {
  Floats<T, 64>::multiply_add(job.rounds);
}

template <typename T>
__attribute__((target("avx2,fma"))) void floats_256(const Job& job) {
  Floats<T, 32>::multiply_add(job.rounds);
}

#endif

template <typename T>
void floats_128(const Job& job) {
  Floats<T, 16>::multiply_add(job.rounds);
}

// Bytes of the widest vectors of floats.
int float_bytes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return 64;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 32;
#endif
  return 16;
}

template <typename T>
auto float_work() {
  auto work = floats_128<T>;
#if defined(__x86_64__)
  const int bytes = float_bytes();
  if (bytes == 64) work = floats_512<T>;
  if (bytes == 32) work = floats_256<T>;
#endif
  return work;
}

auto byte_work(int lanes) {
  auto work = products_128;
#if defined(__x86_64__)
  if (lanes == 64) work = products_512;
  if (lanes == 32) work = products_256;
#endif
  return work;
}

// Clones with wider registers where the compiler makes them.
#if defined(__x86_64__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void read(const Job& job) {
  typedef int64_t Line __attribute__((vector_size(64), aligned(1)));
  // Several places at a time: more lines are on their way than of one.
  constexpr int places = 8;
  Line sums[places] = {};
  const int64_t part = job.bytes / places / 64 * 64;
  for (int64_t at = 0; at < part; at += 64) {
#pragma GCC unroll 8
    for (int i = 0; i < places; i++) {
      sums[i] += *reinterpret_cast<const Line*>(job.from + i * part + at);
    }
  }
  asm volatile("" : : "m"(sums));
}

}  // namespace

// Elements of a vector of products, whose elements have 1, 4 or 8 bytes.
BENCH_API int32_t bench_product_lanes(int32_t element) {
  if (element > 1) return float_bytes() / element;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni")) return 64;
  if (__builtin_cpu_supports("avx2")) return 32;
#endif
  return 8;
}

// Each thread multiplies and adds 10 vectors `rounds` times.
BENCH_API int32_t bench_products(int32_t element, int32_t threads, double rounds) {
  if (threads < 1 || threads > most_threads) return -1;
  const auto work = element == 1   ? byte_work(bench_product_lanes(1))
                    : element == 4 ? float_work<float>()
                                   : float_work<double>();
  Job jobs[most_threads];
  for (int32_t i = 0; i < threads; i++) {
    jobs[i] = {work, static_cast<int64_t>(rounds), nullptr, 0};
  }
  return on_threads(jobs, threads);
}

// Each thread reads a part of the memory at an address.
BENCH_API int32_t bench_read(int32_t threads, double address, double bytes) {
  if (threads < 1 || threads > most_threads) return -1;
  const auto* const from = reinterpret_cast<const char*>(static_cast<uintptr_t>(address));
  const auto all = static_cast<int64_t>(bytes);
  Job jobs[most_threads];
  for (int32_t i = 0; i < threads; i++) {
    const int64_t begin = all * i / threads;
    jobs[i] = {read, 0, from + begin, all * (i + 1) / threads - begin};
  }
  return on_threads(jobs, threads);
}
