// What the host device cannot do, by the names that kernels would use it with, so that the
// compiler's error says so.
#ifndef GRIDSTRIDE_HOST_REFUSED_FEATURES_H
#define GRIDSTRIDE_HOST_REFUSED_FEATURES_H

#include "qualifiers.h"

// ---- inline PTX --------------------------------------------------------------------------------

// The headers of this folder, and those of C libraries, spell theirs __asm__.
#define asm                                                                                      \
  static_assert(                                                                                 \
      false, "the host device runs no PTX: leave inline assembly to #if !defined(__CUDASIM__)"); \
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

#endif
