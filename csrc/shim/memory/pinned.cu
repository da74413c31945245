// Pinned memory: slabs of JavaScript memory for copies that run while JavaScript continues.
//
// CUDA registers a second mapping of the slab's pages, never JavaScript's own: an isolate that ends
// with a copy in flight takes no memory away from it. An entry also outlives its isolate: the same
// address may later belong to another slab, with an entry of its own.
#include "shim/memory/pinned.h"

#include <unistd.h>

#include <optional>

namespace gridstride {

// A second mapping of a slab's memory, which outlives JavaScript's own: an anonymous memory file,
// all zeros. share_with_slab() maps it over the slab as well: the last step, because it is the only
// one that cannot be undone.
class SlabMapping {
 public:
  // Whether the system has memory files. Where it has none, slabs are pinned as they are.
  static bool is_supported();

  // Throws GS_ERROR_HOST_MEMORY or GS_ERROR_SYSTEM.
  explicit SlabMapping(const MemoryRange& slab);
  SlabMapping(const SlabMapping&) = delete;
  SlabMapping& operator=(const SlabMapping&) = delete;
  ~SlabMapping();

  const MemoryRange& memory() const { return memory_; }

  // From here on both mappings show the same bytes, and memory() outlives this object.
  void share_with_slab();

 private:
  MemoryRange slab_;
  MemoryRange memory_;
  int file_ = -1;
  bool is_shared_ = false;
};

// Unmaps memory that share_with_slab() left mapped.
void unmap(const MemoryRange& memory);

HandleTable<PinnedSlab> pinned_slabs;
std::atomic<uint64_t> pinned_bytes{0};

namespace {

// Runs every step even if a device is lost: that device uses nothing any more, but others may.
class Steps {
 public:
  template <class Step>
  void take(const Step& step) {
    try {
      step();
    } catch (const Failure& failure) {
      if (!tells_loss(failure.status)) throw;
      if (!loss_) loss_ = failure;
    }
  }

  void tell_loss() const {
    if (loss_) throw Failure(*loss_);
  }

 private:
  std::optional<Failure> loss_;
};

void wait_for_users(const PinnedSlab& slab, Steps& steps) {
  int count = 0;
  GS_CALL(cudaGetDeviceCount, &count);
  for (int device = 0; device < count; device++) {
    // A device that never touched the slab may have no context, and must not get one here.
    if (!slab.used_by.may_contain(device)) continue;
    steps.take([&] {
      make_current(device);
      GS_CALL(cudaDeviceSynchronize);
    });
  }
}

}  // namespace

void PinnedSlab::end() {
  // In two steps: should the second fail, trying again does not repeat the first.
  Steps steps;
  bool is_known_to_cuda = is_registered;
  if (is_registered) {
    wait_for_users(*this, steps);
    steps.take([&] {
      make_current(device);
      GS_CALL(cudaHostUnregister, memory.pointer());
      is_known_to_cuda = false;
    });
    is_registered = false;
    pinned_bytes.fetch_sub(memory.bytes, std::memory_order_relaxed);
  }
  // What a lost device keeps registered stays mapped: other memory would be taken for it.
  if (owns_mapping && !is_known_to_cuda) unmap(memory);
  steps.tell_loss();
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_pinned_register(int32_t device, void* slab, double bytes, double* result) {
  return guarded([&] {
    require(slab != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    const MemoryRange given = checked_range(address_of(slab), checked_integer(bytes));
    require(given.bytes > 0, GS_ERROR_ARGUMENT);
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    require(given.address % page == 0 && given.bytes % page == 0, GS_ERROR_ALIGNMENT);

    make_current(device);
    HandleTable<PinnedSlab>::Reservation made = pinned_slabs.reserve();
    made->device = device;
    made->memory = given;
    std::optional<SlabMapping> mapping;
    if (SlabMapping::is_supported()) {
      made->memory = mapping.emplace(given).memory();
      made->owns_mapping = true;
    }
    GS_CALL(cudaHostRegister, made->memory.pointer(), made->memory.bytes,
            static_cast<unsigned int>(cudaHostRegisterPortable));
    if (mapping) {
      try {
        mapping->share_with_slab();
      } catch (...) {
        GS_CALL(cudaHostUnregister, made->memory.pointer());
        throw;
      }
    }
    made->is_registered = true;
    pinned_bytes.fetch_add(made->memory.bytes, std::memory_order_relaxed);
    result[0] = made.publish();
  });
}

int32_t gs_pinned_release(int32_t pinned) {
  return guarded([&] { pinned_slabs.destroy_after_users(pinned); });
}

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gridstride {

// ---- memory files behind pinned slabs ----------------------------------------------------------

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

// Since Linux 5.14; older C libraries lack the name.
constexpr int populate_write = 23;

// Takes every page now: a file without its pages would only fail at the first access, by SIGBUS.
void allocate_pages(int file, void* mapped, uint64_t bytes) {
  int failed = 0;
  do {
    failed = madvise(mapped, bytes, populate_write);
  } while (failed != 0 && errno == EINTR);
  if (failed == 0 || errno != EINVAL) return require_system(failed == 0);
  // The older way, which takes five times as long.
  do {
    failed = fallocate(file, 0, 0, static_cast<off_t>(bytes));
  } while (failed != 0 && errno == EINTR);
  require_system(failed == 0);
}

void* map_pages(int file, uint64_t bytes) {
  require_system(ftruncate(file, static_cast<off_t>(bytes)) == 0);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  require_system(mapped != MAP_FAILED);
  try {
    allocate_pages(file, mapped, bytes);
  } catch (...) {
    munmap(mapped, bytes);
    throw;
  }
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
}

SlabMapping::~SlabMapping() {
  close(file_);
  if (!is_shared_) munmap(memory_.pointer(), memory_.bytes);
}

void SlabMapping::share_with_slab() {
  // Entering all pages at once takes a fraction of the time of entering each at its first access.
  const void* mapped = mmap(slab_.pointer(), slab_.bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_POPULATE | MAP_FIXED, file_, 0);
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
