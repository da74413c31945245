// One check per line of csrc/host/DIFFERENCES.md: the host device behaves as the page says, if C++
// defines the behaviour, and the recommended code gives the GPU's answer. The lines on
// polling and on atomic pairs need threads: atomics.cpp holds those.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gridstride/atomics.h>
#include <gridstride/integer_functions.h>
#include <gridstride/conversions.h>
#include <gridstride/math_functions.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <type_traits>

#include "check.h"
#include "suites.h"

namespace {

constexpr int lowest = std::numeric_limits<int>::min();
constexpr int highest = std::numeric_limits<int>::max();
const float float_nan = std::nanf("");

// A value that the compiler cannot follow: the operation happens at run time.
template <class T>
T at_run_time(T value) {
  volatile T kept = value;
  return kept;
}

void check_casts() {
  Check check("out-of-range casts");
  check.equal(__float2int_rz(3e9f), highest), check.equal(__float2int_rz(-3e9f), lowest);
  check.equal(__float2int_rz(float_nan), 0), check.equal(__float2uint_rz(-1.0f), 0u);
  check.equal(__double2int_rz(std::nan("")), lowest);
  check.equal(__float2ll_rz(float_nan), std::numeric_limits<long long>::min());
  check.equal(__float2ull_rz(float_nan), 1ull << 63);
#if defined(__x86_64__)
  // What x86-64's instruction gives; the plain cast is undefined and is not tried.
  int converted = 0;
  asm("cvttss2si %1, %0" : "=r"(converted) : "x"(at_run_time(3e9f)));
  check.equal(converted, lowest, "cvttss2si");
#endif
}

void check_shifts() {
  Check check("long shifts");
  for (const unsigned int shift : {0u, 1u, 31u, 32u, 33u, 1000u, ~0u}) {
    const unsigned int x = 0x89abcdefu;
    const bool all_out = shift > 31;
    check.equal(__funnelshift_lc(0, x, shift), all_out ? 0u : x << shift, shift);
    check.equal(__funnelshift_rc(x, 0, shift), all_out ? 0u : x >> shift, shift);
  }
}

// The signal that ends a child process which runs body, or 0.
template <class Body>
int signal_of(Body body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGFPE, SIG_DFL);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void check_division() {
  Check check("integer division");
#if defined(__x86_64__)
  constexpr int expected = SIGFPE;
#else
  constexpr int expected = 0;
#endif
  // volatile results: an unused quotient is never computed.
  check.equal(signal_of([] {
                const volatile int q = at_run_time(1) / at_run_time(0);
                (void)q;
              }),
              expected);
  check.equal(signal_of([] {
                const volatile int r = at_run_time(1) % at_run_time(0);
                (void)r;
              }),
              expected);
  check.equal(signal_of([] {
                const volatile int q = at_run_time(lowest) / at_run_time(-1);
                (void)q;
              }),
              expected);
  check.equal(signal_of([] {
                const volatile int q = at_run_time(7) / at_run_time(2);
                (void)q;
              }),
              0);
}

void check_overflow() {
  Check check("signed overflow");
  const auto wrapped_sum = [](int x, int y) {
    return static_cast<int>(static_cast<unsigned int>(x) + static_cast<unsigned int>(y));
  };
  check.equal(wrapped_sum(at_run_time(highest), 1), lowest);
  check.equal(wrapped_sum(at_run_time(lowest), -1), highest);
  const unsigned int factor = static_cast<unsigned int>(at_run_time(65537));
  check.equal(static_cast<int>(factor * factor), 131073);
}

void check_contraction() {
  Check check("contraction");
  const float x = at_run_time(1.0f + 0x1p-23f), square = at_run_time(1.0f + 0x1p-22f);
  check.equal(fmaf(x, x, -square), 0x1p-46f, "fused");
  check.equal(__fadd_rn(__fmul_rn(x, x), -square), 0.0f, "not fused");
  const double y = at_run_time(1.0 + 0x1p-52), wide = at_run_time(1.0 + 0x1p-51);
  check.equal(fma(y, y, -wide), 0x1p-104, "fused");
  check.equal(__dadd_rn(__dmul_rn(y, y), -wide), 0.0, "not fused");
}

void check_half_contraction() {
  Check check("contraction of half");
  const __half x(1.0f + 0x1p-10f), square(-(1.0f + 0x1p-9f));
  check.equal(float{x * x + square}, 0.0f, "operators");
  check.equal(float{__hadd_rn(__hmul_rn(x, x), square)}, 0.0f, "_rn");
  check.equal(float{__hfma(x, x, square)}, 0x1p-20f, "fused");
  const __half2 pair(x, x), squares(square, square);
  check.equal(float{(pair * pair + squares).y}, 0.0f, "pairs");
}

// Whether a float is within one ulp of a value.
bool within_one_ulp(float actual, double exact) {
  const auto nearest = static_cast<float>(exact);
  const float infinity = std::numeric_limits<float>::infinity();
  return actual >= std::nextafter(nearest, -infinity) &&
         actual <= std::nextafter(nearest, infinity);
}

void check_accuracy() {
  Check library("accuracy of the math library"), fast("accuracy of fast intrinsics");
  Random random(40);
  for (int i = 0; i < 20000; i++) {
    const float x = random.moderate_float(), y = std::fabs(x);
    const double wide = x;
    library.holds(within_one_ulp(sinf(x), std::sin(wide)), "sinf", x);
    library.holds(within_one_ulp(expf(x / 4), std::exp(wide / 4)), "expf", x);
    library.holds(within_one_ulp(logf(y), std::log(std::fabs(wide))), "logf", x);
    library.holds(within_one_ulp(powf(y, 1.5f), std::pow(std::fabs(wide), 1.5)), "powf", x);
    fast.holds(within_one_ulp(__sinf(x), std::sin(wide)), "__sinf", x);
    fast.holds(within_one_ulp(__expf(x / 4), std::exp(wide / 4)), "__expf", x);
    fast.holds(within_one_ulp(__logf(y), std::log(std::fabs(wide))), "__logf", x);
  }
}

void check_special_arguments() {
  Check powers("powers of negative numbers");
  powers.equal(__powf(at_run_time(-2.0f), 3.0f), -8.0f);
  powers.equal(powf(at_run_time(-2.0f), 3.0f), -8.0f);
  Check division("fast division by large numbers");
  division.equal(__fdividef(at_run_time(0x1p127f), 0x1p127f), 1.0f);
  Check macros("intrinsics are macros");
#if defined(__expf) && defined(__sinf) && defined(__powf) && defined(__sincosf)
  const auto wrapped = [](float x) { return __expf(x); };
  macros.equal(wrapped(0.0f), 1.0f);
#else
  macros.holds(false, "they are functions here");
#endif
  Check subnormals("subnormal numbers");
  subnormals.equal(at_run_time(0x1p-126f) * at_run_time(0x1p-23f), 0x1p-149f, "a result");
  subnormals.equal(at_run_time(0x1p-149f) * at_run_time(0x1p23f), 0x1p-126f, "an operand");
}

void check_nan_and_zero() {
  Check nan("bits of NaN");
  const float of_arithmetic = at_run_time(0.0f) / at_run_time(0.0f);
  nan.holds(std::isnan(of_arithmetic), "0 / 0");
  for (const float value : {of_arithmetic, -of_arithmetic, __uint_as_float(0x7f800001u)}) {
    nan.equal(__half_as_ushort(__float2half(value)), static_cast<unsigned short>(0x7fff), "half");
    nan.equal(__bfloat16_as_ushort(__float2bfloat16(value)), static_cast<unsigned short>(0x7fff));
  }
  for (unsigned int payload = 1; payload < 0x400; payload++) {
    const auto bits = static_cast<unsigned short>(0xfc00u | payload);
    nan.equal(__float_as_uint(__half2float(__ushort_as_half(bits))), 0xffc00000u | payload << 13,
              bits);
  }
  Check zeros("signed zeros");
  zeros.holds(fminf(at_run_time(0.0f), at_run_time(-0.0f)) == 0.0f, "fminf");
  zeros.equal(min(at_run_time(0.0f), at_run_time(-0.0f)), -0.0f, "min");
  zeros.equal(max(at_run_time(-0.0f), at_run_time(0.0f)), 0.0f, "max");
}

void check_language() {
  Check macros("predefined macros");
#if defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700 || !defined(__CUDASIM__)
  macros.holds(false, "__CUDA_ARCH__ or __CUDASIM__");
#else
  macros.holds(true, "__CUDA_ARCH__ and __CUDASIM__");
#endif
  Check alignment("alignment of vectors");
  alignas(16) float elements[8] = {};
  const auto fits = [](const float* p) {
    return reinterpret_cast<std::uintptr_t>(p) % alignof(float4) == 0;
  };
  alignment.holds(fits(elements) && fits(elements + 4), "multiples of 16");
  for (int i = 1; i < 4; i++) alignment.holds(!fits(elements + i), "others", i);
}

void check_order_of_atomics() {
  Check order("order of atomics");
  // 1e8 + 1 is 1e8 in float: the order matters.
  const auto summed = [](float first, float second, float third) {
    float sum = 0;
    for (const float term : {first, second, third}) {
      gridstride::host::atomic_update(&sum, [=](float before) { return before + term; });
    }
    return sum;
  };
  order.equal(summed(1e8f, 1.0f, -1e8f), 0.0f);
  order.equal(summed(1e8f, -1e8f, 1.0f), 1.0f);
}

}  // namespace

void check_differences() {
  check_casts();
  check_shifts();
  check_division();
  check_overflow();
  check_contraction();
  check_half_contraction();
  check_accuracy();
  check_special_arguments();
  check_nan_and_zero();
  check_language();
  check_order_of_atomics();
}
