// spin takes the requested time without blocking the caller, empty takes any geometry, and element
// counts beyond 32 bits are counted.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>

#ifdef __CUDASIM__
#include <sys/mman.h>
#include <unistd.h>
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
  // Once without a wait: loading the kernel is not part of the measurement.
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

// 4 GiB and a tail. On the host device, where kernels reach the whole process, all of the 4 GiB are
// one short file, mapped again and again: writing them takes no more memory than that.
class HugeArray {
 public:
  static constexpr size_t body = size_t(1) << 32;
  static constexpr size_t tail = size_t(1) << 21;

  HugeArray() {
#ifdef __CUDASIM__
    constexpr size_t file_bytes = size_t(1) << 26;
    void* pages = mmap(nullptr, body + tail, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    std::FILE* file = std::tmpfile();
    bool mapped = pages != MAP_FAILED && file && ftruncate(fileno(file), file_bytes) == 0;
    data_ = static_cast<unsigned char*>(pages);
    for (size_t offset = 0; mapped && offset < body; offset += file_bytes) {
      mapped = mmap(data_ + offset, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                    fileno(file), 0) != MAP_FAILED;
    }
    require(mapped ? cudaSuccess : cudaErrorMemoryAllocation, "map 4 GiB");
    std::fclose(file);
#else
    require(cudaMalloc(&data_, body + tail), "allocate 4 GiB");
    require(cudaMemset(data_ + body, 0, tail), "clear the tail");
#endif
  }
  HugeArray(const HugeArray&) = delete;
  HugeArray& operator=(const HugeArray&) = delete;

  ~HugeArray() {
#ifdef __CUDASIM__
    munmap(data_, body + tail);
#else
    cudaFree(data_);
#endif
  }

  unsigned char* data() const { return data_; }

  std::vector<unsigned char> read_tail() const {
    std::vector<unsigned char> bytes(tail);
#ifdef __CUDASIM__
    std::memcpy(bytes.data(), data_ + body, tail);
#else
    require(cudaMemcpy(bytes.data(), data_ + body, tail, cudaMemcpyDeviceToHost), "read back");
#endif
    return bytes;
  }

 private:
  unsigned char* data_ = nullptr;
};

// All kernels walk as this one does (packet_walk.cuh). Whole tiles lie beyond the limit.
void check_huge() {
  Check check("fill_uint8 writes exactly its elements beyond index 2^32");
  const HugeArray array;
  constexpr size_t beyond = (size_t(1) << 20) + 83;
  const unsigned char value = 0x5a;
  launch("fill_uint8", {64, 256}, 0, array.data(), value,
         static_cast<unsigned long long>(HugeArray::body + beyond));
  const std::vector<unsigned char> bytes = array.read_tail();
  size_t written = 0;
  while (written < bytes.size() && bytes[written] == value) {
    ++written;
  }
  check.that(written == beyond, "%zu bytes, not %zu", written, beyond);
  const bool rest_untouched =
      std::all_of(bytes.begin() + beyond, bytes.end(), [](auto byte) { return byte == 0; });
  check.that(rest_untouched, "the bytes behind are written");
}

}  // namespace

void test_time() {
  check_spin();
  check_empty();
  check_huge();
}

}  // namespace kernels_test
