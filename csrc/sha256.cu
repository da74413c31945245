// SHA-256 in the words and steps of FIPS 180-4, section 6.2.
#include "sha256.h"

#include <cstdint>
#include <cstring>

#include "checked_integer.h"

namespace gridstride {
namespace {

constexpr size_t block_bytes = 64;
constexpr size_t length_bytes = 8;
constexpr size_t words = 8;
constexpr size_t rounds = 64;

// The first 32 bits of the fractional parts of the square roots of the first eight primes.
constexpr uint32_t initial[words] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

// Those of the cube roots of the first 64 primes.
constexpr uint32_t constants[rounds] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr uint32_t rotated(uint32_t word, int bits) {
  return (word >> bits) | (word << (32 - bits));
}

uint32_t big_endian(const unsigned char* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 |
         uint32_t{bytes[3]};
}

void add_block(uint32_t (&state)[words], const unsigned char* block) {
  uint32_t schedule[rounds];
  for (size_t t = 0; t < 16; t++) schedule[t] = big_endian(block + 4 * t);
  for (size_t t = 16; t < rounds; t++) {
    const uint32_t near = schedule[t - 2];
    const uint32_t far = schedule[t - 15];
    schedule[t] = (rotated(near, 17) ^ rotated(near, 19) ^ near >> 10) + schedule[t - 7] +
                  (rotated(far, 7) ^ rotated(far, 18) ^ far >> 3) + schedule[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t t = 0; t < rounds; t++) {
    const uint32_t first = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                           ((e & f) ^ (~e & g)) + constants[t] + schedule[t];
    const uint32_t second =
        (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const uint32_t sums[words] = {a, b, c, d, e, f, g, h};
  for (size_t word = 0; word < words; word++) state[word] += sums[word];
}

void store(uint64_t number, size_t bytes, unsigned char* target) {
  for (size_t byte = bytes; byte-- > 0; number >>= 8) target[byte] = number & 0xff;
}

}  // namespace

void sha256(const unsigned char* message, size_t bytes, unsigned char* digest) {
  uint32_t state[words];
  std::memcpy(state, initial, sizeof(state));
  const size_t whole = bytes - bytes % block_bytes;
  for (size_t offset = 0; offset < whole; offset += block_bytes) add_block(state, message + offset);
  // What is left, a bit, and at the end of a block the number of bits.
  unsigned char tail[2 * block_bytes] = {};
  const size_t left = bytes - whole;
  if (left > 0) std::memcpy(tail, message + whole, left);
  tail[left] = 0x80;
  const size_t tail_bytes = left + 1 + length_bytes <= block_bytes ? block_bytes : 2 * block_bytes;
  store(uint64_t{bytes} * 8, length_bytes, tail + tail_bytes - length_bytes);
  for (size_t offset = 0; offset < tail_bytes; offset += block_bytes)
    add_block(state, tail + offset);
  for (size_t word = 0; word < words; word++) store(state[word], 4, digest + 4 * word);
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_digest_sha256(const void* message, double bytes, void* digest) {
  return guarded([&] {
    const uint64_t count = checked_integer(bytes);
    require((message != nullptr || count == 0) && digest != nullptr, GS_ERROR_ARGUMENT);
    sha256(static_cast<const unsigned char*>(message), count, static_cast<unsigned char*>(digest));
  });
}
