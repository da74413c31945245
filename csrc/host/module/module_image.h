// Why an image of kernels cannot be loaded.
#ifndef GRIDSTRIDE_HOST_MODULE_IMAGE_H
#define GRIDSTRIDE_HOST_MODULE_IMAGE_H

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
// The system's loader trusts the files it is given, and reads past the end of one that was cut off.
// The checks find accidental damage: a sealed image matches its seal, and every range that a file's
// headers name lies within the file. A file that was made to do harm gets past.

struct ImageView {
  const unsigned char* data;
  std::size_t bytes;

  bool contains(std::size_t offset, std::size_t count) const {
    return offset <= bytes && count <= bytes - offset;
  }
};

// How long the image of which only the start is known says that it is. Throws ImageError when it
// is no shared library of this system.
std::size_t stated_image_bytes(const void* image);

// Throws ImageError unless this can be a shared library for this system and processor.
void check_image(const ImageView& image);

// The seal at the end of an image: how long it is and what its bytes add up to.
//
// A damaged byte of code or of what the system's loader writes would crash the process. The seal,
// which the compiler of kernels appends (src/launch/compile/image_seal.ts), detects the damage
// before the loader sees it. An ELF or Mach-O file may be followed by anything, and one without a
// seal, as a C++ compiler leaves it, is taken as it is.

// Throws ImageError if there is a seal and the image does not match it.
void check_seal(const ImageView& image);

// Shared libraries as macOS has them.

// See stated_image_bytes and check_image; the magic number is right.
std::size_t stated_mach_o_bytes(const unsigned char* data);
void check_mach_o(const ImageView& image);

}  // namespace gridstride::host

#endif
