// The seal at the end of an image: how long it is and what its bytes add up to.
//
// A damaged byte of code or of what the system's loader writes would crash the process. The seal,
// which the compiler of kernels appends (src/launch/compile/image_seal.ts), tells the damage before
// the loader sees it. An ELF or Mach-O file may be followed by anything, and one without a seal,
// as a C++ compiler leaves it, is taken as it is.
#ifndef GRIDSTRIDE_HOST_IMAGE_SEAL_H
#define GRIDSTRIDE_HOST_IMAGE_SEAL_H

#include "host/module/module_image.h"

namespace gridstride::host {

// Throws ImageError where there is a seal and the image is not what was sealed.
void check_seal(const ImageView& image);

}  // namespace gridstride::host

#endif
