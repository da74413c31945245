// A check is one claim, tried on many cases. It reports once, with its first failure.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

class Check {
 public:
  explicit Check(const char* claim) : claim_(claim) {}
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  ~Check() {
    finished_checks++;
    const bool failed = failures_ > 0 || cases_ == 0;
    failed_checks += failed;
    std::printf("%s %s (%ld cases)\n", failed ? "FAILED" : "ok", claim_, cases_);
    if (failures_ > 0) std::printf("  %ld failed, first for: %s\n", failures_, first_.c_str());
  }

  template <class... Inputs>
  void holds(bool condition, Inputs... inputs) {
    cases_++;
    if (condition || failures_++ > 0) return;
    ((first_ += text_of(inputs), first_ += ' '), ...);
  }

  // Equal as bit patterns: -0 is not +0, and NaNs have payloads.
  template <class Value, class... Inputs>
  void equal(Value actual, std::common_type_t<Value> expected, Inputs... inputs) {
    const bool same = std::memcmp(&actual, &expected, sizeof actual) == 0;
    holds(same, inputs..., "-> got", actual, "expected", expected);
  }

  // Equal, or both NaN.
  template <class Float, class... Inputs>
  void same_number(Float actual, std::common_type_t<Float> expected, Inputs... inputs) {
    if (actual != actual && expected != expected) {
      cases_++;
    } else {
      equal(actual, expected, inputs...);
    }
  }

  static inline long finished_checks = 0;
  static inline long failed_checks = 0;

 private:
  static std::string text_of(const char* text) { return text; }

  template <class Value>
  static std::string text_of(Value value) {
    char text[80];
    if constexpr (std::is_floating_point<Value>::value) {
      std::snprintf(text, sizeof text, "%a", static_cast<double>(value));
    } else {
      static_assert(sizeof value <= 8, "values of up to 64 bits can be printed");
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof value);
      std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
    }
    return text;
  }

  const char* claim_;
  long cases_ = 0;
  long failures_ = 0;
  std::string first_;
};

// xorshift64*: the same numbers everywhere, for repeatable failures.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}

  std::uint64_t bits64() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  std::uint32_t bits32() { return static_cast<std::uint32_t>(bits64() >> 32); }
  unsigned below(unsigned limit) { return bits32() % limit; }

  // Any bit pattern: every exponent is as likely as any other, NaN and infinity included.
  float any_float() { return as<float>(bits32()); }
  double any_double() { return as<double>(bits64()); }
  // Between 1/256 and 256, either sign.
  float moderate_float() { return as<float>((bits32() & 0x807fffffu) | (119u + below(16)) << 23); }
  double moderate_double() {
    return as<double>((bits64() & 0x800fffffffffffffull) | (1015ull + below(16)) << 52);
  }

 private:
  template <class To, class From>
  static To as(From value) {
    To result;
    std::memcpy(&result, &value, sizeof result);
    return result;
  }

  std::uint64_t state_;
};

// Words in which something goes wrong if anything does: limits, single bits, signs of parts.
inline const std::vector<std::uint64_t>& edge_words() {
  static const std::vector<std::uint64_t> words = [] {
    std::vector<std::uint64_t> result = {0,
                                         1,
                                         2,
                                         3,
                                         7,
                                         31,
                                         32,
                                         33,
                                         63,
                                         64,
                                         65,
                                         127,
                                         128,
                                         255,
                                         256,
                                         257,
                                         32767,
                                         32768,
                                         65535,
                                         65536,
                                         0x7ffffffful,
                                         0x80000000ul,
                                         0x80000001ul,
                                         0xfffffffful,
                                         0x100000000ul,
                                         0x00ff00ff00ff00fful,
                                         0x8080808080808080ul,
                                         0x7f7f7f7f7f7f7f7ful,
                                         0x8000800080008000ul,
                                         0x7fff7fff7fff7ffful,
                                         0x7ffffffffffffffful,
                                         0x8000000000000000ul,
                                         0xfffffffffffffffful,
                                         0xfffffffffffffffeul,
                                         0x0123456789abcdeful,
                                         0xdeadbeefcafef00dul};
    for (int bit = 0; bit < 64; bit += 5) result.push_back(std::uint64_t{1} << bit);
    return result;
  }();
  return words;
}
