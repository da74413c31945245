// Which lanes of a warp run together.
//
// On a GPU lanes that took the same way run in lockstep, and a kernel may ask which they are. Here
// lanes run one after the other: whoever asks steps aside until every other thread of the block has
// come as far as it can without waiting, and lanes that by then have asked in the same place run
// together.
//
// A place is a line of the source and, as a function may be called in several branches and be
// inlined into each, the call in the machine code. Which round of a loop a lane is in nobody can
// tell: a lane that passes by the place in one round is counted with the others in the next.
#ifndef GRIDSTRIDE_HOST_CONVERGENCE_H
#define GRIDSTRIDE_HOST_CONVERGENCE_H

#include <stdint.h>

#include "qualifiers.h"

// The lanes of the calling lane's warp that ask in this place, with this call.
GS_HOST_API GS_HOST_STAYS_IN_PLACE uint32_t gs_host_converge(uint64_t place);

namespace gridstride::host {

// A line of the source as a number: the upper 16 bits of an address of a program are all alike.
GS_HOST_INLINE uint64_t place(const char* file, int line) {
  return reinterpret_cast<uint64_t>(file) ^ static_cast<uint64_t>(line) << 48;
}

}  // namespace gridstride::host

#endif
