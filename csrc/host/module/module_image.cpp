// Telling shared libraries from what else people may pass for kernels.
#include "host/module/module_image.h"

#include <cctype>
#include <cstdint>
#include <initializer_list>

#include "host/module/elf_image.h"
#include "host/module/image_seal.h"
#include "host/module/mach_o_image.h"

namespace gridstride::host {
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
  // After what is plainer to say: a text or a cubin has no seal.
  check_seal(image);
  if (is_elf) {
    check_elf(image);
  } else {
    check_mach_o(image);
  }
}

}  // namespace gridstride::host
