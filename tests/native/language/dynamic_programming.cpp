// The DPX functions against arithmetic in wider integers.
#include <cuda_runtime.h>

#include "check.h"
#include "suites.h"

namespace {

// What a word holds of a wider number: it wraps.
template <class T>
long long wrapped(long long value) {
  return static_cast<T>(static_cast<unsigned long long>(value));
}

long long least(long long a, long long b) { return a < b ? a : b; }
long long most(long long a, long long b) { return a < b ? b : a; }

template <class T>
struct Expected {
  long long a, b, c;

  T add_max() const { return static_cast<T>(most(wrapped<T>(a + b), c)); }
  T add_min() const { return static_cast<T>(least(wrapped<T>(a + b), c)); }
  T max3() const { return static_cast<T>(most(most(a, b), c)); }
  T min3() const { return static_cast<T>(least(least(a, b), c)); }
  T max2() const { return static_cast<T>(most(a, b)); }
  T min2() const { return static_cast<T>(least(a, b)); }
};

template <class T>
T rectified(T value) {
  return value < 0 ? T{0} : value;
}

// The upper and the lower halfword, each by itself.
template <class Half, class Operation>
unsigned int by_halves(unsigned int a, unsigned int b, unsigned int c, Operation operation) {
  const auto half = [=](int shift) {
    const Expected<Half> expected{static_cast<Half>(a >> shift), static_cast<Half>(b >> shift),
                                  static_cast<Half>(c >> shift)};
    return static_cast<unsigned int>(static_cast<unsigned short>(operation(expected)));
  };
  return half(16) << 16 | half(0);
}

void check_words(Check& check, unsigned int x, unsigned int y, unsigned int z) {
  const int a = static_cast<int>(x), b = static_cast<int>(y), c = static_cast<int>(z);
  const Expected<int> s{a, b, c};
  const Expected<unsigned int> u{x, y, z};
  check.equal(__viaddmax_s32(a, b, c), s.add_max(), a, b, c);
  check.equal(__viaddmin_s32(a, b, c), s.add_min(), a, b, c);
  check.equal(__viaddmax_u32(x, y, z), u.add_max(), x, y, z);
  check.equal(__viaddmin_u32(x, y, z), u.add_min(), x, y, z);
  check.equal(__viaddmax_s32_relu(a, b, c), rectified(s.add_max()), a, b, c);
  check.equal(__viaddmin_s32_relu(a, b, c), rectified(s.add_min()), a, b, c);
  check.equal(__vimax3_s32(a, b, c), s.max3(), a, b, c);
  check.equal(__vimin3_s32(a, b, c), s.min3(), a, b, c);
  check.equal(__vimax3_u32(x, y, z), u.max3(), x, y, z);
  check.equal(__vimin3_u32(x, y, z), u.min3(), x, y, z);
  check.equal(__vimax3_s32_relu(a, b, c), rectified(s.max3()), a, b, c);
  check.equal(__vimin3_s32_relu(a, b, c), rectified(s.min3()), a, b, c);
  check.equal(__vimax_s32_relu(a, b), rectified(s.max2()), a, b);
  check.equal(__vimin_s32_relu(a, b), rectified(s.min2()), a, b);
}

#define HALVES(name, half, expression) \
  check.equal(name(a, b, c),           \
              by_halves<half>(a, b, c, [](Expected<half> e) { return expression; }), a, b, c)

void check_halfwords(Check& check, unsigned int a, unsigned int b, unsigned int c) {
  using natural = unsigned short;
  HALVES(__viaddmax_s16x2, short, e.add_max());
  HALVES(__viaddmin_s16x2, short, e.add_min());
  HALVES(__viaddmax_u16x2, natural, e.add_max());
  HALVES(__viaddmin_u16x2, natural, e.add_min());
  HALVES(__viaddmax_s16x2_relu, short, rectified(e.add_max()));
  HALVES(__viaddmin_s16x2_relu, short, rectified(e.add_min()));
  HALVES(__vimax3_s16x2, short, e.max3());
  HALVES(__vimin3_s16x2, short, e.min3());
  HALVES(__vimax3_u16x2, natural, e.max3());
  HALVES(__vimin3_u16x2, natural, e.min3());
  HALVES(__vimax3_s16x2_relu, short, rectified(e.max3()));
  HALVES(__vimin3_s16x2_relu, short, rectified(e.min3()));
  const auto max_relu = [](Expected<short> e) { return rectified(e.max2()); };
  const auto min_relu = [](Expected<short> e) { return rectified(e.min2()); };
  check.equal(__vimax_s16x2_relu(a, b), by_halves<short>(a, b, 0, max_relu), a, b);
  check.equal(__vimin_s16x2_relu(a, b), by_halves<short>(a, b, 0, min_relu), a, b);
}

template <class Word, class Half, class Words, class Halves>
void check_chosen(Check& check, unsigned int a, unsigned int b, bool greater, Words words,
                  Halves halves) {
  bool first = false, first_high = false, first_low = false;
  const auto is_first = [=](long long x, long long y) { return greater ? x >= y : x <= y; };
  const auto chosen = [=](auto e) { return greater ? e.max2() : e.min2(); };
  const auto x = static_cast<Word>(a), y = static_cast<Word>(b);
  check.equal(words(x, y, &first), chosen(Expected<Word>{x, y, 0}), a, b);
  check.equal(halves(a, b, &first_high, &first_low), by_halves<Half>(a, b, 0, chosen), a, b);
  check.equal(first, is_first(x, y), a, b);
  check.equal(first_high, is_first(static_cast<Half>(a >> 16), static_cast<Half>(b >> 16)), a, b);
  check.equal(first_low, is_first(static_cast<Half>(a), static_cast<Half>(b)), a, b);
}

void check_choices(Check& check, unsigned int a, unsigned int b) {
  check_chosen<int, short>(check, a, b, true, __vibmax_s32, __vibmax_s16x2);
  check_chosen<int, short>(check, a, b, false, __vibmin_s32, __vibmin_s16x2);
  check_chosen<unsigned int, unsigned short>(check, a, b, true, __vibmax_u32, __vibmax_u16x2);
  check_chosen<unsigned int, unsigned short>(check, a, b, false, __vibmin_u32, __vibmin_u16x2);
}

template <class Action>
void for_each_operands(Action action) {
  const auto& edges = edge_words();
  for (const auto a : edges) {
    for (const auto b : edges) {
      const auto c = edges[(a * 7 + b) % edges.size()];
      action(static_cast<unsigned int>(a), static_cast<unsigned int>(b),
             static_cast<unsigned int>(c));
    }
  }
  Random random(17);
  for (int i = 0; i < 20000; i++) action(random.bits32(), random.bits32(), random.bits32());
}

}  // namespace

void check_dynamic_programming() {
  Check words("DPX functions of words");
  Check halfwords("DPX functions of halfwords");
  Check choices("DPX functions that say which operand they chose");
  for_each_operands([&](unsigned int a, unsigned int b, unsigned int c) {
    check_words(words, a, b, c);
    check_halfwords(halfwords, a, b, c);
    check_choices(choices, a, b);
    check_choices(choices, a, a);
  });
}
