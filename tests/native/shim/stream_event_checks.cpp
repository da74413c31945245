// Streams and events: queries, waits, elapsed time, adoption, destruction during a wait.
#include <thread>

#include "check.h"
#include "suites.h"

namespace {

int32_t on_stream(int32_t (*hot)(), int32_t stream, double event) {
  set_operands(0, stream, {event});
  return hot();
}

// Work that takes a while: copies of 64 MiB within the device.
class SlowWork {
 public:
  SlowWork() : memory_(allocate(0, 2 * bytes)) {}
  ~SlowWork() { free_memory(0, memory_); }

  void enqueue(int32_t stream, int copies) const {
    for (int copy = 0; copy < copies; copy++) {
      set_operands(0, stream, {memory_, memory_ + bytes, bytes});
      gs.gs_copy_device();
    }
  }

 private:
  static constexpr double bytes = 64 << 20;
  double memory_;
};

// Whether `seen(copies)` holds for some amount of work: a device may be fast, and this thread may
// be kept from running until a little work is done.
template <class Seen>
bool holds_for_enough_work(const Seen& seen) {
  for (int copies = 4; copies <= 512; copies *= 2) {
    if (seen(copies)) return true;
  }
  return false;
}

// Whether the query succeeds and says 1 for done, or 0.
bool stream_says(double done, int32_t stream) {
  return on_stream(gs.gs_stream_query, stream, 0) == 0 && block.result[0] == done;
}

bool event_says(double done, int32_t event) {
  return on_stream(gs.gs_event_query, 0, event) == 0 && block.result[0] == done;
}

void check_queries(const SlowWork& work) {
  const int32_t stream = make_stream(0);
  const int32_t event = make_event(0, 0);
  check(stream_says(1, stream), "a stream without work is done");
  check(event_says(1, event), "an event without a record is done");
  check(holds_for_enough_work([&](int copies) {
          work.enqueue(stream, copies);
          on_stream(gs.gs_event_record, stream, event);
          return event_says(0, event) && stream_says(0, stream);
        }),
        "with work neither is done");
  check_status(gs.gs_event_synchronize(event), 0, "waiting for the event");
  check(event_says(1, event), "it is done then");
  check_status(gs.gs_stream_synchronize(stream), 0, "waiting for the stream");
  check(stream_says(1, stream), "so is the stream");
  check_status(on_stream(gs.gs_event_record, stream, stream), GS_ERROR_HANDLE,
               "a stream's handle given for an event's");
  gs.gs_event_destroy(event);
  gs.gs_stream_destroy(stream);
}

void check_adoption(const SlowWork& work) {
  const int32_t stream = make_stream(0);
  double address = 0;
  double adopted = 0;
  check_status(gs.gs_stream_address(stream, &address), 0, "the address of a stream");
  check_status(gs.gs_stream_adopt(0, address, &adopted), 0, "adopting a stream");
  const int32_t handle = static_cast<int32_t>(adopted);
  check(handle != stream, "gives a handle of its own");
  work.enqueue(handle, 1);
  check_status(gs.gs_stream_synchronize(handle), 0, "it takes work");
  check_status(gs.gs_stream_destroy(handle), 0, "forgetting it");
  check_status(gs.gs_stream_synchronize(stream), 0, "leaves the stream to its owner");
  gs.gs_stream_destroy(stream);
}

// A thread waits for a stream that another destroys. Returns whether the stream outlived its
// handle, that is, whether it was destroyed while the thread was waiting.
bool destroy_during_wait(const SlowWork& work, int copies) {
  const int32_t wait_call = call_id("cudaStreamSynchronize");
  double made_before = 0;
  gs.gs_call_tally(wait_call, &made_before);
  const int32_t stream = make_stream(0);
  work.enqueue(stream, copies);
  int32_t waited = -1;
  std::thread waiter([&] { waited = gs.gs_stream_synchronize(stream); });
  for (double made = made_before; made == made_before;) gs.gs_call_tally(wait_call, &made);
  const int32_t destroyed = gs.gs_stream_destroy(stream);
  const bool outlived = tally().streams == 1;
  const int32_t used = gs.gs_stream_synchronize(stream);
  waiter.join();
  check(destroyed == 0 && used == GS_ERROR_HANDLE && waited == 0 && tally().streams == 0,
        "a stream is destroyed while a thread waits: the handle goes at once, the wait succeeds");
  return outlived;
}

}  // namespace

void check_streams_and_events() {
  double priorities[2] = {};
  check_status(gs.gs_stream_priorities(0, priorities), 0, "gs_stream_priorities()");
  check(priorities[0] >= priorities[1], "the greatest priority is the smaller number");
  const SlowWork work;
  check_queries(work);
  check_adoption(work);
  check(holds_for_enough_work([&](int copies) { return destroy_during_wait(work, copies); }),
        "the stream itself goes after the last of its users");
}
