// Counts of live objects, with which tests prove that nothing leaks, and the table of live handles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

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

// The table of live streams or events. A handle is a number that is given out once: looking up a
// destroyed or invented one finds nothing, and it is never dereferenced.

template <typename Object>
class LiveHandles {
 public:
  // Different residues modulo the step keep the handles of different tables apart: an event given
  // where a stream belongs is found in no table.
  static constexpr std::uintptr_t step = 16;

  explicit LiveHandles(std::uintptr_t first) : next_(first) {}

  std::uintptr_t insert(std::shared_ptr<Object> object) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::uintptr_t handle = next_;
    objects_.emplace(handle, std::move(object));
    next_ += step;
    return handle;
  }

  std::shared_ptr<Object> find(std::uintptr_t handle) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto entry = objects_.find(handle);
    return entry == objects_.end() ? nullptr : entry->second;
  }

  // The object, which lives on while work refers to it; null for a handle that names none.
  std::shared_ptr<Object> remove(std::uintptr_t handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto entry = objects_.find(handle);
    if (entry == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(entry->second);
    objects_.erase(entry);
    return object;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
  std::uintptr_t next_;
};

}  // namespace gridstride::host
