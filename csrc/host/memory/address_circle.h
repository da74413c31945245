// Free address ranges, handed out in a circle.
#ifndef GRIDSTRIDE_HOST_ADDRESS_CIRCLE_H
#define GRIDSTRIDE_HOST_ADDRESS_CIRCLE_H

#include <cstddef>
#include <cstdint>
#include <map>

namespace gridstride::host {

// The search goes on where the last one ended, so a range that was given back is used again only
// after all others: a stale address keeps faulting for long. Not thread-safe.
class AddressCircle {
 public:
  // `bytes` free addresses of which the one at `anchor` is a multiple of the alignment, a power of
  // two. 0 when there are none.
  std::uintptr_t take(std::size_t bytes, std::size_t alignment, std::size_t anchor = 0);

  // These very addresses; false when one of them is not free.
  bool take_at(std::uintptr_t start, std::size_t bytes);

  // Also how the first ranges get here.
  void give_back(std::uintptr_t start, std::size_t bytes);

 private:
  using Ranges = std::map<std::uintptr_t, std::uintptr_t>;  // start → limit, never adjacent

  std::uintptr_t take_from(std::uintptr_t position, std::size_t bytes, std::size_t alignment,
                           std::size_t anchor);
  void cut(Ranges::iterator range, std::uintptr_t start, std::uintptr_t limit);

  Ranges free_;
  std::uintptr_t position_ = 0;  // where the search goes on
};

}  // namespace gridstride::host

#endif
