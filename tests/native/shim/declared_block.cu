// The query of a checker of kernels; linked into the library under test like argument_kernels.cu.
#include "shim/memory/memory.h"

// 0 unknown, 1 undivided, 2 live, and then block[0] is its address and block[1] its bytes, 3 dead.
extern "C" GS_API int gs_test_declared_block(double address, double* block) {
  gridstride::MemoryRange found;
  const gridstride::BlockAt at =
      gridstride::declared_block_at(static_cast<uint64_t>(address), found);
  block[0] = static_cast<double>(found.address);
  block[1] = static_cast<double>(found.bytes);
  return static_cast<int>(at);
}
