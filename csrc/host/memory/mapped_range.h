// Accessible memory of a device, held by whoever may still touch it.
#ifndef GRIDSTRIDE_HOST_MAPPED_RANGE_H
#define GRIDSTRIDE_HOST_MAPPED_RANGE_H

#include <memory>

#include "host/memory/address_reservation.h"
#include "host/device/counted.h"

namespace gridstride::host {

// An allocation and every queued copy from or to it share one of these: memory that was freed
// while a copy of another device's stream is under way becomes inaccessible after that copy.
class MappedRange : private Counted<MappedRange> {
 public:
  using Counted<MappedRange>::live;

  // Null when the system has no address space or memory for it.
  static std::shared_ptr<MappedRange> map(AddressReservation& reservation, std::size_t bytes) {
    const MappedExtent extent = reservation.map(bytes);
    if (extent.end == 0) return nullptr;
    return std::make_shared<MappedRange>(reservation, extent);
  }

  MappedRange(AddressReservation& reservation, const MappedExtent& extent)
      : reservation_(reservation), extent_(extent) {}
  ~MappedRange() { reservation_.unmap(extent_); }

  std::uintptr_t start() const { return extent_.start; }
  std::uintptr_t end() const { return extent_.end; }

 private:
  AddressReservation& reservation_;
  const MappedExtent extent_;
};

}  // namespace gridstride::host

#endif
