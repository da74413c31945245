// Streams by handle.
#ifndef GRIDSTRIDE_STREAM_H
#define GRIDSTRIDE_STREAM_H

#include "shim/device/device.h"
#include "shim/handle_table.h"

namespace gridstride {

struct Stream {
  int device = no_device;
  cudaStream_t stream = nullptr;
  bool adopted = false;  // made and kept alive by another library

  void end() const;
};

using StreamUse = HandleTable<Stream>::Use;

extern HandleTable<Stream> streams;

// A stream of the device that the call names.
inline StreamUse use_stream(int32_t handle, int device) {
  thread_state.device = device;
  StreamUse stream = streams.use(handle);
  require(stream->device == device, GS_ERROR_FOREIGN);
  return stream;
}

// A stream whose device the call takes from it.
inline StreamUse use_stream(int32_t handle) {
  StreamUse stream = streams.use(handle);
  thread_state.device = stream->device;
  return stream;
}

}  // namespace gridstride

#endif
