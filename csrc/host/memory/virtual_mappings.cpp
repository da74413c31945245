// Looking mappings up, changing them, and waiting for touches.
#include "host/memory/virtual_mappings.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gridstride::host {

AllowedAccess VirtualMapping::access_of(int device) const {
  const auto grant = std::find_if(grants.begin(), grants.end(), [device](const DeviceGrant& one) {
    return one.device == device;
  });
  return grant == grants.end() ? AllowedAccess::none : grant->access;
}

void VirtualMapping::grant(const std::vector<DeviceGrant>& changes) {
  for (const DeviceGrant& change : changes) {
    const auto old = std::find_if(grants.begin(), grants.end(), [&](const DeviceGrant& one) {
      return one.device == change.device;
    });
    if (old != grants.end()) {
      old->access = change.access;
    } else {
      grants.push_back(change);
    }
  }
  shown_access = AllowedAccess::none;
  for (const DeviceGrant& one : grants) shown_access = std::max(shown_access, one.access);
  is_shown = is_shown || shown_access != AllowedAccess::none;
}

// ---- for whoever makes changes -----------------------------------------------------------------

VirtualMappings::Range VirtualMappings::whole(std::uintptr_t address, std::size_t bytes) {
  const std::uintptr_t limit = address + bytes;
  const auto first = table_.find(address);
  auto last = first;
  std::uintptr_t end = address;
  while (end < limit && last != table_.end() && last->first == end) {
    end += last->second.bytes;
    ++last;
  }
  if (end != limit) return {table_.end(), table_.end()};
  return {first, last};
}

bool VirtualMappings::is_free(std::uintptr_t address, std::size_t bytes) const {
  const auto next = table_.lower_bound(address);
  if (next != table_.end() && next->first - address < bytes) return false;
  return containing(address) == table_.end();
}

const VirtualMapping* VirtualMappings::ending_at(std::uintptr_t address) const {
  const auto mapping = containing(address - 1);
  if (mapping == table_.end()) return nullptr;
  return mapping->first + mapping->second.bytes == address ? &mapping->second : nullptr;
}

const VirtualMapping* VirtualMappings::beginning_at(std::uintptr_t address) const {
  const auto mapping = table_.find(address);
  return mapping == table_.end() ? nullptr : &mapping->second;
}

void VirtualMappings::add(std::uintptr_t address, VirtualMapping mapping) {
  const Lock lock(mutex_);
  table_.emplace(address, std::move(mapping));
}

VirtualMappings::Table VirtualMappings::remove(const Range& range) {
  const std::uintptr_t start = range.first->first;
  std::uintptr_t limit = start;
  Table removed;
  Lock lock(mutex_);
  for (auto mapping = range.first; mapping != range.last;) {
    limit += mapping->second.bytes;
    removed.insert(removed.end(), table_.extract(mapping++));
  }
  await_touches(lock, start, limit);
  return removed;
}

void VirtualMappings::put_back(Table& removed) {
  const Lock lock(mutex_);
  table_.merge(removed);
}

void VirtualMappings::replace(const Range& range, std::vector<VirtualMapping> mappings) {
  const std::uintptr_t start = range.first->first;
  std::uintptr_t limit = start;
  Lock lock(mutex_);
  auto replacement = mappings.begin();
  for (auto mapping = range.first; mapping != range.last; ++mapping, ++replacement) {
    std::swap(mapping->second, *replacement);
    limit += mapping->second.bytes;
  }
  await_touches(lock, start, limit);
}

// Only for touches admitted so far: later ones were admitted by what the table says now.
void VirtualMappings::await_touches(Lock& lock, std::uintptr_t start, std::uintptr_t limit) {
  const std::uint64_t first_later = next_touch_;
  ++waiting_threads_;
  touch_ended_.wait(lock, [&] {
    for (const AdmittedTouch* touch = touches_; touch != nullptr; touch = touch->next_) {
      const bool overlaps = touch->start_ < limit && start < touch->limit_;
      if (overlaps && touch->number_ < first_later) return false;
    }
    return true;
  });
  --waiting_threads_;
}

// ---- for everybody -----------------------------------------------------------------------------

VirtualMappings::Table::const_iterator VirtualMappings::containing(std::uintptr_t address) const {
  auto mapping = table_.upper_bound(address);
  if (mapping == table_.begin()) return table_.end();
  --mapping;
  return address - mapping->first < mapping->second.bytes ? mapping : table_.end();
}

std::shared_ptr<PhysicalMemory> VirtualMappings::memory_at(std::uintptr_t address) const {
  const Lock lock(mutex_);
  const auto mapping = containing(address);
  return mapping == table_.end() ? nullptr : mapping->second.memory;
}

bool VirtualMappings::find_access(std::uintptr_t address, int device, AllowedAccess& access) const {
  const Lock lock(mutex_);
  const auto mapping = containing(address);
  if (mapping == table_.end()) return false;
  access = mapping->second.access_of(device);
  return true;
}

TouchRefusal VirtualMappings::find_refusal(const VirtualTouch& touch) const {
  const Lock lock(mutex_);
  return refusal_of(touch);
}

TouchRefusal VirtualMappings::refusal_of(const VirtualTouch& touch) const {
  std::uintptr_t address = touch.address;
  std::size_t left = touch.bytes;
  for (auto mapping = containing(address); left != 0; ++mapping) {
    if (mapping == table_.end() || mapping->first > address) return {address, false};
    if (mapping->second.access_of(touch.device) < touch.needed) return {address, true};
    const std::size_t covered = mapping->second.bytes - (address - mapping->first);
    if (covered >= left) break;
    address += covered;
    left -= covered;
  }
  return {};
}

AdmittedTouch::AdmittedTouch(VirtualMappings& mappings, const VirtualTouch& touch)
    : mappings_(mappings), start_(touch.address), limit_(touch.address + touch.bytes) {
  const VirtualMappings::Lock lock(mappings_.mutex_);
  refusal_ = mappings_.refusal_of(touch);
  if (refusal_.address != 0) return;
  number_ = mappings_.next_touch_++;
  next_ = mappings_.touches_;
  if (next_ != nullptr) next_->previous_ = this;
  mappings_.touches_ = this;
}

AdmittedTouch::~AdmittedTouch() {
  if (refusal_.address != 0) return;
  const VirtualMappings::Lock lock(mappings_.mutex_);
  (previous_ != nullptr ? previous_->next_ : mappings_.touches_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  if (mappings_.waiting_threads_ != 0) mappings_.touch_ended_.notify_all();
}

}  // namespace gridstride::host
