// Atomics from several OS threads at once, and their promise to let waiting threads' partners run.
//
// Atomics count their calls in the state that lies at the start of the calling stack's region.
// Workers provide such regions; here, each test thread gets one of its own, and gs_host_yield is
// ours.
#include <gridstride/atomics.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gridstride/load_store.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <atomic>
#include <cmath>
#include <functional>

#include "check.h"
#include "suites.h"

namespace {

std::atomic<long> yields{0};

// An OS thread with its stack in a region as kernels know it.
class KernelThread {
 public:
  explicit KernelThread(std::function<void()> body) : body_(std::move(body)) {
    const std::size_t bytes = gridstride::host::region_bytes;
    reservation_ = mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const auto start = reinterpret_cast<std::uintptr_t>(reservation_);
    region_ = reinterpret_cast<char*>((start + bytes - 1) & ~(bytes - 1));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, region_ + (1 << 20), 1 << 20);
    pthread_create(&thread_, &attributes, run, this);
    pthread_attr_destroy(&attributes);
  }
  KernelThread(const KernelThread&) = delete;
  KernelThread& operator=(const KernelThread&) = delete;
  ~KernelThread() {
    pthread_join(thread_, nullptr);
    munmap(reservation_, 2 * gridstride::host::region_bytes);
  }

 private:
  static void* run(void* self) {
    static_cast<KernelThread*>(self)->body_();
    return nullptr;
  }

  std::function<void()> body_;
  void* reservation_;
  char* region_;
  pthread_t thread_;
};

constexpr int thread_count = 4;
constexpr int repeats = 20000;

// Runs body(thread) on several threads at once and waits for them.
template <class Body>
void on_threads(Body body) {
  KernelThread first([=] { body(0); });
  KernelThread second([=] { body(1); });
  KernelThread third([=] { body(2); });
  KernelThread fourth([=] { body(3); });
}

template <class Body>
void on_one_thread(Body body) {
  KernelThread only(body);
}

std::atomic<int> interruptions{0};

// Lets another thread run in the middle of whatever this one does, also on a single processor.
void interrupt(int) {
  interruptions.fetch_add(1);
  sched_yield();
}

// Interrupts the threads that unblock SIGALRM, as long as it lives; the calling thread blocks it.
class Interrupter {
 public:
  Interrupter() {
    interruptions = 0;
    struct sigaction action = {};
    action.sa_handler = interrupt;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    mask(SIG_BLOCK);
    set_period(50);
  }
  ~Interrupter() { set_period(0); }

  static void mask(int how) {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(how, &alarm, nullptr);
  }

 private:
  static void set_period(int microseconds) {
    const itimerval period = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &period, nullptr);
  }
};

// A sum of ones, fewer than a float counts exactly. Each thread adds until all of them were
// interrupted often enough, and begins when all have started.
template <class T>
void check_sum(Check& check, const char* name) {
  alignas(16) static T sum;
  static std::atomic<long> additions;
  static std::atomic<int> started;
  sum = T(0), additions = 0, started = 0;
  {
    const Interrupter interrupter;
    on_threads([](int) {
      for (++started; started != thread_count;) sched_yield();
      Interrupter::mask(SIG_UNBLOCK);
      long added = 0;
      while (interruptions < 200 && added < (1 << 24) / thread_count - 100) {
        for (int i = 0; i < 100; i++) atomicAdd(&sum, T(1));
        added += 100;
      }
      Interrupter::mask(SIG_BLOCK);
      additions += added;
    });
  }
  check.holds(static_cast<double>(sum) == static_cast<double>(additions), name);
}

void check_concurrent_sums() {
  Check check("atomicAdd loses no addition of four threads, for every type");
  check_sum<int>(check, "int");
  check_sum<unsigned int>(check, "unsigned int");
  check_sum<unsigned long long>(check, "unsigned long long");
  check_sum<float>(check, "float");
  check_sum<double>(check, "double");
  static __half half_sum;
  static __half2 half_pair;
  static __nv_bfloat16 bfloat_sum;
  static __nv_bfloat162 bfloat_pair;
  static float2 vector2;
  static float4 vector4;
  half_sum = 0.0f, bfloat_sum = 0.0f;
  half_pair = __half2(half_sum, half_sum), bfloat_pair = __nv_bfloat162(bfloat_sum, bfloat_sum);
  vector2 = float2{0, 0}, vector4 = float4{0, 0, 0, 0};
  // As many as the type counts exactly: 2048 in half, 256 in bfloat16.
  on_threads([](int) {
    for (int i = 0; i < 512; i++) {
      atomicAdd(&half_sum, __half(1.0f));
      atomicAdd(&half_pair, __half2(__half(1.0f), __half(-1.0f)));
      atomicAdd(&vector2, float2{1, -1});
      atomicAdd(&vector4, float4{1, -1, 2, -2});
    }
    for (int i = 0; i < 64; i++) {
      atomicAdd(&bfloat_sum, __nv_bfloat16(1.0f));
      atomicAdd(&bfloat_pair, __nv_bfloat162(__nv_bfloat16(1.0f), __nv_bfloat16(-1.0f)));
    }
  });
  check.holds(float{half_sum} == 2048, "half");
  check.holds(float{half_pair.x} == 2048 && float{half_pair.y} == -2048, "half2");
  check.holds(float{bfloat_sum} == 256, "bfloat16");
  check.holds(float{bfloat_pair.x} == 256 && float{bfloat_pair.y} == -256, "bfloat162");
  check.holds(vector2.x == 2048 && vector2.y == -2048, "float2");
  check.holds(vector4.x == 2048 && vector4.w == -4096, "float4");
}

template <class T>
void check_bits_and_limits(Check& check, const char* name) {
  static T all_or, all_and, all_xor, least, most;
  all_or = 0, all_and = static_cast<T>(~T{0}), all_xor = 0, least = 7, most = 7;
  on_threads([](int thread) {
    for (int i = 0; i < 8; i++) {
      const T bit = static_cast<T>(T{1} << (thread * 8 + i) % (8 * sizeof(T) - 1));
      atomicOr(&all_or, bit);
      atomicAnd(&all_and, static_cast<T>(~bit));
      for (int k = 0; k < 101; k++) atomicXor(&all_xor, bit);
      atomicMin(&least, static_cast<T>(0 - (thread * 100 + i)));
      atomicMax(&most, static_cast<T>(0 - (thread * 100 + i)));
    }
  });
  T bits = 0, minimum = 7, maximum = 7;
  for (int i = 0; i < 32; i++) {
    bits = static_cast<T>(bits | T{1} << i % (8 * sizeof(T) - 1));
    const T value = static_cast<T>(0 - (i / 8 * 100 + i % 8));
    minimum = value < minimum ? value : minimum;
    maximum = value > maximum ? value : maximum;
  }
  check.holds(all_or == bits && all_and == static_cast<T>(~bits), name, "or, and");
  check.holds(all_xor == (sizeof(T) == 4 ? static_cast<T>(bits & ~T{1}) : bits), name, "xor",
              all_xor);
  check.holds(least == minimum && most == maximum, name, "min, max", least, most);
}

void check_single_results() {
  Check check("every atomic returns the value before and stores the new one, in all three scopes");
  on_one_thread([&] {
    unsigned int u = 5;
    check.holds(atomicInc(&u, 6) == 5 && u == 6, "inc"),
        check.holds(atomicInc(&u, 6) == 6 && u == 0, "inc wraps");
    u = 9, check.holds(atomicInc_block(&u, 6) == 9 && u == 0, "inc over the limit");
    check.holds(atomicDec(&u, 6) == 0 && u == 6, "dec wraps"),
        check.holds(atomicDec(&u, 6) == 6 && u == 5, "dec");
    u = 9, check.holds(atomicDec_system(&u, 6) == 9 && u == 6, "dec over the limit");
    check.holds(atomicSub(&u, 7u) == 6 && u == ~0u, "sub wraps");
    int i = -3;
    check.holds(atomicSub_block(&i, 4) == -3 && i == -7, "sub"),
        check.holds(atomicExch(&i, 2) == -7 && i == 2, "exch");
    check.holds(atomicCAS(&i, 3, 9) == 2 && i == 2, "cas fails"),
        check.holds(atomicCAS(&i, 2, 9) == 2 && i == 9, "cas");
    unsigned short s = 0x1234;
    check.holds(atomicCAS(&s, static_cast<unsigned short>(0x1234),
                          static_cast<unsigned short>(7)) == 0x1234 &&
                    s == 7,
                "16 bits");
    unsigned long long w = 1ull << 40;
    check.holds(atomicCAS_system(&w, 1ull << 40, ~0ull) == 1ull << 40 && w == ~0ull, "64 bits");
    check.holds(atomicAdd_system(&w, 2ull) == ~0ull && w == 1, "add wraps");
    float f = std::nanf("");
    check.holds(std::isnan(atomicExch(&f, 2.5f)) && f == 2.5f, "exch of NaN");
    f = std::nanf("");
    check.holds(std::isnan(atomicAdd_block(&f, 1.0f)) && std::isnan(f), "adding to NaN ends");
    long long least = 5;
    check.holds(atomicMin(&least, -6ll) == 5 && least == -6, "signed 64-bit min");
    check.holds(atomicMax_block(&least, -7ll) == -6 && least == -6, "signed 64-bit max");
  });
}

void check_polling() {
  Check check("polling");
  const auto yields_of = [](auto operation) {
    const long before = yields;
    on_one_thread([=] {
      for (int i = 0; i < 10000; i++) operation();
    });
    return yields - before;
  };
  static int flag = 0;
  static volatile int plain = 0;
  check.holds(yields_of([] { atomicAdd(&flag, 0); }) > 20, "atomicAdd yields");
  check.holds(yields_of([] { atomicCAS(&flag, 1, 1); }) > 20, "atomicCAS yields");
  check.holds(yields_of([] { atomicExch(&flag, 0); }) > 20, "atomicExch yields");
  check.holds(yields_of([] { __ldcv(&flag); }) > 20, "__ldcv yields");
  check.holds(yields_of([] { (void)plain; }) == 0, "a volatile load does not");
}

void check_atomic_pairs() {
  Check check("atomic pairs");
  static __half2 pair;
  static std::atomic<bool> torn{false};
  pair = __half2(__half(0.0f), __half(0.0f));
  on_threads([](int thread) {
    for (int i = 0; i < repeats; i++) {
      if (thread == 0) {
        const __half2 seen = __ldcv(&pair);
        if (float{seen.x} != -float{seen.y}) torn = true;
      } else {
        const float sign = i % 2 ? -1.0f : 1.0f;
        atomicAdd(&pair, __half2(__half(sign), __half(-sign)));
      }
    }
  });
  check.holds(!torn, "both elements change in one step");
  check.holds(float{pair.x} == 0.0f && float{pair.y} == 0.0f, "and no addition is lost");
}

void check_cache_hints() {
  Check check("hinted loads and stores are loads and stores");
  on_one_thread([&] {
    float4 vector = {1, 2, 3, 4};
    check.holds(__ldg(&vector).w == 4 && __ldca(&vector).x == 1 && __ldcg(&vector).y == 2, "loads");
    check.holds(__ldcs(&vector).z == 3 && __ldlu(&vector).w == 4 && __ldcv(&vector).x == 1,
                "loads");
    double value = 0;
    __stwb(&value, 1), check.holds(value == 1, "__stwb"), __stcg(&value, 2),
        check.holds(value == 2, "__stcg");
    __stcs(&value, 3), check.holds(value == 3, "__stcs"), __stwt(&value, 4),
        check.holds(value == 4, "__stwt");
  });
}

}  // namespace

extern "C" void gs_host_yield() {
  gridstride::host::block_registers()->spin_count = 0;
  yields++;
  sched_yield();
}

void check_atomics() {
  check_concurrent_sums();
  {
    Check check("bitwise atomics, minimum and maximum from four threads, for four integer types");
    check_bits_and_limits<int>(check, "int");
    check_bits_and_limits<unsigned int>(check, "unsigned int");
    check_bits_and_limits<long long>(check, "long long");
    check_bits_and_limits<unsigned long long>(check, "unsigned long long");
  }
  check_single_results();
  check_polling();
  check_atomic_pairs();
  check_cache_hints();
}
