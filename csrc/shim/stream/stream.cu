// Streams: made here or adopted from other libraries.
#include "shim/stream/stream.h"

#include <optional>

#include "shim/block.h"
#include "shim/device/driver_table.h"
#include "shim/isolate.h"

namespace gridstride {

HandleTable<Stream> streams;

void Stream::end() const {
  if (adopted) return;
  make_current(device);
  GS_CALL(cudaStreamDestroy, stream);
}

namespace {

// 0, 1 and 2 are the default streams. They mean different streams on different threads and
// devices, so no handle can stand for one.
constexpr uint64_t first_stream_address = 3;

void require_stream_of_device(cudaStream_t stream, int device) {
  int actual = no_device;
  GS_CALL(cudaStreamGetDevice, stream, &actual);
  require(actual == device, GS_ERROR_FOREIGN);
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_stream_create(int32_t device, int32_t priority, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    make_current(device);
    HandleTable<Stream>::Reservation made = streams.reserve();
    made->device = device;
    GS_CALL(cudaStreamCreateWithPriority, &made->stream, cudaStreamNonBlocking, priority);
    result[0] = made.publish();
  });
}

int32_t gs_stream_destroy(int32_t stream) {
  return guarded([&] {
    remember_work(*streams.use(stream).operator->());
    streams.destroy(stream);
  });
}

int32_t gs_stream_priorities(int32_t device, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    make_current(device);
    int least = 0;
    int greatest = 0;
    GS_CALL(cudaDeviceGetStreamPriorityRange, &least, &greatest);
    result[0] = least;
    result[1] = greatest;
  });
}

int32_t gs_stream_adopt(int32_t device, double address, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const uint64_t integer = checked_integer(address);
    require(integer >= first_stream_address, GS_ERROR_ARGUMENT);
    make_current(device);
    HandleTable<Stream>::Reservation adopted = streams.reserve();
    adopted->device = device;
    adopted->stream = reinterpret_cast<cudaStream_t>(static_cast<uintptr_t>(integer));
    adopted->adopted = true;
    require_stream_of_device(adopted->stream, device);
    result[0] = adopted.publish();
  });
}

int32_t gs_stream_address(int32_t stream, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const StreamUse used = use_stream(stream);
    const uint64_t address = reinterpret_cast<uintptr_t>(used->stream);
    require(address <= largest_safe_integer, GS_ERROR_UNSUPPORTED);
    result[0] = static_cast<double>(address);
  });
}

int32_t gs_stream_query(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const StreamUse stream = use_stream(in.stream());
    make_current(stream->device);
    const int32_t status = GS_ATTEMPT(cudaStreamQuery, stream->stream);
    if (status != 0 && status != cudaErrorNotReady) fail_call(CallKind::cudaStreamQuery, status);
    in.set_result(0, status == 0 ? 1 : 0);
  });
}

int32_t gs_stream_wait(void) {
  return guarded([] {
    const Operands in = Operands::of_thread();
    const StreamUse stream = use_stream(in.stream());
    // Its device may be another: that is how the work of two devices is put in order.
    const EventUse event = events.use(in.handle(0));
    make_current(stream->device);
    GS_CALL(cudaStreamWaitEvent, stream->stream, event->event, 0u);
  });
}

int32_t gs_stream_synchronize(int32_t stream) {
  return guarded([&] {
    const StreamUse used = use_stream(stream);
    make_current(used->device);
    GS_CALL(cudaStreamSynchronize, used->stream);
  });
}

namespace gridstride {

// ---- events ------------------------------------------------------------------------------------

HandleTable<Event> events;

namespace {

std::atomic<uint64_t> records{0};

}  // namespace

void Event::end() const {
  make_current(device);
  GS_CALL(cudaEventDestroy, event);
}

}  // namespace gridstride

int32_t gs_event_create(int32_t device, int32_t timing, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    require(timing == 0 || timing == 1, GS_ERROR_ARGUMENT);
    make_current(device);
    // A time stamp costs the device. With cudaEventBlockingSync a thread that waits would not spin,
    // but an H200 takes only 56 records of such events before it reaches them, and the next record
    // blocks.
    const unsigned int flags = timing == 1 ? cudaEventDefault : cudaEventDisableTiming;
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
    event->stream.store(in.stream(), std::memory_order_relaxed);
    event->record.store(records.fetch_add(1) + 1, std::memory_order_relaxed);
  });
}

int32_t gs_event_record_device(int32_t device, int32_t event) {
  return guarded([&] {
    const EventUse used = events.use(event);
    require(used->device == device, GS_ERROR_FOREIGN);
    make_current(device);
    const DriverTable& driver = driver_table();
    require(driver.context_get_current != nullptr && driver.context_record_event != nullptr,
            GS_ERROR_UNSUPPORTED);
    CUcontext context = nullptr;
    call(CallKind::cuCtxGetCurrent, [&] { return driver.context_get_current(&context); });
    const int32_t status = attempt(CallKind::cuCtxRecordEvent, [&] {
      return driver.context_record_event(context, used->event);
    });
    require(status != cudaErrorNotSupported, GS_ERROR_UNSUPPORTED);
    if (status != 0) fail_call(CallKind::cuCtxRecordEvent, status);
    // Such records are reached in their order, like those of a stream.
    used->stream.store(-1 - device, std::memory_order_relaxed);
    used->record.store(records.fetch_add(1) + 1, std::memory_order_relaxed);
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
    // The wait for a device takes it after the work is done, whatever another thread captures.
    std::optional<RelaxedQueries> relaxed;
    if (used->stream.load(std::memory_order_relaxed) < 0) relaxed.emplace();
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
