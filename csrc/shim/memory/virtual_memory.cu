// Virtual memory: reserving ranges of addresses, and mapping and unmapping device memory in them.
#include <algorithm>
#include <optional>

#include "shim/block.h"
#include "shim/device/device.h"
#include "shim/device/driver_table.h"
#include "shim/memory/memory_tables.h"
#include "shim/stream/stream.h"

namespace gridstride {

namespace {

CUmemLocation location_of(int device) {
  CUmemLocation location = {};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

CUmemAllocationProp properties_of_memory(int device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = location_of(device);
  return properties;
}

// The driver's functions, where the device supports them.
const DriverTable& virtual_memory_driver(int device) {
  const DriverTable& driver = driver_table();
  // cudaDeviceAttr has no name for it.
  constexpr int attribute = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
  require(device_attribute(device, attribute) == 1 && driver.has_virtual_memory(),
          GS_ERROR_UNSUPPORTED);
  return driver;
}

// The recommended granularity is a multiple of the minimum.
uint64_t granularity_of(const DriverTable& driver, int device) {
  const CUmemAllocationProp properties = properties_of_memory(device);
  size_t bytes = 0;
  call(CallKind::cuMemGetAllocationGranularity, [&] {
    return driver.mem_get_allocation_granularity(&bytes, &properties,
                                                 CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  });
  return bytes;
}

void free_addresses(const DriverTable& driver, const MemoryRange& range) {
  call(CallKind::cuMemAddressFree,
       [&] { return driver.mem_address_free(range.address, range.bytes); });
}

void allow_access(const DriverTable& driver, const MemoryRange& range, int device) {
  CUmemAccessDesc access = {};
  access.location = location_of(device);
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  call(CallKind::cuMemSetAccess,
       [&] { return driver.mem_set_access(range.address, range.bytes, &access, 1); });
}

struct Unmapping {
  int32_t status = 0;
  uint64_t kept_bytes = 0;  // how much, from the beginning, still has memory
};

// Takes the memory of claimed pieces away. In one call: that this may unmap several mappings CUDA's
// documentation leaves open, and CUDA's samples (vectorAddMMAP) rely on it. A driver that refuses
// gets the pieces one by one, the last first.
Unmapping unmap_pieces(const DriverTable& driver, const MemoryRange& range) {
  const auto unmap_part = [&](const MemoryRange& part) {
    return attempt(CallKind::cuMemUnmap,
                   [&] { return driver.mem_unmap(part.address, part.bytes); });
  };
  int32_t status = unmap_part(range);
  if (status == 0) return Unmapping{};
  uint64_t kept_bytes = range.bytes;
  const bool is_one = mappings().last_piece(range).bytes == range.bytes;
  if (is_one || status != cudaErrorInvalidValue) return Unmapping{status, kept_bytes};
  while (kept_bytes > 0) {
    const MemoryRange last = mappings().last_piece(MemoryRange{range.address, kept_bytes});
    status = unmap_part(last);
    if (status != 0) break;
    kept_bytes -= last.bytes;
  }
  return Unmapping{status, kept_bytes};
}

// Maps memory to a range of addresses that has none: all of it, or none.
class Mapping {
 public:
  Mapping(const DriverTable& driver, const MemoryRange& range, uint64_t piece_bytes, int device)
      : driver_(driver), range_(range), piece_bytes_(piece_bytes), device_(device) {
    mappings().claim_empty(range, piece_bytes, device);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (!is_complete_) take_away();
    mappings().settle_mapped(range_, mapped_bytes_);
  }

  void complete() {
    if (range_.bytes > piece_bytes_) require_free_memory();
    while (mapped_bytes_ < range_.bytes) {
      map_piece(std::min(piece_bytes_, range_.bytes - mapped_bytes_));
    }
    allow_access(driver_, range_, device_);
    is_complete_ = true;
  }

 private:
  // Otherwise a mapping that cannot succeed would first take nearly all memory from everyone else.
  void require_free_memory() const {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    GS_CALL(cudaMemGetInfo, &free_bytes, &total_bytes);
    if (range_.bytes > free_bytes) fail_call(CallKind::cuMemCreate, cudaErrorMemoryAllocation);
  }

  void map_piece(uint64_t bytes) {
    const CUmemAllocationProp properties = properties_of_memory(device_);
    CUmemGenericAllocationHandle handle = 0;
    call(CallKind::cuMemCreate, [&] { return driver_.mem_create(&handle, bytes, &properties, 0); });
    unreleased_ = handle;
    call(CallKind::cuMemMap,
         [&] { return driver_.mem_map(range_.address + mapped_bytes_, bytes, 0, handle, 0); });
    mapped_bytes_ += bytes;
    // From here on the mapping alone keeps the memory.
    call(CallKind::cuMemRelease, [&] { return driver_.mem_release(handle); });
    unreleased_.reset();
  }

  // The caller gets the first failure. If unmapping fails as well, the table goes on counting the
  // mapped memory, and the caller can unmap it.
  void take_away() {
    if (unreleased_) {
      attempt(CallKind::cuMemRelease, [&] { return driver_.mem_release(*unreleased_); });
    }
    if (mapped_bytes_ == 0) return;
    const Unmapping done = unmap_pieces(driver_, MemoryRange{range_.address, mapped_bytes_});
    mapped_bytes_ = tells_loss(done.status) ? 0 : done.kept_bytes;
  }

  const DriverTable& driver_;
  const MemoryRange range_;
  const uint64_t piece_bytes_;
  const int device_;
  uint64_t mapped_bytes_ = 0;
  std::optional<CUmemGenericAllocationHandle> unreleased_;
  bool is_complete_ = false;
};

// Claims a line of the table that is about to be released. The claim comes before the device is
// made current: a lost device may refuse that, and has then taken the memory along. An ordinal
// without a device fails as such.
template <class Claim>
auto claim_of(int device, const Claim& claim) {
  concern(device);
  try {
    return claim();
  } catch (...) {
    make_current(device);
    throw;
  }
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_virtual_granularity(int32_t device, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const DriverTable& driver = virtual_memory_driver(device);
    result[0] = static_cast<double>(granularity_of(driver, device));
  });
}

int32_t gs_virtual_reserve(int32_t device, double bytes, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const uint64_t count = checked_integer(bytes);
    require(count > 0, GS_ERROR_ARGUMENT);
    make_current(device);
    const DriverTable& driver = virtual_memory_driver(device);
    const uint64_t granularity = granularity_of(driver, device);
    require(count % granularity == 0, GS_ERROR_ALIGNMENT);
    MappingTable::Entry entry = MappingTable::prepare(count, granularity, device);
    const RelaxedCapture relaxed;
    CUdeviceptr address = 0;
    call(CallKind::cuMemAddressReserve,
         [&] { return driver.mem_address_reserve(&address, count, granularity, 0, 0); });
    if (address > largest_safe_integer - count) {
      free_addresses(driver, MemoryRange{address, count});
      fail(GS_ERROR_UNSUPPORTED);
    }
    mappings().insert(std::move(entry), address);
    result[0] = static_cast<double>(address);
  });
}

int32_t gs_virtual_release(int32_t device, double address) {
  return guarded([&] {
    const uint64_t first = checked_integer(address);
    MappingTable::Entry entry = claim_of(device, [&] { return mappings().take(first, device); });
    try {
      make_current(device);
      const RelaxedCapture relaxed;
      free_addresses(driver_table(), MemoryRange{first, entry.mapped().bytes});
    } catch (...) {
      if (!exception_tells_loss()) mappings().insert(std::move(entry), first);
      throw;
    }
  });
}

int32_t gs_virtual_map(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const int device = in.device();
    const MemoryRange range = checked_range(in.integer(0), in.integer(1));
    const uint64_t piece_bytes = in.integer(2);
    require(range.bytes > 0 && piece_bytes > 0, GS_ERROR_ARGUMENT);
    make_current(device);
    const RelaxedCapture relaxed;
    Mapping(driver_table(), range, piece_bytes, device).complete();
  });
}

int32_t gs_virtual_unmap(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const int device = in.device();
    const MemoryRange range = checked_range(in.integer(0), in.integer(1));
    require(range.bytes > 0, GS_ERROR_ARGUMENT);
    claim_of(device, [&] { mappings().claim_pieces(range, device); });
    uint64_t kept_bytes = range.bytes;
    try {
      make_current(device);
      const RelaxedCapture relaxed;
      const Unmapping done = unmap_pieces(driver_table(), range);
      kept_bytes = done.kept_bytes;
      if (done.status != 0) fail_call(CallKind::cuMemUnmap, done.status);
    } catch (...) {
      mappings().settle_unmapped(range, exception_tells_loss() ? 0 : kept_bytes);
      throw;
    }
    mappings().settle_unmapped(range, 0);
  });
}

int32_t gs_virtual_share(int32_t device, int32_t peer, double address, double bytes) {
  return guarded([&] {
    const MemoryRange range = checked_range(checked_integer(address), checked_integer(bytes));
    require(range.bytes > 0, GS_ERROR_ARGUMENT);
    make_current(device);
    require(peer >= 0, GS_ERROR_DEVICE);
    mappings().require_pieces(range, device);
    int can_access = 0;
    GS_CALL(cudaDeviceCanAccessPeer, &can_access, peer, device);
    require(can_access == 1, cudaErrorPeerAccessUnsupported);
    const RelaxedCapture relaxed;
    allow_access(driver_table(), range, peer);
  });
}
