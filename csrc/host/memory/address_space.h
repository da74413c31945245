// The process's address space: reserving it, and what lies behind addresses of one's own.
#ifndef GRIDSTRIDE_HOST_ADDRESS_SPACE_H
#define GRIDSTRIDE_HOST_ADDRESS_SPACE_H

#include <cstddef>
#include <cstdint>

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

// Takes away what is behind the addresses. False when the system's map of the process is full and
// its entries cannot be split; then everything is as it was.
bool make_inaccessible(std::uintptr_t address, std::size_t bytes);

}  // namespace gridstride::host

#endif
