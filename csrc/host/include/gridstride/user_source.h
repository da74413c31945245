// What a user's .cu file finds defined before its first line, as nvcc includes cuda_runtime.h.
//
// Only such files may include this. It gives words of C and C++ the meaning that they have for
// nvcc, which the runtime's own files do without.
#ifndef GRIDSTRIDE_HOST_USER_SOURCE_H
#define GRIDSTRIDE_HOST_USER_SOURCE_H

#define GS_HOST_USER_SOURCE 1

#include "../assert.h"
#include "../cuda_runtime.h"
#include "../stdio.h"
#include "dynamic_shared.h"
#include "kernel_clock.h"
#include "refused_features.h"

#include <stdlib.h>
#include <string.h>

// csrc/host/include/memory is for this one.
#define __noinline__ __attribute__((noinline))

namespace gridstride::host {

// alignas() takes a type or a number.
template <class T>
constexpr unsigned long alignment_of() {
  return alignof(T);
}
template <auto bytes>
constexpr unsigned long alignment_of() {
  return bytes;
}

}  // namespace gridstride::host

// nvcc lets alignas follow __shared__; C++ wants it before every other word of a declaration.
#define alignas(...) __attribute__((aligned(::gridstride::host::alignment_of<__VA_ARGS__>())))

#endif
