// Virtual memory of two devices: ownership and sharing.
#include <cstring>

#include "suites.h"
#include "virtual_range.h"

namespace {

constexpr int32_t invalid_value = 1;
constexpr int32_t peer_unsupported = 217;  // cudaErrorPeerAccessUnsupported

void check_foreign_device(double page, double base, const int32_t (&streams)[2]) {
  check_status(map(1, base, page, page), invalid_value, "mapping in device 0's addresses for 1");
  check_status(map(0, base, 2 * page, page), 0, "mapping them for device 0");
  check_status(unmap(1, base, page), invalid_value, "unmapping device 0's memory on 1");
  check_status(gs.gs_virtual_release(1, base), invalid_value, "releasing its addresses on 1");
  check_status(set_bytes(1, streams[1], base, 1, 1), invalid_value, "setting its memory on 1");
  set_operands(1, 0, {base, 1, 1});
  check_status(gs.gs_memory_declare(), invalid_value, "declaring its memory on 1");
}

void check_sharing(double page, double base) {
  check_status(gs.gs_virtual_share(0, -1, base, page), GS_ERROR_DEVICE, "sharing with device -1");
  check_status(gs.gs_virtual_share(0, 1 << 20, base, page), GS_ERROR_DEVICE,
               "sharing with a device there is not");
  check_status(gs.gs_virtual_share(0, 0, base, page), peer_unsupported, "sharing with oneself");
  check_status(gs.gs_virtual_share(0, 1, base, 0), GS_ERROR_ARGUMENT, "sharing no bytes");
  check_status(gs.gs_virtual_share(0, 1, base, page / 2), invalid_value, "sharing half a piece");
  check_status(gs.gs_virtual_share(0, 1, base + 2 * page, page), invalid_value,
               "sharing addresses without memory");
  check_status(gs.gs_virtual_share(1, 0, base, page), invalid_value,
               "sharing another device's memory");
  double can_access = 0;
  gs.gs_device_peer(1, 0, &can_access);
  if (can_access == 0) {
    check_status(gs.gs_virtual_share(0, 1, base, page), peer_unsupported, "sharing with no peer");
    return;
  }
  gs.gs_call_fail(call_id("cuMemSetAccess"), 1, 999);
  check_status(gs.gs_virtual_share(0, 1, base, 2 * page), 999, "sharing that fails");
  check_status(gs.gs_virtual_share(0, 1, base, 2 * page), 0, "sharing pieces");
  check_status(gs.gs_virtual_share(0, 1, base, page), 0, "sharing one of them again");
}

// A copy may begin in one piece and end in another, on both devices.
void check_copying(double page, double base, const int32_t (&streams)[2]) {
  const double other = reserve(1, 2 * page);
  check_status(map(1, other, 2 * page, 2 * page), 0, "mapping memory of device 1");
  check_status(set_bytes(0, streams[0], base, 5, 2 * page), 0, "setting pieces of device 0");
  set_operands(0, streams[0], {other, 1, base, 0, 2 * page});
  check_status(gs.gs_copy_peer(), 0, "copying them to device 1");
  gs.gs_stream_synchronize(streams[0]);
  check_equal(byte_at(1, streams[1], other + 2 * page - 1), 5, "arrives");
  check_status(unmap(1, other, 2 * page), 0, "unmapping on device 1");
  check_status(gs.gs_virtual_release(1, other), 0, "releasing on device 1");
}

}  // namespace

void check_virtual_peers() {
  const double page = granularity_of(0);
  if (page == 0 || granularity_of(1) != page) {
    skip("virtual memory of two devices: they have none of one granularity");
    return;
  }
  const Tally before = tally();
  const int32_t streams[2] = {make_stream(0), make_stream(1)};
  const double base = reserve(0, 4 * page);
  check_foreign_device(page, base, streams);
  check_sharing(page, base);
  check_copying(page, base, streams);
  check_status(unmap(0, base, 2 * page), 0, "unmapping on device 0");
  check_status(gs.gs_virtual_release(0, base), 0, "releasing on device 0");
  for (const int32_t stream : streams) gs.gs_stream_destroy(stream);
  check(tally() == before, "virtual memory of two devices leaves nothing behind");
}
