// Bit functions against loops over single bits.
#include <gridstride/integer_functions.h>

#include "check.h"
#include "suites.h"

namespace {

template <class Visit>
void for_word_pairs(Visit visit) {
  for (const auto a : edge_words()) {
    for (const auto b : edge_words()) visit(a, b);
  }
  Random random(1);
  for (int i = 0; i < 20000; i++) visit(random.bits64(), random.bits64());
}

bool bit(std::uint64_t word, int position) { return word >> position & 1; }

int count_of_bits(std::uint64_t word, int width) {
  int count = 0;
  for (int i = 0; i < width; i++) count += bit(word, i);
  return count;
}

int leading_zeros(std::uint64_t word, int width) {
  int count = 0;
  while (count < width && !bit(word, width - 1 - count)) count++;
  return count;
}

int first_set(std::uint64_t word, int width) {
  for (int i = 0; i < width; i++) {
    if (bit(word, i)) return i + 1;
  }
  return 0;
}

std::uint64_t reversed(std::uint64_t word, int width) {
  std::uint64_t result = 0;
  for (int i = 0; i < width; i++) result |= std::uint64_t{bit(word, i)} << (width - 1 - i);
  return result;
}

void check_counting() {
  Check counting("__popc, __clz, __ffs, __brev and the ll forms agree with loops over bits");
  for_word_pairs([&](std::uint64_t wide, std::uint64_t) {
    const auto word = static_cast<unsigned int>(wide);
    counting.equal(__popc(word), count_of_bits(word, 32), word);
    counting.equal(__popcll(wide), count_of_bits(wide, 64), wide);
    counting.equal(__clz(static_cast<int>(word)), leading_zeros(word, 32), word);
    counting.equal(__clzll(static_cast<long long>(wide)), leading_zeros(wide, 64), wide);
    counting.equal(__ffs(static_cast<int>(word)), first_set(word, 32), word);
    counting.equal(__ffsll(static_cast<long long>(wide)), first_set(wide, 64), wide);
    counting.equal(__brev(word), static_cast<unsigned int>(reversed(word, 32)), word);
    counting.equal(__brevll(wide), static_cast<unsigned long long>(reversed(wide, 64)), wide);
  });
}

unsigned int permuted(std::uint64_t bytes, unsigned int selector) {
  unsigned int result = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned int choice = selector >> 4 * i & 15;
    const int first = static_cast<int>(choice % 8) * 8;
    for (int j = 0; j < 8; j++) {
      const bool value = choice < 8 ? bit(bytes, first + j) : bit(bytes, first + 7);
      result |= static_cast<unsigned int>(value) << (8 * i + j);
    }
  }
  return result;
}

void check_permutation() {
  Check permutation("__byte_perm picks bytes and replicates signs for every selector");
  for (unsigned int selector = 0; selector < 0x10000; selector++) {
    const unsigned int x = 0x80c17f01u, y = 0x00ff8e23u;
    const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
    permutation.equal(__byte_perm(x, y, selector), permuted(bytes, selector), selector);
    const unsigned int excess = selector | 0xabcd0000u;
    permutation.equal(__byte_perm(x, y, excess), permuted(bytes, selector), excess);
  }
  Check swapping("__nv_bswap reverses bytes");
  swapping.equal(__nv_bswap16(0x1234), static_cast<unsigned short>(0x3412));
  swapping.equal(__nv_bswap32(0x12345678u), 0x78563412u);
  swapping.equal(__nv_bswap64(0x0123456789abcdefull), 0xefcdab8967452301ull);
}

// The n-th set bit as one counts it by hand, from base on upwards or downwards.
unsigned int nth_set_bit(unsigned int mask, unsigned int base, int offset) {
  if (base < 32 && offset == 0 && bit(mask, static_cast<int>(base))) return base;
  if (base > 31 || offset == 0) return 0xffffffffu;
  int found = 0;
  for (int i = static_cast<int>(base); i >= 0 && i<32; i += offset> 0 ? 1 : -1) {
    found += bit(mask, i) ? (offset > 0 ? 1 : -1) : 0;
    if (found == offset) return static_cast<unsigned int>(i);
  }
  return 0xffffffffu;
}

void check_nth_set() {
  Check finding("__fns finds the n-th set bit from a base upwards and downwards");
  for (const unsigned int mask : {0u, 1u, 0x80000000u, 0xffffffffu, 0xaaaaaaaau, 0x80010001u}) {
    for (unsigned int base = 0; base < 34; base++) {
      for (int offset = -33; offset <= 33; offset++) {
        finding.equal(__fns(mask, base, offset), nth_set_bit(mask, base, offset), mask, base,
                      offset);
      }
    }
  }
}

void check_shifts() {
  Check shifting("__funnelshift_{l,lc,r,rc} wrap or clamp every shift count");
  for_word_pairs([&](std::uint64_t words, std::uint64_t) {
    const auto lo = static_cast<unsigned int>(words), hi = static_cast<unsigned int>(words >> 32);
    for (const unsigned int shift : {0u, 1u, 7u, 31u, 32u, 33u, 63u, 64u, 65u, 0x80000000u, ~0u}) {
      const unsigned int wrapped = shift % 32, clamped = shift > 32 ? 32 : shift;
      const auto left = [&](unsigned int by) {
        unsigned int result = 0;
        for (int i = 0; i < 32; i++) {
          const int from = 32 + i - static_cast<int>(by);
          result |= static_cast<unsigned int>(bit(words, from)) << i;
        }
        return result;
      };
      const auto right = [&](unsigned int by) {
        unsigned int result = 0;
        for (int i = 0; i < 32; i++) {
          result |= static_cast<unsigned int>(bit(words, i + static_cast<int>(by))) << i;
        }
        return result;
      };
      shifting.equal(__funnelshift_l(lo, hi, shift), left(wrapped), words, shift);
      shifting.equal(__funnelshift_lc(lo, hi, shift), left(clamped), words, shift);
      shifting.equal(__funnelshift_r(lo, hi, shift), right(wrapped), words, shift);
      shifting.equal(__funnelshift_rc(lo, hi, shift), right(clamped), words, shift);
    }
  });
}

// The upper 64 bits of a product by schoolbook multiplication of 32-bit halves.
std::uint64_t upper_half(std::uint64_t x, std::uint64_t y) {
  const std::uint64_t x0 = x & 0xffffffff, x1 = x >> 32, y0 = y & 0xffffffff, y1 = y >> 32;
  const std::uint64_t middle = x1 * y0 + (x0 * y0 >> 32);
  const std::uint64_t middle_low = (middle & 0xffffffff) + x0 * y1;
  return x1 * y1 + (middle >> 32) + (middle_low >> 32);
}

std::int64_t sign_extended(std::uint64_t word, int width) {
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  const std::uint64_t low = word & (sign | (sign - 1));
  return static_cast<std::int64_t>((low ^ sign) - sign);
}

void check_products() {
  Check products("__mulhi, __umulhi, __mul64hi, __umul64hi, __mul24 and __umul24");
  for_word_pairs([&](std::uint64_t a, std::uint64_t b) {
    const auto x = static_cast<unsigned int>(a), y = static_cast<unsigned int>(b);
    const auto signed_x = static_cast<int>(x), signed_y = static_cast<int>(y);
    const std::uint64_t natural = std::uint64_t{x} * y;
    const auto integer = static_cast<std::uint64_t>(std::int64_t{signed_x} * signed_y);
    products.equal(__umulhi(x, y), static_cast<unsigned int>(natural >> 32), x, y);
    products.equal(__mulhi(signed_x, signed_y), static_cast<int>(integer >> 32), x, y);
    const std::uint64_t upper = upper_half(a, b);
    const std::uint64_t correction = (bit(a, 63) ? b : 0) + (bit(b, 63) ? a : 0);
    products.equal(__umul64hi(a, b), static_cast<unsigned long long>(upper), a, b);
    products.equal(__mul64hi(static_cast<long long>(a), static_cast<long long>(b)),
                   static_cast<long long>(upper - correction), a, b);
    products.equal(__umul24(x, y), static_cast<unsigned int>((x % (1 << 24)) * (y % (1 << 24))), x,
                   y);
    const std::int64_t product24 = sign_extended(x, 24) * sign_extended(y, 24);
    products.equal(__mul24(signed_x, signed_y), static_cast<int>(product24), x, y);
  });
}

void check_sums() {
  Check sums("__sad, __usad and the halving additions do not overflow");
  for_word_pairs([&](std::uint64_t a, std::uint64_t b) {
    const auto x = static_cast<unsigned int>(a), y = static_cast<unsigned int>(b);
    const auto z = static_cast<unsigned int>(a >> 32);
    const std::int64_t signed_x = static_cast<int>(x), signed_y = static_cast<int>(y);
    const std::int64_t wide_x = x, wide_y = y;
    const auto distance = [](std::int64_t p, std::int64_t q) { return p > q ? p - q : q - p; };
    sums.equal(__sad(static_cast<int>(x), static_cast<int>(y), z),
               static_cast<unsigned int>(z + distance(signed_x, signed_y)), x, y, z);
    sums.equal(__usad(x, y, z), static_cast<unsigned int>(z + distance(wide_x, wide_y)), x, y, z);
    const auto halved = [](std::int64_t sum) { return (sum - (sum & 1)) / 2; };
    sums.equal(__hadd(static_cast<int>(x), static_cast<int>(y)),
               static_cast<int>(halved(signed_x + signed_y)), x, y);
    sums.equal(__rhadd(static_cast<int>(x), static_cast<int>(y)),
               static_cast<int>(halved(signed_x + signed_y + 1)), x, y);
    sums.equal(__uhadd(x, y), static_cast<unsigned int>(halved(wide_x + wide_y)), x, y);
    sums.equal(__urhadd(x, y), static_cast<unsigned int>(halved(wide_x + wide_y + 1)), x, y);
  });
}

std::int64_t element(std::uint64_t word, int position, int width, bool is_signed) {
  const std::uint64_t shifted = word >> position;
  return is_signed ? sign_extended(shifted, width)
                   : static_cast<std::int64_t>(shifted & ((std::uint64_t{1} << width) - 1));
}

// c plus products of elements of a, `width` bits wide, and bytes of b from `first` on.
unsigned int dot_product(unsigned int a, unsigned int b, unsigned int c, int width, int first,
                         bool is_signed) {
  std::int64_t sum = c;
  for (int i = 0; i < 32 / width; i++) {
    sum += element(a, i * width, width, is_signed) * element(b, 8 * (first + i), 8, is_signed);
  }
  return static_cast<unsigned int>(sum);
}

void check_dot_products() {
  Check products("__dp4a and __dp2a_{lo,hi}, on words and on vectors, wrap around");
  for_word_pairs([&](std::uint64_t first, std::uint64_t second) {
    const auto a = static_cast<unsigned int>(first), b = static_cast<unsigned int>(second);
    const auto c = static_cast<unsigned int>(second >> 32);
    const auto sa = static_cast<int>(a), sb = static_cast<int>(b), sc = static_cast<int>(c);
    const auto as = [](auto word, auto* vector) { std::memcpy(vector, &word, sizeof *vector); };
    char4 a_chars, b_chars;
    uchar4 a_uchars, b_uchars;
    short2 a_shorts;
    ushort2 a_ushorts;
    as(a, &a_chars), as(b, &b_chars), as(a, &a_uchars), as(b, &b_uchars);
    as(a, &a_shorts), as(a, &a_ushorts);
    const auto signed4 = static_cast<int>(dot_product(a, b, c, 8, 0, true));
    const unsigned int unsigned4 = dot_product(a, b, c, 8, 0, false);
    products.equal(__dp4a(sa, sb, sc), signed4, a, b, c);
    products.equal(__dp4a(a, b, c), unsigned4, a, b, c);
    products.equal(__dp4a(a_chars, b_chars, sc), signed4, a, b, c);
    products.equal(__dp4a(a_uchars, b_uchars, c), unsigned4, a, b, c);
    const auto signed_lo = static_cast<int>(dot_product(a, b, c, 16, 0, true));
    const auto signed_hi = static_cast<int>(dot_product(a, b, c, 16, 2, true));
    const unsigned int unsigned_lo = dot_product(a, b, c, 16, 0, false);
    const unsigned int unsigned_hi = dot_product(a, b, c, 16, 2, false);
    products.equal(__dp2a_lo(sa, sb, sc), signed_lo, a, b, c);
    products.equal(__dp2a_hi(sa, sb, sc), signed_hi, a, b, c);
    products.equal(__dp2a_lo(a, b, c), unsigned_lo, a, b, c);
    products.equal(__dp2a_hi(a, b, c), unsigned_hi, a, b, c);
    products.equal(__dp2a_lo(a_shorts, b_chars, sc), signed_lo, a, b, c);
    products.equal(__dp2a_hi(a_shorts, b_chars, sc), signed_hi, a, b, c);
    products.equal(__dp2a_lo(a_ushorts, b_uchars, c), unsigned_lo, a, b, c);
    products.equal(__dp2a_hi(a_ushorts, b_uchars, c), unsigned_hi, a, b, c);
  });
}

}  // namespace

void check_bit_functions() {
  check_counting();
  check_permutation();
  check_nth_set();
  check_shifts();
  check_products();
  check_sums();
  check_dot_products();
}
