// Pitched copies: rows of equal width at a distance, the pitch, that may differ between the sides.
#include "shim/block.h"
#include "shim/memory/memory_check.h"
#include "shim/memory/pinned.h"
#include "shim/memory/pitched_range.h"
#include "shim/stream/stream.h"

namespace gridstride {

namespace {

PitchedRange pitched(const Operands& in, int address, int pitch) {
  return PitchedRange{in.integer(address), in.integer(pitch)};
}

CopyExtent extent_of(const Operands& in, int width, int height) {
  return CopyExtent{in.integer(width), in.integer(height)};
}

// Rows inside a slab, by their place in it.
PitchedRange pinned_rows(const PinnedUse& slab, uint64_t offset, uint64_t pitch,
                         const CopyExtent& extent) {
  const MemoryRange part = pinned_part(slab, offset, spanned({offset, pitch}, extent).bytes);
  return PitchedRange{part.address, pitch};
}

void enqueue(const PitchedRange& destination, const PitchedRange& source, const CopyExtent& extent,
             cudaMemcpyKind kind, cudaStream_t stream) {
  GS_CALL(cudaMemcpy2DAsync, destination.pointer(), destination.pitch, source.pointer(),
          source.pitch, extent.width, extent.height, kind, stream);
}

// JavaScript's memory is only lent for the length of the call.
void copy_and_wait(const PitchedRange& destination, const PitchedRange& source,
                   const CopyExtent& extent, cudaMemcpyKind kind, cudaStream_t stream) {
  enqueue(destination, source, extent, kind, stream);
  GS_CALL(cudaStreamSynchronize, stream);
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_copy_device_2d(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const PitchedRange destination = pitched(in, 0, 1);
    const PitchedRange source = pitched(in, 2, 3);
    const CopyExtent extent = extent_of(in, 4, 5);
    const int device = in.device();
    const StreamUse stream = use_stream(in.stream(), device);
    if (extent.is_empty()) return;
    const MemoryRange written = spanned(destination, extent);
    const MemoryRange read = spanned(source, extent);
    require(!overlap(destination, source, extent), GS_ERROR_OVERLAP);
    make_current(device);
    require_device_memory(written, device);
    require_device_memory(read, device);
    enqueue(destination, source, extent, cudaMemcpyDeviceToDevice, stream->stream);
  });
}

int32_t gs_copy_from_pinned_2d(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const PitchedRange destination = pitched(in, 0, 1);
    const PinnedUse slab = pinned_slabs.use(in.handle(2));
    const uint64_t offset = in.integer(3);
    const uint64_t pitch = in.integer(4);
    const CopyExtent extent = extent_of(in, 5, 6);
    const int device = in.device();
    const StreamUse stream = use_stream(in.stream(), device);
    if (extent.is_empty()) return;
    const MemoryRange written = spanned(destination, extent);
    const PitchedRange source = pinned_rows(slab, offset, pitch, extent);
    make_current(device);
    require_device_memory(written, device);
    slab->used_by.add(device);
    enqueue(destination, source, extent, cudaMemcpyHostToDevice, stream->stream);
  });
}

int32_t gs_copy_to_pinned_2d(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const PinnedUse slab = pinned_slabs.use(in.handle(0));
    const uint64_t offset = in.integer(1);
    const uint64_t pitch = in.integer(2);
    const PitchedRange source = pitched(in, 3, 4);
    const CopyExtent extent = extent_of(in, 5, 6);
    const int device = in.device();
    const StreamUse stream = use_stream(in.stream(), device);
    if (extent.is_empty()) return;
    const MemoryRange read = spanned(source, extent);
    const PitchedRange destination = pinned_rows(slab, offset, pitch, extent);
    make_current(device);
    require_device_memory(read, device);
    slab->used_by.add(device);
    enqueue(destination, source, extent, cudaMemcpyDeviceToHost, stream->stream);
  });
}

int32_t gs_copy_to_device_2d(int32_t device, int32_t stream, double destination,
                             double destination_pitch, const void* source, double source_pitch,
                             double width, double height) {
  return guarded([&] {
    const PitchedRange to{checked_integer(destination), checked_integer(destination_pitch)};
    const PitchedRange from{address_of(source), checked_integer(source_pitch)};
    const CopyExtent extent{checked_integer(width), checked_integer(height)};
    const StreamUse used = use_stream(stream, device);
    if (extent.is_empty()) return;
    require(source != nullptr, GS_ERROR_ARGUMENT);
    const MemoryRange written = spanned(to, extent);
    spanned(from, extent);  // checks the sums; only JavaScript knows where its memory ends
    make_current(device);
    require_device_memory(written, device);
    copy_and_wait(to, from, extent, cudaMemcpyHostToDevice, used->stream);
  });
}

int32_t gs_copy_to_host_2d(int32_t device, int32_t stream, void* destination,
                           double destination_pitch, double source, double source_pitch,
                           double width, double height) {
  return guarded([&] {
    const PitchedRange to{address_of(destination), checked_integer(destination_pitch)};
    const PitchedRange from{checked_integer(source), checked_integer(source_pitch)};
    const CopyExtent extent{checked_integer(width), checked_integer(height)};
    const StreamUse used = use_stream(stream, device);
    if (extent.is_empty()) return;
    require(destination != nullptr, GS_ERROR_ARGUMENT);
    spanned(to, extent);  // checks the sums; only JavaScript knows where its memory ends
    const MemoryRange read = spanned(from, extent);
    make_current(device);
    require_device_memory(read, device);
    copy_and_wait(to, from, extent, cudaMemcpyDeviceToHost, used->stream);
  });
}
