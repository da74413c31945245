// The math library of half and bfloat16 on all their patterns, and pairs against their elements.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>

#include "check.h"
#include "float16_oracle.h"
#include "suites.h"

namespace {

template <class Definition>
void check_functions() {
  using F = Format<Definition>;
  using Type = typename Definition::Type;
  const std::string text = std::string(Definition::name) +
                           ": every math function is within 1 ulp of double on every pattern";
  Check check(text.c_str());
  // In units of the last place: the distance between the bit patterns as ordered integers.
  const auto ordered = [](unsigned bits) {
    return bits & 0x8000 ? -static_cast<int>(bits & 0x7fff) : static_cast<int>(bits);
  };
  const auto visit = [&](const char* name, Type (*function)(Type), double (*reference)(double),
                         int allowed) {
    for (unsigned bits = 0; bits < all_patterns; bits++) {
      const unsigned actual = F::bits_of(function(F::of_bits(bits)));
      const double exact = reference(F::number(bits));
      if (std::isnan(exact)) {
        check.holds(F::is_nan(actual), name, bits, actual);
        continue;
      }
      const unsigned expected = F::bits_of(Type(exact));
      const int distance = ordered(actual) - ordered(expected);
      check.holds(!F::is_nan(actual) && std::abs(distance) <= allowed, name, bits, actual,
                  expected);
    }
  };
  visit("ceil", hceil, std::ceil, 0), visit("floor", hfloor, std::floor, 0);
  visit("trunc", htrunc, std::trunc, 0), visit("rint", hrint, std::nearbyint, 0);
  visit("sqrt", hsqrt, std::sqrt, 0);
  visit(
      "rcp", hrcp, [](double x) { return 1 / x; }, 0);
  visit(
      "rsqrt", hrsqrt, [](double x) { return 1 / std::sqrt(x); }, 0);
  visit("exp", hexp, std::exp, 1), visit("exp2", hexp2, std::exp2, 1);
  visit(
      "exp10", hexp10, [](double x) { return std::pow(10.0, x); }, 1);
  visit("log", hlog, std::log, 1), visit("log2", hlog2, std::log2, 1);
  visit("log10", hlog10, std::log10, 1), visit("tanh", htanh, std::tanh, 1);
  visit("sin", hsin, std::sin, 1), visit("cos", hcos, std::cos, 1);
  visit("tanh_approx", htanh_approx, std::tanh, 1);
}

// The two types' packing functions under one name.
#define GS_PACKING_TABLE(token)                                                      \
  static Pair from_float(float value) { return __float2##token##2_rn(value); }       \
  static Pair from_floats(float a, float b) { return __floats2##token##2_rn(a, b); } \
  static Pair from_float2(float2 value) { return __float22##token##2_rn(value); }    \
  static float2 to_float2(Pair value) { return __##token##22float2(value); }         \
  static Pair of(Type a, Type b) { return __halves2##token##2(a, b); }               \
  static Pair made(Type a, Type b) { return make_##token##2(a, b); }                 \
  static Pair both(Type a) { return __##token##2##token##2(a); }                     \
  static Pair lows(Pair a, Pair b) { return __lows2##token##2(a, b); }               \
  static Pair highs(Pair a, Pair b) { return __highs2##token##2(a, b); }             \
  static Pair low_pair(Pair a) { return __low2##token##2(a); }                       \
  static Pair high_pair(Pair a) { return __high2##token##2(a); }                     \
  static Type low(Pair a) { return __low2##token(a); }                               \
  static Type high(Pair a) { return __high2##token(a); }

template <class Definition>
struct Packing;

template <>
struct Packing<HalfDefinition> {
  using Type = __half;
  using Pair = __half2;
  GS_PACKING_TABLE(half)
};

template <>
struct Packing<Bfloat16Definition> {
  using Type = __nv_bfloat16;
  using Pair = __nv_bfloat162;
  GS_PACKING_TABLE(bfloat16)
};

template <class Definition>
void check_packing() {
  using F = Format<Definition>;
  using P = Packing<Definition>;
  const std::string text = std::string(Definition::name) + ": pairs are packed and rearranged";
  Check check(text.c_str());
  const auto x = F::of_bits(0x1234), y = F::of_bits(0xabcd), z = F::of_bits(0x4321);
  const auto is = [&](const char* name, typename P::Pair pair, typename P::Type low,
                      typename P::Type high) {
    check.holds(F::bits_of(pair.x) == F::bits_of(low) && F::bits_of(pair.y) == F::bits_of(high),
                name);
  };
  const typename P::Pair a = P::of(x, y), b = P::made(z, x);
  is("of", a, x, y), is("made", b, z, x), is("both", P::both(y), y, y);
  is("lows", P::lows(a, b), x, z), is("highs", P::highs(a, b), y, x);
  is("low pair", P::low_pair(a), x, x), is("high pair", P::high_pair(a), y, y);
  is("swapped", __lowhigh2highlow(a), y, x);
  check.equal(F::bits_of(P::low(a)), F::bits_of(x)),
      check.equal(F::bits_of(P::high(a)), F::bits_of(y));
  const float third = 1.0f / 3, seventh = -1.0f / 7;
  using Type = typename P::Type;
  is("floats", P::from_floats(third, seventh), Type(third), Type(seventh));
  is("float", P::from_float(third), Type(third), Type(third));
  is("float2", P::from_float2(float2{third, seventh}), Type(third), Type(seventh));
  const float2 wide = P::to_float2(P::from_floats(0.5f, -2.0f));
  check.holds(wide.x == 0.5f && wide.y == -2.0f, "to float2");
  check.holds(__low2float(a) == float(x) && __high2float(a) == float(y), "low and high float");
  check.holds(sizeof a == 4 && alignof(typename P::Pair) == 4, "size and alignment");
}

template <class Definition>
void check_pair_operations() {
  using F = Format<Definition>;
  using P = Packing<Definition>;
  using Pair = typename P::Pair;
  const std::string text =
      std::string(Definition::name) + ": operations on pairs are those on elements";
  Check check(text.c_str());
  Random random(31);
  for (int i = 0; i < 20000; i++) {
    const auto x = F::of_bits(random.bits32() >> 16), y = F::of_bits(random.bits32() >> 16);
    const auto u = i % 3 ? F::of_bits(random.bits32() >> 16) : x;
    const auto v = i % 5 ? F::of_bits(random.bits32() >> 16) : y;
    const Pair a(x, y), b(u, v), c(y, u);
    const auto is = [&](const char* name, Pair pair, typename P::Type low, typename P::Type high) {
      const bool same =
          F::bits_of(pair.x) == F::bits_of(low) && F::bits_of(pair.y) == F::bits_of(high);
      check.holds(same, name, x, y, u, v);
    };
    is("+", a + b, x + u, y + v), is("-", a - b, x - u, y - v), is("*", a * b, x * u, y * v);
    is("/", a / b, x / u, y / v), is("add", __hadd2(a, b), __hadd(x, u), __hadd(y, v));
    is("fma", __hfma2(a, b, c), __hfma(x, u, y), __hfma(y, v, u));
    is("fma_sat", __hfma2_sat(a, b, c), __hfma_sat(x, u, y), __hfma_sat(y, v, u));
    is("fma_relu", __hfma2_relu(a, b, c), __hfma_relu(x, u, y), __hfma_relu(y, v, u));
    is("add_sat", __hadd2_sat(a, b), __hadd_sat(x, u), __hadd_sat(y, v));
    is("sub_sat", __hsub2_sat(a, b), __hsub_sat(x, u), __hsub_sat(y, v));
    is("mul_sat", __hmul2_sat(a, b), __hmul_sat(x, u), __hmul_sat(y, v));
    is("min", __hmin2(a, b), __hmin(x, u), __hmin(y, v));
    is("max", __hmax2(a, b), __hmax(x, u), __hmax(y, v));
    is("min_nan", __hmin2_nan(a, b), __hmin_nan(x, u), __hmin_nan(y, v));
    is("max_nan", __hmax2_nan(a, b), __hmax_nan(x, u), __hmax_nan(y, v));
    is("neg", -a, -x, -y), is("abs", __habs2(a), __habs(x), __habs(y));
    is("exp", h2exp(a), hexp(x), hexp(y)), is("rcp", h2rcp(a), hrcp(x), hrcp(y));
    is("cmadd", __hcmadd(a, b, c), __hfma(-y, v, __hfma(x, u, y)), __hfma(y, u, __hfma(x, v, u)));
    Pair stepped = a;
    is("x++", stepped++, x, y),
        is("++", stepped, x + typename P::Type(1.0f), y + typename P::Type(1.0f));

#define GS_CHECK_RELATION(relation)                                                             \
  {                                                                                             \
    const bool low = __h##relation(x, u), high = __h##relation(y, v);                           \
    is(#relation, __h##relation##2(a, b), typename P::Type(low ? 1.0f : 0.0f),                  \
       typename P::Type(high ? 1.0f : 0.0f));                                                   \
    check.equal(__h##relation##2_mask(a, b), (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0), x, \
                y);                                                                             \
    check.holds(__hb##relation##2(a, b) == (low && high), #relation, x, y, u, v);               \
  }
    GS_CHECK_RELATION(eq)
    GS_CHECK_RELATION(ne) GS_CHECK_RELATION(lt) GS_CHECK_RELATION(le) GS_CHECK_RELATION(gt)
        GS_CHECK_RELATION(ge) GS_CHECK_RELATION(equ) GS_CHECK_RELATION(neu) GS_CHECK_RELATION(ltu)
            GS_CHECK_RELATION(leu) GS_CHECK_RELATION(gtu) GS_CHECK_RELATION(geu)
#undef GS_CHECK_RELATION
                check.holds((a == b) == (x == u && y == v) && (a != b) == (x != u && y != v), x, y,
                            u, v);
    check.holds((a < b) == (x < u && y < v) && (a >= b) == (x >= u && y >= v), x, y, u, v);
    is("isnan", __hisnan2(a), typename P::Type(__hisnan(x) ? 1.0f : 0.0f),
       typename P::Type(__hisnan(y) ? 1.0f : 0.0f));
  }
}

void check_constants() {
  Check check("constants of half and bfloat16, and conversion into each other");
  check.holds(float{CUDART_MAX_NORMAL_FP16} == 65504.0f && std::isinf(float{CUDART_INF_FP16}),
              "half");
  check.holds(float{CUDART_MIN_DENORM_FP16} == 0x1p-24f && __hisnan(CUDART_NAN_FP16), "half");
  check.holds(float{CUDART_ONE_BF16} == 1.0f && std::isinf(float{CUDART_INF_BF16}), "bfloat16");
  check.holds(float{CUDART_MIN_DENORM_BF16} == 0x1p-133f && __hisnan(CUDART_NAN_BF16), "bfloat16");
  check.holds(float(__nv_bfloat16(__half(1.0078125f))) == 1.0078125f, "half to bfloat16");
  check.holds(std::isinf(float(__half(__nv_bfloat16(1e5f)))), "bfloat16 to half overflows");
}

}  // namespace

void check_float16_functions() {
  check_functions<HalfDefinition>();
  check_functions<Bfloat16Definition>();
  check_packing<HalfDefinition>();
  check_packing<Bfloat16Definition>();
  check_pair_operations<HalfDefinition>();
  check_pair_operations<Bfloat16Definition>();
  check_constants();
}
