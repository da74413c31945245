// Memory files behind pinned slabs.
#include "shim/memory/slab_mapping.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace gridstride {

namespace {

void require_system(bool succeeded) {
  if (__builtin_expect(succeeded, 1)) return;
  fail(errno == ENOMEM || errno == ENOSPC ? GS_ERROR_HOST_MEMORY : GS_ERROR_SYSTEM);
}

int open_memory_file() {
  const int file = memfd_create("gridstride-pinned", MFD_CLOEXEC);
  require_system(file >= 0);
  return file;
}

// Both mappings of a slab enter all its pages at once: page by page, at each first access, takes
// several times as long.
constexpr int mapping_flags = MAP_SHARED | MAP_POPULATE;

// Takes every page now: a file without its pages would only fail at the first access, by SIGBUS.
void* map_pages(int file, uint64_t bytes) {
  int allocated = 0;
  do {
    allocated = fallocate(file, 0, 0, static_cast<off_t>(bytes));
  } while (allocated != 0 && errno == EINTR);
  require_system(allocated == 0);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, mapping_flags, file, 0);
  require_system(mapped != MAP_FAILED);
  return mapped;
}

}  // namespace

bool SlabMapping::is_supported() {
  // Some sandboxes lack the system call.
  static const bool supported = [] {
    const int file = memfd_create("gridstride-probe", MFD_CLOEXEC);
    if (file < 0) return errno != ENOSYS;
    close(file);
    return true;
  }();
  return supported;
}

SlabMapping::SlabMapping(const MemoryRange& slab) : slab_(slab), file_(open_memory_file()) {
  try {
    memory_ = MemoryRange{address_of(map_pages(file_, slab.bytes)), slab.bytes};
  } catch (...) {
    close(file_);
    throw;
  }
  std::memcpy(memory_.pointer(), slab_.pointer(), slab_.bytes);
}

SlabMapping::~SlabMapping() {
  close(file_);
  if (!is_shared_) munmap(memory_.pointer(), memory_.bytes);
}

void SlabMapping::share_with_slab() {
  const void* mapped = mmap(slab_.pointer(), slab_.bytes, PROT_READ | PROT_WRITE,
                            mapping_flags | MAP_FIXED, file_, 0);
  require_system(mapped != MAP_FAILED);
  is_shared_ = true;
}

void unmap(const MemoryRange& memory) {
  require_system(munmap(memory.pointer(), memory.bytes) == 0);
}

}  // namespace gridstride

#else

namespace gridstride {

bool SlabMapping::is_supported() { return false; }
SlabMapping::SlabMapping(const MemoryRange&) { fail(GS_ERROR_UNSUPPORTED); }
SlabMapping::~SlabMapping() = default;
void SlabMapping::share_with_slab() { fail(GS_ERROR_UNSUPPORTED); }
void unmap(const MemoryRange&) { fail(GS_ERROR_UNSUPPORTED); }

}  // namespace gridstride

#endif
