// Memory that another library allocated: it can be copied and set, within its bounds, and is never
// freed here.
#include <cstring>
#include <vector>

#include "check.h"
#include "suites.h"

namespace {

constexpr int32_t invalid_value = 1;

int32_t set(int32_t stream, double address, double bytes) {
  set_operands(0, stream, {address, 7, 1, bytes});
  return gs.gs_memory_set();
}

}  // namespace

void check_foreign_memory() {
  if (gs.foreign_allocate == nullptr) {
    skip("memory of other libraries: foreign_memory.cu is not linked in");
    return;
  }
  constexpr double bytes = 1 << 20;
  const int32_t stream = make_stream(0);
  const double foreign = gs.foreign_allocate(0, bytes);
  const double own = allocate(0, bytes);
  check(foreign > 0, "another library allocates memory");
  check_status(set(stream, foreign, bytes), 0, "all of it can be set");
  set_operands(0, stream, {own, foreign, bytes});
  check_status(gs.gs_copy_device(), 0, "and copied");
  unsigned char last = 0;
  gs.gs_copy_to_host(0, stream, &last, own + bytes - 1, 1);
  check_equal(last, 7, "to its last byte");
  // CUDA puts allocations side by side: a little more may be the memory of another one.
  check_status(set(stream, foreign, bytes + 0x1p40), invalid_value, "more than there is");
  check_status(free_memory(0, foreign), invalid_value, "it cannot be freed here");
  gs.gs_call_fail(call_id("cudaPointerGetAttributes"), 2, 999);
  check_status(set(stream, foreign, bytes), 999, "setting it where CUDA cannot tell its end");
  gs.gs_stream_synchronize(stream);
  check_equal(gs.foreign_free(foreign), 0, "its owner frees it");
  check_status(set(stream, foreign, bytes), invalid_value, "after that it is nobody's");
  free_memory(0, own);
  gs.gs_stream_destroy(stream);
}
