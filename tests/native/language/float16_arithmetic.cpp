// Arithmetic of half and bfloat16: one rounding per operation, checked by exact signs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>

#include "check.h"
#include "float16_oracle.h"
#include "suites.h"

namespace {

// Patterns around which arithmetic changes: zeros, subnormals, ones, limits, infinities, NaN.
template <class Definition>
std::vector<unsigned> edge_patterns() {
  const unsigned infinity = Format<Definition>::infinity_bits;
  const unsigned one = static_cast<unsigned>(Format<Definition>::bias) << Definition::fraction_bits;
  const unsigned min_normal = 1u << Definition::fraction_bits;
  std::vector<unsigned> patterns = {0,
                                    1,
                                    2,
                                    3,
                                    min_normal - 1,
                                    min_normal,
                                    min_normal + 1,
                                    one - 1,
                                    one,
                                    one + 1,
                                    2 * min_normal - 1,
                                    infinity - 1,
                                    infinity,
                                    infinity + 1,
                                    0x7fff,
                                    infinity - 2 * min_normal,
                                    one + min_normal / 2,
                                    one / 2,
                                    one / 2 + 1,
                                    one / 2 - 1};
  const std::size_t count = patterns.size();
  for (std::size_t i = 0; i < count; i++) patterns.push_back(patterns[i] | 0x8000);
  return patterns;
}

template <class Definition, class Visit>
void for_operands(Visit visit) {
  const auto edges = edge_patterns<Definition>();
  for (const unsigned a : edges) {
    for (const unsigned b : edges) {
      for (const unsigned c : edges) visit(a, b, c);
    }
  }
  Random random(30);
  for (int i = 0; i < 300000; i++) {
    const unsigned a = random.bits32() >> 16, b = random.bits32() >> 16;
    // Every other addend is near the product in magnitude, where cancellation and ties happen.
    const int shift = static_cast<int>(random.below(60)) - 30;
    const double near = Format<Definition>::number(a) * Format<Definition>::number(b);
    const auto addend = typename Definition::Type(std::ldexp(near, shift));
    visit(a, b, i % 2 ? random.bits32() >> 16 : Format<Definition>::bits_of(addend));
  }
}

// Checks an operation's result: by exact signs if it is finite by IEEE 754, else against double.
template <class Definition, class Sign>
void check_rounding(Check& check, typename Definition::Type result, double in_double, Sign sign,
                    const char* operation, unsigned a, unsigned b, unsigned c) {
  using F = Format<Definition>;
  const unsigned bits = F::bits_of(result);
  if (std::isnan(in_double)) {
    check.equal(bits, 0x7fffu, operation, "NaN of", a, b, c);
  } else if (std::isinf(in_double)) {
    check.holds(F::number(bits) == in_double, operation, "infinity of", a, b, c, bits);
  } else if (in_double == 0) {
    check.same_number(F::number(bits), in_double, operation, "zero of", a, b, c);
  } else {
    const bool right = !F::is_nan(bits) &&
                       is_rounded(F::candidate(bits), Direction::nearest, sign) &&
                       std::signbit(F::number(bits)) == std::signbit(in_double);
    check.holds(right, operation, a, b, c, "->", bits);
  }
}

template <class Definition>
void check_operations() {
  using F = Format<Definition>;
  const std::string text =
      std::string(Definition::name) + ": +, -, *, /, fma and sqrt are rounded exactly once";
  Check check(text.c_str());
  for_operands<Definition>([&](unsigned a, unsigned b, unsigned c) {
    const auto x = F::of_bits(a), y = F::of_bits(b), z = F::of_bits(c);
    const double xd = F::number(a), yd = F::number(b), zd = F::number(c);
    // Exact: 22 bits at most, far from double's limits.
    const double product = xd * yd;
    const auto visit = [&](const char* name, typename Definition::Type result, double in_double,
                           auto sign) {
      check_rounding<Definition>(check, result, in_double, sign, name, a, b, c);
    };
    visit("+", __hadd(x, y), xd + yd, [=](double m) { return exact_sign({xd, yd, -m}); });
    visit("-", __hsub(x, y), xd - yd, [=](double m) { return exact_sign({xd, -yd, -m}); });
    visit("*", __hmul(x, y), product, [=](double m) { return exact_sign({product, -m}); });
    visit("/", __hdiv(x, y), xd / yd, [=](double m) {
      return (std::signbit(yd) ? -1 : 1) * exact_sign({xd, -m * yd});
    });
    visit("fma", __hfma(x, y, z), std::fma(xd, yd, zd), [=](double m) {
      return exact_sign({product, zd, -m});
    });
    visit("sqrt", hsqrt(x), std::sqrt(xd), [=](double m) {
      return m < 0 ? 1 : exact_sign({xd, -m * m});
    });
  });
}

template <class Definition>
void check_derived_forms() {
  using F = Format<Definition>;
  using Type = typename Definition::Type;
  const std::string text =
      std::string(Definition::name) +
      ": saturated, rectified, negated and in-place forms follow the plain ones";
  Check check(text.c_str());
  const auto saturated = [](Type value) {
    const double number = F::number(F::bits_of(value));
    return number >= 1 ? 1.0 : number > 0 ? number : 0.0;
  };
  const auto rectified = [](Type value) {
    const double number = F::number(F::bits_of(value));
    return number < 0 ? 0.0 : number;
  };
  const auto edges = edge_patterns<Definition>();
  for (const unsigned a : edges) {
    for (const unsigned b : edges) {
      const Type x = F::of_bits(a), y = F::of_bits(b), z = F::of_bits(a ^ b);
      const auto number = [](Type value) { return F::number(F::bits_of(value)); };
      check.equal(number(__hadd_sat(x, y)), saturated(__hadd(x, y)), "add_sat", a, b);
      check.equal(number(__hsub_sat(x, y)), saturated(__hsub(x, y)), "sub_sat", a, b);
      check.equal(number(__hmul_sat(x, y)), saturated(__hmul(x, y)), "mul_sat", a, b);
      check.equal(number(__hfma_sat(x, y, z)), saturated(__hfma(x, y, z)), "fma_sat", a, b);
      check.same_number(number(__hfma_relu(x, y, z)), rectified(__hfma(x, y, z)), "fma_relu", a, b);
      check.equal(F::bits_of(__hneg(x)), static_cast<unsigned short>(a ^ 0x8000), "neg", a);
      check.equal(F::bits_of(__habs(x)), static_cast<unsigned short>(a & 0x7fff), "abs", a);
      Type sum = x, difference = x, product = x, quotient = x;
      sum += y, difference -= y, product *= y, quotient /= y;
      check.equal(F::bits_of(sum), F::bits_of(x + y), "+=", a, b);
      check.equal(F::bits_of(difference), F::bits_of(x - y), "-=", a, b);
      check.equal(F::bits_of(product), F::bits_of(x * y), "*=", a, b);
      check.equal(F::bits_of(quotient), F::bits_of(x / y), "/=", a, b);
      check.equal(F::bits_of(x + y), F::bits_of(__hadd_rn(x, y)), "+", a, b);
      check.equal(F::bits_of(x - y), F::bits_of(__hsub_rn(x, y)), "-", a, b);
      check.equal(F::bits_of(x * y), F::bits_of(__hmul_rn(x, y)), "*", a, b);
      check.equal(F::bits_of(x / y), F::bits_of(__hdiv(x, y)), "/", a, b);
      Type stepped = x;
      check.equal(F::bits_of(stepped++), static_cast<unsigned short>(a), "x++", a);
      check.equal(F::bits_of(stepped), F::bits_of(__hadd(x, Type(1.0f))), "x++", a);
      check.equal(F::bits_of(--stepped), F::bits_of(__hsub(__hadd(x, Type(1.0f)), Type(1.0f))), a);
    }
  }
}

template <class Definition>
void check_comparisons() {
  using F = Format<Definition>;
  const std::string text =
      std::string(Definition::name) + ": comparisons, ordered and unordered, minimum and maximum";
  Check check(text.c_str());
  const auto edges = edge_patterns<Definition>();
  for (const unsigned a : edges) {
    for (const unsigned b : edges) {
      const auto x = F::of_bits(a), y = F::of_bits(b);
      const double xd = F::number(a), yd = F::number(b);
      const bool unordered = std::isnan(xd) || std::isnan(yd);
      const bool differ = xd < yd || xd > yd;
      check.holds(__heq(x, y) == (xd == yd) && __hequ(x, y) == (unordered || xd == yd), "eq", a, b);
      check.holds(__hne(x, y) == differ && __hneu(x, y) == (unordered || differ), "ne", a, b);
      check.holds(__hlt(x, y) == (xd < yd) && __hltu(x, y) == !(xd >= yd), "lt", a, b);
      check.holds(__hle(x, y) == (xd <= yd) && __hleu(x, y) == !(xd > yd), "le", a, b);
      check.holds(__hgt(x, y) == (xd > yd) && __hgtu(x, y) == !(xd <= yd), "gt", a, b);
      check.holds(__hge(x, y) == (xd >= yd) && __hgeu(x, y) == !(xd < yd), "ge", a, b);
      check.holds((x == y) == (xd == yd) && (x != y) == !(xd == yd), "== !=", a, b);
      check.holds((x < y) == (xd < yd) && (x > y) == (xd > yd), "< >", a, b);
      check.holds((x <= y) == (xd <= yd) && (x >= y) == (xd >= yd), "<= >=", a, b);
      const bool x_first = xd < yd || (xd == yd && std::signbit(xd));
      const double least = std::isnan(xd) ? yd : std::isnan(yd) || x_first ? xd : yd;
      const double most = std::isnan(xd) ? yd : std::isnan(yd) || !x_first ? xd : yd;
      const double nan = std::nan("");
      const auto number = [](auto value) { return F::number(F::bits_of(value)); };
      const bool same = xd == yd && std::signbit(xd) == std::signbit(yd);
      check.same_number(number(__hmin(x, y)), same ? xd : least, "min", a, b);
      check.same_number(number(__hmax(x, y)), same ? xd : most, "max", a, b);
      check.same_number(number(__hmin_nan(x, y)),
                        unordered ? nan
                        : same    ? xd
                                  : least,
                        "min_nan", a, b);
      check.same_number(number(__hmax_nan(x, y)),
                        unordered ? nan
                        : same    ? xd
                                  : most,
                        "max_nan", a, b);
    }
    check.holds(__hisnan(F::of_bits(a)) == F::is_nan(a), "isnan", a);
    const int infinite = F::is_infinite(a) ? (a & 0x8000 ? -1 : 1) : 0;
    check.holds(__hisinf(F::of_bits(a)) == infinite, "isinf", a);
  }
}

// Where two roundings go wrong: the product is a midpoint and the addend too small for double's
// last bit; and products around half of the smallest number.
void check_double_rounding() {
  Check check("cases in which an intermediate rounding would show");
  const auto bf = [](double value) { return __nv_bfloat16(value); };
  const auto bits = [](__nv_bfloat16 value) { return __bfloat16_as_ushort(value); };
  // (1 + 2^-4)(1 + 2^-4) = 1 + 2^-3 + 2^-8: halfway between 1 + 2^-3 and its upper neighbour.
  const auto near_one = bf(1.0625);
  check.equal(bits(__hfma(near_one, near_one, bf(0))), bits(bf(1.125)), "a tie goes to even");
  check.equal(bits(__hfma(near_one, near_one, bf(0x1p-100))), bits(bf(1.1328125)), "above the tie");
  check.equal(bits(__hfma(near_one, near_one, bf(-0x1p-100))), bits(bf(1.125)), "below the tie");
  // The smallest number is 2^-133; (1 + 2^-7) 2^-67 squared is a little over half of it.
  const auto small = bf(1.0078125 * 0x1p-67);
  check.equal(bits(__hmul(small, small)), static_cast<unsigned short>(1),
              "just above half of the least");
  const auto exact_half = bf(0x1p-67);
  check.equal(bits(__hmul(exact_half, exact_half)), static_cast<unsigned short>(0),
              "half of the least");
  // (1 + 2^-5)(1 + 2^-6) = 1 + 2^-5 + 2^-6 + 2^-11: halfway between two halfs.
  const __half p = __half(1.03125f), q = __half(1.015625f);
  const auto half_bits = [&](float addend) {
    return __half_as_ushort(__hfma(p, q, __half(addend)));
  };
  check.equal(half_bits(0.0f), __half_as_ushort(__half(1.046875f)), "half: a tie goes to even");
  check.equal(half_bits(0x1p-24f), __half_as_ushort(__half(1.0478516f)), "half: above the tie");
  check.equal(half_bits(-0x1p-24f), __half_as_ushort(__half(1.046875f)), "half: below the tie");
}

}  // namespace

void check_float16_arithmetic() {
  check_operations<HalfDefinition>();
  check_operations<Bfloat16Definition>();
  check_derived_forms<HalfDefinition>();
  check_derived_forms<Bfloat16Definition>();
  check_comparisons<HalfDefinition>();
  check_comparisons<Bfloat16Definition>();
  check_double_rounding();
}
