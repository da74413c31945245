// Waits for events: one thread of an isolate polls for all of its waits, with increasing pauses.
#include "shim/stream/waiter.h"

#include <algorithm>
#include <chrono>

namespace gridstride {

HandleTable<Waiter> waiters;

namespace {

// The pauses between queries follow the duration of the wait: a short wait ends within
// microseconds, and a long one takes a small part of a processor.
constexpr std::chrono::microseconds min_pause{20};
constexpr std::chrono::microseconds max_pause{800};

// Of the event's last record.
int32_t status_of_event(const Event& event) noexcept {
  try {
    make_current(event.device);
    return GS_ATTEMPT(cudaEventQuery, event.event);
  } catch (...) {
    return remember_exception();
  }
}

}  // namespace

void EventWaits::add(EventUse event, double ticket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const EventPoint point = event->last_record();
  pending_.emplace(point, Wait{std::move(event), ticket});
  if (std::exchange(has_news_, true)) return;
  changed_.notify_one();
}

void EventWaits::next() {
  // The queries concern no capture, and must not invalidate one of another thread.
  const RelaxedQueries relaxed;
  std::unique_lock<std::mutex> lock(mutex_);
  for (std::chrono::microseconds pause = min_pause; !is_closed_;) {
    has_news_ = false;
    query_first_of_streams();
    if (!ended_.empty() || pending_.empty()) return;
    changed_.wait_for(lock, pause, [this] { return has_news_ || is_closed_; });
    pause = has_news_ ? min_pause : std::min(pause * 5 / 4, max_pause);
  }
}

void EventWaits::query_first_of_streams() {
  for (auto each = pending_.begin(); each != pending_.end();) {
    const Event& event = *each->second.event.operator->();
    const int32_t status = status_of_event(event);
    if (status != cudaErrorNotReady) {
      ended_.push_back(Ended{each->second.ticket, status});
      each = pending_.erase(each);
    } else if (const EventPoint point = event.last_record(); point != each->first) {
      // Recorded again since: its place among the events is another.
      auto moved = pending_.extract(each++);
      moved.key() = point;
      pending_.insert(std::move(moved));
    } else {
      each = pending_.lower_bound(EventPoint{point.first + 1, 0});
    }
  }
}

size_t EventWaits::take(double* out, size_t capacity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const size_t count = std::min(capacity, ended_.size());
  for (size_t index = 0; index < count; index++) {
    out[2 * index] = ended_[index].ticket;
    out[2 * index + 1] = ended_[index].status;
  }
  ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

void EventWaits::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_waiter_create(double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    HandleTable<Waiter>::Reservation made = waiters.reserve();
    made->waits = new EventWaits;
    result[0] = made.publish();
  });
}

int32_t gs_waiter_add(int32_t waiter, int32_t event, double ticket) {
  return guarded([&] {
    checked_integer(ticket);
    waiters.use(waiter)->waits->add(events.use(event), ticket);
  });
}

int32_t gs_waiter_next(int32_t waiter) {
  return guarded([&] { waiters.use(waiter)->waits->next(); });
}

int32_t gs_waiter_take(int32_t waiter, double* ended, int32_t capacity, double* result) {
  return guarded([&] {
    require(ended != nullptr && result != nullptr, GS_ERROR_ARGUMENT);
    require(capacity > 0, GS_ERROR_CAPACITY);
    const size_t count = waiters.use(waiter)->waits->take(ended, static_cast<size_t>(capacity));
    result[0] = static_cast<double>(count);
  });
}

int32_t gs_waiter_destroy(int32_t waiter) {
  return guarded([&] {
    waiters.use(waiter)->waits->close();
    waiters.destroy(waiter);
  });
}
