// Comparing an image with its seal.
#include "host/module/image_seal.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace gridstride::host {
namespace {

constexpr std::size_t magic_bytes = 8;
constexpr char magic[magic_bytes + 1] = "GSsealed";

// The magic, then two numbers of 32 bits, the least significant byte first: the bytes before the
// seal, and their CRC-32.
constexpr std::size_t seal_bytes = magic_bytes + 8;

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table = {};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder & 1) != 0 ? remainder >> 1 ^ 0xEDB88320 : remainder >> 1;
    }
    table[byte] = remainder;
  }
  return table;
}

// CRC-32 as zlib and PNG have it.
std::uint32_t crc32_of(const unsigned char* data, std::size_t bytes) {
  static constexpr std::array<std::uint32_t, 256> table = crc_table();
  std::uint32_t crc = 0xFFFFFFFF;
  for (std::size_t i = 0; i < bytes; ++i) crc = table[(crc ^ data[i]) & 0xFF] ^ crc >> 8;
  return ~crc;
}

std::uint32_t number_at(const unsigned char* data) {
  std::uint32_t number = 0;
  for (int byte = 3; byte >= 0; --byte) number = number << 8 | data[byte];
  return number;
}

}  // namespace

void check_seal(const ImageView& image) {
  if (image.bytes < seal_bytes) return;
  const std::size_t sealed_bytes = image.bytes - seal_bytes;
  const unsigned char* const seal = image.data + sealed_bytes;
  if (std::memcmp(seal, magic, magic_bytes) != 0) return;
  if (number_at(seal + magic_bytes) != static_cast<std::uint32_t>(sealed_bytes) ||
      number_at(seal + magic_bytes + 4) != crc32_of(image.data, sealed_bytes)) {
    throw ImageError(cudaErrorInvalidKernelImage,
                     "the image is damaged: its bytes are not those that were compiled");
  }
}

}  // namespace gridstride::host
