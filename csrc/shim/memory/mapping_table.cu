// The table of reservations and their pages.
#include "shim/memory/mapping_table.h"

#include <driver_types.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>

namespace gridstride {

namespace {

// A page's byte; 0: it has no memory.
enum PageState : uint8_t {
  page_mapped = 1,   // it has memory
  page_begins = 2,   // it is the first page of its piece
  page_claimed = 4,  // a call is mapping or unmapping it
};

bool is_usable(uint8_t page) { return (page & (page_mapped | page_claimed)) == page_mapped; }

}  // namespace

MappingTable::Entry MappingTable::prepare(uint64_t bytes, uint64_t page_bytes, int device) {
  Reservations one;
  Reservation& made = one.emplace(0, Reservation{}).first->second;
  made.bytes = bytes;
  made.page_bytes = page_bytes;
  made.device = device;
  // Large reservations are mostly empty: what calloc gives takes memory where it is written.
  made.pages.reset(static_cast<uint8_t*>(std::calloc(bytes / page_bytes, 1)));
  if (made.pages == nullptr) throw std::bad_alloc();
  return one.extract(one.begin());
}

void MappingTable::insert(Entry entry, uint64_t address) noexcept {
  entry.key() = address;
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  reservations_.insert(std::move(entry));
  count_.store(reservations_.size(), std::memory_order_relaxed);
}

MappingTable::Entry MappingTable::take(uint64_t address, int device) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto found = reservations_.find(address);
  require(found != reservations_.end() && found->second.device == device &&
              found->second.pages_in_use == 0,
          cudaErrorInvalidValue);
  Entry taken = reservations_.extract(found);
  count_.store(reservations_.size(), std::memory_order_relaxed);
  return taken;
}

MappingTable::Line* MappingTable::last_overlapping(const MemoryRange& range) {
  // Reservations do not overlap, so only the last one that begins before the range ends matters.
  const auto after = reservations_.lower_bound(range.end());
  if (after == reservations_.begin()) return nullptr;
  Line& last = *std::prev(after);
  return extent_of(last).overlaps(range) ? &last : nullptr;
}

MappingTable::Line& MappingTable::holder(const MemoryRange& range, int device) {
  Line* line = last_overlapping(range);
  require(line != nullptr && line->second.device == device && extent_of(*line).contains(range),
          cudaErrorInvalidValue);
  return *line;
}

MappingTable::PageSpan MappingTable::pages_touched(const Line& line, const MemoryRange& range) {
  const uint64_t page_bytes = line.second.page_bytes;
  const uint64_t first = (range.address - line.first) / page_bytes;
  const uint64_t last = (range.end() - 1 - line.first) / page_bytes;
  return PageSpan{first, last - first + 1};
}

bool MappingTable::have_memory(const Line& line, const MemoryRange& range) {
  const PageSpan span = pages_touched(line, range);
  const uint8_t* first = line.second.pages.get() + span.first;
  return std::all_of(first, first + span.count, is_usable);
}

bool MappingTable::are_whole_pieces(const Line& line, const MemoryRange& range) {
  const Reservation& reservation = line.second;
  const uint64_t page_bytes = reservation.page_bytes;
  const uint64_t offset = range.address - line.first;
  if (offset % page_bytes != 0 || range.bytes % page_bytes != 0) return false;
  if (!have_memory(line, range)) return false;
  const uint64_t first = offset / page_bytes;
  const uint64_t after = first + range.bytes / page_bytes;
  if ((reservation.pages[first] & page_begins) == 0) return false;
  if (after == reservation.bytes / page_bytes) return true;
  const uint8_t next = reservation.pages[after];
  return next == 0 || (next & page_begins) != 0;
}

void MappingTable::claim_empty(const MemoryRange& range, uint64_t piece_bytes, int device) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  Line& line = holder(range, device);
  Reservation& reservation = line.second;
  const uint64_t page_bytes = reservation.page_bytes;
  require((range.address - line.first) % page_bytes == 0 && range.bytes % page_bytes == 0 &&
              piece_bytes % page_bytes == 0,
          GS_ERROR_ALIGNMENT);
  const PageSpan span = pages_touched(line, range);
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
  Reservation& reservation = line.second;
  const PageSpan span = pages_touched(line, range);
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
  require(are_whole_pieces(line, range), cudaErrorInvalidValue);
  const PageSpan span = pages_touched(line, range);
  uint8_t* first = line.second.pages.get() + span.first;
  std::for_each(first, first + span.count, [](uint8_t& page) { page |= page_claimed; });
}

void MappingTable::settle_unmapped(const MemoryRange& range, uint64_t kept_bytes) noexcept {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  Line& line = *last_overlapping(range);
  Reservation& reservation = line.second;
  const PageSpan span = pages_touched(line, range);
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
  const PageSpan span = pages_touched(line, range);
  uint64_t first = span.first + span.count - 1;
  while ((pages[first] & page_begins) == 0) first--;
  const uint64_t address = line.first + first * line.second.page_bytes;
  return MemoryRange{address, range.end() - address};
}

void MappingTable::require_pieces(const MemoryRange& range, int device) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  require(are_whole_pieces(holder(range, device), range), cudaErrorInvalidValue);
}

Membership MappingTable::find(const MemoryRange& range, int device) const {
  if (count_.load(std::memory_order_relaxed) == 0) return Membership::outside;
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const Line* line = last_overlapping(range);
  if (line == nullptr) return Membership::outside;
  const bool inside = line->second.device == device && extent_of(*line).contains(range) &&
                      have_memory(*line, range) && line->second.blocks.allow(range);
  return inside ? Membership::inside : Membership::astride;
}

Membership MappingTable::declare(const MemoryRange& block, int device, bool is_live) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  Line* line = last_overlapping(block);
  if (line == nullptr) return Membership::outside;
  const bool inside = line->second.device == device && extent_of(*line).contains(block) &&
                      have_memory(*line, block);
  if (!inside) return Membership::astride;
  line->second.blocks.declare(block, is_live);
  return Membership::inside;
}

BlockAt MappingTable::find_block(uint64_t address, MemoryRange& block) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const MemoryRange byte{address, 1};
  const Line* line = last_overlapping(byte);
  if (line == nullptr || !have_memory(*line, byte)) return BlockAt::unknown;
  return line->second.blocks.find(address, block);
}

MappingTable::Totals MappingTable::totals() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  return Totals{reservations_.size(), mapped_bytes_};
}

MappingTable& mappings() {
  // Never destroyed: calls may still be running when the process exits.
  static MappingTable& table = *new MappingTable;
  return table;
}

}  // namespace gridstride
