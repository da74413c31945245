// Machine code as it comes from a compiler or a file.
#ifndef GRIDSTRIDE_MACHINE_IMAGE_H
#define GRIDSTRIDE_MACHINE_IMAGE_H

#include <cstddef>

namespace gridstride {

// Throws GS_ERROR_IMAGE unless the image is PTX, a cubin or a fat binary, and whole. CUDA asks for
// no size and believes what headers say, so they are held against the bytes that are there. That no
// byte between is wrong only who keeps the image can say, such as the compile cache.
void require_loadable(const char* image, size_t bytes);

}  // namespace gridstride

#endif
