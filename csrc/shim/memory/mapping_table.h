// The ranges of addresses that gs_virtual_reserve gave out, and where in them memory is mapped.
//
// Memory is mapped in pieces, and only whole pieces can be unmapped; a piece has forgotten the
// call that mapped it. The table keeps a byte for each page, so that nothing about a reservation
// that exists can fail for want of memory, and a question about a range looks at adjacent bytes.
#ifndef GRIDSTRIDE_MAPPING_TABLE_H
#define GRIDSTRIDE_MAPPING_TABLE_H

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <shared_mutex>

#include "shim/memory/declared_blocks.h"

namespace gridstride {

// While CUDA maps or unmaps, the pages belong to the thread that makes these calls: it claims them,
// and settles them when it knows what has become of them. To all others they hold no memory, and
// have no room for any either.
class MappingTable {
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  struct Reservation {
    uint64_t bytes = 0;
    uint64_t page_bytes = 0;
    int device = no_device;
    std::unique_ptr<uint8_t[], Free> pages;
    uint64_t pages_in_use = 0;
    DeclaredBlocks blocks;
  };
  using Reservations = std::map<uint64_t, Reservation>;  // by address
  using Line = Reservations::value_type;

 public:
  // A line of the table, in it or taken out of it.
  using Entry = Reservations::node_type;

  struct Totals {
    uint64_t reservations = 0;
    uint64_t mapped_bytes = 0;
  };

  // Made before the addresses are reserved: once they are nothing may fail.
  static Entry prepare(uint64_t bytes, uint64_t page_bytes, int device);

  void insert(Entry entry, uint64_t address) noexcept;

  // The reservation that begins at address on this device; throws cudaErrorInvalidValue when there
  // is none, or while it has memory.
  Entry take(uint64_t address, int device);

  // Claims pages without memory, for pieces of piece_bytes of which the last may be shorter. Throws
  // cudaErrorInvalidValue where the range is not inside one reservation of the device or has
  // memory, GS_ERROR_ALIGNMENT where it or the pieces are not whole pages.
  void claim_empty(const MemoryRange& range, uint64_t piece_bytes, int device);

  // The first mapped_bytes of what claim_empty claimed, whole pieces, now have memory.
  void settle_mapped(const MemoryRange& range, uint64_t mapped_bytes) noexcept;

  // Claims whole pieces; throws cudaErrorInvalidValue where the range is none.
  void claim_pieces(const MemoryRange& range, int device);

  // Of what claim_pieces claimed only the first kept_bytes, whole pieces, still have memory.
  void settle_unmapped(const MemoryRange& range, uint64_t kept_bytes) noexcept;

  // The last piece of a claimed range.
  MemoryRange last_piece(const MemoryRange& range) const noexcept;

  // Throws cudaErrorInvalidValue unless the range is whole pieces.
  void require_pieces(const MemoryRange& range, int device) const;

  // Where the range lies, seen from what is mapped for the device.
  Membership find(const MemoryRange& range, int device) const;

  // Declares the block live or ended where it lies in a reservation's mappings on the device;
  // returns where it lies.
  Membership declare(const MemoryRange& block, int device, bool is_live);

  // The live block, if that is the answer, goes to block.
  BlockAt find_block(uint64_t address, MemoryRange& block) const;

  Totals totals() const;

 private:
  struct PageSpan {
    uint64_t first = 0;
    uint64_t count = 0;
  };

  static MemoryRange extent_of(const Line& line) {
    return MemoryRange{line.first, line.second.bytes};
  }
  static PageSpan pages_touched(const Line& line, const MemoryRange& range);
  static bool have_memory(const Line& line, const MemoryRange& range);
  static bool are_whole_pieces(const Line& line, const MemoryRange& range);

  // Null when none does. The caller holds the lock.
  Line* last_overlapping(const MemoryRange& range);
  const Line* last_overlapping(const MemoryRange& range) const {
    return const_cast<MappingTable*>(this)->last_overlapping(range);
  }
  // The reservation of the device that all of the range lies in; the caller holds the lock.
  Line& holder(const MemoryRange& range, int device);
  const Line& holder(const MemoryRange& range, int device) const {
    return const_cast<MappingTable*>(this)->holder(range, device);
  }

  mutable std::shared_mutex mutex_;
  Reservations reservations_;
  uint64_t mapped_bytes_ = 0;
  // So that memory checks of a process that reserves nothing take no lock here.
  std::atomic<uint64_t> count_{0};
};

MappingTable& mappings();

}  // namespace gridstride

#endif
