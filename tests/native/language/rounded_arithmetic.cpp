// Arithmetic with a stated rounding: float against exact signs, double against the floating-point
// unit's own rounding modes set through <fenv.h> around volatile operands.
#include <gridstride/conversions.h>

#include <fenv.h>

#include <cmath>
#include <limits>

#include "check.h"
#include "rounding_oracle.h"
#include "suites.h"

namespace {

const float float_edges[] = {0.0f,      1.0f,        3.0f,       0x1.fffffep0f,    0x1.000002p0f,
                             0x1p-149f, 0x1.8p-148f, 0x1p-126f,  0x1.fffffcp-127f, 0x1.fffffep127f,
                             0x1p64f,   0x1p-64f,    0x1.5p-75f, 0x1.555556p1f,    1e10f,
                             1e-10f};

template <class Visit>
void for_float_operands(Visit visit) {
  for (const float a : float_edges) {
    for (const float b : float_edges) {
      for (const float c : {0.0f, 1.0f, -0x1p-149f, 0x1.fffffep127f, -0x1.000002p0f}) {
        visit(a, b, c), visit(-a, b, c), visit(a, -b, c), visit(-a, -b, c);
      }
    }
  }
  Random random(8);
  for (int i = 0; i < 20000; i++) {
    visit(random.any_float(), random.any_float(), random.any_float());
    visit(random.moderate_float(), random.moderate_float(), random.moderate_float());
  }
}

// What IEEE 754 gives for zeros, infinities and NaN, in this direction: the unit itself decides.
template <class Operation>
auto in_direction(Direction direction, Operation operation) {
  const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
  fesetround(modes[static_cast<int>(direction)]);
  const volatile auto result = operation();
  fesetround(FE_TONEAREST);
  return result;
}

// Checks one result of finite operands against exact signs; all others against the unit.
template <class Sign, class Operation>
void check_float(Check& check, float result, Direction direction, Sign sign, Operation operation,
                 float a, float b, float c) {
  const float expected = in_direction(direction, operation);
  const bool finite = std::isfinite(a) && std::isfinite(b) && std::isfinite(c);
  if (finite && !std::isnan(expected) && sign(0.0) != 0 && !std::isnan(result)) {
    check.holds(is_rounded(candidate_of(result), direction, sign), "exact sign", a, b, c,
                name_of(direction), result);
  }
  check.same_number(result, expected, "unit", a, b, c, name_of(direction));
}

#define GS_FOUR(name) \
  { name##_rn, name##_rz, name##_ru, name##_rd }

void check_float_sums_and_products() {
  Check sums("__fadd and __fsub in four roundings"), products("__fmul in four roundings");
  Check fused("__fmaf in four roundings, rounded once");
  float (*const add[])(float, float) = GS_FOUR(__fadd);
  float (*const subtract[])(float, float) = GS_FOUR(__fsub);
  float (*const multiply[])(float, float) = GS_FOUR(__fmul);
  float (*const multiply_add[])(float, float, float) = GS_FOUR(__fmaf);
  float (*const ieee[])(float, float, float) = GS_FOUR(__fmaf_ieee);
  for_float_operands([&](float a, float b, float c) {
    const double product = double{a} * double{b};
    const volatile float va = a, vb = b, vc = c;
    for (const Direction direction : all_directions) {
      const int i = static_cast<int>(direction);
      check_float(
          sums, add[i](a, b), direction,
          [=](double m) {
            return exact_sign({a, b, -m});
          },
          [&] { return va + vb; }, a, b, 0);
      check_float(
          sums, subtract[i](a, b), direction,
          [=](double m) {
            return exact_sign({a, -double{b}, -m});
          },
          [&] { return va - vb; }, a, b, 0);
      check_float(
          products, multiply[i](a, b), direction,
          [=](double m) {
            return exact_sign({product, -m});
          },
          [&] { return va * vb; }, a, b, 0);
      check_float(
          fused, multiply_add[i](a, b, c), direction,
          [=](double m) {
            return exact_sign({product, c, -m});
          },
          [&] { return std::fma(va, vb, vc); }, a, b, c);
      fused.same_number(ieee[i](a, b, c), multiply_add[i](a, b, c), "ieee", a, b, c);
    }
  });
}

void check_float_quotients_and_roots() {
  Check quotients("__fdiv and __frcp in four roundings"), roots("__fsqrt in four roundings");
  float (*const divide[])(float, float) = GS_FOUR(__fdiv);
  float (*const reciprocal[])(float) = GS_FOUR(__frcp);
  float (*const root[])(float) = GS_FOUR(__fsqrt);
  for_float_operands([&](float a, float b, float) {
    const volatile float va = a, vb = b;
    // m * b and m * m are exact in double for a midpoint m of 25 bits.
    const auto quotient_sign = [](float x, float y) {
      return [=](double m) { return (y > 0 ? 1 : -1) * exact_sign({x, -m * y}); };
    };
    for (const Direction direction : all_directions) {
      const int i = static_cast<int>(direction);
      if (b != 0) {
        check_float(
            quotients, divide[i](a, b), direction, quotient_sign(a, b), [&] { return va / vb; }, a,
            b, 0);
        check_float(
            quotients, reciprocal[i](b), direction, quotient_sign(1, b), [&] { return 1.0f / vb; },
            b, 0, 0);
      }
      const auto root_sign = [=](double m) { return m < 0 ? 1 : exact_sign({a, -m * m}); };
      check_float(
          roots, root[i](a), direction, root_sign, [&] { return std::sqrt(va); }, a, 0, 0);
    }
  });
}

void check_reciprocal_root() {
  Check check("__frsqrt_rn is correctly rounded");
  const auto visit = [&](float a) {
    const float result = __frsqrt_rn(a);
    if (!(a > 0) || std::isinf(a)) return;
    // E > m where 1 > a * m * m; m has 25 bits, so a * m * m has 74: split a * m into two doubles.
    const auto sign = [=](double m) {
      const double product = double{a} * m, rest = std::fma(double{a}, m, -product);
      const double square = product * m, square_rest = std::fma(product, m, -square);
      return exact_sign({1.0, -square, -square_rest, -rest * m});
    };
    check.holds(is_rounded(candidate_of(result), Direction::nearest, sign), a, result);
  };
  for (std::uint32_t step = 0; step < 1u << 25; step += 61) {
    float value;
    const std::uint32_t bits = 0x3f800000u + step / 2;
    std::memcpy(&value, &bits, sizeof value);
    visit(step % 2 ? value : value / 2);
  }
  for (const float value : float_edges) visit(value);
  check.same_number(__frsqrt_rn(-1.0f), std::nanf(""), "-1");
  check.equal(__frsqrt_rn(-0.0f), -std::numeric_limits<float>::infinity(), "-0");
  check.equal(__frsqrt_rn(std::numeric_limits<float>::infinity()), 0.0f, "infinity");
}

const double double_edges[] = {0.0,
                               1.0,
                               3.0,
                               0x1.fffffffffffffp0,
                               0x1.0000000000001p0,
                               0x1p-1074,
                               0x1.8p-1073,
                               0x1p-1022,
                               0x1.ffffffffffffep-1023,
                               0x1.fffffffffffffp1023,
                               0x1p512,
                               0x1p-512,
                               0x1.5p-540,
                               1e100,
                               1e-100};

void check_doubles() {
  Check check("__dadd, __dsub, __dmul, __ddiv, __drcp, __dsqrt and __fma in four roundings");
  double (*const add[])(double, double) = GS_FOUR(__dadd);
  double (*const subtract[])(double, double) = GS_FOUR(__dsub);
  double (*const multiply[])(double, double) = GS_FOUR(__dmul);
  double (*const divide[])(double, double) = GS_FOUR(__ddiv);
  double (*const reciprocal[])(double) = GS_FOUR(__drcp);
  double (*const root[])(double) = GS_FOUR(__dsqrt);
  double (*const fused[])(double, double, double) = GS_FOUR(__fma);
  const auto visit = [&](double a, double b, double c) {
    const volatile double va = a, vb = b, vc = c;
    for (const Direction direction : all_directions) {
      const int i = static_cast<int>(direction);
      const char* const name = name_of(direction);
      const auto expect = [&](const char* operation, double result, auto reference) {
        check.same_number(result, in_direction(direction, reference), operation, name, a, b, c);
      };
      expect("add", add[i](a, b), [&] { return va + vb; });
      expect("subtract", subtract[i](a, b), [&] { return va - vb; });
      expect("multiply", multiply[i](a, b), [&] { return va * vb; });
      expect("divide", divide[i](a, b), [&] { return va / vb; });
      expect("reciprocal", reciprocal[i](a), [&] { return 1.0 / va; });
      expect("root", root[i](a), [&] { return std::sqrt(va); });
      expect("fused", fused[i](a, b, c), [&] { return std::fma(va, vb, vc); });
    }
  };
  for (const double a : double_edges) {
    for (const double b : double_edges) visit(a, b, 1), visit(-a, b, 0x1p-1074), visit(a, -b, -a);
  }
  Random random(9);
  for (int i = 0; i < 10000; i++) {
    visit(random.any_double(), random.any_double(), random.any_double());
    visit(random.moderate_double(), random.moderate_double(), random.moderate_double());
  }
  check.holds(fegetround() == FE_TONEAREST, "the rounding mode is put back");
}

// Functions of their own, because compilers fuse within a basic block only.
__attribute__((noinline)) float difference(float a, float square) {
  return __fmul_rn(a, a) - square;
}
__attribute__((noinline)) double difference(double a, double square) {
  return __dmul_rn(a, a) - square;
}
__attribute__((noinline)) float sum(float a, float square) {
  return __fadd_rn(__fmul_rn(a, a), -square);
}
__attribute__((noinline)) double sum(double a, double square) {
  return __dadd_rn(__dmul_rn(a, a), -square);
}

// 1 + 2^-23 squared is 1 + 2^-22 + 2^-46: unfused, the last term is gone. Says nothing where the
// build has no fused instructions.
void check_contraction() {
  Check check("the _rn operations are not contracted to fused ones");
  Random random(10);
  for (int i = 0; i < 100; i++) {
    const float a = i == 0 ? 1.0f + 0x1p-23f : random.moderate_float();
    const double b = i == 0 ? 1.0 + 0x1p-52 : random.moderate_double();
    const volatile float square = a * a;
    const volatile double wide_square = b * b;
    check.equal(difference(a, square), 0.0f, a), check.equal(sum(a, square), 0.0f, a);
    check.equal(difference(b, wide_square), 0.0, b), check.equal(sum(b, wide_square), 0.0, b);
  }
}

}  // namespace

void check_rounded_arithmetic() {
  check_float_sums_and_products();
  check_float_quotients_and_roots();
  check_reciprocal_root();
  check_doubles();
  check_contraction();
}
