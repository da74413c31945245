// Conversions between integers and floating point against 128-bit integer arithmetic, and bit
// casts.
#include <gridstride/conversions.h>

#include <cmath>
#include <limits>

#include "check.h"
#include "rounding_oracle.h"
#include "suites.h"

namespace {

__extension__ typedef __int128 Wide;

// The integer in the direction of the rounding. The value is finite and below 2^100.
Wide integer_near(double value, Direction direction) {
  const auto truncated = static_cast<Wide>(value);
  const double rest = value - static_cast<double>(truncated);
  const int outwards = rest > 0 ? 1 : rest < 0 ? -1 : 0;
  switch (direction) {
    case Direction::zero: return truncated;
    case Direction::up: return truncated + (rest > 0);
    case Direction::down: return truncated - (rest < 0);
    case Direction::nearest: break;
  }
  const double magnitude = std::fabs(rest);
  const bool away = magnitude > 0.5 || (magnitude == 0.5 && truncated % 2 != 0);
  return away ? truncated + outwards : truncated;
}

// The PTX rules for NaN and for values out of range.
template <class Integer, class Float>
Integer converted(Float value, Direction direction) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(value)) {
    if (sizeof(Float) < 8 && sizeof(Integer) < 8) return 0;
    return static_cast<Integer>(std::uint64_t{1} << (sizeof(Integer) * 8 - 1));
  }
  if (value >= std::ldexp(1.0, 70)) return Limits::max();
  if (value <= -std::ldexp(1.0, 70)) return Limits::min();
  const Wide integer = integer_near(value, direction);
  if (integer > Limits::max()) return Limits::max();
  if (integer < Limits::min()) return Limits::min();
  return static_cast<Integer>(integer);
}

// Values around every place where a conversion to an integer changes its mind.
template <class Float>
std::vector<Float> edge_values() {
  using Limits = std::numeric_limits<Float>;
  std::vector<Float> values = {Limits::quiet_NaN(),
                               -Limits::quiet_NaN(),
                               Limits::infinity(),
                               Limits::max(),
                               Limits::min(),
                               Limits::denorm_min(),
                               0};
  for (int exponent = -3; exponent <= 66; exponent++) {
    const Float power = std::ldexp(Float{1}, exponent);
    for (const Float offset : {Float(-1), Float(-0.5), Float(0), Float(0.5), Float(1)}) {
      const Float value = power + offset;
      values.push_back(value);
      values.push_back(std::nextafter(value, Limits::infinity()));
      values.push_back(std::nextafter(value, -Limits::infinity()));
    }
  }
  for (int i = 0; i <= 40; i++) values.push_back(Float(i) / 4);
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; i++) values.push_back(-values[i]);
  return values;
}

template <class Integer, class Float>
void check_to_integer(const char* claim, Integer (*rn)(Float), Integer (*rz)(Float),
                      Integer (*ru)(Float), Integer (*rd)(Float), Float (Random::*any)(),
                      Float (Random::*moderate)()) {
  Check check(claim);
  const auto visit = [&](Float value) {
    check.equal(rn(value), converted<Integer>(value, Direction::nearest), value, "rn");
    check.equal(rz(value), converted<Integer>(value, Direction::zero), value, "rz");
    check.equal(ru(value), converted<Integer>(value, Direction::up), value, "ru");
    check.equal(rd(value), converted<Integer>(value, Direction::down), value, "rd");
  };
  for (const Float value : edge_values<Float>()) visit(value);
  Random random(4);
  for (int i = 0; i < 50000; i++) {
    visit((random.*any)());
    visit((random.*moderate)());
  }
}

#define GS_CHECK_TO_INTEGER(name, integer, type)                                              \
  check_to_integer<integer, type>(                                                            \
      #name "_{rn,rz,ru,rd} round, saturate and treat NaN as PTX says", name##_rn, name##_rz, \
      name##_ru, name##_rd, &Random::any_##type, &Random::moderate_##type)

// The sign of an integer minus a float's value; floats beyond 64 bits are of no interest.
int compared(Wide integer, double value) {
  if (value >= std::ldexp(1.0, 100)) return -1;
  const auto truncated = static_cast<Wide>(value);
  const double rest = value - static_cast<double>(truncated);
  if (integer != truncated) return integer > truncated ? 1 : -1;
  return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

// Doubles: midpoints need one bit more than a double has, so neighbours are compared as integers.
bool is_rounded_double(Wide integer, double result, Direction direction) {
  const auto value = static_cast<Wide>(result);
  const auto below = static_cast<Wide>(std::nextafter(result, -1e300));
  const auto above = static_cast<Wide>(std::nextafter(result, 1e300));
  const bool exact_possible = std::fabs(result) < std::ldexp(1.0, 53);
  if (exact_possible) return value == integer;
  switch (direction) {
    case Direction::up: return integer <= value && integer > below;
    case Direction::down: return integer >= value && integer < above;
    case Direction::zero:
      return result > 0 ? integer >= value && integer < above : integer <= value && integer > below;
    case Direction::nearest: break;
  }
  int exponent = 0;
  const bool even = std::fmod(std::ldexp(std::frexp(result, &exponent), 53), 2) == 0;
  const Wide to_below = 2 * integer - below - value, to_above = above + value - 2 * integer;
  return (to_below > 0 || (to_below == 0 && even)) && (to_above > 0 || (to_above == 0 && even));
}

template <class Integer, class Function>
void for_integers(Function visit) {
  for (const auto word : edge_words()) {
    for (int offset = -1; offset <= 1; offset++) {
      visit(static_cast<Integer>(word + static_cast<std::uint64_t>(offset)));
      visit(static_cast<Integer>(0 - word + static_cast<std::uint64_t>(offset)));
    }
  }
  // Ties between floats: 24 or 53 bits, a one behind them, and the two integers next to that.
  Random random(5);
  for (int i = 0; i < 60000; i++) {
    const std::uint64_t odd = random.bits64() | 1;
    const int kept = i % 2 ? 25 : 54;
    const std::uint64_t tie = (odd >> (64 - kept) | 1) << random.below(40);
    visit(static_cast<Integer>(tie + random.below(3) - 1));
    visit(static_cast<Integer>(odd));
  }
}

template <class Integer>
void check_to_float(const char* claim, float (*rn)(Integer), float (*rz)(Integer),
                    float (*ru)(Integer), float (*rd)(Integer)) {
  Check check(claim);
  float (*const functions[])(Integer) = {rn, rz, ru, rd};
  for_integers<Integer>([&](Integer integer) {
    for (const Direction direction : all_directions) {
      const float result = functions[static_cast<int>(direction)](integer);
      const bool right = is_rounded(candidate_of(result), direction,
                                    [=](double point) { return compared(integer, point); });
      check.holds(right && !(result == 0 && std::signbit(result)), integer, name_of(direction),
                  result);
    }
  });
}

template <class Integer>
void check_to_double(const char* claim, double (*rn)(Integer), double (*rz)(Integer),
                     double (*ru)(Integer), double (*rd)(Integer)) {
  Check check(claim);
  double (*const functions[])(Integer) = {rn, rz, ru, rd};
  for_integers<Integer>([&](Integer integer) {
    for (const Direction direction : all_directions) {
      const double result = functions[static_cast<int>(direction)](integer);
      check.holds(is_rounded_double(integer, result, direction), integer, name_of(direction),
                  result);
    }
  });
}

#define GS_CHECK_FROM_INTEGER(check, name, integer)                                         \
  check<integer>(#name "_{rn,rz,ru,rd} round as they say", name##_rn, name##_rz, name##_ru, \
                 name##_rd)

void check_double_to_float() {
  Check check("__double2float_{rn,rz,ru,rd} round, overflow and underflow as they say");
  float (*const functions[])(double) = {__double2float_rn, __double2float_rz, __double2float_ru,
                                        __double2float_rd};
  const auto visit = [&](double value) {
    for (const Direction direction : all_directions) {
      const float result = functions[static_cast<int>(direction)](value);
      if (std::isnan(value) || std::isinf(value)) {
        check.same_number<double>(result, value, value, name_of(direction));
        continue;
      }
      const bool right = is_rounded(candidate_of(result), direction, [=](double point) {
        return exact_sign({value, -point});
      });
      check.holds(right && std::signbit(result) == std::signbit(value), value, name_of(direction),
                  result);
    }
  };
  Random random(6);
  for (int i = 0; i < 100000; i++) {
    const double near = random.any_float();
    const double half_way = near + std::ldexp(near, -24);
    for (const double value : {near, half_way, std::nextafter(half_way, 1e308),
                               std::nextafter(half_way, -1e308), random.moderate_double()}) {
      visit(value);
    }
    visit(random.any_double());
  }
  const double least = std::ldexp(1.0, -149), most = std::ldexp(2.0 - std::ldexp(1.0, -23), 127);
  for (const double edge :
       {0.0, least, least / 2, least * 1.5, most, std::ldexp(1.0, 128), most + std::ldexp(1.0, 103),
        std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()}) {
    for (const double value : {edge, std::nextafter(edge, 1e308), std::nextafter(edge, -1e308)}) {
      visit(value);
      visit(-value);
    }
  }
}

void check_bit_casts() {
  Check check("bit casts keep every bit both ways");
  Random random(7);
  for (int i = 0; i < 10000; i++) {
    const std::uint64_t bits = i < 36 ? edge_words()[static_cast<std::size_t>(i)] : random.bits64();
    const auto word = static_cast<unsigned int>(bits);
    check.equal(__float_as_uint(__uint_as_float(word)), word, word);
    check.equal(__float_as_int(__int_as_float(static_cast<int>(word))), static_cast<int>(word),
                word);
    const double value = __longlong_as_double(static_cast<long long>(bits));
    check.equal(__double_as_longlong(value), static_cast<long long>(bits), bits);
    check.equal(__double2hiint(value), static_cast<int>(bits >> 32), bits);
    check.equal(__double2loint(value), static_cast<int>(word), bits);
    check.equal(__hiloint2double(__double2hiint(value), __double2loint(value)), value, bits);
  }
  constexpr float one = __uint_as_float(0x3f800000u);
  check.equal(one, 1.0f, "at compile time");
}

}  // namespace

void check_conversions() {
  GS_CHECK_TO_INTEGER(__float2int, int, float);
  GS_CHECK_TO_INTEGER(__float2uint, unsigned int, float);
  GS_CHECK_TO_INTEGER(__float2ll, long long, float);
  GS_CHECK_TO_INTEGER(__float2ull, unsigned long long, float);
  GS_CHECK_TO_INTEGER(__double2int, int, double);
  GS_CHECK_TO_INTEGER(__double2uint, unsigned int, double);
  GS_CHECK_TO_INTEGER(__double2ll, long long, double);
  GS_CHECK_TO_INTEGER(__double2ull, unsigned long long, double);
  GS_CHECK_FROM_INTEGER(check_to_float, __int2float, int);
  GS_CHECK_FROM_INTEGER(check_to_float, __uint2float, unsigned int);
  GS_CHECK_FROM_INTEGER(check_to_float, __ll2float, long long);
  GS_CHECK_FROM_INTEGER(check_to_float, __ull2float, unsigned long long);
  GS_CHECK_FROM_INTEGER(check_to_double, __ll2double, long long);
  GS_CHECK_FROM_INTEGER(check_to_double, __ull2double, unsigned long long);
  Check small("__int2double_rn and __uint2double_rn are exact");
  for (const auto word : edge_words()) {
    const auto bits = static_cast<unsigned int>(word);
    small.holds(
        static_cast<Wide>(__int2double_rn(static_cast<int>(bits))) == static_cast<int>(bits), bits);
    small.holds(static_cast<Wide>(__uint2double_rn(bits)) == bits, bits);
  }
  check_double_to_float();
  check_bit_casts();
}
