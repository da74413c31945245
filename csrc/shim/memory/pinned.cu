// Pinned memory: slabs of JavaScript memory that copies may use while JavaScript goes on.
//
// CUDA is told of a second mapping of the slab's pages, never of JavaScript's own, so that an
// isolate that ends with a copy in flight takes nothing away from under it. An entry also outlives
// its isolate: the same address may later belong to another slab, with an entry of its own.
#include "shim/memory/pinned.h"

#include <unistd.h>

#include <optional>

#include "shim/memory/slab_mapping.h"

namespace gridstride {

HandleTable<PinnedSlab> pinned_slabs;
std::atomic<uint64_t> pinned_bytes{0};

namespace {

// Steps that are all taken though a device is lost: it uses nothing any more, others may.
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
