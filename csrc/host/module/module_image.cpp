// Comparing an image with its seal.
#include "host/module/module_image.h"

#include <algorithm>
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

// The part of the Mach-O format that shows whether a library is whole and for this processor. The
// structures are declared here, since only macOS has the header; names and numbers are those of
// <mach-o/loader.h>.

namespace {

struct Header {
  std::uint32_t magic;
  std::uint32_t processor;
  std::uint32_t processor_variant;
  std::uint32_t file_type;
  std::uint32_t command_count;
  std::uint32_t command_bytes;
  std::uint32_t flags;
  std::uint32_t reserved;
};

struct Command {
  std::uint32_t kind;
  std::uint32_t bytes;
};

struct Segment {
  Command command;
  char name[16];
  std::uint64_t address;
  std::uint64_t memory_bytes;
  std::uint64_t file_offset;
  std::uint64_t file_bytes;
};

constexpr std::uint32_t dynamic_library_type = 6;
constexpr std::uint32_t bundle_type = 8;
constexpr std::uint32_t segment_command = 0x19;

#if defined(__aarch64__)
constexpr std::uint32_t own_processor = 0x0100000c;
#else
constexpr std::uint32_t own_processor = 0x01000007;
#endif

template <typename Value>
Value read(const unsigned char* data) {
  Value value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

[[noreturn]] void refuse_truncated() {
  throw ImageError(cudaErrorInvalidKernelImage, "the image is truncated");
}

// Calls visit(segment) for every segment of a library with commands within the image.
template <typename Visit>
void for_each_segment(const ImageView& image, Visit visit) {
  if (!image.contains(0, sizeof(Header))) refuse_truncated();
  const auto header = read<Header>(image.data);
  if (!image.contains(sizeof(Header), header.command_bytes)) refuse_truncated();
  std::size_t offset = sizeof(Header);
  const std::size_t end = offset + header.command_bytes;
  for (std::uint32_t i = 0; i < header.command_count; ++i) {
    if (end - offset < sizeof(Command)) refuse_truncated();
    const auto command = read<Command>(image.data + offset);
    if (command.bytes < sizeof(Command) || command.bytes > end - offset) refuse_truncated();
    if (command.kind == segment_command && command.bytes >= sizeof(Segment)) {
      visit(read<Segment>(image.data + offset));
    }
    offset += command.bytes;
  }
}

}  // namespace

std::size_t stated_mach_o_bytes(const unsigned char* data) {
  const std::size_t commands = sizeof(Header) + read<Header>(data).command_bytes;
  std::size_t bytes = commands;
  for_each_segment({data, commands}, [&](const Segment& segment) {
    bytes = std::max<std::size_t>(bytes, segment.file_offset + segment.file_bytes);
  });
  return bytes;
}

void check_mach_o(const ImageView& image) {
  for_each_segment(image, [&](const Segment& segment) {
    if (!image.contains(segment.file_offset, segment.file_bytes)) refuse_truncated();
  });
  const auto header = read<Header>(image.data);
  if (header.processor != own_processor) {
    throw ImageError(cudaErrorNoKernelImageForDevice,
                     "the image is a library for another processor");
  }
  if (header.file_type != dynamic_library_type && header.file_type != bundle_type) {
    throw ImageError(cudaErrorInvalidKernelImage, "the image is no shared library");
  }
}

// ---- distinguishing shared libraries from other files -------------------------------------------

namespace {

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
#if defined(__APPLE__)
  if (begins_with(data, mach_o_magic)) return stated_mach_o_bytes(data);
#else
  if (begins_with(data, elf_magic)) return stated_elf_bytes(data);
#endif
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
  } else {
    check_mach_o(image);
  }
}

}  // namespace gridstride::host
