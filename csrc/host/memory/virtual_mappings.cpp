// Memory files by memfd_create; elsewhere anonymous memory.
#include "host/memory/virtual_mappings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "host/memory/address_space.h"

namespace gridstride::host {
namespace {

int protection_of(AllowedAccess access) {
  switch (access) {
    case AllowedAccess::none: return PROT_NONE;
    case AllowedAccess::read: return PROT_READ;
    case AllowedAccess::read_write: break;
  }
  return PROT_READ | PROT_WRITE;
}

#if defined(__linux__)

// Resizing a file beyond this limit does not just fail but raises a signal.
bool is_size_allowed() {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= page_file_bytes);
}

// The file is sparse: its size costs nothing.
int open_page_file() {
  if (!is_size_allowed()) return -1;
  const int file = memfd_create("gridstride-device-memory", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (ftruncate(file, static_cast<off_t>(page_file_bytes)) == 0) return file;
  close(file);
  return -1;
}

void* map_part(int file, std::uintptr_t address, std::size_t bytes, std::uint64_t offset,
               int protection) {
  void* const mapped =
      mmap(reinterpret_cast<void*>(address), bytes, protection,
           MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, static_cast<off_t>(offset));
  // Dumping core would give every page of it memory, written to or not.
  if (mapped != MAP_FAILED) (void)madvise(mapped, bytes, MADV_DONTDUMP);
  return mapped;
}

void punch_hole(int file, std::uint64_t offset, std::size_t bytes) {
  int punched = 0;
  do {
    punched = fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (punched != 0 && errno == EINTR);
}

#else

int open_page_file() { return -1; }
void* map_part(int, std::uintptr_t, std::size_t, std::uint64_t, int) { return MAP_FAILED; }
void punch_hole(int, std::uint64_t, std::size_t) {}

#endif

}  // namespace

PageFile::PageFile() : file_(open_page_file()) {}

PageFile& PageFile::instance() {
  static PageFile& only = *new PageFile;
  return only;
}

bool PageFile::show(std::uintptr_t address, std::size_t bytes, std::uint64_t offset,
                    AllowedAccess access) {
  if (is_shareable()) {
    return map_part(file_, address, bytes, offset, protection_of(access)) != MAP_FAILED;
  }
  return map_private_memory(address, bytes) && protect(address, bytes, access);
}

bool PageFile::protect(std::uintptr_t address, std::size_t bytes, AllowedAccess access) {
  return mprotect(reinterpret_cast<void*>(address), bytes, protection_of(access)) == 0;
}

bool PageFile::hide(std::uintptr_t address, std::size_t bytes) {
  return make_inaccessible(address, bytes);
}

void PageFile::discard(std::uint64_t offset, std::size_t bytes) {
  if (is_shareable()) punch_hole(file_, offset, bytes);
}

// ---- looking mappings up, changing them, and waiting for touches --------------------------------

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

// ---- changes ------------------------------------------------------------------------------------

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
