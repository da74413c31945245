// What a device may do with memory.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "host/device/device.h"
#include "host/device/live_handles.h"

namespace gridstride::host {

// Each allows what those before it allow.
enum class AllowedAccess : unsigned char { none, read, read_write };

// Memory of a device that addresses are given to and taken from: what cuMemCreate makes.

// Lives, and is charged to its device, while it has a handle or a mapping.
struct PhysicalMemory : Counted<PhysicalMemory> {
  PhysicalMemory(Device& owner, std::size_t size, std::uint64_t name)
      : device(owner), bytes(size), handle(name) {}

  Device& device;
  const std::size_t bytes;
  const std::uint64_t handle;
  // cuMemCreate and cuMemRetainAllocationHandle each count one, cuMemRelease takes one away.
  std::size_t references = 1;
  std::size_t mappings = 0;
  // Where it lies in the PageFile; chosen when it is first mapped.
  bool is_placed = false;
  std::uint64_t offset = 0;
};

// The memory behind virtual addresses: one file in memory, of which parts are shown at addresses.

// The file has room for a part at every address's own number, and as much again beyond. Memory that
// is shown at the addresses of its own numbers costs one entry of the system's map of the process
// with all such memory beside it, in whatever order it came: Linux joins neighbours that continue
// each other in the file.
//
// Without memory files (systems other than Linux, some sandboxes, a limit on the size of files)
// every address has memory of its own that lasts until it is hidden.
class PageFile {
 public:
  static PageFile& instance();

  // Whether a part can be shown at several addresses, and at others than before.
  bool is_shareable() const { return file_ >= 0; }

  // Puts the part of the file at offset behind inaccessible addresses; access is not none. False
  // when the system refuses.
  bool show(std::uintptr_t address, std::size_t bytes, std::uint64_t offset, AllowedAccess access);

  // Changes the access to a shown range. False when the system refuses; then nothing has changed.
  bool protect(std::uintptr_t address, std::size_t bytes, AllowedAccess access);

  // Makes addresses inaccessible, mapped or not. False as for protect.
  bool hide(std::uintptr_t address, std::size_t bytes);

  // Gives the memory of a part back that is shown nowhere; it reads as zeros when shown again.
  void discard(std::uint64_t offset, std::size_t bytes);

 private:
  PageFile();

  const int file_;
};

// The first number beyond all addresses, and where the file ends.
constexpr std::uint64_t page_file_spare_offset = std::uint64_t{1} << 47;
constexpr std::uint64_t page_file_bytes = 2 * page_file_spare_offset;

// The mappings, their access rights, and the touches in progress.

struct DeviceGrant {
  int device;
  AllowedAccess access;
};

struct VirtualMapping {
  std::size_t bytes;
  std::shared_ptr<PhysicalMemory> memory;
  // Devices that are not listed have no access.
  std::vector<DeviceGrant> grants;
  // What the PageFile shows at the addresses, and the access of the process: the most of any grant.
  bool is_shown = false;
  AllowedAccess shown_access = AllowedAccess::none;

  AllowedAccess access_of(int device) const;

  // Sets grants and shown_access. Devices that are not named keep their access.
  void grant(const std::vector<DeviceGrant>& changes);
};

// An access that a copy or a fill is about to make, by the rights of a device.
struct VirtualTouch {
  std::uintptr_t address;
  std::size_t bytes;
  int device;
  AllowedAccess needed;
};

// The first address that must not be touched, and whether memory is mapped there; address 0 when
// all of it may be.
struct TouchRefusal {
  std::uintptr_t address = 0;
  bool is_mapped = false;
};

// Readers are any threads. Changes are made by one thread at a time, which therefore may read what
// whole, begin and end give without a lock.
class VirtualMappings {
 public:
  using Table = std::map<std::uintptr_t, VirtualMapping>;  // by first address

  // For code that makes changes.

  struct Range {
    Table::iterator first;
    Table::iterator last;
    bool is_empty() const { return first == last; }
  };

  // The mappings that together are exactly the range; an empty one when it cuts a mapping or has a
  // hole.
  Range whole(std::uintptr_t address, std::size_t bytes);

  bool is_free(std::uintptr_t address, std::size_t bytes) const;

  // The mapping that ends, or begins, at the address; null when none does.
  const VirtualMapping* ending_at(std::uintptr_t address) const;
  const VirtualMapping* beginning_at(std::uintptr_t address) const;

  void add(std::uintptr_t address, VirtualMapping mapping);

  // From now on touches are refused; those that were admitted are over when it returns.
  Table remove(const Range& range);
  void put_back(Table& removed);

  // Replaces the mappings of a range by ones that differ in their access only. When it returns,
  // touches that the replaced rights admitted are over.
  void replace(const Range& range, std::vector<VirtualMapping> mappings);

  // For everybody.

  // The memory that is mapped at an address; null when none is.
  std::shared_ptr<PhysicalMemory> memory_at(std::uintptr_t address) const;

  TouchRefusal find_refusal(const VirtualTouch& touch) const;

 private:
  friend class AdmittedTouch;
  using Lock = std::unique_lock<std::mutex>;

  Table::const_iterator containing(std::uintptr_t address) const;
  TouchRefusal refusal_of(const VirtualTouch& touch) const;
  void await_touches(Lock& lock, std::uintptr_t start, std::uintptr_t limit);

  mutable std::mutex mutex_;
  Table table_;
  std::condition_variable touch_ended_;
  unsigned waiting_threads_ = 0;
  std::uint64_t next_touch_ = 0;
  class AdmittedTouch* touches_ = nullptr;
};

// Holds off the unmapping of the memory that it may touch, as long as it lives: some milliseconds,
// since nothing but copying a piece is done meanwhile.
class AdmittedTouch {
 public:
  AdmittedTouch(VirtualMappings& mappings, const VirtualTouch& touch);
  ~AdmittedTouch();
  AdmittedTouch(const AdmittedTouch&) = delete;
  AdmittedTouch& operator=(const AdmittedTouch&) = delete;

  // Not admitted if its address is not 0.
  const TouchRefusal& refusal() const { return refusal_; }

 private:
  friend class VirtualMappings;

  VirtualMappings& mappings_;
  const std::uintptr_t start_;
  const std::uintptr_t limit_;
  TouchRefusal refusal_;
  std::uint64_t number_ = 0;
  // Those under way are linked through themselves: admitting must not fail for lack of memory.
  AdmittedTouch* previous_ = nullptr;
  AdmittedTouch* next_ = nullptr;
};

}  // namespace gridstride::host
