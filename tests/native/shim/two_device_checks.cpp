// What concerns two devices: handles and memory of the other, peers.
#include <cstring>

#include "check.h"
#include "suites.h"

namespace {

constexpr int32_t invalid_value = 1;

struct Pair {
  int32_t streams[2] = {make_stream(0), make_stream(1)};
  int32_t events[2] = {make_event(0, 1), make_event(1, 1)};
  double memory[2] = {allocate(0, 4096), allocate(1, 4096)};

  ~Pair() {
    for (int device = 0; device < 2; device++) {
      free_memory(device, memory[device]);
      gs.gs_event_destroy(events[device]);
      gs.gs_stream_destroy(streams[device]);
    }
  }
};

void check_foreign_handles(const Pair& pair) {
  unsigned char byte = 0;
  check_status(gs.gs_copy_to_host(1, pair.streams[0], &byte, pair.memory[1], 1), GS_ERROR_FOREIGN,
               "a copy of device 1 on a stream of device 0");
  set_operands(0, pair.streams[1], {pair.memory[0], 0, 1, 1});
  check_status(gs.gs_memory_set(), GS_ERROR_FOREIGN, "a set of device 0 on a stream of device 1");
  set_operands(0, pair.streams[0], {static_cast<double>(pair.events[1])});
  check_status(gs.gs_event_record(), GS_ERROR_FOREIGN, "recording the event of device 1 on 0");
  check_status(gs.gs_stream_wait(), 0, "but a stream of device 0 waits for it");
  double milliseconds = 0;
  check_status(gs.gs_event_elapsed(pair.events[0], pair.events[1], &milliseconds), GS_ERROR_FOREIGN,
               "the time between events of two devices");
}

void check_memory_of_other(const Pair& pair) {
  unsigned char byte = 0;
  check_status(gs.gs_copy_to_host(0, pair.streams[0], &byte, pair.memory[1], 1), invalid_value,
               "memory of device 1 in a copy of device 0");
  check_status(free_memory(0, pair.memory[1]), invalid_value, "freeing it on device 0");
}

void check_peer_copies(const Pair& pair) {
  unsigned char sent[4096];
  unsigned char received[4096] = {};
  for (int index = 0; index < 4096; index++) sent[index] = static_cast<unsigned char>(index * 3);
  gs.gs_copy_to_device(0, pair.streams[0], pair.memory[0], sent, 4096);
  const auto copy = [&](int32_t stream, double destination_device, double source_device) {
    set_operands(0, stream,
                 {pair.memory[1], destination_device, pair.memory[0], source_device, 4096});
    return gs.gs_copy_peer();
  };
  check_status(copy(pair.streams[0], 1, 0), 0, "a copy from device 0 to device 1");
  gs.gs_stream_synchronize(pair.streams[0]);
  gs.gs_copy_to_host(1, pair.streams[1], received, pair.memory[1], 4096);
  check(std::memcmp(sent, received, sizeof(sent)) == 0, "arrives");
  check_status(copy(pair.streams[0], 0, 1), invalid_value, "the same with the devices exchanged");
  check_status(copy(pair.streams[0], 1, 1), GS_ERROR_FOREIGN, "on a stream of neither device");

  double can_access = 0;
  check_status(gs.gs_device_peer(0, 1, &can_access), 0, "gs_device_peer()");
  if (can_access == 1) {
    check_status(gs.gs_device_join(0, 1), 0, "joining two devices");
    check_status(gs.gs_device_join(0, 1), 0, "joining them again");
    gs.gs_call_fail(call_id("cudaDeviceEnablePeerAccess"), 1, 999);
    check_status(gs.gs_device_join(0, 1), 999, "joining them where CUDA fails");
  } else {
    skip("joining devices: these two are no peers");
  }
  gs.gs_call_fail(call_id("cudaDeviceCanAccessPeer"), 1, 999);
  check_status(gs.gs_device_peer(0, 1, &can_access), 999, "gs_device_peer() where CUDA fails");
  check_status(gs.gs_device_peer(0, 1 << 20, &can_access), GS_ERROR_DEVICE, "no such peer");
}

}  // namespace

void check_two_devices() {
  {
    const Pair pair;
    check_foreign_handles(pair);
    check_memory_of_other(pair);
    check_peer_copies(pair);
  }
  const Tally left = tally();
  check(left.allocations == 0 && left.streams == 0 && left.events == 0,
        "two devices leave nothing behind");
}
