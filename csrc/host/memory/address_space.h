// The process's address space: reserving it, and what lies behind addresses of one's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace gridstride::host {

// Kernels dereference device addresses, JavaScript holds them in doubles, and some code packs them
// into 48 bits with a sign: CUDA's own stay below this.
constexpr std::uintptr_t address_limit = std::uintptr_t{1} << 47;

std::size_t page_bytes();

constexpr std::uintptr_t round_up(std::uintptr_t value, std::size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Inaccessible addresses below address_limit, for as long as the process lives: `wanted` bytes, or
// half as many as often as the system refuses, but never less than `least`. It sets `bytes` to what
// it got; 0 when there is nothing to be had.
std::uintptr_t reserve_addresses(std::size_t wanted, std::size_t least, std::size_t& bytes);

// Puts fresh zeroed memory, which takes room when first written to, behind reserved addresses.
// False when the system refuses.
bool map_private_memory(std::uintptr_t address, std::size_t bytes);

// Unmaps the memory behind the addresses. False when the system's map of the process is full and
// its entries cannot be split; then everything is as it was.
bool make_inaccessible(std::uintptr_t address, std::size_t bytes);

// Free address ranges, handed out in a circle.

// The search goes on where the last one ended, so a freed range is used again only after all
// others: a stale address keeps faulting for long. Not thread-safe.
class AddressCircle {
 public:
  // `bytes` free addresses of which the one at `anchor` is a multiple of the alignment, a power of
  // two. 0 when there are none.
  std::uintptr_t take(std::size_t bytes, std::size_t alignment, std::size_t anchor = 0);

  // These very addresses; false when one of them is not free.
  bool take_at(std::uintptr_t start, std::size_t bytes);

  // Also how the first ranges get here.
  void give_back(std::uintptr_t start, std::size_t bytes);

 private:
  using Ranges = std::map<std::uintptr_t, std::uintptr_t>;  // start → limit, never adjacent

  std::uintptr_t take_from(std::uintptr_t position, std::size_t bytes, std::size_t alignment,
                           std::size_t anchor);
  void cut(Ranges::iterator range, std::uintptr_t start, std::uintptr_t limit);

  Ranges free_;
  std::uintptr_t position_ = 0;  // where the search goes on
};

}  // namespace gridstride::host
