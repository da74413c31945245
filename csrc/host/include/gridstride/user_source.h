// The definitions before the first line of a user's .cu file, as nvcc includes cuda_runtime.h.
//
// Only such files may include this. It gives words of C and C++ the meaning that they have for
// nvcc, which the runtime's own files do without.
#pragma once

#define GS_HOST_USER_SOURCE 1

#include "../assert.h"
#include "../cuda_runtime.h"
#include "../stdio.h"
#include "kernel_clock.h"
#include "ptx/ptx_functions.h"
#include "special_registers.h"

// nvcc has included these too.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

// So have the headers of hosts that are left out of sources.
#include <cstdint>
#include <limits>
#include <new>

// A hint, which changes no result. libstdc++ spells its own attribute with CUDA's word, as in
// __attribute__((__noinline__)), and only nothing at all is valid in both places.
#define __noinline__

#if !defined(__clang__)
#define __builtin_assume(...) ((__VA_ARGS__) ? void() : __builtin_unreachable())
#endif

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

// ---- dynamic shared memory ---------------------------------------------------------------------
//
// `extern __shared__ T name[];` for the host device.
//
// Dynamic shared memory lies in the region of the worker that runs the block, at an address that no
// linker knows. What compiles user files therefore rewrites the declaration, of any number of
// dimensions, to a reference to an array of unknown bound, which has the type, the address and the
// decay of the declared array:
//
//   extern __shared__ float name[];       float (&name)[] = GS_HOST_DYNAMIC_SHARED;
//   extern __shared__ float tile[][33];   float (&tile)[][33] = GS_HOST_DYNAMIC_SHARED;
//
// The address differs from launch to launch, so this must stand in a function: a declaration at
// namespace scope moves to the start of every function that uses the name.

namespace gridstride::host {

// Converts to the array that it initialises: the type is written once.
struct DynamicSharedMemory {
  template <class Array>
  GS_HOST_INLINE operator Array&() const {
    return *static_cast<Array*>(dynamic_shared_memory());
  }
};

}  // namespace gridstride::host

#define GS_HOST_DYNAMIC_SHARED (::gridstride::host::DynamicSharedMemory{})

// ---- features that the host device lacks --------------------------------------------------------
//
// Features that the host device lacks, declared under their CUDA names for a clear compiler error.

// ---- inline PTX --------------------------------------------------------------------------------

// What compiles user files rewrites inline PTX to calls of ptx/ptx_functions.h. This is for headers
// that it does not see. The headers of this folder, and those of C libraries, spell theirs __asm__.
#define GS_HOST_NO_PTX(reason) static_assert(false, reason);
#define asm                                                                                  \
  GS_HOST_NO_PTX("the host device runs no PTX here: leave it to #if !defined(__CUDASIM__)") \
  __asm__

// ---- textures and surfaces ---------------------------------------------------------------------

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

namespace gridstride::host {

template <class...>
inline constexpr bool is_on_host_device = false;

}  // namespace gridstride::host

// With the element's type as a template argument, and without.
#define GS_REFUSED(name, what)                                                 \
  template <class Element = void, class... Arguments>                          \
  Element name(Arguments...) {                                                 \
    static_assert(gridstride::host::is_on_host_device<Element, Arguments...>,  \
                  "the host device has no " what ": " #name "() needs a GPU"); \
  }
#define GS_REFUSED_TEXTURE(name) GS_REFUSED(name, "textures")
#define GS_REFUSED_SURFACE(name)     \
  GS_REFUSED(name##read, "surfaces") \
  GS_REFUSED(name##write, "surfaces")

GS_REFUSED_TEXTURE(tex1Dfetch)
GS_REFUSED_TEXTURE(tex1D)
GS_REFUSED_TEXTURE(tex1DLod)
GS_REFUSED_TEXTURE(tex1DGrad)
GS_REFUSED_TEXTURE(tex2D)
GS_REFUSED_TEXTURE(tex2DLod)
GS_REFUSED_TEXTURE(tex2DGrad)
GS_REFUSED_TEXTURE(tex2Dgather)
GS_REFUSED_TEXTURE(tex3D)
GS_REFUSED_TEXTURE(tex3DLod)
GS_REFUSED_TEXTURE(tex3DGrad)
GS_REFUSED_TEXTURE(tex1DLayered)
GS_REFUSED_TEXTURE(tex2DLayered)
GS_REFUSED_TEXTURE(texCubemap)
GS_REFUSED_TEXTURE(texCubemapLayered)
GS_REFUSED_SURFACE(surf1D)
GS_REFUSED_SURFACE(surf2D)
GS_REFUSED_SURFACE(surf3D)
GS_REFUSED_SURFACE(surf1DLayered)
GS_REFUSED_SURFACE(surf2DLayered)
GS_REFUSED_SURFACE(surfCubemap)
GS_REFUSED_SURFACE(surfCubemapLayered)

#undef GS_REFUSED_SURFACE
#undef GS_REFUSED_TEXTURE
#undef GS_REFUSED
