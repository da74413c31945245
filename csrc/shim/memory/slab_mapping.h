// A second mapping of JavaScript's memory, which stays when JavaScript's own goes.
#ifndef GRIDSTRIDE_SLAB_MAPPING_H
#define GRIDSTRIDE_SLAB_MAPPING_H

#include "shim/memory/memory_range.h"

namespace gridstride {

// An anonymous memory file that holds a copy of the slab, mapped for us. share_with_slab() then
// maps it over the slab as well: the last step, because it is the only one that cannot be undone.
class SlabMapping {
 public:
  // Whether the system has memory files. Where it has none, slabs are pinned as they are.
  static bool is_supported();

  // Throws GS_ERROR_HOST_MEMORY or GS_ERROR_SYSTEM.
  explicit SlabMapping(const MemoryRange& slab);
  SlabMapping(const SlabMapping&) = delete;
  SlabMapping& operator=(const SlabMapping&) = delete;
  ~SlabMapping();

  const MemoryRange& memory() const { return memory_; }

  // From here on both mappings show the same bytes, and memory() outlives this object.
  void share_with_slab();

 private:
  MemoryRange slab_;
  MemoryRange memory_;
  int file_ = -1;
  bool is_shared_ = false;
};

// Gives a mapping back that share_with_slab() left behind.
void unmap(const MemoryRange& memory);

}  // namespace gridstride

#endif
