// Virtual memory management: addresses without memory, memory without addresses, and mappings of
// the one to the other.
//
// Unmapping takes effect at once and waits for nothing that is enqueued: a kernel that uses the
// addresses faults, and so does a copy that has not begun.
#ifndef GRIDSTRIDE_HOST_VIRTUAL_MEMORY_H
#define GRIDSTRIDE_HOST_VIRTUAL_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "host/memory/address_circle.h"
#include "gridstride/runtime_types.h"
#include "host/memory/page_file.h"
#include "host/memory/physical_memory.h"
#include "host/memory/virtual_addresses.h"
#include "host/memory/virtual_mappings.h"

namespace gridstride::host {

// The functions are those of the driver API, cuMemMap and so on, and give their statuses, as
// cudaError_t. Sizes of 0, what is no multiple of the granularity, and ranges, handles and
// addresses that are not what they must be are cudaErrorInvalidValue. A function that fails has
// changed nothing, but memory of a device with a fault is unmapped and released, and the fault
// told. Thread-safe.
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
  cudaError_t retain(std::uintptr_t address, std::uint64_t& handle);
  cudaError_t release(std::uint64_t handle);

  // The first bytes of the memory, nobody may access them yet. cudaErrorNotSupported where memory
  // was mapped before and the system has no memory files.
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

  // Pages whose access changes alike.
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
  std::map<std::uint64_t, std::uint64_t> home_parts_;  // offset → limit
  AddressCircle spare_parts_;
  // Mappings side by side that continue each other in the file count as one.
  int runs_ = 0;
};

}  // namespace gridstride::host

#endif
