// Streams and events: queries, waits, elapsed time, adoption, destruction during a wait.
#include <chrono>
#include <thread>
#include <vector>

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

void check_queries(const SlowWork& work) {
  const int32_t stream = make_stream(0);
  const int32_t event = make_event(0, 0);
  check(on_stream(gs.gs_stream_query, stream, 0) == 0 && block.result[0] == 1,
        "a stream without work is done");
  check(on_stream(gs.gs_event_query, 0, event) == 0 && block.result[0] == 1,
        "an event without a record is done");
  work.enqueue(stream, 8);
  check_status(on_stream(gs.gs_event_record, stream, event), 0, "recording an event");
  check(on_stream(gs.gs_stream_query, stream, 0) == 0 && block.result[0] == 0,
        "a stream with work is not done");
  check(on_stream(gs.gs_event_query, 0, event) == 0 && block.result[0] == 0,
        "nor is the event behind it");
  check_status(gs.gs_event_synchronize(event), 0, "waiting for the event");
  check(on_stream(gs.gs_event_query, 0, event) == 0 && block.result[0] == 1, "it is done then");
  check_status(gs.gs_stream_synchronize(stream), 0, "waiting for the stream");
  check(on_stream(gs.gs_stream_query, stream, 0) == 0 && block.result[0] == 1, "so is the stream");
  check_status(on_stream(gs.gs_event_record, stream, stream), GS_ERROR_HANDLE,
               "a stream's handle given for an event's");
  gs.gs_event_destroy(event);
  gs.gs_stream_destroy(stream);
}

void check_order(const SlowWork& work) {
  const int32_t first = make_stream(0);
  const int32_t second = make_stream(0);
  const int32_t event = make_event(0, 0);
  const double memory = allocate(0, 4);
  work.enqueue(first, 8);
  set_operands(0, first, {memory, 7, 4, 1});
  gs.gs_memory_set();
  on_stream(gs.gs_event_record, first, event);
  check_status(on_stream(gs.gs_stream_wait, second, event), 0,
               "a stream waits for another's event");
  uint32_t value = 0;
  gs.gs_copy_to_host(0, second, &value, memory, 4);
  check_equal(value, 7, "and sees what came before it");
  free_memory(0, memory);
  gs.gs_event_destroy(event);
  gs.gs_stream_destroy(first);
  gs.gs_stream_destroy(second);
}

void check_elapsed(const SlowWork& work) {
  constexpr int32_t not_ready = 600;
  constexpr int32_t invalid_handle = 400;
  const int32_t stream = make_stream(0);
  const int32_t start = make_event(0, 1);
  const int32_t end = make_event(0, 1);
  const int32_t untimed = make_event(0, 0);
  double milliseconds = -1;
  check_status(gs.gs_event_elapsed(start, end, &milliseconds), invalid_handle,
               "the time between events without records");
  on_stream(gs.gs_event_record, stream, start);
  work.enqueue(stream, 8);
  on_stream(gs.gs_event_record, stream, end);
  check_status(gs.gs_event_elapsed(start, end, &milliseconds), not_ready,
               "the time between events that are not done");
  check_equal(milliseconds, -1, "is not written");
  gs.gs_event_synchronize(end);
  check_status(gs.gs_event_elapsed(start, end, &milliseconds), 0, "the time between events");
  check(milliseconds > 0.01 && milliseconds < 60000, "is that of the work between them");
  on_stream(gs.gs_event_record, stream, untimed);
  gs.gs_event_synchronize(untimed);
  check_status(gs.gs_event_elapsed(start, untimed, &milliseconds), invalid_handle,
               "the time to an event without timing");
  check_status(gs.gs_event_create(0, 2, &milliseconds), GS_ERROR_ARGUMENT, "timing 2");
  for (const int32_t event : {start, end, untimed}) gs.gs_event_destroy(event);
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

// A thread waits on a stream that another destroys.
void check_destruction_during_wait(const SlowWork& work) {
  const int32_t stream = make_stream(0);
  work.enqueue(stream, 40);
  int32_t waited = -1;
  std::thread waiter([&] { waited = gs.gs_stream_synchronize(stream); });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  check_status(gs.gs_stream_destroy(stream), 0, "destroying a stream that a thread waits for");
  check_status(gs.gs_stream_synchronize(stream), GS_ERROR_HANDLE, "takes its handle away");
  waiter.join();
  check_status(waited, 0, "the thread waits to the end");
  check_equal(tally().streams, 0, "and then the stream is gone");
}

}  // namespace

void check_streams_and_events() {
  double priorities[2] = {};
  check_status(gs.gs_stream_priorities(0, priorities), 0, "gs_stream_priorities()");
  check(priorities[0] >= priorities[1], "the greatest priority is the smaller number");
  const SlowWork work;
  check_queries(work);
  check_order(work);
  check_elapsed(work);
  check_adoption(work);
  check_destruction_during_wait(work);
}
