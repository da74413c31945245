// Waits for any number of events by one thread.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "shim/stream/stream.h"

namespace gridstride {

// Events that an isolate waits for. Streams finish their events in the order of the records: only
// the first pending event of each stream is queried.
class EventWaits {
 public:
  void add(EventUse event, double ticket);

  // Blocks until a wait has ended, none is pending, or the waiter is closed.
  void next();

  // Moves ended waits to out, as pairs of ticket and status. Returns their number.
  size_t take(double* out, size_t capacity);

  // Ends next() at once, also in future.
  void close();

 private:
  struct Wait {
    EventUse event;
    double ticket;
  };

  struct Ended {
    double ticket;
    int32_t status;
  };

  void query_first_of_streams();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<EventPoint, Wait> pending_;
  std::vector<Ended> ended_;
  bool has_news_ = false;
  bool is_closed_ = false;
};

struct Waiter {
  EventWaits* waits = nullptr;

  void end() const { delete waits; }
};

extern HandleTable<Waiter> waiters;

}  // namespace gridstride
