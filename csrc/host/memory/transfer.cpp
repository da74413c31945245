// Every address range is looked up before anything is enqueued: within an allocation, within mapped
// virtual memory, or host memory that exists.
#include "host/memory/transfer.h"

#include <cstdio>
#include <string>
#include <utility>

#include "host/device/device.h"
#include "host/graph/capture.h"
#include "host/graph/graph.h"
#include "host/memory/host_memory.h"
#include "host/memory/virtual_memory.h"
#include "host/module/loaded_module.h"
#include "host/stream/copy_work.h"
#include "host/stream/stream_graph.h"

namespace gridstride::host {
namespace {

// Up to here a copy that the caller waits for is done faster than a worker wakes up.
constexpr std::size_t max_bytes_here = std::size_t{1} << 20;

// One end of a transfer.
struct End {
  bool is_valid = false;
  Device* device = nullptr;            // null for host memory
  bool is_registered = false;          // registered host memory, which both sides may name
  std::shared_ptr<const void> held;    // keeps an allocation mapped, or a module loaded
  int virtual_for = no_device;         // the device that accesses virtual memory

  bool is_pageable() const { return device == nullptr && !is_registered; }
};

// The device that is about to access an end, and the kind of access.
struct Accessor {
  int device;
  AllowedAccess needed;
};

End find_virtual_end(std::uintptr_t address, std::size_t bytes, const Accessor& accessor) {
  End end;
  const VirtualMappings& mappings = VirtualMemory::instance().mappings();
  const std::shared_ptr<PhysicalMemory> memory = mappings.memory_at(address);
  if (memory == nullptr) return end;
  end.device = &memory->device;
  end.virtual_for = accessor.device;
  const VirtualTouch touch = {address, bytes, accessor.device, accessor.needed};
  end.is_valid = mappings.find_refusal(touch).address == 0;
  return end;
}

End find_end(const void* address, std::size_t bytes, const Accessor& accessor) {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  if (VirtualMemory::instance().contains(start, bytes)) {
    return find_virtual_end(start, bytes, accessor);
  }
  End end;
  end.device = device_of_address(address);
  if (end.device != nullptr) {
    end.held = end.device->memory().hold(address, bytes);
    end.is_valid = end.held != nullptr;
    return end;
  }
  if (const auto module = ModuleVariables::instance().module_at(address)) {
    end.device = &module->device();
    end.held = ModuleVariables::instance().hold(address, bytes);
    end.is_valid = end.held != nullptr;
    return end;
  }
  if (address == nullptr) return end;
  end.is_registered = RegisteredMemory::instance().covers(address, bytes);
  const auto* const last = static_cast<const unsigned char*>(address) + (bytes - 1);
  end.is_valid = end.is_registered ||
                 (device_of_address(last) == nullptr && host_pages_exist(address, bytes));
  return end;
}

RowEnd row_end(const End& end, const void* address, std::size_t pitch) {
  return {reinterpret_cast<std::uintptr_t>(address), pitch, end.held, end.virtual_for};
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
  if (waits && bytes <= max_bytes_here && graph.begin_here(*stream)) {
    work->run_here();
    return stream->device().fault_code();
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

// A copy between peers reads and writes by the rights of the devices it names, every other by those
// of the stream's device.
int accessing_device(int named, const Device& device) {
  return named == any_device ? device.ordinal() : named;
}

// Both ends of a copy of at least one byte, each checked for itself and against the direction.
cudaError_t find_ends(const CopyRequest& request, const Device& device, End& destination,
                      End& source) {
  std::size_t destination_extent = 0;
  std::size_t source_extent = 0;
  if (!find_extent(request.destination_pitch, request.width, request.height,
                   destination_extent) ||
      !find_extent(request.source_pitch, request.width, request.height, source_extent)) {
    return cudaErrorInvalidValue;
  }
  destination = find_end(request.destination, destination_extent,
                         {accessing_device(request.destination_device, device),
                          AllowedAccess::read_write});
  source = find_end(request.source, source_extent,
                    {accessing_device(request.source_device, device), AllowedAccess::read});
  if (!destination.is_valid || !source.is_valid) return cudaErrorInvalidValue;
  if (!is_of_device(destination, request.destination_device) ||
      !is_of_device(source, request.source_device)) {
    return cudaErrorInvalidValue;
  }
  return check_direction(request.kind, destination, source);
}

std::shared_ptr<CopyWork> make_copy(const CopyRequest& request, std::shared_ptr<Stream> stream,
                                    const End& destination, const End& source) {
  std::size_t width = request.width;
  std::size_t height = request.height;
  // Rows without anything between them are one long row.
  if (request.destination_pitch == width && request.source_pitch == width) {
    width *= height;
    height = 1;
  }
  return std::make_shared<CopyWork>(
      std::move(stream), row_end(destination, request.destination, request.destination_pitch),
      row_end(source, request.source, request.source_pitch), width, height);
}

std::shared_ptr<FillWork> make_fill(const FillRequest& request, std::shared_ptr<Stream> stream,
                                    const End& destination) {
  return std::make_shared<FillWork>(std::move(stream),
                                    row_end(destination, request.destination, request.bytes),
                                    request.value, request.element_bytes, request.bytes);
}

// The memory that a fill of at least one byte writes to.
cudaError_t find_destination(const FillRequest& request, const Device& device, End& destination) {
  destination =
      find_end(request.destination, request.bytes, {device.ordinal(), AllowedAccess::read_write});
  return destination.is_valid && !destination.is_pageable() ? cudaSuccess : cudaErrorInvalidValue;
}

// ---- nodes of graphs ---------------------------------------------------------------------------

std::string to_text(const void* address) {
  char text[24];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

std::shared_ptr<Work> lost_memory(const std::shared_ptr<Stream>& stream, const std::string& work,
                                  std::size_t bytes) {
  return std::make_shared<LostMemoryWork>(
      stream, "a " + work + " (" + std::to_string(bytes) +
                  " bytes) of a launched graph touches memory that is not there any more");
}

// A launch looks its memory up anew: freed memory is a fault then.
cudaError_t capture_copy(Stream& stream, const CopyRequest& request) {
  const auto remake = [request](const std::shared_ptr<Stream>& launched) {
    Operation operation;
    End destination;
    End source;
    const bool found = find_ends(request, launched->device(), destination, source) ==
                           cudaSuccess &&
                       !destination.is_pageable() && !source.is_pageable();
    if (found) {
      operation.work = make_copy(request, launched, destination, source);
    } else {
      operation.work = lost_memory(
          launched, "copy from " + to_text(request.source) + " to " + to_text(request.destination),
          request.width * request.height);
    }
    return operation;
  };
  return capture_node(stream, {remake, nullptr});
}

cudaError_t capture_fill(Stream& stream, const FillRequest& request) {
  const auto remake = [request](const std::shared_ptr<Stream>& launched) {
    Operation operation;
    End destination;
    if (find_destination(request, launched->device(), destination) == cudaSuccess) {
      operation.work = make_fill(request, launched, destination);
    } else {
      operation.work =
          lost_memory(launched, "fill of " + to_text(request.destination), request.bytes);
    }
    return operation;
  };
  return capture_node(stream, {remake, nullptr});
}

}  // namespace

cudaError_t copy(const CopyRequest& request) {
  std::shared_ptr<Stream> stream;
  const cudaError_t stream_status = find_stream_for_work(request.stream, stream);
  if (stream_status != cudaSuccess) return stream_status;
  const cudaError_t forbidden = request.waits ? capture_forbids() : cudaSuccess;
  if (forbidden != cudaSuccess) return forbidden;
  if (!are_pitches_valid(stream->device(), request)) return cudaErrorInvalidPitchValue;
  if (request.width == 0 || request.height == 0) {
    return request.waits ? wait_for(*stream) : cudaSuccess;
  }
  End destination;
  End source;
  const cudaError_t status = find_ends(request, stream->device(), destination, source);
  if (status != cudaSuccess) return status;
  const bool is_pageable = destination.is_pageable() || source.is_pageable();
  if (is_captured(*stream)) {
    return is_pageable ? refuse_node(*stream) : capture_copy(*stream, request);
  }
  return submit(stream, make_copy(request, stream, destination, source),
                request.width * request.height, request.waits || is_pageable);
}

cudaError_t fill(const FillRequest& request) {
  std::shared_ptr<Stream> stream;
  const cudaError_t stream_status = find_stream_for_work(request.stream, stream);
  if (stream_status != cudaSuccess) return stream_status;
  if (request.bytes == 0) return cudaSuccess;
  End destination;
  const cudaError_t status = find_destination(request, stream->device(), destination);
  if (status != cudaSuccess) return status;
  if (is_captured(*stream)) return capture_fill(*stream, request);
  return submit(stream, make_fill(request, stream, destination), request.bytes, false);
}

}  // namespace gridstride::host
