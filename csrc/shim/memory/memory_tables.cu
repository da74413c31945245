// Declared blocks, allocations, and reservations with their pages.
#include "shim/memory/memory_tables.h"

#include <algorithm>
#include <new>

namespace gridstride {

// ---- declared blocks ---------------------------------------------------------------------------

void DeclaredBlocks::declare(const MemoryRange& block, bool is_live) {
  if (!is_live) {
    const auto found = live_.find(block.address);
    require(found != live_.end() && found->second == block.bytes, cudaErrorInvalidValue);
    live_.erase(found);
    return;
  }
  const auto after = live_.lower_bound(block.end());
  if (after != live_.begin()) {
    const auto before = std::prev(after);
    require(before->first + before->second <= block.address, cudaErrorInvalidValue);
  }
  live_.emplace_hint(after, block.address, block.bytes);
  is_divided_ = true;
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

bool DeclaredBlocks::allow(const MemoryRange& range) const {
  if (!is_divided_) return true;
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

// ---- allocations -------------------------------------------------------------------------------

AllocationTable::Entry AllocationTable::prepare(uint64_t bytes, int device) {
  Holdings one;
  one.emplace(0, Allocation{bytes, device});
  return one.extract(one.begin());
}

AllocationTable::Totals AllocationTable::totals() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  return Totals{holdings_.size(), bytes_};
}

AllocationTable& allocations() {
  // Never destroyed: calls may still be running when the process exits.
  static AllocationTable& table = *new AllocationTable;
  return table;
}

// ---- reservations and their pages --------------------------------------------------------------

namespace {

// The byte of a page; 0: it has no memory.
enum PageState : uint8_t {
  page_mapped = 1,   // it has memory
  page_begins = 2,   // it is the first page of its piece
  page_claimed = 4,  // a call is mapping or unmapping it
};

bool is_usable(uint8_t page) { return (page & (page_mapped | page_claimed)) == page_mapped; }

struct PageSpan {
  uint64_t first;
  uint64_t count;
};

PageSpan pages_touched(const AddressReservation& reservation, uint64_t offset, uint64_t bytes) {
  const uint64_t first = offset / reservation.page_bytes;
  const uint64_t last = (offset + bytes - 1) / reservation.page_bytes;
  return PageSpan{first, last - first + 1};
}

bool are_whole_pieces(const AddressReservation& reservation, uint64_t offset, uint64_t bytes) {
  const uint64_t page_bytes = reservation.page_bytes;
  if (offset % page_bytes != 0 || bytes % page_bytes != 0) return false;
  if (!reservation.has_memory(offset, bytes)) return false;
  const uint64_t first = offset / page_bytes;
  const uint64_t after = first + bytes / page_bytes;
  if ((reservation.pages[first] & page_begins) == 0) return false;
  if (after == reservation.bytes / page_bytes) return true;
  const uint8_t next = reservation.pages[after];
  return next == 0 || (next & page_begins) != 0;
}

}  // namespace

bool AddressReservation::has_memory(uint64_t offset, uint64_t bytes) const {
  const PageSpan span = pages_touched(*this, offset, bytes);
  const uint8_t* first = pages.get() + span.first;
  return std::all_of(first, first + span.count, is_usable);
}

MappingTable::Entry MappingTable::prepare(uint64_t bytes, uint64_t page_bytes, int device) {
  Holdings one;
  AddressReservation& made = one.emplace(0, AddressReservation{}).first->second;
  made.bytes = bytes;
  made.page_bytes = page_bytes;
  made.device = device;
  // calloc takes memory only for the pages that are written: large reservations are mostly empty.
  made.pages.reset(static_cast<uint8_t*>(std::calloc(bytes / page_bytes, 1)));
  if (made.pages == nullptr) throw std::bad_alloc();
  return one.extract(one.begin());
}

MappingTable::Line& MappingTable::holder(const MemoryRange& range, int device) {
  Line* line = last_overlapping(range);
  require(line != nullptr && line->second.device == device && extent_of(*line).contains(range),
          cudaErrorInvalidValue);
  return *line;
}

void MappingTable::claim_empty(const MemoryRange& range, uint64_t piece_bytes, int device) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  Line& line = holder(range, device);
  AddressReservation& reservation = line.second;
  const uint64_t page_bytes = reservation.page_bytes;
  const uint64_t offset = range.address - line.first;
  require(offset % page_bytes == 0 && range.bytes % page_bytes == 0 &&
              piece_bytes % page_bytes == 0,
          GS_ERROR_ALIGNMENT);
  const PageSpan span = pages_touched(reservation, offset, range.bytes);
  uint8_t* first = reservation.pages.get() + span.first;
  const auto is_empty = [](uint8_t page) { return page == 0; };
  require(std::all_of(first, first + span.count, is_empty), cudaErrorInvalidValue);

  std::fill_n(first, span.count, page_claimed);
  const uint64_t piece_pages = piece_bytes / page_bytes;
  for (uint64_t page = 0; page < span.count; page += std::min(piece_pages, span.count - page)) {
    first[page] |= page_begins;
  }
  reservation.pages_in_use += span.count;
}

void MappingTable::settle_mapped(const MemoryRange& range, uint64_t mapped_bytes) noexcept {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  Line& line = *last_overlapping(range);
  AddressReservation& reservation = line.second;
  const PageSpan span = pages_touched(reservation, range.address - line.first, range.bytes);
  const uint64_t mapped = mapped_bytes / reservation.page_bytes;
  uint8_t* first = reservation.pages.get() + span.first;
  std::transform(first, first + mapped, first, [](uint8_t page) {
    return static_cast<uint8_t>((page & page_begins) | page_mapped);
  });
  std::fill(first + mapped, first + span.count, uint8_t{0});
  reservation.pages_in_use -= span.count - mapped;
  mapped_bytes_ += mapped_bytes;
}

void MappingTable::claim_pieces(const MemoryRange& range, int device) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  Line& line = holder(range, device);
  const uint64_t offset = range.address - line.first;
  require(are_whole_pieces(line.second, offset, range.bytes), cudaErrorInvalidValue);
  const PageSpan span = pages_touched(line.second, offset, range.bytes);
  uint8_t* first = line.second.pages.get() + span.first;
  std::for_each(first, first + span.count, [](uint8_t& page) { page |= page_claimed; });
}

void MappingTable::settle_unmapped(const MemoryRange& range, uint64_t kept_bytes) noexcept {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  Line& line = *last_overlapping(range);
  AddressReservation& reservation = line.second;
  const PageSpan span = pages_touched(reservation, range.address - line.first, range.bytes);
  const uint64_t kept = kept_bytes / reservation.page_bytes;
  uint8_t* first = reservation.pages.get() + span.first;
  std::for_each(first, first + kept, [](uint8_t& page) { page &= ~page_claimed; });
  std::fill(first + kept, first + span.count, uint8_t{0});
  reservation.pages_in_use -= span.count - kept;
  mapped_bytes_ -= range.bytes - kept_bytes;
  if (kept == span.count) return;
  reservation.blocks.forget(MemoryRange{range.address + kept_bytes, range.bytes - kept_bytes});
  if (reservation.pages_in_use == 0) reservation.blocks.reset();
}

MemoryRange MappingTable::last_piece(const MemoryRange& range) const noexcept {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const Line& line = *last_overlapping(range);
  const uint8_t* pages = line.second.pages.get();
  uint64_t first = (range.end() - 1 - line.first) / line.second.page_bytes;
  while ((pages[first] & page_begins) == 0) first--;
  const uint64_t address = line.first + first * line.second.page_bytes;
  return MemoryRange{address, range.end() - address};
}

void MappingTable::require_pieces(const MemoryRange& range, int device) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const Line& line = holder(range, device);
  require(are_whole_pieces(line.second, range.address - line.first, range.bytes),
          cudaErrorInvalidValue);
}

std::vector<std::pair<MemoryRange, int>> MappingTable::mapped_by(int32_t isolate) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  std::vector<std::pair<MemoryRange, int>> found;
  for (const Line& line : holdings_) {
    const AddressReservation& reservation = line.second;
    if (reservation.isolate != isolate) continue;
    const uint64_t page_bytes = reservation.page_bytes;
    const uint8_t* pages = reservation.pages.get();
    const uint8_t* end = pages + reservation.bytes / page_bytes;
    for (const uint8_t* first = pages; (first = std::find_if(first, end, is_usable)) != end;) {
      const uint8_t* last = std::find_if_not(first, end, is_usable);
      found.emplace_back(
          MemoryRange{line.first + static_cast<uint64_t>(first - pages) * page_bytes,
                      static_cast<uint64_t>(last - first) * page_bytes},
          reservation.device);
      first = last;
    }
  }
  return found;
}

MappingTable::Totals MappingTable::totals() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  return Totals{holdings_.size(), mapped_bytes_};
}

MappingTable& mappings() {
  // Never destroyed: calls may still be running when the process exits.
  static MappingTable& table = *new MappingTable;
  return table;
}

}  // namespace gridstride
