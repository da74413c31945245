// The time limit of launches.
#include "host/execution/watchdog.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "host/execution/fault_signals.h"

namespace gridstride::host {
namespace {

// A signal that finds the kernel in a function of another library is repeated after a period.
constexpr int64_t shortest_period = 5'000'000;
constexpr int64_t longest_period = 1'000'000'000;

// Periods without a running kernel after which the watchdog sleeps. More than one: a kernel that
// begins just then has not seen that it sleeps, but is seen by the next look.
constexpr unsigned max_idle_periods = 3;

struct Watchdog {
  std::mutex mutex;
  std::condition_variable changed;
  bool started = false;
  // Also before the start.
  std::atomic<bool> sleeping{true};
  // A fraction of the shortest limit so far.
  std::atomic<int64_t> period{longest_period};
};
Watchdog& watchdog = *new Watchdog;

void watch() {
  unsigned idle_periods = 0;
  std::unique_lock<std::mutex> lock(watchdog.mutex);
  for (;;) {
    if (idle_periods > max_idle_periods) {
      watchdog.sleeping.store(true);
      watchdog.changed.wait(lock, [] { return !watchdog.sleeping.load(); });
      idle_periods = 0;
    }
    watchdog.changed.wait_for(lock, std::chrono::nanoseconds(watchdog.period.load()));
    idle_periods = interrupt_overdue_blocks() ? 0 : idle_periods + 1;
  }
}

// Without a thread to be had, launches have no limit.
void wake_watchdog(int64_t period) {
  const std::lock_guard<std::mutex> lock(watchdog.mutex);
  if (period < watchdog.period.load()) watchdog.period.store(period);
  if (!watchdog.started) {
    const BlockedSignals blocked;
    try {
      std::thread(watch).detach();
    } catch (const std::system_error&) {
      return;
    }
    watchdog.started = true;
  }
  watchdog.sleeping.store(false);
  watchdog.changed.notify_one();
}

}  // namespace

int64_t steady_nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

int64_t LaunchTimer::deadline() {
  if (limit_ == 0) return 0;
  const int64_t period = std::clamp(limit_ / 16, shortest_period, longest_period);
  if (watchdog.sleeping.load(std::memory_order_relaxed) ||
      period < watchdog.period.load(std::memory_order_relaxed)) {
    wake_watchdog(period);
  }
  int64_t known = deadline_.load(std::memory_order_relaxed);
  if (known != 0) return known;
  const int64_t fresh = steady_nanoseconds() + limit_;
  return deadline_.compare_exchange_strong(known, fresh) ? fresh : known;
}

}  // namespace gridstride::host
