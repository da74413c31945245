// Handles: stale, forged, of another kind, and destroyed while in use.
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"
#include "suites.h"

namespace {

void check_stale_handles() {
  const int32_t stream = make_stream(0);
  check(stream > 0, "a stream has a positive handle");
  check_status(gs.gs_stream_synchronize(stream), 0, "using it");
  check_status(gs.gs_stream_destroy(stream), 0, "destroying it");
  check_status(gs.gs_stream_synchronize(stream), GS_ERROR_HANDLE, "using it after that");
  check_status(gs.gs_stream_destroy(stream), GS_ERROR_HANDLE, "destroying it again");
  const int32_t next = make_stream(0);
  check(next != stream, "the next stream in the same slot has another handle");
  check_status(gs.gs_stream_synchronize(stream), GS_ERROR_HANDLE,
               "the stale handle does not reach it");
  gs.gs_stream_destroy(next);
}

void check_forged_handles() {
  const int32_t stream = make_stream(0);
  bool refused = true;
  for (int bit = 0; bit < 31; bit++) {
    refused = refused && gs.gs_stream_synchronize(stream ^ (1 << bit)) == GS_ERROR_HANDLE;
  }
  check(refused, "a handle with any one bit changed is refused");
  for (const int32_t forged : {0, -1, INT32_MIN, INT32_MAX, 1, -stream}) {
    check_status(gs.gs_stream_synchronize(forged), GS_ERROR_HANDLE,
                 "handle " + std::to_string(forged));
  }
  const int32_t event = make_event(0, 0);
  const int32_t other_events[] = {make_event(0, 0), make_event(0, 0)};
  check_status(gs.gs_stream_synchronize(other_events[1]), GS_ERROR_HANDLE,
               "an event's handle given for a stream's");
  for (const int32_t each : other_events) gs.gs_event_destroy(each);
  gs.gs_event_destroy(event);
  gs.gs_stream_destroy(stream);
}

void check_failed_destruction() {
  const int32_t stream = make_stream(0);
  gs.gs_call_fail(call_id("cudaStreamDestroy"), 1, 999);
  check_status(gs.gs_stream_destroy(stream), 999, "destroying a stream where CUDA fails");
  check_status(gs.gs_stream_synchronize(stream), 0, "leaves the stream as it was");
  check_equal(tally().streams, 1, "and counted");
  check_status(gs.gs_stream_destroy(stream), 0, "until it is destroyed");
}

// Four threads use, destroy and make the same few handles.
void check_concurrent_use() {
  std::atomic<int32_t> slots[4] = {};
  std::atomic<bool> sane{true};
  const auto work = [&](unsigned seed) {
    gs_command_block own = {};
    gs.gs_block_register(&own, sizeof(own));
    for (int round = 0; round < 4000; round++) {
      seed = seed * 1664525u + 1013904223u;
      std::atomic<int32_t>& slot = slots[seed >> 30];
      const int32_t event = slot.load();
      if ((seed >> 20) % 8 == 0) {
        double made = 0;
        if (gs.gs_event_create(0, 0, &made) != 0) sane = false;
        const int32_t replaced = slot.exchange(static_cast<int32_t>(made));
        if (replaced != 0 && gs.gs_event_destroy(replaced) != 0) sane = false;
      } else if (event != 0) {
        own.operand[0] = event;
        const int32_t status = gs.gs_event_query();
        if (status != 0 && status != GS_ERROR_HANDLE) sane = false;
      }
    }
    gs.gs_block_release();
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; seed++) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<int32_t>& slot : slots) {
    if (slot != 0 && gs.gs_event_destroy(slot) != 0) sane = false;
  }
  check(sane, "four threads use and destroy the same events");
  check_equal(tally().events, 0, "and leave none");
}

}  // namespace

void check_handles() {
  check_stale_handles();
  check_forged_handles();
  check_failed_destruction();
  check_concurrent_use();
}
