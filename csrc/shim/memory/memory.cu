// Device memory: allocating, freeing, setting, declaring blocks, and the tally of live resources.
#include "shim/memory/memory.h"

#include <map>
#include <mutex>

#include "shim/block.h"
#include "shim/call.h"
#include "shim/device/driver_table.h"
#include "shim/memory/memory_tables.h"
#include "shim/memory/pinned.h"
#include "shim/module/module.h"
#include "shim/stream/stream.h"

namespace gridstride {

namespace {

// Writes `count` elements of one width; the range is checked and its device is current.
void enqueue_set(const MemoryRange& range, uint64_t value, uint64_t width, uint64_t count,
                 cudaStream_t stream) {
  if (width == 1) {
    GS_CALL(cudaMemsetAsync, range.pointer(), static_cast<int>(value), range.bytes, stream);
    return;
  }
  const DriverTable& driver = driver_table();
  const CUdeviceptr address = static_cast<CUdeviceptr>(range.address);
  if (width == 2) {
    require(driver.memset_d16_async != nullptr, GS_ERROR_UNSUPPORTED);
    call(CallKind::cuMemsetD16Async, [&] {
      return driver.memset_d16_async(address, static_cast<unsigned short>(value), count, stream);
    });
    return;
  }
  require(driver.memset_d32_async != nullptr, GS_ERROR_UNSUPPORTED);
  call(CallKind::cuMemsetD32Async, [&] {
    return driver.memset_d32_async(address, static_cast<unsigned int>(value), count, stream);
  });
}

std::mutex pressure_mutex;

// How often each device was pressed; guarded by the mutex. Never destroyed: calls may still be
// running when the process exits.
std::map<int, uint64_t>& presses_by_device() {
  static std::map<int, uint64_t>& presses = *new std::map<int, uint64_t>;
  return presses;
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_memory_allocate(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const int device = in.device();
    const uint64_t bytes = in.integer(0);
    require(bytes > 0, GS_ERROR_ARGUMENT);
    make_current(device);
    AllocationTable::Entry entry = AllocationTable::prepare(bytes, device);
    const RelaxedCapture relaxed;
    void* pointer = nullptr;
    GS_CALL(cudaMalloc, &pointer, bytes);
    const uint64_t address = address_of(pointer);
    if (address > largest_safe_integer - bytes) {
      GS_CALL(cudaFree, pointer);
      fail(GS_ERROR_UNSUPPORTED);
    }
    allocations().insert(std::move(entry), address);
    in.set_result(0, static_cast<double>(address));
  });
}

int32_t gs_memory_free(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const int device = in.device();
    const MemoryRange freed = checked_range(in.integer(0), 0);
    thread_state.device = device;
    AllocationTable::Entry entry = allocations().take(freed.address, device);
    try {
      make_current(device);
      const RelaxedCapture relaxed;
      GS_CALL(cudaFree, freed.pointer());
    } catch (...) {
      if (!exception_tells_loss()) allocations().insert(std::move(entry), freed.address);
      throw;
    }
  });
}

int32_t gs_memory_set(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const uint64_t address = in.integer(0);
    const uint64_t width = in.integer(2);
    require(width == 1 || width == 2 || width == 4, GS_ERROR_ARGUMENT);
    const uint64_t value = in.integer(1, (uint64_t{1} << (8 * width)) - 1);
    const uint64_t count = in.integer(3);
    const MemoryRange range = checked_range(address, count * width);
    require(address % width == 0, GS_ERROR_ALIGNMENT);
    const int device = in.device();
    const StreamUse stream = use_stream(in.stream(), device);
    if (count == 0) return;
    make_current(device);
    require_device_memory(range, device);
    enqueue_set(range, value, width, count, stream->stream);
  });
}

int32_t gs_memory_declare(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const int device = in.device();
    const MemoryRange block = checked_range(in.integer(0), in.integer(1));
    const bool is_live = in.integer(2, 1) == 1;
    require(block.bytes > 0, GS_ERROR_ARGUMENT);
    concern(device);
    declare_block(block, device, is_live);
  });
}

int32_t gs_memory_press(int32_t device, int32_t raise, double* result) {
  return guarded([&] {
    require(result != nullptr && (raise == 0 || raise == 1), GS_ERROR_ARGUMENT);
    concern(device);
    int count = 0;
    GS_CALL(cudaGetDeviceCount, &count);
    require(device < count, GS_ERROR_DEVICE);
    const std::lock_guard<std::mutex> lock(pressure_mutex);
    uint64_t& presses = presses_by_device()[device];
    if (raise == 1) {
      presses++;
      // Written under the lock alone.
      memory_pressure.store(memory_pressure.load(std::memory_order_relaxed) + 1,
                            std::memory_order_relaxed);
    }
    result[0] = static_cast<double>(presses);
  });
}

int32_t gs_resource_tally(double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const AllocationTable::Totals memory = allocations().totals();
    result[0] = static_cast<double>(memory.allocations);
    result[1] = static_cast<double>(memory.bytes);
    result[2] = static_cast<double>(streams.live());
    result[3] = static_cast<double>(events.live());
    result[4] = static_cast<double>(pinned_slabs.live());
    result[5] = static_cast<double>(pinned_bytes.load(std::memory_order_relaxed));
    const MappingTable::Totals mapped = mappings().totals();
    result[6] = static_cast<double>(mapped.reservations);
    result[7] = static_cast<double>(mapped.mapped_bytes);
    result[8] = static_cast<double>(graphs.live());
    result[9] = static_cast<double>(files.live());
    result[10] = static_cast<double>(modules.live());
    result[11] = static_cast<double>(live_nvrtc_programs());
  });
}

namespace gridstride {

// ---- checks of ranges --------------------------------------------------------------------------

namespace {

void require_foreign_memory(uint64_t address, int device) {
  cudaPointerAttributes attributes = {};
  GS_CALL(cudaPointerGetAttributes, &attributes,
          reinterpret_cast<const void*>(static_cast<uintptr_t>(address)));
  const bool on_device = attributes.type == cudaMemoryTypeDevice && attributes.device == device;
  require(on_device || attributes.type == cudaMemoryTypeManaged, cudaErrorInvalidValue);
}

}  // namespace

void require_device_memory(const MemoryRange& range, int device) {
  Membership membership = allocations().find(range, device);
  if (membership == Membership::outside) membership = mappings().find(range, device);
  if (__builtin_expect(membership == Membership::inside, 1)) return;
  require(membership == Membership::outside, cudaErrorInvalidValue);
  // The first and the last byte; CUDA's own check sees what lies between.
  require_foreign_memory(range.address, device);
  require_foreign_memory(range.end() - 1, device);
}

void declare_block(const MemoryRange& block, int device, bool is_live) {
  Membership membership = allocations().declare(block, device, is_live);
  if (membership == Membership::outside) membership = mappings().declare(block, device, is_live);
  require(membership == Membership::inside, cudaErrorInvalidValue);
}

BlockAt declared_block_at(uint64_t address, MemoryRange& block) {
  const BlockAt found = allocations().find_block(address, block);
  return found == BlockAt::unknown ? mappings().find_block(address, block) : found;
}

}  // namespace gridstride
