// The headers of cubins and fat binaries, as far as they say where their parts are.
#include "shim/module/machine_image.h"

#include <cuda_runtime.h>  // defines __CUDASIM__ where the runtime is the host device's

#include <cstdint>
#include <cstring>
#include <string_view>

#include "shim/guard.h"

namespace gridstride {

#ifdef __CUDASIM__

// The host device is told the size and judges for itself.
void require_loadable(const char*, size_t) {}

#else

namespace {

// Reads the numbers of an image, which all formats here have in the processor's byte order.
class ImageReader {
 public:
  explicit ImageReader(std::string_view image) : image_(image) {}

  // All of [offset, offset + bytes) must be there.
  void require_part(uint64_t offset, uint64_t bytes) const {
    require(offset <= image_.size() && bytes <= image_.size() - offset, GS_ERROR_IMAGE);
  }

  template <class Number>
  Number at(uint64_t offset) const {
    require_part(offset, sizeof(Number));
    Number number;
    std::memcpy(&number, image_.data() + offset, sizeof(number));
    return number;
  }

 private:
  std::string_view image_;
};

// ---- cubins: ELF of 64 bits --------------------------------------------------------------------

void require_whole_sections(const ImageReader& image) {
  constexpr uint64_t header_bytes = 64;
  constexpr uint32_t no_bits = 8;
  const uint64_t table = image.at<uint64_t>(40);
  if (table == 0) return;
  image.require_part(table, header_bytes);
  require(image.at<uint16_t>(58) == header_bytes, GS_ERROR_IMAGE);
  uint64_t count = image.at<uint16_t>(60);
  // The first section counts them where the header's 16 bits are too few.
  if (count == 0) count = image.at<uint64_t>(table + 32);
  for (uint64_t index = 0; index < count; index++) {
    const uint64_t section = table + index * header_bytes;
    image.require_part(section, header_bytes);
    if (index == 0 || image.at<uint32_t>(section + 4) == no_bits) continue;
    image.require_part(image.at<uint64_t>(section + 24), image.at<uint64_t>(section + 32));
  }
}

void require_whole_segments(const ImageReader& image) {
  constexpr uint64_t header_bytes = 56;
  const uint64_t table = image.at<uint64_t>(32);
  const uint64_t count = image.at<uint16_t>(56);
  require(count == 0 || image.at<uint16_t>(54) == header_bytes, GS_ERROR_IMAGE);
  for (uint64_t index = 0; index < count; index++) {
    const uint64_t segment = table + index * header_bytes;
    image.require_part(segment, header_bytes);
    image.require_part(image.at<uint64_t>(segment + 8), image.at<uint64_t>(segment + 32));
  }
}

void require_whole_cubin(const ImageReader& image) {
  constexpr uint8_t class_64 = 2;
  constexpr uint8_t little_endian = 1;
  constexpr uint16_t cuda = 190;
  constexpr uint64_t header_bytes = 64;
  image.require_part(0, header_bytes);
  require(image.at<uint8_t>(4) == class_64 && image.at<uint8_t>(5) == little_endian &&
              image.at<uint16_t>(18) == cuda,
          GS_ERROR_IMAGE);
  require_whole_sections(image);
  require_whole_segments(image);
}

// ---- the others --------------------------------------------------------------------------------

void require_whole_fat_binary(const ImageReader& image) {
  constexpr uint64_t least_header_bytes = 16;
  const uint64_t header_bytes = image.at<uint16_t>(6);
  require(header_bytes >= least_header_bytes, GS_ERROR_IMAGE);
  image.require_part(0, header_bytes);
  image.require_part(header_bytes, image.at<uint64_t>(8));
}

// Also what keeps out the struct by which a compiled program points to its fat binary: CUDA would
// follow the pointer.
void require_ptx(std::string_view image) {
  while (!image.empty() && image.back() == '\0') image.remove_suffix(1);
  const bool is_text = image.find('\0') == std::string_view::npos;
  require(is_text && image.find(".version") != std::string_view::npos, GS_ERROR_IMAGE);
}

}  // namespace

void require_loadable(const char* image, size_t bytes) {
  constexpr uint32_t elf = 0x464C457F;
  constexpr uint32_t fat_binary = 0xBA55ED50;
  const std::string_view text(image, bytes);
  const ImageReader reader(text);
  const uint32_t magic = reader.at<uint32_t>(0);
  if (magic == elf) {
    require_whole_cubin(reader);
  } else if (magic == fat_binary) {
    require_whole_fat_binary(reader);
  } else {
    require_ptx(text);
  }
}

#endif

}  // namespace gridstride
