// The blocks into which the owner of some memory, such as a pool, divides it.
#ifndef GRIDSTRIDE_DECLARED_BLOCKS_H
#define GRIDSTRIDE_DECLARED_BLOCKS_H

#include <map>

#include "shim/memory/membership.h"
#include "shim/memory/memory_range.h"

namespace gridstride {

// From the first declaration on, live blocks are all of the memory that may be touched. Guarded by
// the lock of the table that holds the memory.
class DeclaredBlocks {
 public:
  // Throws cudaErrorInvalidValue where one is to live that a live block reaches into, and where one
  // is to end that does not live exactly so.
  void declare(const MemoryRange& block, bool is_live);

  // The memory of the range is gone, and with it every block that reaches into it.
  void forget(const MemoryRange& range) noexcept;

  // Nothing is divided any more: the next to have this memory declares anew.
  void reset() noexcept;

  // Whether all of the range may be touched, as far as declarations go.
  bool allow(const MemoryRange& range) const { return !is_divided_ || lies_in_live_block(range); }

  // The live block, if that is the answer, goes to block.
  BlockAt find(uint64_t address, MemoryRange& block) const;

 private:
  void begin(const MemoryRange& block);
  void end(const MemoryRange& block);
  bool lies_in_live_block(const MemoryRange& range) const;

  bool is_divided_ = false;
  std::map<uint64_t, uint64_t> live_;  // address and bytes; they do not overlap
};

}  // namespace gridstride

#endif
