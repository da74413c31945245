// Virtual memory where a step of it fails, or memory runs out: nothing is left, nothing is lost.
#include <string>

#include "suites.h"
#include "virtual_range.h"

namespace {

constexpr int32_t injected = 999;
constexpr int32_t invalid_value = 1;
constexpr int32_t out_of_memory = 2;

// 0 where the driver keeps memory for itself from call to call: there the numbers mean nothing.
double exact_free_bytes() {
  double memory[2] = {};
  gs.gs_device_memory(0, memory);
  return is_host() ? memory[0] : 0;
}

void check_mapping_steps(double page) {
  constexpr int pieces = 4;
  const double base = reserve(0, pieces * page);
  const Tally before = tally();
  const double free_before = exact_free_bytes();
  const struct {
    const char* call;
    int times;  // in mapping all of it
  } steps[] = {{"cudaSetDevice", 1},
               {"cudaMemGetInfo", 1},
               {"cuMemCreate", pieces},
               {"cuMemMap", pieces},
               {"cuMemRelease", pieces},
               {"cuMemSetAccess", 1}};
  for (const auto& [call, times] : steps) {
    for (int nth = 1; nth <= times; nth++) {
      for (const int32_t status : {injected, out_of_memory}) {
        gs.gs_call_fail(call_id(call), nth, status);
        const int32_t failed = map(0, base, pieces * page, page);
        const std::string what = std::string(call) + " number " + std::to_string(nth);
        check(failed == status && tally() == before && exact_free_bytes() == free_before,
              "a failing " + what + " maps nothing (" + status_name(failed) + ")");
        const bool maps = map(0, base, pieces * page, page) == 0;
        check(maps && unmap(0, base, pieces * page) == 0, "after it the range can be mapped");
      }
    }
  }
  gs.gs_call_restore();
  check_status(gs.gs_virtual_release(0, base), 0, "the addresses are released");
}

void check_undoing(double page) {
  const double base = reserve(0, 2 * page);
  const Tally before = tally();
  gs.gs_call_fail(call_id("cuMemSetAccess"), 1, injected);
  gs.gs_call_fail(call_id("cuMemUnmap"), 1, 998);
  check_status(map(0, base, 2 * page, page), injected, "a mapping that cannot be undone either");
  check_equal(tally().mapped_bytes - before.mapped_bytes, 2 * page, "stays counted");
  check_status(unmap(0, base, 2 * page), 0, "and can be unmapped");
  check(tally() == before, "after which nothing is left");

  map(0, base, 2 * page, page);
  const int32_t stream = make_stream(0);
  gs.gs_call_fail(call_id("cuMemUnmap"), 1, injected);
  check_status(unmap(0, base, page), injected, "unmapping that fails");
  check_status(set_bytes(0, stream, base, 1, 2 * page), 0, "leaves the memory");
  check_status(unmap(0, base, page), 0, "and can be tried again");
  check_status(unmap(0, base + page, page), 0, "piece by piece");

  gs.gs_stream_destroy(stream);
  gs.gs_call_fail(call_id("cuMemAddressFree"), 1, injected);
  check_status(gs.gs_virtual_release(0, base), injected, "releasing that fails");
  check_status(map(0, base, 2 * page, 2 * page), 0, "leaves the reservation");
  check_status(unmap(0, base, 2 * page), 0, "as it was");
  check_status(gs.gs_virtual_release(0, base), 0, "and can be tried again");
}

// A driver that unmaps mappings singly only, as CUDA's documentation can be read.
void check_unmapping_singly(double page) {
  const double base = reserve(0, 5 * page);
  const Tally before = tally();
  const int32_t kind = call_id("cuMemUnmap");
  double calls[2] = {};
  map(0, base, 5 * page, 2 * page);
  gs.gs_call_tally(kind, &calls[0]);
  gs.gs_call_fail(kind, 1, invalid_value);
  check_status(unmap(0, base, 5 * page), 0, "where one call cannot unmap three pieces");
  gs.gs_call_tally(kind, &calls[1]);
  check_equal(calls[1] - calls[0], 4, "after the refused call each is unmapped by one");
  check(tally() == before, "and nothing is left");

  map(0, base, 5 * page, 2 * page);
  gs.gs_call_fail(kind, 1, invalid_value);
  // After cudaSetDevice, the mode, the refused call and the one for the last piece.
  gs.gs_call_fail(0, 5, injected);
  check_status(unmap(0, base, 5 * page), injected, "where the second of them fails");
  check_equal(tally().mapped_bytes - before.mapped_bytes, 4 * page, "the first is gone");
  check_status(map(0, base + 4 * page, page, page), 0, "and can be mapped anew");
  check_status(unmap(0, base, 4 * page), 0, "the others are there still");
  check_status(unmap(0, base + 4 * page, page), 0, "and can be unmapped");

  map(0, base, page, page);
  gs.gs_call_fail(kind, 1, invalid_value);
  check_status(unmap(0, base, page), invalid_value, "one piece is not tried twice");
  check_status(unmap(0, base, page), 0, "unless it is asked for");

  gs.gs_call_fail(call_id("cuMemSetAccess"), 1, injected);
  gs.gs_call_fail(kind, 1, invalid_value);
  check_status(map(0, base, 5 * page, 2 * page), injected, "what a failed mapping has mapped");
  check(tally() == before, "is unmapped singly as well");
  gs.gs_call_restore();
  check_status(gs.gs_virtual_release(0, base), 0, "the addresses are released");
}

// A device is full, whatever the size of the pieces, and empty again after that.
void check_capacity(double page) {
  double memory[2] = {};
  gs.gs_device_memory(0, memory);
  const double free_before = exact_free_bytes();
  const double room = (static_cast<uint64_t>(memory[1] / page) + 2) * page;
  const double base = reserve(0, room);
  const Tally before = tally();
  const auto pieces_made = [] {
    double made = 0;
    gs.gs_call_tally(call_id("cuMemCreate"), &made);
    return made;
  };
  for (const double pages_per_piece : {32.0, 7.0}) {
    const double made = pieces_made();
    check_status(map(0, base, room, pages_per_piece * page), out_of_memory,
                 "mapping more than there is");
    check(tally() == before && exact_free_bytes() == free_before, "maps nothing");
    check_equal(pieces_made() - made, 0, "and takes no memory before it knows");
  }
  check_status(map(0, base, page, page), 0, "but one page fits");
  check(exact_free_bytes() == free_before - (is_host() ? page : 0), "and takes memory");
  check_status(unmap(0, base, page), 0, "it is unmapped");
  check(exact_free_bytes() == free_before, "and gives it back");
  check_status(gs.gs_virtual_release(0, base), 0, "the addresses are released");
}

}  // namespace

void check_virtual_failures() {
  const double page = granularity_of(0);
  if (page == 0) {
    skip("failing virtual memory: the device has none");
    return;
  }
  check_mapping_steps(page);
  check_undoing(page);
  check_unmapping_singly(page);
  check_capacity(page);
}
