// Device memory as ranges of numbers, and the checks of every range that a call names.
#pragma once

#include "shim/guard.h"

namespace gridstride {

struct MemoryRange {
  uint64_t address = 0;
  uint64_t bytes = 0;

  uint64_t end() const { return address + bytes; }
  void* pointer() const { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

  bool contains(const MemoryRange& other) const {
    return address <= other.address && other.end() <= end();
  }
  bool overlaps(const MemoryRange& other) const {
    return address < other.end() && other.address < end();
  }
};

inline MemoryRange checked_range(uint64_t address, uint64_t bytes) {
  require(address <= largest_safe_integer && bytes <= largest_safe_integer - address,
          GS_ERROR_ARGUMENT);
  return MemoryRange{address, bytes};
}

// Memory of the calling process; a buffer that JavaScript passed.
inline uint64_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

enum class Membership {
  inside,   // memory of the table's that may be touched
  outside,  // the table knows none of it
  astride,  // some is the table's, but not all, or of another device, or in no one live block
};

// The declared state of a byte.
enum class BlockAt {
  unknown,    // the table does not have it
  undivided,  // its memory has no declared blocks
  live,       // it lies in a live block
  dead,       // its memory is divided, and no live block has it
};

// Throws cudaErrorInvalidValue unless all of the range is memory of this device that may be
// touched: inside one allocation of ours, or in adjacent mappings of one reservation, and inside
// one live block where blocks were declared; or device or managed memory of another library, known
// to CUDA. The device is current.
void require_device_memory(const MemoryRange& range, int device);

// Declares the block live or ended. Throws cudaErrorInvalidValue unless it lies in one allocation
// or one reservation's mappings of the device, and fits the blocks that are live.
void declare_block(const MemoryRange& block, int device, bool is_live);

// The declared state of the byte at address, on any device; `unknown` if it is neither allocated
// nor mapped here. Sets `block` if the answer is `live`.
BlockAt declared_block_at(uint64_t address, MemoryRange& block);

}  // namespace gridstride
