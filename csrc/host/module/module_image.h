// Images: libraries of kernels as bytes.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "gridstride/runtime_types.h"

namespace gridstride::host {

// The text is for the log that the caller of cudaLibraryLoadData gave.
class ImageError : public std::runtime_error {
 public:
  ImageError(cudaError_t code, const std::string& text) : std::runtime_error(text), code_(code) {}
  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

// The bytes of a library of kernels, and their validity.
//
// The system's loader trusts its files, and reads past the end of a truncated one. The checks find
// accidental damage: a sealed image matches its seal, and the segments and sections of an ELF file
// lie within the file. They do not protect from hostile files.

struct ImageView {
  const unsigned char* data;
  std::size_t bytes;

  bool contains(std::size_t offset, std::size_t count) const {
    return offset <= bytes && count <= bytes - offset;
  }
};

// The size in the headers of an ELF image, for a caller that knows only its start. Throws
// ImageError for all other images.
std::size_t stated_image_bytes(const void* image);

// Throws ImageError unless this can be a shared library for this system and processor.
void check_image(const ImageView& image);

// The seal at the end of an image: its size and its checksum.
//
// A damaged byte of code or of what the system's loader writes would crash the process. The seal,
// which the compiler of kernels appends (src/launch/compile/image_seal.ts), detects the damage
// before the loader sees it. An ELF or Mach-O file may be followed by anything, and one without a
// seal, as a C++ compiler leaves it, is taken as it is.

// Throws ImageError if there is a seal and the image does not match it.
void check_seal(const ImageView& image);

}  // namespace gridstride::host
