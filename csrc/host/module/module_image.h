// The bytes of a library of kernels, and whether they can be what they must be.
//
// The system's loader trusts the files it is given, and reads past the end of one that was cut off.
// What is checked here is what damage does by accident: a sealed image is what was sealed
// (image_seal.h), and every range that a file's headers name lies within the file. A file that was
// made to do harm gets past.
#ifndef GRIDSTRIDE_HOST_MODULE_IMAGE_H
#define GRIDSTRIDE_HOST_MODULE_IMAGE_H

#include <cstddef>

#include "host/module/image_error.h"

namespace gridstride::host {

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

}  // namespace gridstride::host

#endif
