// How much static shared memory the kernels of a library have.
#ifndef GRIDSTRIDE_HOST_STATIC_SHARED_H
#define GRIDSTRIDE_HOST_STATIC_SHARED_H

#include <cstdint>
#include <vector>

#include "host/module/module_image.h"

namespace gridstride::host {

// The bytes of each kernel's own __shared__ arrays, by the symbols of the library, plus those of
// arrays that no kernel declares (device functions have them, and namespaces): who uses those the
// symbols do not tell. Where that is more than any kernel may have it is the own ones alone. In a
// library without symbols it is what all arrays take together, or 0 where that is too much for one.
//
// The kernels are given by where in the library their run_threads are.
std::vector<std::uint32_t> static_shared_bytes(const ImageView& image,
                                               const std::vector<std::uintptr_t>& run_threads);

}  // namespace gridstride::host

#endif
