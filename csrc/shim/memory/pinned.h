// Pinned slabs of JavaScript memory, and open files that are read into them.
#pragma once

#include "shim/device/device.h"
#include "shim/handle_table.h"
#include "shim/memory/memory.h"

namespace gridstride {

// The devices that used a slab: a bit per ordinal, and one bit for all ordinals from 63 on.
class DeviceSet {
 public:
  void add(int device) {
    const uint64_t bit = uint64_t{1} << (device < last_bit ? device : last_bit);
    // Most copies come from a device that is in the set already; a read is cheaper than a write.
    if ((bits_.load(std::memory_order_relaxed) & bit) == 0) {
      bits_.fetch_or(bit, std::memory_order_relaxed);
    }
  }

  bool may_contain(int device) const {
    return (bits_.load(std::memory_order_relaxed) >> (device < last_bit ? device : last_bit)) & 1;
  }

 private:
  static constexpr int last_bit = 63;
  std::atomic<uint64_t> bits_{0};
};

struct PinnedSlab {
  MemoryRange memory;          // the range that CUDA registered, for copies
  bool is_registered = false;  // CUDA holds its pages
  bool owns_mapping = false;   // memory is a mapping of ours, beside JavaScript's
  int device = no_device;      // the device that registered it
  DeviceSet used_by;

  void end();
};

using PinnedUse = HandleTable<PinnedSlab>::Use;

extern HandleTable<PinnedSlab> pinned_slabs;
extern std::atomic<uint64_t> pinned_bytes;

// The part of a slab from offset on; throws cudaErrorInvalidValue when it is not inside the slab.
inline MemoryRange pinned_part(const PinnedUse& slab, uint64_t offset, uint64_t bytes) {
  require(offset <= slab->memory.bytes && bytes <= slab->memory.bytes - offset,
          cudaErrorInvalidValue);
  return MemoryRange{slab->memory.address + offset, bytes};
}

struct File {
  int descriptor = -1;

  void end() const;
};

using FileUse = HandleTable<File>::Use;

extern HandleTable<File> files;

}  // namespace gridstride
