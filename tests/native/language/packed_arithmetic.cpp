// SIMD within a word against arithmetic on unpacked elements.
#include <gridstride/integer_functions.h>

#include <algorithm>
#include <cstdlib>

#include "check.h"
#include "suites.h"

namespace {

// The element type of a function, and its operation on each pair.
struct Rule {
  const char* name;
  unsigned int (*function)(unsigned int, unsigned int);
  bool is_signed;
  int (*of_elements)(int, int);
};

int unpacked(unsigned int word, int index, int width, bool is_signed) {
  const int value = static_cast<int>(word >> (index * width) & ((1u << width) - 1));
  const bool negative = is_signed && value >= 1 << (width - 1);
  return negative ? value - (1 << width) : value;
}

unsigned int expected_word(const Rule& rule, int width, unsigned int a, unsigned int b) {
  unsigned int result = 0;
  for (int i = 0; i < 32 / width; i++) {
    const int element = rule.of_elements(unpacked(a, i, width, rule.is_signed),
                                         unpacked(b, i, width, rule.is_signed));
    result |= (static_cast<unsigned int>(element) & ((1u << width) - 1)) << (i * width);
  }
  return result;
}

void check_rules(const char* claim, int width, const std::vector<Rule>& rules) {
  Check check(claim);
  Random random(2);
  std::vector<unsigned int> words;
  for (const auto word : edge_words()) words.push_back(static_cast<unsigned int>(word));
  for (int i = 0; i < 40; i++) words.push_back(random.bits32());
  for (const Rule& rule : rules) {
    for (const unsigned int a : words) {
      for (const unsigned int b : words) {
        check.equal(rule.function(a, b), expected_word(rule, width, a, b), rule.name, a, b);
      }
    }
  }
}

int limited(int value, int lowest, int highest) { return std::clamp(value, lowest, highest); }

#define GS_RULE(function, is_signed, expression)                                   \
  Rule {                                                                           \
#function, function, is_signed, [](int x, int y) -> int { return expression; } \
  }
#define GS_UNARY_RULE(function, expression)                                                        \
  Rule {                                                                                           \
#function, [](unsigned int a,                                                                  \
                  unsigned int) { return function(a); }, true,                                     \
                                                      [](int x, int) -> int { return expression; } \
  }
#define GS_RELATION_RULES(suffix, is_signed, relation)       \
  GS_RULE(__vcmp##suffix, is_signed, x relation y ? -1 : 0), \
      GS_RULE(__vset##suffix, is_signed, x relation y ? 1 : 0)

#define GS_ALL_RULES(n, lowest, highest, all_ones)                                                 \
  {                                                                                                \
    GS_UNARY_RULE(__vabs##n, std::abs(x)),                                                         \
        GS_UNARY_RULE(__vabsss##n, limited(std::abs(x), lowest, highest)),                         \
        GS_UNARY_RULE(__vneg##n, 0 - x),                                                           \
        GS_UNARY_RULE(__vnegss##n, limited(0 - x, lowest, highest)),                               \
        GS_RULE(__vadd##n, false, x + y),                                                          \
        GS_RULE(__vaddss##n, true, limited(x + y, lowest, highest)),                               \
        GS_RULE(__vaddus##n, false, limited(x + y, 0, all_ones)), GS_RULE(__vsub##n, true, x - y), \
        GS_RULE(__vsubss##n, true, limited(x - y, lowest, highest)),                               \
        GS_RULE(__vsubus##n, false, limited(x - y, 0, all_ones)),                                  \
        GS_RULE(__vavgs##n, true, (x + y + 1) >> 1), GS_RULE(__vavgu##n, false, (x + y + 1) / 2),  \
        GS_RULE(__vhaddu##n, false, (x + y) / 2), GS_RULE(__vabsdiffs##n, true, std::abs(x - y)),  \
        GS_RULE(__vabsdiffu##n, false, std::abs(x - y)),                                           \
        GS_RULE(__vmaxs##n, true, std::max(x, y)), GS_RULE(__vmaxu##n, false, std::max(x, y)),     \
        GS_RULE(__vmins##n, true, std::min(x, y)), GS_RULE(__vminu##n, false, std::min(x, y)),     \
        GS_RELATION_RULES(eq##n, false, ==), GS_RELATION_RULES(ne##n, false, !=),                  \
        GS_RELATION_RULES(ges##n, true, >=), GS_RELATION_RULES(geu##n, false, >=),                 \
        GS_RELATION_RULES(gts##n, true, >), GS_RELATION_RULES(gtu##n, false, >),                   \
        GS_RELATION_RULES(les##n, true, <=), GS_RELATION_RULES(leu##n, false, <=),                 \
        GS_RELATION_RULES(lts##n, true, <), GS_RELATION_RULES(ltu##n, false, <)                    \
  }

unsigned int sum_of_differences(unsigned int a, unsigned int b, int width, bool is_signed) {
  int sum = 0;
  for (int i = 0; i < 32 / width; i++) {
    sum += std::abs(unpacked(a, i, width, is_signed) - unpacked(b, i, width, is_signed));
  }
  return static_cast<unsigned int>(sum);
}

void check_sums_of_differences() {
  Check sums("__vsads and __vsadu of halfwords and bytes");
  Random random(3);
  for (int i = 0; i < 20000; i++) {
    const auto edge = static_cast<unsigned int>(edge_words()[random.below(36)]);
    const unsigned int a = i % 2 ? random.bits32() : edge, b = random.bits32();
    sums.equal(__vsads2(a, b), sum_of_differences(a, b, 16, true), a, b);
    sums.equal(__vsadu2(a, b), sum_of_differences(a, b, 16, false), a, b);
    sums.equal(__vsads4(a, b), sum_of_differences(a, b, 8, true), a, b);
    sums.equal(__vsadu4(a, b), sum_of_differences(a, b, 8, false), a, b);
  }
}

}  // namespace

void check_packed_arithmetic() {
  check_rules("every __v…2 function equals its operation on two halfwords", 16,
              GS_ALL_RULES(2, -32768, 32767, 65535));
  check_rules("every __v…4 function equals its operation on four bytes", 8,
              GS_ALL_RULES(4, -128, 127, 255));
  check_sums_of_differences();
}
