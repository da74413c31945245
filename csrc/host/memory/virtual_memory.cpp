// Virtual memory: reserved addresses, and the changes of mappings and access.
#include "host/memory/virtual_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "host/memory/address_space.h"

namespace gridstride::host {
namespace {

// Room for stale addresses. Address space costs nothing until something is put behind it.
constexpr std::size_t ordinary_arena_bytes = std::size_t{1} << 40;

std::size_t rounded(std::size_t bytes) { return round_up(bytes, virtual_granularity); }

}  // namespace

bool VirtualAddresses::add_arena(std::size_t bytes) {
  const std::size_t count = arena_count_.load(std::memory_order_relaxed);
  if (count == arenas_.size()) return false;
  std::size_t arena_bytes = 0;
  const std::size_t wanted = std::max(bytes, ordinary_arena_bytes);
  const std::uintptr_t start = reserve_addresses(wanted, bytes, arena_bytes);
  if (start == 0) return false;
  free_.give_back(start, arena_bytes);
  arenas_[count] = {start, start + arena_bytes};
  arena_count_.store(count + 1, std::memory_order_release);
  return true;
}

// The addresses after a range stay free: overrunning it faults. A hint may name them nonetheless.
std::uintptr_t VirtualAddresses::take(std::size_t bytes, std::size_t alignment) {
  const std::uintptr_t start = free_.take(bytes + virtual_granularity, alignment);
  if (start != 0) free_.give_back(start + bytes, virtual_granularity);
  return start;
}

std::uintptr_t VirtualAddresses::reserve(std::size_t bytes, std::size_t alignment,
                                         std::uintptr_t hint) {
  // Then no sum below overflows.
  if (bytes > address_limit || alignment > address_limit) return 0;
  const std::size_t taken = rounded(bytes);
  std::uintptr_t start = 0;
  if (hint != 0 && hint % alignment == 0 && free_.take_at(hint, taken)) {
    start = hint;
  } else {
    start = take(taken, alignment);
    // Wherever the arena begins, it has an aligned address with enough behind it.
    if (start == 0 && add_arena(taken + virtual_granularity + alignment)) {
      start = take(taken, alignment);
    }
  }
  if (start != 0) reserved_.emplace(start, bytes);
  return start;
}

bool VirtualAddresses::is_reserved(std::uintptr_t start, std::size_t bytes) const {
  const auto range = reserved_.find(start);
  return range != reserved_.end() && range->second == bytes;
}

void VirtualAddresses::release(std::uintptr_t start) {
  const auto range = reserved_.find(start);
  free_.give_back(start, rounded(range->second));
  reserved_.erase(range);
}

bool VirtualAddresses::is_within_one(std::uintptr_t start, std::size_t bytes) const {
  auto range = reserved_.upper_bound(start);
  if (range == reserved_.begin()) return false;
  --range;
  const std::size_t offset = start - range->first;
  return offset <= range->second && bytes <= range->second - offset;
}

bool VirtualAddresses::contains(std::uintptr_t start, std::size_t bytes) const {
  const std::size_t count = arena_count_.load(std::memory_order_acquire);
  return std::any_of(arenas_.begin(), arenas_.begin() + count, [&](const Arena& arena) {
    return start < arena.limit && (start >= arena.start || bytes > arena.start - start);
  });
}

// The order of every change: steps that cannot fail come last, and no touch is admitted to memory
// that is about to go.

namespace {

using Lock = std::lock_guard<std::mutex>;

// A run and what follows it are entries of the kernel's map, of which a process has 65530 by
// default: half of them, as unmapping in the middle of runs may still make more.
constexpr int max_runs = 16384;

bool is_granular(std::uintptr_t address, std::size_t bytes) {
  return bytes != 0 && address % virtual_granularity == 0 && bytes % virtual_granularity == 0;
}

bool is_power_of_two(std::size_t value) { return (value & (value - 1)) == 0; }

// Whether the file goes on at offset where the mapping, if there is one, ends.
bool continues(const VirtualMapping* previous, std::uint64_t offset) {
  return previous != nullptr && previous->memory->offset + previous->bytes == offset;
}

}  // namespace

VirtualMemory& VirtualMemory::instance() {
  static VirtualMemory& only = *new VirtualMemory;
  return only;
}

VirtualMemory::VirtualMemory() {
  spare_parts_.give_back(page_file_spare_offset, page_file_bytes - page_file_spare_offset);
}

// ---- addresses ---------------------------------------------------------------------------------

cudaError_t VirtualMemory::reserve(std::size_t bytes, std::size_t alignment, std::uintptr_t hint,
                                   std::uintptr_t& address) {
  if (bytes == 0 || bytes % page_bytes() != 0 || hint % page_bytes() != 0 ||
      !is_power_of_two(alignment)) {
    return cudaErrorInvalidValue;
  }
  const Lock lock(changes_);
  address = addresses_.reserve(bytes, std::max(alignment, virtual_granularity), hint);
  return address != 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t VirtualMemory::free_reservation(std::uintptr_t address, std::size_t bytes) {
  const Lock lock(changes_);
  if (!addresses_.is_reserved(address, bytes) || !mappings_.is_free(address, bytes)) {
    return cudaErrorInvalidValue;
  }
  addresses_.release(address);
  return cudaSuccess;
}

// ---- memory ------------------------------------------------------------------------------------

cudaError_t VirtualMemory::create(Device& device, std::size_t bytes, std::uint64_t& handle) {
  if (!is_granular(0, bytes)) return cudaErrorInvalidValue;
  const cudaError_t fault = device.fault_code();
  if (fault != cudaSuccess) return fault;
  const Lock lock(changes_);
  auto memory = std::make_shared<PhysicalMemory>(device, bytes, next_handle_);
  const auto entry = memories_.emplace(next_handle_, std::move(memory)).first;
  if (!device.memory().charge(bytes)) {
    memories_.erase(entry);
    return cudaErrorMemoryAllocation;
  }
  handle = next_handle_;
  next_handle_ += 16;
  return cudaSuccess;
}

std::shared_ptr<PhysicalMemory> VirtualMemory::find_referenced(std::uint64_t handle) const {
  const auto entry = memories_.find(handle);
  const bool is_valid = entry != memories_.end() && entry->second->references != 0;
  return is_valid ? entry->second : nullptr;
}

cudaError_t VirtualMemory::release(std::uint64_t handle) {
  const Lock lock(changes_);
  const std::shared_ptr<PhysicalMemory> memory = find_referenced(handle);
  if (memory == nullptr) return cudaErrorInvalidValue;
  --memory->references;
  free_if_unused(*memory);
  return memory->device.fault_code();
}

void VirtualMemory::free_if_unused(PhysicalMemory& memory) {
  if (memory.references != 0 || memory.mappings != 0) return;
  unplace(memory);
  memory.device.memory().discharge(memory.bytes);
  memories_.erase(memory.handle);
}

// At the part of the file that has the address's own number, unless other memory lies there that
// was mapped at the address before.
bool VirtualMemory::place(PhysicalMemory& memory, std::uintptr_t address) {
  memory.offset = address;
  if (file_.is_shareable()) {
    const std::uint64_t limit = address + memory.bytes;
    const auto next = own_parts_.lower_bound(address);
    const bool is_free_behind = next == own_parts_.end() || next->first >= limit;
    const bool is_free_before = next == own_parts_.begin() || std::prev(next)->second <= address;
    // Memory of which only the beginning is mapped may reach beyond all addresses.
    if (is_free_behind && is_free_before && limit <= page_file_spare_offset) {
      own_parts_.emplace(address, limit);
    } else {
      memory.offset = spare_parts_.take(memory.bytes, virtual_granularity);
      if (memory.offset == 0) return false;
    }
  }
  memory.is_placed = true;
  return true;
}

void VirtualMemory::unplace(PhysicalMemory& memory) {
  if (!memory.is_placed) return;
  memory.is_placed = false;
  if (!file_.is_shareable()) return;
  file_.discard(memory.offset, memory.bytes);
  if (own_parts_.erase(memory.offset) == 0) spare_parts_.give_back(memory.offset, memory.bytes);
}

// ---- mappings ----------------------------------------------------------------------------------

bool VirtualMemory::has_continuation(std::uintptr_t address, std::uint64_t offset) const {
  const VirtualMapping* const next = mappings_.beginning_at(address);
  return next != nullptr && next->memory->offset == offset;
}

// How many runs more there are with a mapping than without it: -1, when it closes the space between
// two, to 1.
int VirtualMemory::runs_added_by(std::uintptr_t address, std::size_t bytes,
                                 std::uint64_t offset) const {
  const bool joins_previous = continues(mappings_.ending_at(address), offset);
  const bool joins_next = has_continuation(address + bytes, offset + bytes);
  return 1 - (joins_previous ? 1 : 0) - (joins_next ? 1 : 0);
}

cudaError_t VirtualMemory::map(std::uintptr_t address, std::size_t bytes, std::uint64_t handle) {
  if (!is_granular(address, bytes)) return cudaErrorInvalidValue;
  const Lock lock(changes_);
  const std::shared_ptr<PhysicalMemory> memory = find_referenced(handle);
  if (memory == nullptr || bytes > memory->bytes || !addresses_.is_within_one(address, bytes) ||
      !mappings_.is_free(address, bytes)) {
    return cudaErrorInvalidValue;
  }
  const cudaError_t fault = memory->device.fault_code();
  if (fault != cudaSuccess) return fault;
  if (memory->is_placed && !file_.is_shareable()) return cudaErrorNotSupported;
  const bool is_first = !memory->is_placed;
  if (is_first && !place(*memory, address)) return cudaErrorMemoryAllocation;
  const int added = runs_added_by(address, bytes, memory->offset);
  if (added > 0 && runs_ >= max_runs) {
    if (is_first) unplace(*memory);
    return cudaErrorMemoryAllocation;
  }
  VirtualMapping mapping;
  mapping.bytes = bytes;
  mapping.memory = memory;
  mappings_.add(address, std::move(mapping));
  ++memory->mappings;
  runs_ += added;
  return cudaSuccess;
}

cudaError_t VirtualMemory::unmap(std::uintptr_t address, std::size_t bytes) {
  const Lock lock(changes_);
  const VirtualMappings::Range range = mappings_.whole(address, bytes);
  if (range.is_empty()) return cudaErrorInvalidValue;
  VirtualMappings::Table removed = mappings_.remove(range);
  const bool is_shown = std::any_of(removed.begin(), removed.end(),
                                    [](const auto& entry) { return entry.second.is_shown; });
  if (is_shown && !file_.hide(address, bytes)) {
    mappings_.put_back(removed);
    return cudaErrorMemoryAllocation;
  }
  forget_runs(removed);
  cudaError_t fault = cudaSuccess;
  for (const auto& [start, mapping] : removed) {
    if (fault == cudaSuccess) fault = mapping.memory->device.fault_code();
    --mapping.memory->mappings;
    free_if_unused(*mapping.memory);
  }
  return fault;
}

// The runs within the removed range are gone, but for ends of runs that continue beside it.
void VirtualMemory::forget_runs(const VirtualMappings::Table& removed) {
  const auto& [start, first] = *removed.begin();
  const auto& [last_start, last] = *removed.rbegin();
  const std::uint64_t last_offset = last.memory->offset + last.bytes;
  const VirtualMapping* const previous = mappings_.ending_at(start);
  if (continues(previous, first.memory->offset)) ++runs_;
  if (has_continuation(last_start + last.bytes, last_offset)) ++runs_;
  const VirtualMapping* before = nullptr;
  for (const auto& [address, mapping] : removed) {
    if (!continues(before, mapping.memory->offset)) --runs_;
    before = &mapping;
  }
}

// ---- access ------------------------------------------------------------------------------------

std::vector<VirtualMemory::PageChange> VirtualMemory::page_changes(
    const VirtualMappings::Range& range, const std::vector<VirtualMapping>& replacements) {
  std::vector<PageChange> changes;
  auto replacement = replacements.begin();
  for (auto entry = range.first; entry != range.last; ++entry, ++replacement) {
    const VirtualMapping& mapping = entry->second;
    const PageChange change = {entry->first,     mapping.bytes,        mapping.memory->offset,
                               mapping.is_shown, mapping.shown_access, replacement->shown_access};
    if (changes.empty() || !changes.back().absorb(change)) changes.push_back(change);
  }
  return changes;
}

bool VirtualMemory::PageChange::absorb(const PageChange& next) {
  if (next.offset != offset + bytes || next.is_shown != is_shown || next.before != before ||
      next.after != after) {
    return false;
  }
  bytes += next.bytes;
  return true;
}

bool VirtualMemory::raise(const PageChange& change) {
  if (change.after <= change.before) return true;
  return change.is_shown ? file_.protect(change.address, change.bytes, change.after)
                         : file_.show(change.address, change.bytes, change.offset, change.after);
}

void VirtualMemory::undo_raise(const PageChange& change) {
  if (change.after <= change.before) return;
  if (change.is_shown) {
    (void)file_.protect(change.address, change.bytes, change.before);
  } else {
    (void)file_.hide(change.address, change.bytes);
  }
}

bool VirtualMemory::raise_access(const std::vector<PageChange>& changes) {
  for (auto change = changes.begin(); change != changes.end(); ++change) {
    if (raise(*change)) continue;
    std::for_each(changes.begin(), change, [this](const PageChange& done) { undo_raise(done); });
    return false;
  }
  return true;
}

bool VirtualMemory::lower_access(const std::vector<PageChange>& changes) {
  return std::all_of(changes.begin(), changes.end(), [this](const PageChange& change) {
    return change.after >= change.before ||
           file_.protect(change.address, change.bytes, change.after);
  });
}

// More access is granted before a touch is admitted by it, and less after the last touch that uses
// it.
cudaError_t VirtualMemory::set_access(std::uintptr_t address, std::size_t bytes,
                                      const std::vector<DeviceGrant>& grants) {
  const Lock lock(changes_);
  const VirtualMappings::Range range = mappings_.whole(address, bytes);
  if (range.is_empty()) return cudaErrorInvalidValue;
  std::vector<VirtualMapping> replacements;
  for (auto entry = range.first; entry != range.last; ++entry) {
    const cudaError_t fault = entry->second.memory->device.fault_code();
    if (fault != cudaSuccess) return fault;
    replacements.push_back(entry->second);
    replacements.back().grant(grants);
  }
  const std::vector<PageChange> changes = page_changes(range, replacements);
  if (!raise_access(changes)) return cudaErrorMemoryAllocation;
  mappings_.replace(range, std::move(replacements));
  return lower_access(changes) ? cudaSuccess : cudaErrorMemoryAllocation;
}

}  // namespace gridstride::host
