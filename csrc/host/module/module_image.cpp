// Images of kernels: their kind, and their seal.
#include "host/module/module_image.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "host/module/elf_image.h"

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

// ---- distinguishing shared libraries from other files -------------------------------------------

namespace {

#if defined(__aarch64__)
constexpr std::uint32_t mach_o_processor = 0x0100000c;
#else
constexpr std::uint32_t mach_o_processor = 0x01000007;
#endif

using Magic = std::initializer_list<unsigned char>;

// Byte by byte: an image that is a short text ends before four bytes.
bool begins_with(const unsigned char* data, Magic magic) {
  for (const unsigned char byte : magic) {
    if (*data++ != byte) return false;
  }
  return true;
}

const Magic elf_magic = {0x7f, 'E', 'L', 'F'};
const Magic mach_o_magic = {0xcf, 0xfa, 0xed, 0xfe};
const Magic fat_binary_magic = {0x50, 0xed, 0x55, 0xba};

bool is_text(unsigned char byte) { return std::isprint(byte) != 0 || std::isspace(byte) != 0; }

[[noreturn]] void refuse_other(const unsigned char* data) {
  if (begins_with(data, fat_binary_magic)) {
    throw ImageError(cudaErrorNoKernelImageForDevice,
                     "the image is a fat binary, which is for GPUs: the host device loads shared "
                     "libraries");
  }
  if (is_text(data[0])) {
    throw ImageError(cudaErrorNoKernelImageForDevice,
                     "the image is a text, such as PTX: the host device loads shared libraries");
  }
  throw ImageError(cudaErrorInvalidKernelImage, "the image is no shared library");
}

}  // namespace

std::size_t stated_image_bytes(const void* image) {
  const auto* const data = static_cast<const unsigned char*>(image);
  if (begins_with(data, elf_magic)) return stated_elf_bytes(data);
  if (begins_with(data, mach_o_magic)) {
    throw ImageError(cudaErrorInvalidValue,
                     "the image needs its size, in the option gridstrideJitImageBytes");
  }
  refuse_other(data);
}

void check_image(const ImageView& image) {
  if (image.bytes < elf_magic.size()) {
    throw ImageError(cudaErrorInvalidKernelImage, "the image has " + std::to_string(image.bytes) +
                                                      " bytes, which is no shared library");
  }
  const bool is_elf = begins_with(image.data, elf_magic);
  const bool is_mach_o = begins_with(image.data, mach_o_magic);
  if (!is_elf && !is_mach_o) refuse_other(image.data);
#if defined(__APPLE__)
  constexpr bool loads_mach_o = true;
#else
  constexpr bool loads_mach_o = false;
#endif
  if (is_mach_o != loads_mach_o) {
    throw ImageError(cudaErrorNoKernelImageForDevice,
                     "the image is a library of another operating system");
  }
  // After the checks with plainer messages: a text or a cubin has no seal.
  check_seal(image);
  if (is_elf) {
    check_elf(image);
  } else if (image.bytes < 8 || number_at(image.data + 4) != mach_o_processor) {
    throw ImageError(cudaErrorNoKernelImageForDevice,
                     "the image is a library for another processor");
  }
}

}  // namespace gridstride::host
