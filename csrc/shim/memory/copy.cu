// Linear and pitched copies: within a device, between devices, through pinned slabs, and to and
// from memory that JavaScript lends for the length of one call.
#include <driver_types.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <numeric>
#include <thread>

#include "shim/block.h"
#include "shim/memory/memory.h"
#include "shim/memory/pinned.h"
#include "shim/stream/stream.h"

namespace gridstride {

namespace {

// width bytes of each row, height rows; both sides of a copy share it.
struct CopyExtent {
  uint64_t width = 0;
  uint64_t height = 0;

  bool is_empty() const { return width == 0 || height == 0; }
};

struct PitchedRange {
  uint64_t address = 0;
  uint64_t pitch = 0;

  void* pointer() const { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }
};

// The range from the first byte of the first row to the last byte of the last. Throws when a row
// does not fit its pitch, as CUDA does, or the sum exceeds the range of addresses. The extent is
// not empty.
MemoryRange spanned(const PitchedRange& rows, const CopyExtent& extent) {
  require(extent.width <= rows.pitch, cudaErrorInvalidPitchValue);
  uint64_t bytes = 0;
  const bool wraps = __builtin_mul_overflow(rows.pitch, extent.height - 1, &bytes) ||
                     __builtin_add_overflow(bytes, extent.width, &bytes);
  require(!wraps, GS_ERROR_ARGUMENT);
  return checked_range(rows.address, bytes);
}

// Whether a row's width of bytes at start touches one of the rows. It can only meet the row that
// begins at or before it and the one after that.
bool touches_row(const PitchedRange& rows, const CopyExtent& extent, uint64_t start) {
  const MemoryRange bytes{start, extent.width};
  if (start < rows.address) return bytes.end() > rows.address;
  const uint64_t row = std::min((start - rows.address) / rows.pitch, extent.height - 1);
  const MemoryRange before{rows.address + row * rows.pitch, extent.width};
  if (before.overlaps(bytes)) return true;
  const MemoryRange after{before.address + rows.pitch, extent.width};
  return row + 1 < extent.height && after.overlaps(bytes);
}

// Whether any byte belongs to both. Ranges may interleave without overlapping: the left and the
// right half of one matrix do.
//
// The rows of the larger pitch are tried one by one against those of the smaller. There are few:
// fewer than the smaller pitch, as where they fall in a period of the other rows repeats after that
// many, and than the reach divided by the larger pitch. So no extent takes more steps than the
// square root of the reach.
bool overlap(const PitchedRange& first, const PitchedRange& second, const CopyExtent& extent) {
  if (extent.is_empty()) return false;
  const PitchedRange& dense = first.pitch <= second.pitch ? first : second;
  const PitchedRange& sparse = first.pitch <= second.pitch ? second : first;
  const MemoryRange reach = spanned(dense, extent);
  if (!reach.overlaps(spanned(sparse, extent))) return false;

  uint64_t row = 0;
  if (sparse.address < reach.address) row = (reach.address - sparse.address) / sparse.pitch;
  const uint64_t period = dense.pitch / std::gcd(dense.pitch, sparse.pitch);
  // One more: the first of them may begin before the dense rows do, where nothing repeats.
  const uint64_t rows_to_try = std::min(extent.height - row, period + 1);
  for (uint64_t tried = 0; tried < rows_to_try; tried++) {
    const uint64_t start = sparse.address + (row + tried) * sparse.pitch;
    if (start >= reach.end()) return false;
    if (touches_row(dense, extent, start)) return true;
  }
  return false;
}

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

// A thread reads and writes less than the memory can. Its start takes as long as a copy of some
// 100 KiB.
constexpr uint64_t min_thread_bytes = 1 << 20;

void copy_by_threads(char* destination, const char* source, uint64_t bytes, int32_t threads) {
  const uint64_t count = std::clamp<uint64_t>(bytes / min_thread_bytes, 1, threads);
  const uint64_t share = bytes / count;
  std::array<std::thread, GS_MAX_COPY_THREADS> helpers;
  uint64_t rest = bytes;
  for (uint64_t helper = 1; helper < count; helper++) {
    const uint64_t from = rest - share;
    try {
      helpers[helper] = std::thread(std::memcpy, destination + from, source + from, share);
    } catch (const std::exception&) {
      break;  // The system has no more threads: this one copies the rest.
    }
    rest = from;
  }
  std::memcpy(destination, source, rest);
  for (std::thread& helper : helpers) {
    if (helper.joinable()) helper.join();
  }
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

// ---- linear copies -----------------------------------------------------------------------------

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

int32_t gs_pinned_read(int32_t pinned, double offset, void* destination, double bytes,
                       int32_t threads) {
  return guarded([&] {
    const uint64_t count = checked_integer(bytes);
    require(threads >= 1 && threads <= GS_MAX_COPY_THREADS, GS_ERROR_ARGUMENT);
    const PinnedUse slab = pinned_slabs.use(pinned);
    const MemoryRange source = pinned_part(slab, checked_integer(offset), count);
    if (count == 0) return;
    require(destination != nullptr, GS_ERROR_ARGUMENT);
    copy_by_threads(static_cast<char*>(destination), static_cast<const char*>(source.pointer()),
                    count, threads);
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

// ---- pitched copies ----------------------------------------------------------------------------

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
