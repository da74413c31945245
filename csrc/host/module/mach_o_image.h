// Shared libraries as macOS has them.
#ifndef GRIDSTRIDE_HOST_MACH_O_IMAGE_H
#define GRIDSTRIDE_HOST_MACH_O_IMAGE_H

#include <cstddef>

#include "host/module/module_image.h"

namespace gridstride::host {

// See stated_image_bytes and check_image; the magic number is right.
std::size_t stated_mach_o_bytes(const unsigned char* data);
void check_mach_o(const ImageView& image);

}  // namespace gridstride::host

#endif
