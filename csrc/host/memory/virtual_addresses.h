// The address ranges of cuMemAddressReserve. They belong to no device.
#ifndef GRIDSTRIDE_HOST_VIRTUAL_ADDRESSES_H
#define GRIDSTRIDE_HOST_VIRTUAL_ADDRESSES_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include "host/memory/address_circle.h"

namespace gridstride::host {

// What virtual addresses and memory are multiples of: that of NVIDIA's GPUs.
constexpr std::size_t virtual_granularity = std::size_t{2} << 20;

// Ranges are cut from arenas, which are inaccessible address space that this process keeps to
// itself: what is given back faults, and is never anybody else's. Only contains may be called by
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
  std::map<std::uintptr_t, std::size_t> reserved_;  // start → bytes as asked for
  // Only appended to: who sees the count finds the arenas.
  std::array<Arena, 256> arenas_;
  std::atomic<std::size_t> arena_count_{0};
};

}  // namespace gridstride::host

#endif
