// `extern __shared__ T name[];` for the host device.
//
// Dynamic shared memory lies in the region of the worker that runs the block, at an address that no
// linker knows. What compiles user files therefore rewrites the declaration, of any number of
// dimensions, to a reference to an array of unknown bound, which has the type, the address and the
// decay of what was declared:
//
//   extern __shared__ float name[];       float (&name)[] = GS_HOST_DYNAMIC_SHARED;
//   extern __shared__ float tile[][33];   float (&tile)[][33] = GS_HOST_DYNAMIC_SHARED;
//
// The address differs from launch to launch, so that this must stand in a function: a declaration
// at namespace scope moves to the start of every function that uses the name.
#ifndef GRIDSTRIDE_HOST_DYNAMIC_SHARED_H
#define GRIDSTRIDE_HOST_DYNAMIC_SHARED_H

#include "qualifiers.h"
#include "special_registers.h"

namespace gridstride::host {

// Becomes whatever array is to be initialised with it, so that the type is written once.
struct DynamicSharedMemory {
  template <class Array>
  GS_HOST_INLINE operator Array&() const {
    return *static_cast<Array*>(dynamic_shared_memory());
  }
};

}  // namespace gridstride::host

#define GS_HOST_DYNAMIC_SHARED (::gridstride::host::DynamicSharedMemory{})

#endif
