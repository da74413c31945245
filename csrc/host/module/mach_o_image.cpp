// The part of the Mach-O format that tells whether a library is whole and for this processor. The
// structures are declared here, since only macOS has the header; names and numbers are those of
// <mach-o/loader.h>.
#include "host/module/mach_o_image.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace gridstride::host {
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

// Calls visit(segment) for every segment of a library whose commands lie within the image.
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

}  // namespace gridstride::host
