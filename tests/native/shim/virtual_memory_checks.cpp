// Virtual memory: which ranges are reserved, mapped, touched, unmapped and released,
// and which are refused.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "suites.h"
#include "virtual_range.h"

namespace {

constexpr int32_t invalid_value = 1;

// Sixteen pages of addresses on device 0, released at the end with their mappings.
class Reserved {
 public:
  explicit Reserved(double granularity)
      : page(granularity), base(reserve(0, pages * granularity)), stream(make_stream(0)) {}
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  ~Reserved() {
    gs.gs_stream_destroy(stream);
    check_status(gs.gs_virtual_release(0, base), 0, "the reservation is released");
  }

  double at(double index) const { return base + index * page; }
  int32_t map_pages(double first, double count, double handle) const {
    return map(0, at(first), count * page, handle * page);
  }
  int32_t unmap_pages(double first, double count) const {
    return unmap(0, at(first), count * page);
  }
  int32_t set(double address, double bytes, double value = 7) const {
    return set_bytes(0, stream, address, value, bytes);
  }

  static constexpr double pages = 16;
  const double page;
  const double base;
  const int32_t stream;
};

void check_granularity() {
  double page = 0;
  check_status(gs.gs_virtual_granularity(0, &page), 0, "the granularity");
  check(page >= 4096 && (static_cast<uint64_t>(page) & (static_cast<uint64_t>(page) - 1)) == 0,
        "is a power of two of at least a page");
  check_status(gs.gs_virtual_granularity(1 << 20, &page), GS_ERROR_DEVICE, "of no device");
  check_status(gs.gs_virtual_granularity(-1, &page), GS_ERROR_DEVICE, "of device -1");
  check_status(gs.gs_virtual_granularity(0, nullptr), GS_ERROR_ARGUMENT, "to nowhere");
}

void check_reserving(double page) {
  const Tally before = tally();
  double address = 0;
  for (const double bytes : {0.0, -page, 0.5, 9007199254740992.0}) {
    check_status(gs.gs_virtual_reserve(0, bytes, &address), GS_ERROR_ARGUMENT,
                 "reserving " + std::to_string(bytes) + " bytes");
  }
  for (const double bytes : {1.0, page - 1, page + 1}) {
    check_status(gs.gs_virtual_reserve(0, bytes, &address), GS_ERROR_ALIGNMENT,
                 "reserving " + std::to_string(bytes) + " bytes");
  }
  check_status(gs.gs_virtual_reserve(0, page, nullptr), GS_ERROR_ARGUMENT, "reserving nowhere");
  check_status(gs.gs_virtual_reserve(1 << 20, page, &address), GS_ERROR_DEVICE,
               "reserving on a device there is not");
  check(gs.gs_virtual_reserve(0, 9007199254740992.0 - page, &address) != 0,
        "reserving all addresses there are fails");
  check(tally() == before, "a refused reservation leaves nothing");

  const double first = reserve(0, page);
  const double second = reserve(0, 3 * page);
  check(first > 0 && second > 0 && first != second, "two reservations");
  check_equal(tally().reservations - before.reservations, 2, "are counted");
  check_status(gs.gs_virtual_release(0, second + page), invalid_value,
               "releasing the inside of a reservation");
  check_status(gs.gs_virtual_release(0, 0.5), GS_ERROR_ARGUMENT, "releasing half an address");
  check_status(gs.gs_virtual_release(1 << 20, first), GS_ERROR_DEVICE,
               "releasing on a device there is not");
  check_status(gs.gs_virtual_release(0, second), 0, "releasing one");
  check_status(gs.gs_virtual_release(0, second), invalid_value, "releasing it twice");
  check_status(gs.gs_virtual_release(0, first), 0, "releasing the other");
  check(tally() == before, "leaves nothing");
}

void check_wrong_mappings(double page) {
  const Reserved reserved(page);
  const Tally before = tally();
  check_status(map(0, reserved.base, 0, page), GS_ERROR_ARGUMENT, "mapping no bytes");
  check_status(map(0, reserved.base, page, 0), GS_ERROR_ARGUMENT, "mapping in pieces of nothing");
  check_status(map(0, reserved.base + 1, page, page), GS_ERROR_ALIGNMENT, "mapping off a page");
  check_status(map(0, reserved.base, page + 1, page), GS_ERROR_ALIGNMENT, "mapping part of a page");
  check_status(map(0, reserved.base, page, page / 2), GS_ERROR_ALIGNMENT, "mapping half pages");
  check_status(map(0, reserved.base - page, page, page), invalid_value,
               "mapping before a reservation");
  check_status(reserved.map_pages(Reserved::pages, 1, 1), invalid_value, "mapping behind it");
  check_status(reserved.map_pages(Reserved::pages - 1, 2, 1), invalid_value,
               "mapping across its end");
  check_status(map(0, 0, page, page), invalid_value, "mapping null");
  check_status(map(0, reserved.base, 9007199254740991.0, page), GS_ERROR_ARGUMENT,
               "mapping beyond all addresses");
  check_status(map(1 << 20, reserved.base, page, page), GS_ERROR_DEVICE,
               "mapping on a device there is not");
  check_status(reserved.set(reserved.base, 1), invalid_value, "touching addresses without memory");
  check_status(reserved.unmap_pages(0, 1), invalid_value, "unmapping where nothing is mapped");
  check(tally() == before, "refused mappings leave nothing");
}

// Pieces of pages 0-1, 2, 3 and 5-7; page 4 is a hole.
void map_sample(const Reserved& reserved) {
  check_status(reserved.map_pages(0, 3, 2), 0, "mapping 3 pages in pieces of 2");
  check_status(reserved.map_pages(3, 1, 1), 0, "mapping one page behind them");
  check_status(reserved.map_pages(5, 3, 100), 0, "mapping 3 pages in one piece behind a gap");
}

void check_touching(const Reserved& reserved) {
  const double page = reserved.page;
  check_status(reserved.set(reserved.base, 4 * page), 0, "setting all of adjacent mappings");
  check_equal(byte_at(0, reserved.stream, reserved.at(4) - 1), 7, "sets their last byte");
  check_status(reserved.set(reserved.at(5), 3 * page, 9), 0, "setting the others");
  set_operands(0, reserved.stream, {reserved.at(1) + 1, reserved.at(5) + 3, 3 * page - 3});
  check_status(gs.gs_copy_device(), 0, "copying across pieces");
  check_equal(byte_at(0, reserved.stream, reserved.at(1)), 7, "leaves what is before");
  check_equal(byte_at(0, reserved.stream, reserved.at(1) + 1), 9, "writes the first byte");
  check_equal(byte_at(0, reserved.stream, reserved.at(4) - 3), 9, "writes the last byte");
  check_equal(byte_at(0, reserved.stream, reserved.at(4) - 2), 7, "leaves what is behind");
  const struct {
    double address, bytes;
    const char* what;
  } refused[] = {
      {reserved.at(4) - 1, 2, "a range into the gap"},
      {reserved.at(4), 1, "the gap"},
      {reserved.at(5) - 1, 2, "a range out of the gap"},
      {reserved.at(3), 3 * page, "a range over the gap"},
      {reserved.at(8) - 1, 2, "a range past what is mapped"},
      {reserved.at(Reserved::pages) - 1, 2, "a range past the reservation"},
      {reserved.base - 1, 2, "a range from before the reservation"},
  };
  for (const auto& [address, bytes, what] : refused) {
    check_status(reserved.set(address, bytes), invalid_value, std::string("touching ") + what);
  }
}

void check_pieces(const Reserved& reserved) {
  const struct {
    double first, count;
    const char* what;
  } refused[] = {
      {0, 1, "the first half of a piece"},
      {1, 1, "the second half of a piece"},
      {1, 2, "half a piece and a whole one"},
      {2, 3, "pieces and the gap"},
      {4, 1, "the gap"},
      {4, 4, "the gap and a piece"},
      {5, 1, "the first third of a piece"},
      {6, 1, "the middle of a piece"},
      {6, 2, "the rest of a piece"},
      {5, 4, "a piece and what is behind it"},
      {0, 8, "everything with the gap"},
  };
  const Tally before = tally();
  for (const auto& [first, count, what] : refused) {
    check_status(reserved.unmap_pages(first, count), invalid_value,
                 std::string("unmapping ") + what);
  }
  check_status(reserved.map_pages(2, 3, 1), invalid_value, "mapping over a mapping and the gap");
  check_status(reserved.map_pages(6, 1, 1), invalid_value, "mapping inside a mapping");
  check_status(gs.gs_virtual_release(0, reserved.base), invalid_value, "releasing while mapped");
  check_status(free_memory(0, reserved.base), invalid_value, "freeing a mapping");
  check(tally() == before, "changes nothing");
}

void check_mapping(double page) {
  const Tally start = tally();
  {
    const Reserved reserved(page);
    map_sample(reserved);
    check_equal(tally().mapped_bytes - start.mapped_bytes, 7 * page, "mapped bytes are counted");
    check_touching(reserved);
    check_pieces(reserved);

    check_status(reserved.unmap_pages(2, 2), 0, "unmapping pieces of two calls at once");
    check_status(reserved.unmap_pages(2, 2), invalid_value, "unmapping them twice");
    check_status(reserved.set(reserved.at(2) - 1, 2), invalid_value, "touching what is gone");
    check_equal(byte_at(0, reserved.stream, reserved.at(2) - 1), 9, "the neighbours keep theirs");
    check_status(reserved.map_pages(2, 3, 3), 0, "mapping anew, and over the gap");
    check_status(reserved.set(reserved.base, 8 * page), 0, "now all of it can be set");
    check_status(reserved.unmap_pages(0, 8), 0, "unmapping all of it");
    check_equal(tally().mapped_bytes, start.mapped_bytes, "nothing is mapped any more");

    check_status(reserved.map_pages(0, Reserved::pages, 5), 0, "mapping all of the reservation");
    check_status(reserved.set(reserved.base, Reserved::pages * page), 0, "setting it");
    check_status(reserved.unmap_pages(15, 1), 0, "unmapping its last, shorter piece");
    check_status(reserved.unmap_pages(0, 15), 0, "and the others");
  }
  check(tally() == start, "leaves nothing");
}

// What this library has not mapped is not its to unmap.
void check_foreign_ranges(double page) {
  const double own = allocate(0, 4 * page);
  check_status(unmap(0, own, 4 * page), invalid_value, "unmapping an allocation");
  check_status(unmap(0, own, page), invalid_value, "unmapping part of it");
  check_status(gs.gs_virtual_release(0, own), invalid_value, "releasing an allocation");
  check_status(map(0, own, page, page), invalid_value, "mapping over an allocation");
  check_status(unmap(0, 0, page), invalid_value, "unmapping null");
  check_status(unmap(0, 16 * page, page), invalid_value, "unmapping a wild address");
  check_status(unmap(0, own, 0), GS_ERROR_ARGUMENT, "unmapping no bytes");
  check_status(unmap(0, own, 9007199254740991.0), GS_ERROR_ARGUMENT,
               "unmapping beyond all addresses");
  check_status(gs.gs_virtual_share(0, 0, own, page), invalid_value, "sharing an allocation");
  const double memory = reinterpret_cast<uintptr_t>(&failures);
  check_status(unmap(0, memory, page), invalid_value, "unmapping the program");
  check_status(free_memory(0, own), 0, "the allocation is still there");
}

// Each thread maps and unmaps where it can; what one has, no other gets.
void check_threads(double page) {
  constexpr int thread_count = 4;
  const Tally before = tally();
  const double base = reserve(0, 4 * page);
  std::atomic<int> owners{0};
  std::atomic<int> mapped{0};
  std::atomic<bool> is_wrong{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < thread_count; thread++) {
    threads.emplace_back([&] {
      gs_command_block own = {};
      gs.gs_block_register(&own, sizeof(own));
      for (int round = 0; round < 200; round++) {
        own.operand[0] = base;
        own.operand[1] = 4 * page;
        own.operand[2] = page;
        const int32_t status = gs.gs_virtual_map();
        if (status == invalid_value) continue;
        if (status != 0 || owners.fetch_add(1) != 0) is_wrong = true;
        mapped++;
        owners--;
        if (gs.gs_virtual_unmap() != 0) is_wrong = true;
      }
      gs.gs_block_release();
    });
  }
  for (std::thread& thread : threads) thread.join();
  check(!is_wrong && mapped > 0, "of threads that map the same range one succeeds at a time");
  check_status(gs.gs_virtual_release(0, base), 0, "and nothing stays mapped");
  check(tally() == before, "nor counted");
}

}  // namespace

void check_virtual_memory() {
  const double page = granularity_of(0);
  if (page == 0) {
    skip("virtual memory: the device has none");
    return;
  }
  check_granularity();
  check_reserving(page);
  check_wrong_mappings(page);
  check_mapping(page);
  check_foreign_ranges(page);
  check_threads(page);
}
