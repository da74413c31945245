// Counting the live objects of a class, so that tests can prove that nothing is left behind.
#ifndef GRIDSTRIDE_HOST_COUNTED_H
#define GRIDSTRIDE_HOST_COUNTED_H

#include <atomic>
#include <cstdint>

namespace gridstride::host {

template <typename Object>
class Counted {
 public:
  static std::int64_t live() { return count_.load(std::memory_order_relaxed); }

  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 protected:
  Counted() { count_.fetch_add(1, std::memory_order_relaxed); }
  ~Counted() { count_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  static inline std::atomic<std::int64_t> count_{0};
};

}  // namespace gridstride::host

#endif
