// Anonymous mappings at chosen addresses.
#include "host/memory/address_space.h"

#include <sys/mman.h>
#include <unistd.h>

namespace gridstride::host {
namespace {

void* map_pages(std::uintptr_t address, std::size_t bytes, int protection, int more_flags) {
  return mmap(reinterpret_cast<void*>(address), bytes, protection,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more_flags, -1, 0);
}

// Systems with more than 47 address bits choose high addresses unless asked for low ones.
std::uintptr_t reserve_below_limit(std::size_t bytes) {
  constexpr std::uintptr_t hint_stride = std::uintptr_t{1} << 42;
  if (bytes > address_limit) return 0;
  for (std::uintptr_t hint = 0; hint <= address_limit - bytes; hint += hint_stride) {
    void* const base = map_pages(hint, bytes, PROT_NONE, 0);
    if (base == MAP_FAILED) return 0;
    const auto start = reinterpret_cast<std::uintptr_t>(base);
    if (start <= address_limit - bytes) return start;
    munmap(base, bytes);
  }
  return 0;
}

}  // namespace

std::size_t page_bytes() {
  static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::uintptr_t reserve_addresses(std::size_t wanted, std::size_t least, std::size_t& bytes) {
  bytes = wanted;
  std::uintptr_t start = reserve_below_limit(bytes);
  while (start == 0 && bytes / 2 >= least) {
    bytes = round_up(bytes / 2, page_bytes());
    start = reserve_below_limit(bytes);
  }
  return start;
}

bool map_private_memory(std::uintptr_t address, std::size_t bytes) {
  return map_pages(address, bytes, PROT_READ | PROT_WRITE, MAP_FIXED) != MAP_FAILED;
}

bool make_inaccessible(std::uintptr_t address, std::size_t bytes) {
  return map_pages(address, bytes, PROT_NONE, MAP_FIXED) != MAP_FAILED;
}

}  // namespace gridstride::host
