// The worker pool: fairness among launches, launches from many threads, refusals, and how many
// workers there are.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "execution_check.h"
#include "host/device/machine.h"
#include "host/module/module_library.h"

namespace execution {
namespace {

__global__ void add_one(unsigned* total) {
  if (threadIdx.x == 0) __atomic_fetch_add(total, 1u, __ATOMIC_RELAXED);
}

// Runs until a flag stops it, a short block at a time.
__global__ void run_until(const unsigned* stop) {
  const unsigned long long end = gs_host_clock() + 20000;
  while (__atomic_load_n(stop, __ATOMIC_RELAXED) == 0 && gs_host_clock() < end) {
  }
}

// The first block ends at once, each of the others at the stop flag or after 5 ms.
__global__ void run_late(const unsigned* stop, unsigned* ended) {
  if (blockIdx.x == 0) return;
  const unsigned long long end = gs_host_clock() + 5000000;
  while (__atomic_load_n(stop, __ATOMIC_RELAXED) == 0 && gs_host_clock() < end) {
  }
  __atomic_fetch_add(ended, 1u, __ATOMIC_RELAXED);
}

// Blocks that wait until so many have arrived.
__global__ void meet(unsigned* arrived, unsigned expected) {
  __atomic_fetch_add(arrived, 1u, __ATOMIC_RELAXED);
  while (__atomic_load_n(arrived, __ATOMIC_RELAXED) < expected) {
  }
}

// A launch that has always been short is left to one worker. When its first block does not end, and
// waits for one that has not begun, another worker has to come all the same.
void check_help() {
  if (host::WorkerPool::instance().size() < 2) return;
  unsigned arrived = 0;
  bool right = true;
  for (int i = 0; i < 100; ++i) right = right && run<meet>(2, 1, 0, &arrived, 0u).code == 0;
  check(right && arrived == 200, "a short launch, again and again");
  for (unsigned i = 0; i < 5; ++i) {
    arrived = 0;
    right = right && run<meet>(2, 1, 0, &arrived, 2u).code == cudaSuccess && arrived == 2;
    for (int j = 0; j < 100; ++j) right = right && run<meet>(2, 1, 0, &arrived, 0u).code == 0;
  }
  check(right, "and when it is long at once somebody helps");
}

// The long launch has work left for many seconds; the short ones, submitted later, must pass
// through it.
void check_fairness() {
  unsigned stop = 0;
  unsigned total = 0;
  Launch endless = start<run_until>({1u << 20, 1, 1}, 1, 0, &stop);
  bool right = true;
  for (int i = 0; i < 20; ++i) right = right && run<add_one>(17, 32, 0, &total).code == cudaSuccess;
  check(right && total == 20 * 17 && !endless.is_done(), "short launches pass through a long one");
  __atomic_store_n(&stop, 1u, __ATOMIC_RELAXED);
  check(endless.wait().code == cudaSuccess, "the long launch ends too");
}

// A launch that has always been short is left to one worker, which is not to take much of it at
// once: the blocks after the first may be long this time.
void check_fairness_of_surprises() {
  // In proportion to the workers: each takes some blocks before it turns to the short launches.
  const unsigned blocks = 100 * host::WorkerPool::instance().size();
  unsigned stop = 1;
  unsigned ended = 0;
  unsigned total = 0;
  bool right = true;
  for (int i = 0; i < 100; ++i) {
    right = right && run<run_late>(blocks, 1, 0, &stop, &ended).code == cudaSuccess;
  }
  stop = 0;
  ended = 0;
  Launch surprising = start<run_late>(blocks, 1, 0, &stop, &ended);
  for (int i = 0; i < 5; ++i) right = right && run<add_one>(17, 32, 0, &total).code == cudaSuccess;
  const unsigned before = __atomic_load_n(&ended, __ATOMIC_RELAXED);
  check(right && total == 5 * 17 && before < blocks / 2,
        "short launches pass through one that was expected to be short",
        std::to_string(before) + " blocks of it had ended");
  __atomic_store_n(&stop, 1u, __ATOMIC_RELAXED);
  check(surprising.wait().code == cudaSuccess && ended == blocks - 1, "that launch ends too");
}

void check_submitters() {
  std::atomic<unsigned> good{0};
  unsigned total = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i) {
    threads.emplace_back([&good, &total, i] {
      for (unsigned round = 0; round < 200; ++round) {
        good += run<add_one>(1 + (i + round) % 5, 1 + round, 0, &total).code == cudaSuccess;
      }
    });
  }
  unsigned expected = 0;
  for (unsigned i = 0; i < 8; ++i) {
    threads[i].join();
    for (unsigned round = 0; round < 200; ++round) expected += 1 + (i + round) % 5;
  }
  check(good == 1600 && total == expected, "launches from eight threads at once");
}

// Blocks of a microsecond, each with an element of its own: a block that is lost or runs twice
// shows.
__global__ void advance(unsigned* elements) {
  unsigned value = elements[blockIdx.x];
  for (int i = 0; i < 500; ++i) value = value * 1664525u + blockIdx.x;
  elements[blockIdx.x] = value;
}

// A stream's next launch is submitted by the completion of the one before.
class Chain {
 public:
  Chain(unsigned length, unsigned blocks) : left_(length), elements_(blocks, 1u) {}
  void start() { submit_next(); }
  const std::vector<unsigned>& wait() const {
    while (!done_.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return elements_;
  }

 private:
  void submit_next() {
    if (left_-- == 0) {
      done_ = true;
      return;
    }
    const host::KernelDescriptor* kernel = host::kernel_descriptor<advance>("kernel");
    unsigned* address = elements_.data();
    void* addresses[] = {&address};
    const auto blocks = static_cast<unsigned>(elements_.size());
    host::LaunchRequest request{kernel, blocks, 1, 0, host::pack_arguments(*kernel, addresses), 0};
    host::WorkerPool::instance().submit(
        host::make_kernel_work(std::move(request), [this](const host::LaunchFault*) {
          submit_next();
        }));
  }

  unsigned left_;
  std::vector<unsigned> elements_;
  std::atomic<bool> done_{false};
};

double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Launches that two workers share, of a few and of tens of microseconds, in streams side by side.
void check_chains() {
  constexpr unsigned length = 1500;
  Chain chains[] = {{length, 1}, {length, 7}, {length, 24}, {length, 64}};
  for (Chain& chain : chains) chain.start();
  bool right = true;
  for (const Chain& chain : chains) {
    const std::vector<unsigned>& elements = chain.wait();
    for (unsigned block = 0; block < elements.size(); ++block) {
      unsigned expected = 1;
      for (unsigned i = 0; i < 500 * length; ++i) expected = expected * 1664525u + block;
      right = right && elements[block] == expected;
    }
  }
  check(right, "completions submit the next launch, and every block runs once");
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const double spent = processor_seconds() - before;
  check(spent < 0.1, "afterwards the workers sleep", std::to_string(spent) + " s of 0.4 s");
}

bool refuses(host::LaunchRequest request) {
  try {
    host::make_kernel_work(std::move(request), [](const host::LaunchFault*) {});
  } catch (const std::invalid_argument& error) {
    return std::string(error.what()).rfind("Cannot launch kernel as ", 0) == 0;
  }
  return false;
}

void check_refusals() {
  const host::KernelDescriptor* kernel = host::kernel_descriptor<add_one>("kernel");
  const std::vector<unsigned char> one(sizeof(void*));
  check(refuses({kernel, {0, 1, 1}, 1, 0, one, 0}), "a grid without blocks is refused");
  check(refuses({kernel, {~0u, ~0u, ~0u}, 1, 0, one, 0}), "a grid beyond 2^63 is refused");
  check(refuses({kernel, 1, {1, 0, 1}, 0, one, 0}), "a block without threads is refused");
  check(refuses({kernel, 1, 1025, 0, one, 0}), "a block of 1025 threads is refused");
  check(refuses({kernel, 1, {1u << 31, 1u << 31, 4}, 0, one, 0}),
        "a block whose thread count overflows is refused");
  check(refuses({kernel, 1, 1, (1 << 20) + 1, one, 0}), "too much shared memory is refused");
  check(refuses({kernel, 1, 1, 0, {}, 0}), "missing arguments are refused");
  host::KernelDescriptor older = *kernel;
  older.contract ^= 256;
  check(refuses({&older, 1, 1, 0, one, 0}), "a kernel of other headers is refused");
}

void check_table() {
  const host::KernelDescriptor* kernel = host::kernel_descriptor<add_one>("kernel");
  check(host::find_kernel(kernel) == kernel, "a kernel is found by its address");
  check(host::find_kernel(nullptr) == nullptr && host::find_kernel(&kernel) == nullptr,
        "nothing else is found as a kernel");
}

bool refuses_count(const char* text) {
  try {
    host::worker_count_from(text);
  } catch (const std::invalid_argument& error) {
    return std::string(error.what()).find(text) != std::string::npos;
  }
  return false;
}

void check_counts() {
  check(host::worker_count_from("1") == 1 && host::worker_count_from("256") == 256 &&
            host::worker_count_from(nullptr) >= 2 && host::worker_count_from("") >= 2,
        "GRIDSTRIDE_HOST_THREADS gives the number of workers");
  bool refused = true;
  for (const char* text : {"0", "257", "-1", "1.5", "2 ", "two", "99999999999999999999"}) {
    refused = refused && refuses_count(text);
  }
  check(refused, "GRIDSTRIDE_HOST_THREADS is an integer from 1 to 256");
}

void write_file(const std::string& path, const char* text) { std::ofstream(path) << text; }

void check_quotas() {
  char pattern[] = "/tmp/execution_test_XXXXXX";
  const std::string root = mkdtemp(pattern);
  for (const char* directory : {"/a", "/a/b", "/cpu", "/cpu/c"}) {
    mkdir((root + directory).c_str(), 0700);
  }
  check(host::quota_processors("0::/a/b\n", root) == 0, "no quota file, no quota");
  write_file(root + "/a/cpu.max", "250000 100000\n");
  write_file(root + "/a/b/cpu.max", "max 100000\n");
  check(host::quota_processors("0::/a/b\n", root) == 3, "an ancestor's quota, rounded up");
  write_file(root + "/a/b/cpu.max", "50000 100000\n");
  check(host::quota_processors("0::/a/b\n", root) == 1, "the smallest quota counts");
  write_file(root + "/cpu/c/cpu.cfs_quota_us", "400000\n");
  write_file(root + "/cpu/c/cpu.cfs_period_us", "100000\n");
  check(host::quota_processors("5:cpu,cpuacct:/c\n4:memory:/x\n", root) == 4,
        "a quota of the first version");
  write_file(root + "/cpu/c/cpu.cfs_quota_us", "-1\n");
  check(host::quota_processors("5:cpuacct,cpu:/c\n", root) == 0, "-1 is no quota");
  check(host::quota_processors("garbage\n::\n0::\n7:cpuset:/a\n", root) == 0,
        "what is not understood is no quota");
  for (const char* file : {"/a/cpu.max", "/a/b/cpu.max", "/cpu/c/cpu.cfs_quota_us",
                           "/cpu/c/cpu.cfs_period_us"}) {
    unlink((root + file).c_str());
  }
  for (const char* directory : {"/a/b", "/a", "/cpu/c", "/cpu", ""}) {
    rmdir((root + directory).c_str());
  }
}

}  // namespace

void check_pool() {
  check_fairness();
  check_fairness_of_surprises();
  check_submitters();
  check_help();
  check_chains();
  check_refusals();
  check_table();
  check_counts();
  check_quotas();
}

}  // namespace execution
