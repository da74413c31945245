// Every address range is looked up before anything is enqueued: within an allocation, or host
// memory that exists.
#include "transfer.h"

#include <utility>

#include "copy_work.h"
#include "device.h"
#include "host_memory.h"
#include "stream_graph.h"

namespace gridstride::host {
namespace {

// Up to here a copy that the caller waits for is done faster than a worker wakes up.
constexpr std::size_t most_bytes_here = std::size_t{1} << 20;

// One end of a transfer.
struct End {
  bool is_valid = false;
  Device* device = nullptr;            // null for host memory
  bool is_registered = false;          // registered host memory, which both sides may name
  std::shared_ptr<MappedRange> range;  // keeps device memory mapped

  bool is_pageable() const { return device == nullptr && !is_registered; }
};

End find_end(const void* address, std::size_t bytes) {
  End end;
  end.device = device_of_address(address);
  if (end.device != nullptr) {
    end.range = end.device->memory().hold(address, bytes);
    end.is_valid = end.range != nullptr;
    return end;
  }
  if (address == nullptr) return end;
  end.is_registered = RegisteredMemory::instance().covers(address, bytes);
  const auto* const last = static_cast<const unsigned char*>(address) + (bytes - 1);
  end.is_valid = end.is_registered ||
                 (device_of_address(last) == nullptr && host_pages_exist(address, bytes));
  return end;
}

// Bytes from the first to behind the last of the rows; false when that is no address range.
bool find_extent(std::size_t pitch, std::size_t width, std::size_t height, std::size_t& extent) {
  std::size_t rows = 0;
  return !__builtin_mul_overflow(pitch, height - 1, &rows) &&
         !__builtin_add_overflow(rows, width, &extent);
}

bool is_pitch_valid(const Device& device, std::size_t pitch, std::size_t width,
                    std::size_t height) {
  if (height <= 1) return true;
  const auto most = device.specification().attribute(cudaDevAttrMaxPitch);
  return pitch >= width && (!most || pitch <= static_cast<std::size_t>(*most));
}

cudaError_t check_direction(cudaMemcpyKind kind, const End& destination, const End& source) {
  const bool to_host = destination.device == nullptr;
  const bool from_host = source.device == nullptr;
  const bool to_device = !destination.is_pageable();
  const bool from_device = !source.is_pageable();
  bool fits = false;
  switch (kind) {
    case cudaMemcpyHostToHost: fits = to_host && from_host; break;
    case cudaMemcpyHostToDevice: fits = to_device && from_host; break;
    case cudaMemcpyDeviceToHost: fits = to_host && from_device; break;
    case cudaMemcpyDeviceToDevice: fits = to_device && from_device; break;
    case cudaMemcpyDefault: fits = true; break;
    default: return cudaErrorInvalidMemcpyDirection;
  }
  return fits ? cudaSuccess : cudaErrorInvalidValue;
}

bool is_of_device(const End& end, int device) {
  return device == any_device || (end.device != nullptr && end.device->ordinal() == device);
}

cudaError_t wait_for(Stream& stream) {
  StreamGraph::instance().synchronize(stream);
  return stream.device().fault_code();
}

cudaError_t submit(const std::shared_ptr<Stream>& stream, std::shared_ptr<RowWork> work,
                   std::size_t bytes, bool waits) {
  StreamGraph& graph = StreamGraph::instance();
  if (waits && bytes <= most_bytes_here && graph.begin_here(*stream)) {
    work->run_here();
    return cudaSuccess;
  }
  Operation operation;
  operation.work = std::move(work);
  graph.enqueue(*stream, std::move(operation));
  return waits ? wait_for(*stream) : cudaSuccess;
}

bool are_pitches_valid(const Device& device, const CopyRequest& request) {
  return is_pitch_valid(device, request.destination_pitch, request.width, request.height) &&
         is_pitch_valid(device, request.source_pitch, request.width, request.height);
}

// Both ends of a copy of at least one byte, each checked for itself and against the direction.
cudaError_t find_ends(const CopyRequest& request, End& destination, End& source) {
  std::size_t destination_extent = 0;
  std::size_t source_extent = 0;
  if (!find_extent(request.destination_pitch, request.width, request.height,
                   destination_extent) ||
      !find_extent(request.source_pitch, request.width, request.height, source_extent)) {
    return cudaErrorInvalidValue;
  }
  destination = find_end(request.destination, destination_extent);
  source = find_end(request.source, source_extent);
  if (!destination.is_valid || !source.is_valid) return cudaErrorInvalidValue;
  if (!is_of_device(destination, request.destination_device) ||
      !is_of_device(source, request.source_device)) {
    return cudaErrorInvalidValue;
  }
  return check_direction(request.kind, destination, source);
}

std::shared_ptr<CopyWork> make_copy(const CopyRequest& request, std::shared_ptr<Stream> stream,
                                    End destination, End source) {
  std::size_t width = request.width;
  std::size_t height = request.height;
  // Rows without anything between them are one long row.
  if (request.destination_pitch == width && request.source_pitch == width) {
    width *= height;
    height = 1;
  }
  return std::make_shared<CopyWork>(
      std::move(stream), HeldRanges{std::move(destination.range), std::move(source.range)},
      Rows<unsigned char>{static_cast<unsigned char*>(request.destination),
                          request.destination_pitch},
      Rows<const unsigned char>{static_cast<const unsigned char*>(request.source),
                                request.source_pitch},
      width, height);
}

}  // namespace

cudaError_t copy(const CopyRequest& request) {
  std::shared_ptr<Stream> stream;
  const cudaError_t stream_status = find_stream(request.stream, stream);
  if (stream_status != cudaSuccess) return stream_status;
  if (!are_pitches_valid(stream->device(), request)) return cudaErrorInvalidPitchValue;
  if (request.width == 0 || request.height == 0) {
    return request.waits ? wait_for(*stream) : cudaSuccess;
  }
  End destination;
  End source;
  const cudaError_t status = find_ends(request, destination, source);
  if (status != cudaSuccess) return status;
  const bool waits = request.waits || destination.is_pageable() || source.is_pageable();
  return submit(stream, make_copy(request, stream, std::move(destination), std::move(source)),
                request.width * request.height, waits);
}

cudaError_t fill(const FillRequest& request) {
  std::shared_ptr<Stream> stream;
  const cudaError_t stream_status = find_stream(request.stream, stream);
  if (stream_status != cudaSuccess) return stream_status;
  if (!is_pitch_valid(stream->device(), request.pitch, request.width, request.height)) {
    return cudaErrorInvalidPitchValue;
  }
  if (request.width == 0 || request.height == 0) return cudaSuccess;
  std::size_t extent = 0;
  if (!find_extent(request.pitch, request.width, request.height, extent)) {
    return cudaErrorInvalidValue;
  }
  End destination = find_end(request.destination, extent);
  if (!destination.is_valid || destination.is_pageable()) return cudaErrorInvalidValue;
  auto work = std::make_shared<FillWork>(
      stream, HeldRanges{std::move(destination.range), nullptr},
      Rows<unsigned char>{static_cast<unsigned char*>(request.destination), request.pitch},
      request.value, request.element_bytes, request.width, request.height);
  return submit(stream, std::move(work), request.width * request.height, false);
}

}  // namespace gridstride::host
