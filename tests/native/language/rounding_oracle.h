// Correct rounding, decided by exact signs alone.
//
// A result r of an exact value E is right if E lies on the proper side of r, of r's neighbours, or
// of the midpoints between them. The oracle needs only the sign of E - m at such points m, which
// the caller computes exactly; it shares nothing with the code under test.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>

enum class Direction { nearest, zero, up, down };

inline constexpr Direction all_directions[] = {Direction::nearest, Direction::zero, Direction::up,
                                               Direction::down};

inline const char* name_of(Direction direction) {
  switch (direction) {
    case Direction::nearest: return "rn";
    case Direction::zero: return "rz";
    case Direction::up: return "ru";
    case Direction::down: return "rd";
  }
  return "";
}

// The sign of an exact sum of doubles (Shewchuk's growing expansion: each component holds the
// rounding errors of the ones after it). Free of overflow and underflow for the magnitudes used
// here.
inline int exact_sign(std::initializer_list<double> terms) {
  double components[8] = {};
  int count = 0;
  for (double term : terms) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
      volatile double sum = term + components[i];
      volatile double part = sum - term;
      volatile double rest = (term - (sum - part)) + (components[i] - part);
      if (rest != 0) components[kept++] = rest;
      term = sum;
    }
    components[kept++] = term;
    count = kept;
  }
  for (int i = count - 1; i >= 0; i--) {
    if (components[i] != 0) return components[i] > 0 ? 1 : -1;
  }
  return 0;
}

// A rounded result with its surroundings, all exact doubles. `below` and `above` are the neighbours
// in the format; infinity stands as the next power of two after the largest finite value, which is
// where rounding to nearest sees it.
struct Candidate {
  double below, value, above;
  bool even;
  bool is_infinite;
  bool below_is_infinite, above_is_infinite;
};

// sign(m) is the sign of E - m.
template <class Sign>
bool is_rounded(const Candidate& r, Direction direction, Sign sign) {
  const auto over_below = [&] { return r.below_is_infinite || sign(r.below) > 0; };
  const auto under_above = [&] { return r.above_is_infinite || sign(r.above) < 0; };
  const auto rounded_up = [&] {
    return r.is_infinite ? r.value > 0 && over_below() : sign(r.value) <= 0 && over_below();
  };
  const auto rounded_down = [&] {
    return r.is_infinite ? r.value < 0 && under_above() : sign(r.value) >= 0 && under_above();
  };
  switch (direction) {
    case Direction::up: return rounded_up();
    case Direction::down: return rounded_down();
    case Direction::zero:
      if (r.is_infinite) return false;
      if (r.value == 0) return over_below() && under_above();
      return r.value > 0 ? rounded_down() : rounded_up();
    case Direction::nearest: break;
  }
  const int lower = r.is_infinite && r.value < 0 ? 1 : sign((r.below + r.value) / 2);
  const int upper = r.is_infinite && r.value > 0 ? -1 : sign((r.value + r.above) / 2);
  return (lower > 0 || (lower == 0 && r.even)) && (upper < 0 || (upper == 0 && r.even));
}

// The surroundings of a float.
inline Candidate candidate_of(float r) {
  const double beyond = std::ldexp(1.0, 128);
  const auto widened = [&](float value) {
    return std::isinf(value) ? std::copysign(beyond, value) : double{value};
  };
  const float infinity = std::numeric_limits<float>::infinity();
  Candidate candidate;
  candidate.below = widened(std::nextafter(r, -infinity));
  candidate.value = widened(r);
  candidate.above = widened(std::nextafter(r, infinity));
  candidate.is_infinite = std::isinf(r);
  candidate.below_is_infinite = candidate.below <= -beyond;
  candidate.above_is_infinite = candidate.above >= beyond;
  int exponent = 0;
  const double significand = std::frexp(double{r}, &exponent);
  const double units = std::ldexp(significand, exponent < -125 ? exponent + 149 : 24);
  candidate.even = candidate.is_infinite || std::fmod(units, 2) == 0;
  return candidate;
}
