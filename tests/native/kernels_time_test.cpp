// spin takes the time it is asked for without keeping the caller, empty takes any geometry, and
// element counts beyond 32 bits are counted.
#include <cuda_runtime.h>

#include <chrono>

#ifdef __CUDASIM__
#include <sys/mman.h>
#endif

#include "kernels_elements.h"
#include "kernels_launch.h"
#include "kernels_test.h"

namespace kernels_test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void check_spin() {
  Check check("spin_float32 runs asynchronously for its time, then stores");
  const DeviceArray<float> out(std::vector<float>(1, -1.0f));
  cudaStream_t stream;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
  // Once without a wait, so that loading the kernel is not part of what is measured.
  enqueue("spin_float32", {1, 32}, 0, stream, out.data(), 0ull, 1.0f);
  require(cudaStreamSynchronize(stream), "spin");
  check.that(out.read()[0] == 1.0f, "a spin of no time stored %g", out.read()[0]);

  constexpr unsigned long long nanoseconds = 50000000;
  const Clock::time_point start = Clock::now();
  enqueue("spin_float32", {2, 64}, 0, stream, out.data(), nanoseconds, 2.0f);
  const double enqueued = seconds_since(start);
  const cudaError_t running = cudaStreamQuery(stream);
  require(cudaStreamSynchronize(stream), "spin");
  const double done = seconds_since(start);
  check.that(enqueued < 0.04, "enqueueing took %g s", enqueued);
  check.that(running == cudaErrorNotReady, "the stream was ready after %g s", enqueued);
  check.that(done >= 0.05, "done after %g s", done);
  check.that(out.read()[0] == 2.0f, "stored %g", out.read()[0]);
  require(cudaStreamDestroy(stream), "destroy a stream");
}

void check_empty() {
  Check check("empty may be launched with any geometry");
  for (const Geometry geometry : {Geometry{1, 1}, Geometry{1, 1024}, Geometry{65536, 32}}) {
    launch("empty", geometry, 0);
    check.that(true, "grid %u", geometry.grid);
  }
}

// Zeros, but for 255 around index 2^32 and from there to the end, which is whole tiles away.
class HugeArray {
 public:
  static constexpr unsigned long long zeros = (1ull << 32) - 16;
  static constexpr unsigned long long ones = (1ull << 20) + 83;
  static constexpr unsigned long long length = zeros + ones;

  HugeArray() {
#ifdef __CUDASIM__
    // Pages that are only read are all one page of zeros and take no memory. Kernels of the host
    // device reach the whole process.
    void* pages = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(pages == MAP_FAILED ? cudaErrorMemoryAllocation : cudaSuccess, "map 4 GiB");
    data_ = static_cast<unsigned char*>(pages);
    std::memset(data_ + zeros, 255, ones);
#else
    require(cudaMalloc(&data_, length), "allocate 4 GiB");
    require(cudaMemset(data_, 0, zeros), "clear 4 GiB");
    require(cudaMemset(data_ + zeros, 255, ones), "set the end");
#endif
  }
  HugeArray(const HugeArray&) = delete;
  HugeArray& operator=(const HugeArray&) = delete;

  ~HugeArray() {
#ifdef __CUDASIM__
    munmap(data_, length);
#else
    cudaFree(data_);
#endif
  }

  const unsigned char* data() const { return data_; }

 private:
  unsigned char* data_ = nullptr;
};

void check_huge() {
  Check check("sum_partial_uint8 counts beyond 2^32 elements");
  const HugeArray array;
  constexpr Geometry geometry = {64, 256};
  const DeviceArray<long long> partials(std::vector<long long>(geometry.grid, 0));
  launch("sum_partial_uint8", geometry, 0, array.data(), partials.data(), HugeArray::length);
  long long sum = 0;
  for (const long long partial : partials.read()) {
    sum += partial;
  }
  constexpr long long expected = 255 * HugeArray::ones;
  check.that(sum == expected, "%lld, not %lld", sum, expected);
}

}  // namespace

void test_time() {
  check_spin();
  check_empty();
  check_huge();
}

}  // namespace kernels_test
