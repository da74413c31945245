// Words for calls on virtual memory.
#pragma once

#include "check.h"

// 0 where the device has no virtual memory management.
inline double granularity_of(int device) {
  double bytes = 0;
  return gs.gs_virtual_granularity(device, &bytes) == 0 ? bytes : 0;
}

// 0 after a failure, which the checks that follow will show.
inline double reserve(int device, double bytes) {
  double address = 0;
  return gs.gs_virtual_reserve(device, bytes, &address) == 0 ? address : 0;
}

inline int32_t map(int device, double address, double bytes, double handle_bytes) {
  set_operands(device, 0, {address, bytes, handle_bytes});
  return gs.gs_virtual_map();
}

inline int32_t unmap(int device, double address, double bytes) {
  set_operands(device, 0, {address, bytes});
  return gs.gs_virtual_unmap();
}

// Waits, because the caller unmaps afterwards.
inline int32_t set_bytes(int device, int32_t stream, double address, double value, double bytes) {
  set_operands(device, stream, {address, value, 1, bytes});
  const int32_t status = gs.gs_memory_set();
  return status == 0 ? gs.gs_stream_synchronize(stream) : status;
}

// The byte at address after the stream's work so far, or -1.
inline int byte_at(int device, int32_t stream, double address) {
  unsigned char byte = 0;
  return gs.gs_copy_to_host(device, stream, &byte, address, 1) == 0 ? byte : -1;
}
