// Virtual memory management: addresses without memory, memory without addresses, and mappings of
// the one to the other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "gridstride/runtime_types.h"
#include "host/memory/address_space.h"
#include "host/memory/virtual_mappings.h"

namespace gridstride::host {

// What virtual addresses and memory are multiples of: that of NVIDIA's GPUs.
constexpr std::size_t virtual_granularity = std::size_t{2} << 20;

// Ranges are cut from arenas, which are inaccessible address space that this process keeps to
// itself: a freed range faults, and belongs to no other owner. Only contains may be called by
// several threads at a time.
class VirtualAddresses {
 public:
  // A range that begins at a multiple of the alignment, a power of two of at least the granularity;
  // at hint, if that is such a multiple and free. 0 when there is no address space.
  std::uintptr_t reserve(std::size_t bytes, std::size_t alignment, std::uintptr_t hint);

  // True for a range exactly as it was reserved.
  bool is_reserved(std::uintptr_t start, std::size_t bytes) const;

  // Takes back a range for which is_reserved is true.
  void release(std::uintptr_t start);

  // True when the addresses lie within one reserved range.
  bool is_within_one(std::uintptr_t start, std::size_t bytes) const;

  // True when one of the addresses lies in an arena, reserved or not.
  bool contains(std::uintptr_t start, std::size_t bytes) const;

 private:
  struct Arena {
    std::uintptr_t start = 0;
    std::uintptr_t limit = 0;
  };

  std::uintptr_t take(std::size_t bytes, std::size_t alignment);
  bool add_arena(std::size_t bytes);

  AddressCircle free_;
  std::map<std::uintptr_t, std::size_t> reserved_;  // start → requested bytes
  // Only appended to: a thread that sees the count finds the arenas.
  std::array<Arena, 256> arenas_;
  std::atomic<std::size_t> arena_count_{0};
};

// Unmapping takes effect at once and waits for nothing that is enqueued: a kernel that uses the
// addresses faults, and so does a copy that has not begun.

// The functions are those of the driver API, cuMemMap and so on, and give their statuses, as
// cudaError_t. Sizes of 0, sizes that are no multiple of the granularity, and invalid ranges,
// handles and addresses are cudaErrorInvalidValue. A function that fails has changed nothing, but
// memory of a device with a fault is unmapped and released, and the call returns the fault.
// Thread-safe.
class VirtualMemory {
 public:
  static VirtualMemory& instance();

  // alignment 0 stands for the granularity, and so does less. The bytes are a multiple of the page.
  cudaError_t reserve(std::size_t bytes, std::size_t alignment, std::uintptr_t hint,
                      std::uintptr_t& address);
  // cudaErrorInvalidValue while something is mapped in the range.
  cudaError_t free_reservation(std::uintptr_t address, std::size_t bytes);

  // Charges the device.
  cudaError_t create(Device& device, std::size_t bytes, std::uint64_t& handle);
  cudaError_t release(std::uint64_t handle);

  // The first bytes of the memory, with no access yet. cudaErrorNotSupported where memory was
  // mapped before and the system has no memory files.
  cudaError_t map(std::uintptr_t address, std::size_t bytes, std::uint64_t handle);
  // The range is whole mappings. Waits for pieces of copies that are under way.
  cudaError_t unmap(std::uintptr_t address, std::size_t bytes);

  // For whole mappings; devices that the grants do not name keep their access. When it fails
  // because the system cannot divide its entries, access that was to end has ended for copies only.
  cudaError_t set_access(std::uintptr_t address, std::size_t bytes,
                         const std::vector<DeviceGrant>& grants);

  // True when an address of the range is one that only this class gives out.
  bool contains(std::uintptr_t address, std::size_t bytes) const {
    return addresses_.contains(address, bytes);
  }

  VirtualMappings& mappings() { return mappings_; }

 private:
  VirtualMemory();

  // Pages with the same change of access.
  struct PageChange {
    std::uintptr_t address;
    std::size_t bytes;
    std::uint64_t offset;
    bool is_shown;
    AllowedAccess before;
    AllowedAccess after;

    // Takes in the pages that follow; false when they do not change alike.
    bool absorb(const PageChange& next);
  };

  std::shared_ptr<PhysicalMemory> find_referenced(std::uint64_t handle) const;
  bool place(PhysicalMemory& memory, std::uintptr_t address);
  void unplace(PhysicalMemory& memory);
  void free_if_unused(PhysicalMemory& memory);
  int runs_added_by(std::uintptr_t address, std::size_t bytes, std::uint64_t offset) const;
  bool has_continuation(std::uintptr_t address, std::uint64_t offset) const;
  void forget_runs(const VirtualMappings::Table& removed);

  static std::vector<PageChange> page_changes(const VirtualMappings::Range& range,
                                              const std::vector<VirtualMapping>& replacements);
  bool raise_access(const std::vector<PageChange>& changes);
  bool lower_access(const std::vector<PageChange>& changes);
  bool raise(const PageChange& change);
  void undo_raise(const PageChange& change);

  // Held throughout each change, also while it waits for touches, which do not take it.
  std::mutex changes_;
  PageFile& file_ = PageFile::instance();
  VirtualAddresses addresses_;
  VirtualMappings mappings_;
  std::map<std::uint64_t, std::shared_ptr<PhysicalMemory>> memories_;  // by handle
  std::uint64_t next_handle_ = 0x1000c;                                // see LiveHandles::step
  // The parts of the file that are in use: those at addresses' own numbers, and the spare ones.
  std::map<std::uint64_t, std::uint64_t> own_parts_;  // offset → limit
  AddressCircle spare_parts_;
  // Mappings side by side that continue each other in the file count as one.
  int runs_ = 0;
};

}  // namespace gridstride::host
