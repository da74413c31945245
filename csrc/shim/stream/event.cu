// Events: points in the work of a stream, to wait for or to measure between.
#include "shim/stream/event.h"

#include "shim/block.h"
#include "shim/stream/stream.h"

namespace gridstride {

HandleTable<Event> events;

void Event::end() const {
  make_current(device);
  GS_CALL(cudaEventDestroy, event);
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_event_create(int32_t device, int32_t timing, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    require(timing == 0 || timing == 1, GS_ERROR_ARGUMENT);
    make_current(device);
    // A time stamp costs the device, and a thread that spins costs the processor; no event needs
    // both.
    const unsigned int flags =
        timing == 1 ? cudaEventDefault : cudaEventDisableTiming | cudaEventBlockingSync;
    HandleTable<Event>::Reservation made = events.reserve();
    made->device = device;
    GS_CALL(cudaEventCreateWithFlags, &made->event, flags);
    result[0] = made.publish();
  });
}

int32_t gs_event_destroy(int32_t event) {
  return guarded([&] { events.destroy(event); });
}

int32_t gs_event_record(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const StreamUse stream = use_stream(in.stream());
    const EventUse event = events.use(in.handle(0));
    require(event->device == stream->device, GS_ERROR_FOREIGN);
    make_current(stream->device);
    GS_CALL(cudaEventRecord, event->event, stream->stream);
  });
}

int32_t gs_event_query(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const EventUse event = events.use(in.handle(0));
    make_current(event->device);
    const int32_t status = GS_ATTEMPT(cudaEventQuery, event->event);
    if (status != 0 && status != cudaErrorNotReady) fail_call(CallKind::cudaEventQuery, status);
    in.set_result(0, status == 0 ? 1 : 0);
  });
}

int32_t gs_event_synchronize(int32_t event) {
  return guarded([&] {
    const EventUse used = events.use(event);
    make_current(used->device);
    GS_CALL(cudaEventSynchronize, used->event);
  });
}

int32_t gs_event_elapsed(int32_t start, int32_t end, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const EventUse first = events.use(start);
    const EventUse last = events.use(end);
    require(first->device == last->device, GS_ERROR_FOREIGN);
    make_current(first->device);
    float milliseconds = 0;
    GS_CALL(cudaEventElapsedTime, &milliseconds, first->event, last->event);
    result[0] = static_cast<double>(milliseconds);
  });
}
