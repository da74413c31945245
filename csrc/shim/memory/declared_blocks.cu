// Declaring blocks, and finding the live one at an address.
#include "shim/memory/declared_blocks.h"

#include <driver_types.h>

#include <iterator>

namespace gridstride {

void DeclaredBlocks::declare(const MemoryRange& block, bool is_live) {
  if (is_live) {
    begin(block);
  } else {
    end(block);
  }
}

void DeclaredBlocks::begin(const MemoryRange& block) {
  const auto after = live_.lower_bound(block.end());
  if (after != live_.begin()) {
    const auto before = std::prev(after);
    require(before->first + before->second <= block.address, cudaErrorInvalidValue);
  }
  live_.emplace_hint(after, block.address, block.bytes);
  is_divided_ = true;
}

void DeclaredBlocks::end(const MemoryRange& block) {
  const auto found = live_.find(block.address);
  require(found != live_.end() && found->second == block.bytes, cudaErrorInvalidValue);
  live_.erase(found);
}

void DeclaredBlocks::forget(const MemoryRange& range) noexcept {
  auto last = live_.lower_bound(range.end());
  while (last != live_.begin()) {
    const auto block = std::prev(last);
    if (block->first + block->second <= range.address) return;
    last = live_.erase(block);
  }
}

void DeclaredBlocks::reset() noexcept {
  live_.clear();
  is_divided_ = false;
}

bool DeclaredBlocks::lies_in_live_block(const MemoryRange& range) const {
  MemoryRange block;
  return find(range.address, block) == BlockAt::live && block.contains(range);
}

BlockAt DeclaredBlocks::find(uint64_t address, MemoryRange& block) const {
  if (!is_divided_) return BlockAt::undivided;
  const auto after = live_.upper_bound(address);
  if (after == live_.begin()) return BlockAt::dead;
  const auto found = std::prev(after);
  if (found->first + found->second <= address) return BlockAt::dead;
  block = MemoryRange{found->first, found->second};
  return BlockAt::live;
}

}  // namespace gridstride
