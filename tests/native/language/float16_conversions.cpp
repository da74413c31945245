// Conversions of half and bfloat16: all 65536 patterns out, every rounding boundary in.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>
#include <type_traits>

#include "check.h"
#include "float16_oracle.h"
#include "suites.h"

namespace {

// The same functions of the two types under one name.
#define GS_CONVERSION_TABLE(token)                                                   \
  static float to_float(Type value) { return __##token##2float(value); }             \
  static Type from_double(double value) { return __double2##token(value); }          \
  static Type from_float(float value) { return __float2##token(value); }             \
  static Type from_float_in(Direction direction, float value) {                      \
    Type (*const functions[])(float) = {__float2##token##_rn, __float2##token##_rz,  \
                                        __float2##token##_ru, __float2##token##_rd}; \
    return functions[static_cast<int>(direction)](value);                            \
  }                                                                                  \
  GS_INTEGER_TABLE(token, int, int)                                                  \
  GS_INTEGER_TABLE(token, uint, unsigned int)                                        \
  GS_INTEGER_TABLE(token, short, short)                                              \
  GS_INTEGER_TABLE(token, ushort, unsigned short)                                    \
  GS_INTEGER_TABLE(token, ll, long long)                                             \
  GS_INTEGER_TABLE(token, ull, unsigned long long)                                   \
  static signed char to_char(Type value) { return __##token##2char_rz(value); }      \
  static unsigned char to_uchar(Type value) { return __##token##2uchar_rz(value); }

#define GS_INTEGER_TABLE(token, name, integer)                                               \
  static Type from_integer_in(Direction direction, integer value) {                          \
    Type (*const functions[])(integer) = {__##name##2##token##_rn, __##name##2##token##_rz,  \
                                          __##name##2##token##_ru, __##name##2##token##_rd}; \
    return functions[static_cast<int>(direction)](value);                                    \
  }                                                                                          \
  static void to_integer_in(Direction direction, Type value, integer* result) {              \
    integer (*const functions[])(Type) = {__##token##2##name##_rn, __##token##2##name##_rz,  \
                                          __##token##2##name##_ru, __##token##2##name##_rd}; \
    *result = functions[static_cast<int>(direction)](value);                                 \
  }

template <class Definition>
struct Conversions;

template <>
struct Conversions<HalfDefinition> {
  using Type = __half;
  GS_CONVERSION_TABLE(half)
};

template <>
struct Conversions<Bfloat16Definition> {
  using Type = __nv_bfloat16;
  GS_CONVERSION_TABLE(bfloat16)
};

template <class Definition>
std::string claim(const char* text) {
  return std::string(Definition::name) + text;
}

template <class Definition>
void check_to_float() {
  using F = Format<Definition>;
  const std::string text = claim<Definition>(": every pattern is the value IEEE 754 gives it");
  Check check(text.c_str());
  for (unsigned bits = 0; bits < all_patterns; bits++) {
    const auto value = F::of_bits(bits);
    const float widened = Conversions<Definition>::to_float(value);
    check.same_number<double>(widened, F::number(bits), bits);
    check.holds(static_cast<bool>(value) == (F::number(bits) != 0), "bool", bits);
    check.same_number(static_cast<float>(value), widened, "operator float", bits);
    const auto back = F::bits_of(Conversions<Definition>::from_float(widened));
    check.equal(back, static_cast<unsigned short>(F::is_nan(bits) ? 0x7fff : bits), "back", bits);
  }
}

// One result of a conversion in. sign(m) is that of the source minus m.
template <class Definition, class Sign, class Source>
void check_result(Check& check, typename Definition::Type result, Direction direction, Sign sign,
                  bool negative, Source source) {
  using F = Format<Definition>;
  const unsigned bits = F::bits_of(result);
  const bool right = !F::is_nan(bits) && is_rounded(F::candidate(bits), direction, sign);
  check.holds(right && (bits >> 15 != 0) == negative, source, name_of(direction), bits);
}

template <class Definition>
void check_value(Check& check, double value) {
  using Table = Conversions<Definition>;
  using F = Format<Definition>;
  const auto narrow = static_cast<float>(value);
  const bool is_float = static_cast<double>(narrow) == value;
  const auto visit = [&](typename Definition::Type result, Direction direction) {
    check_result<Definition>(
        check, result, direction,
        [=](double point) {
          return exact_sign({value, -point});
        },
        std::signbit(value), value);
  };
  visit(Table::from_double(value), Direction::nearest);
  if (!is_float) return;
  for (const Direction direction : all_directions) {
    visit(Table::from_float_in(direction, narrow), direction);
  }
  check.equal(F::bits_of(typename Definition::Type(narrow)), F::bits_of(Table::from_float(narrow)),
              value);
}

template <class Definition>
void check_from_floating() {
  using F = Format<Definition>;
  using Table = Conversions<Definition>;
  const std::string text = claim<Definition>(
      ": float and double are rounded once, in every direction, at and around every boundary");
  Check check(text.c_str());
  const double infinity = std::numeric_limits<double>::infinity();
  for (unsigned bits = 0; static_cast<int>(bits & 0x7fff) <= F::infinity_bits; bits++) {
    const Candidate r = F::candidate(bits);
    const double middle = (r.value + r.above) / 2;
    const auto narrow = static_cast<float>(middle);
    for (const double value :
         {r.value, middle, std::nextafter(middle, infinity), std::nextafter(middle, -infinity),
          std::nextafter(r.value, infinity), double{std::nextafter(narrow, INFINITY)},
          double{std::nextafter(narrow, -INFINITY)}}) {
      if (std::isinf(value)) continue;
      check_value<Definition>(check, value);
      check_value<Definition>(check, -value);
    }
  }
  Random random(20);
  for (int i = 0; i < 200000; i++) {
    const double values[] = {random.any_float(), random.moderate_double(), random.any_double()};
    for (const double value : values) {
      if (std::isfinite(value)) check_value<Definition>(check, value);
    }
  }
  for (const Direction direction : all_directions) {
    const auto bits = [&](float value) {
      return F::bits_of(Table::from_float_in(direction, value));
    };
    check.equal(bits(std::nanf("")), static_cast<unsigned short>(0x7fff), "NaN");
    check.equal(bits(-std::nanf("")), static_cast<unsigned short>(0x7fff), "-NaN");
    check.equal(bits(INFINITY), static_cast<unsigned short>(F::infinity_bits), "infinity");
    check.equal(bits(-INFINITY), static_cast<unsigned short>(F::infinity_bits | 0x8000),
                "-infinity");
  }
  check.equal(F::bits_of(Table::from_double(std::nan(""))), static_cast<unsigned short>(0x7fff),
              "NaN");
  check.equal(F::bits_of(Table::from_double(-infinity)), F::bits_of(Table::from_float(-INFINITY)));
}

template <class Definition, class Integer>
void check_integer_type(Check& check) {
  using F = Format<Definition>;
  using Table = Conversions<Definition>;
  Random random(21);
  for (int i = 0; i < 30000; i++) {
    const std::uint64_t edge = edge_words()[static_cast<std::size_t>(i) % edge_words().size()];
    const std::uint64_t word = i < 1000 ? edge + static_cast<std::uint64_t>(i % 7) - 3
                                        : random.bits64() >> random.below(64);
    const auto integer = static_cast<Integer>(word);
    // Exact as two doubles.
    const double high = static_cast<double>(integer >> 16) * 65536;
    const double low = static_cast<double>(integer & 0xffff);
    for (const Direction direction : all_directions) {
      check_result<Definition>(
          check, Table::from_integer_in(direction, integer), direction,
          [=](double point) {
            return exact_sign({high, low, -point});
          },
          integer < 0, integer);
    }
    const auto implicit = F::bits_of(typename Definition::Type(integer));
    check.equal(implicit, F::bits_of(Table::from_integer_in(Direction::nearest, integer)), integer);
  }
  // Out: the value is a float; another part of this test checks the conversions of floats.
  for (unsigned bits = 0; bits < all_patterns; bits++) {
    const double value = F::number(bits);
    for (const Direction direction : all_directions) {
      Integer result;
      Table::to_integer_in(direction, F::of_bits(bits), &result);
      Integer expected = 0;
      if (std::isnan(value)) {
        expected = sizeof(Integer) == 8 ? static_cast<Integer>(1ull << 63) : Integer{0};
      } else {
        double (*const rounding[])(double) = {std::nearbyint, std::trunc, std::ceil, std::floor};
        const double integral = rounding[static_cast<int>(direction)](value);
        using Limits = std::numeric_limits<Integer>;
        if (integral >= std::ldexp(1.0, Limits::digits))
          expected = Limits::max();
        else if (integral <= static_cast<double>(Limits::min()))
          expected = Limits::min();
        else
          expected = static_cast<Integer>(integral);
      }
      check.equal(result, expected, bits, name_of(direction));
      if (direction == Direction::zero) {
        check.equal(static_cast<Integer>(F::of_bits(bits)), expected, "operator", bits);
      }
    }
  }
}

template <class Definition>
void check_integers() {
  using F = Format<Definition>;
  const std::string text = claim<Definition>(
      ": conversions from and to six integer types, in every direction, round once and saturate");
  Check check(text.c_str());
  check_integer_type<Definition, short>(check);
  check_integer_type<Definition, unsigned short>(check);
  check_integer_type<Definition, int>(check);
  check_integer_type<Definition, unsigned int>(check);
  check_integer_type<Definition, long long>(check);
  check_integer_type<Definition, unsigned long long>(check);
  for (unsigned bits = 0; bits < all_patterns; bits++) {
    const double value = F::is_nan(bits) ? 0 : std::trunc(F::number(bits));
    const double as_char = value > 127 ? 127 : value < -128 ? -128 : value;
    const double as_uchar = value > 255 ? 255 : value < 0 ? 0 : value;
    check.holds(Conversions<Definition>::to_char(F::of_bits(bits)) == as_char, "char", bits);
    check.holds(Conversions<Definition>::to_uchar(F::of_bits(bits)) == as_uchar, "uchar", bits);
  }
}

template <class Type, class Raw>
void check_layout(const char* text) {
  Check check(text);
  union InUnion {
    Type value;
    unsigned short bits;
  };
  check.holds(sizeof(Type) == 2 && alignof(Type) == 2 && sizeof(InUnion) == 2,
              "size and alignment");
  check.holds(std::is_trivially_default_constructible<Type>::value, "default constructor");
  check.holds(std::is_trivially_copyable<Type>::value, "trivially copyable");
  check.holds(std::is_standard_layout<Type>::value, "standard layout");
  Raw raw;
  raw.x = 0x3c01;
  volatile Type kept = Type(raw);
  const volatile Type& assigned = (kept = raw);
  const Raw again = assigned;
  check.holds(again.x == 0x3c01, "through the raw form and volatile");
}

}  // namespace

void check_float16_conversions() {
  check_layout<__half, __half_raw>("half is 2 bytes, trivial, and keeps its bits");
  check_layout<__nv_bfloat16, __nv_bfloat16_raw>(
      "bfloat16 is 2 bytes, trivial, and keeps its bits");
  check_to_float<HalfDefinition>();
  check_to_float<Bfloat16Definition>();
  check_from_floating<HalfDefinition>();
  check_from_floating<Bfloat16Definition>();
  check_integers<HalfDefinition>();
  check_integers<Bfloat16Definition>();
}
