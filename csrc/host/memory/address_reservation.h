// The address range of one device: reserved once, inaccessible but for the mappings inside it.
#ifndef GRIDSTRIDE_HOST_ADDRESS_RESERVATION_H
#define GRIDSTRIDE_HOST_ADDRESS_RESERVATION_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "host/memory/address_circle.h"

namespace gridstride::host {

// Part of a reservation: accessible from start to end, then an inaccessible gap to limit.
struct MappedExtent {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::uintptr_t limit = 0;
};

// Thread-safe. Reservations live as long as the process.
class AddressReservation {
 public:
  // Reserves address space worth several times capacity on the first call of map.
  explicit AddressReservation(std::uint64_t capacity) : capacity_(capacity) {}

  // At least `bytes` of fresh zeroed memory; an empty extent when there is no address space or the
  // system refuses. Pages take up memory when they are first written to.
  MappedExtent map(std::size_t bytes);

  // Makes the extent inaccessible and gives its memory back.
  void unmap(const MappedExtent& extent);

  bool contains(std::uintptr_t address) const {
    // In this order: who sees the size finds the base it goes with.
    const std::uintptr_t size = size_.load(std::memory_order_acquire);
    return address - base_.load(std::memory_order_relaxed) < size;
  }

 private:
  bool reserve();

  const std::uint64_t capacity_;
  std::mutex mutex_;
  // size_ is written last and read first: 0 means not reserved yet.
  std::atomic<std::uintptr_t> base_{0};
  std::atomic<std::uintptr_t> size_{0};
  AddressCircle free_;
};

}  // namespace gridstride::host

#endif
