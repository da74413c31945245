// Linear copies: within a device, between devices, through pinned slabs, and to and from memory
// that JavaScript lends for the length of one call.
#include "shim/block.h"
#include "shim/memory/memory_check.h"
#include "shim/memory/pinned.h"
#include "shim/stream/stream.h"

using namespace gridstride;

int32_t gs_copy_device(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const uint64_t bytes = in.integer(2);
    const MemoryRange destination = checked_range(in.integer(0), bytes);
    const MemoryRange source = checked_range(in.integer(1), bytes);
    const int device = in.device();
    const StreamUse stream = use_stream(in.stream(), device);
    if (bytes == 0) return;
    require(!destination.overlaps(source), GS_ERROR_OVERLAP);
    make_current(device);
    require_device_memory(destination, device);
    require_device_memory(source, device);
    GS_CALL(cudaMemcpyAsync, destination.pointer(), source.pointer(), bytes,
            cudaMemcpyDeviceToDevice, stream->stream);
  });
}

int32_t gs_copy_peer(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const uint64_t bytes = in.integer(4);
    const MemoryRange destination = checked_range(in.integer(0), bytes);
    const int destination_device = static_cast<int>(in.integer(1, largest_handle));
    const MemoryRange source = checked_range(in.integer(2), bytes);
    const int source_device = static_cast<int>(in.integer(3, largest_handle));
    const StreamUse stream = use_stream(in.stream());
    require(stream->device == destination_device || stream->device == source_device,
            GS_ERROR_FOREIGN);
    if (bytes == 0) return;
    require(!destination.overlaps(source), GS_ERROR_OVERLAP);
    make_current(stream->device);
    require_device_memory(destination, destination_device);
    require_device_memory(source, source_device);
    GS_CALL(cudaMemcpyPeerAsync, destination.pointer(), destination_device, source.pointer(),
            source_device, bytes, stream->stream);
  });
}

int32_t gs_copy_from_pinned(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const uint64_t bytes = in.integer(3);
    const MemoryRange destination = checked_range(in.integer(0), bytes);
    const PinnedUse slab = pinned_slabs.use(in.handle(1));
    const MemoryRange source = pinned_part(slab, in.integer(2), bytes);
    const int device = in.device();
    const StreamUse stream = use_stream(in.stream(), device);
    if (bytes == 0) return;
    make_current(device);
    require_device_memory(destination, device);
    slab->used_by.add(device);
    GS_CALL(cudaMemcpyAsync, destination.pointer(), source.pointer(), bytes, cudaMemcpyHostToDevice,
            stream->stream);
  });
}

int32_t gs_copy_to_pinned(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const uint64_t bytes = in.integer(3);
    const PinnedUse slab = pinned_slabs.use(in.handle(0));
    const MemoryRange destination = pinned_part(slab, in.integer(1), bytes);
    const MemoryRange source = checked_range(in.integer(2), bytes);
    const int device = in.device();
    const StreamUse stream = use_stream(in.stream(), device);
    if (bytes == 0) return;
    make_current(device);
    require_device_memory(source, device);
    slab->used_by.add(device);
    GS_CALL(cudaMemcpyAsync, destination.pointer(), source.pointer(), bytes, cudaMemcpyDeviceToHost,
            stream->stream);
  });
}

int32_t gs_copy_to_device(int32_t device, int32_t stream, double destination, const void* source,
                          double bytes) {
  return guarded([&] {
    const uint64_t count = checked_integer(bytes);
    const MemoryRange written = checked_range(checked_integer(destination), count);
    const StreamUse used = use_stream(stream, device);
    if (count == 0) return;
    require(source != nullptr, GS_ERROR_ARGUMENT);
    make_current(device);
    require_device_memory(written, device);
    GS_CALL(cudaMemcpyAsync, written.pointer(), source, count, cudaMemcpyHostToDevice,
            used->stream);
    GS_CALL(cudaStreamSynchronize, used->stream);
  });
}

int32_t gs_copy_to_host(int32_t device, int32_t stream, void* destination, double source,
                        double bytes) {
  return guarded([&] {
    const uint64_t count = checked_integer(bytes);
    const MemoryRange read = checked_range(checked_integer(source), count);
    const StreamUse used = use_stream(stream, device);
    if (count == 0) return;
    require(destination != nullptr, GS_ERROR_ARGUMENT);
    make_current(device);
    require_device_memory(read, device);
    GS_CALL(cudaMemcpyAsync, destination, read.pointer(), count, cudaMemcpyDeviceToHost,
            used->stream);
    GS_CALL(cudaStreamSynchronize, used->stream);
  });
}
