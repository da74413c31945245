// The shim's tables by themselves: handles, with more of them and other failures than a library can
// show, and mappings with declared blocks, against a slow and obvious model.
//
//   c++ -std=c++17 -Icsrc -Icsrc/host/include tests/native/tables_test.cpp
//       -x c++ csrc/shim/memory/memory_tables.cu csrc/shim/guard.cu -pthread
//
// Prints one line per check and exits with 1 when one failed.
#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "shim/handle_table.h"
#include "shim/memory/memory_tables.h"

namespace {

using gridstride::BlockAt;
using gridstride::Failure;
using gridstride::HandleTable;
using gridstride::MappingTable;
using gridstride::Membership;
using gridstride::MemoryRange;

int failed = 0;

void check(bool holds, const std::string& what) {
  std::printf("%s %s\n", holds ? "ok  " : "FAIL", what.c_str());
  failed += holds ? 0 : 1;
}

// ---- handles -----------------------------------------------------------------------------------

constexpr int32_t failure_to_end = 999;

struct Counted {
  int value = 0;
  bool fails_to_end = false;

  void end() {
    if (fails_to_end) throw Failure{failure_to_end, 0, gridstride::no_device};
    ended++;
  }

  static int ended;
};
int Counted::ended = 0;

using Table = HandleTable<Counted>;

int32_t make(Table& table, int value = 0) {
  Table::Reservation made = table.reserve();
  made->value = value;
  return made.publish();
}

template <class Body>
int32_t status_of(const Body& body) {
  try {
    body();
    return 0;
  } catch (const Failure& failure) {
    return failure.status;
  }
}

// 2^20 slots, then none.
void check_capacity() {
  static Table table;
  std::set<int32_t> handles;
  constexpr int slots = 1 << 20;
  for (int index = 0; index < slots; index++) handles.insert(handles.end(), make(table, index));
  check(handles.size() == slots && table.live() == slots, "a table holds 2^20 handles");
  check(*handles.begin() > 0, "all are positive");
  check(status_of([] { make(table); }) == GS_ERROR_CAPACITY, "one more -> GS_ERROR_CAPACITY");
  const int32_t last = *handles.rbegin();
  check(table.use(last)->value == slots - 1, "the last handle names the last resource");
  table.destroy(last);
  check(make(table) > 0, "there is room again when one is gone");
}

// All generations of one slot, then another slot.
void check_retirement() {
  static Table table;
  constexpr int32_t index_mask = (1 << 20) - 1;
  std::set<int32_t> handles;
  std::set<int32_t> slots;
  for (int round = 0; round < 2047 + 1; round++) {
    const int32_t handle = make(table);
    handles.insert(handle);
    slots.insert(handle & index_mask);
    table.destroy(handle);
  }
  check(handles.size() == 2048 && slots.size() == 2, "a slot is retired after 2047 handles");
  bool all_stale = true;
  for (const int32_t handle : handles) {
    all_stale = all_stale && status_of([&] { table.use(handle); }) == GS_ERROR_HANDLE;
  }
  check(all_stale, "none of its handles is valid any more");
}

void check_abandoned_reservation() {
  static Table table;
  const int32_t first = make(table);
  {
    const Table::Reservation abandoned = table.reserve();
  }
  check(table.live() == 1, "an abandoned reservation is no resource");
  const int32_t second = make(table);
  check((second & 0xFFFFF) == (first & 0xFFFFF) + 1, "and its slot is used again");
}

void check_deferred_end() {
  static Table table;
  const int32_t handle = make(table, 7);
  const int ended_before = Counted::ended;
  {
    const Table::Use use = table.use(handle);
    const Table::Use other = table.use(handle);
    table.destroy(handle);
    check(status_of([&] { table.use(handle); }) == GS_ERROR_HANDLE, "a destroyed handle is gone");
    check(use->value == 7 && other->value == 7 && Counted::ended == ended_before,
          "but its users still have the resource");
  }
  check(Counted::ended == ended_before + 1 && table.live() == 0, "which the last of them ends");
}

void check_failure_to_end() {
  static Table table;
  const int32_t handle = make(table);
  table.use(handle)->fails_to_end = true;
  check(status_of([&] { table.destroy(handle); }) == failure_to_end, "a failure to end is told");
  check(status_of([&] { table.destroy_after_users(handle); }) == failure_to_end,
        "also after waiting for users");
  check(status_of([&] { table.use(handle); }) == 0 && table.live() == 1,
        "and the handle stays valid");
  {
    const Table::Use use = table.use(handle);
    table.destroy(handle);
  }
  check(table.live() == 1 && gridstride::thread_state.last_failure.status == failure_to_end,
        "a failure of the last user is remembered, and the resource stays counted");
  check(make(table) != handle, "its slot is not given to another");
}

void check_end_after_users() {
  static Table table;
  const int32_t handle = make(table);
  std::atomic<int> users{4};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; thread++) {
    threads.emplace_back([&] {
      while (status_of([&] {
               const Table::Use use = table.use(handle);
               if (use->value != 0) users = -100;
             }) == 0) {
      }
      users--;
    });
  }
  const int ended_before = Counted::ended;
  table.destroy_after_users(handle);
  check(Counted::ended == ended_before + 1 && table.live() == 0, "a resource ends after its users");
  for (std::thread& thread : threads) thread.join();
  check(users == 0, "and they find its handle gone");
}

// ---- mappings ----------------------------------------------------------------------------------

constexpr uint64_t page = 16;
constexpr uint64_t pages = 12;
// The reservations of two devices lie side by side, which a range must not cross.
constexpr uint64_t bases[2] = {1600, 1600 + pages* page};

template <class Body>
bool succeeds(const Body& body) {
  try {
    body();
    return true;
  } catch (const Failure&) {
    return false;
  }
}

// One reservation, byte by byte: which piece each belongs to, 0 for none.
struct Model {
  uint64_t base = 0;
  std::vector<int> piece = std::vector<int>(pages * page, 0);
  std::vector<MemoryRange> live;
  bool is_divided = false;
  int last_piece = 0;

  bool contains(const MemoryRange& range) const {
    return range.address >= base && range.end() <= base + piece.size();
  }
  int& at(uint64_t address) { return piece[address - base]; }
  int around(uint64_t address) {
    return address < base || address >= base + piece.size() ? 0 : at(address);
  }
  bool is_aligned(const MemoryRange& range) const {
    return (range.address - base) % page == 0 && range.bytes % page == 0;
  }
  bool has_memory(const MemoryRange& range) {
    if (!contains(range)) return false;
    for (uint64_t byte = range.address; byte < range.end(); byte++) {
      if (at(byte) == 0) return false;
    }
    return true;
  }
  bool is_empty(const MemoryRange& range) {
    if (!contains(range)) return false;
    for (uint64_t byte = range.address; byte < range.end(); byte++) {
      if (at(byte) != 0) return false;
    }
    return true;
  }
  bool is_pieces(const MemoryRange& range) {
    return has_memory(range) && around(range.address - 1) != at(range.address) &&
           around(range.end()) != at(range.end() - 1);
  }
  void map(const MemoryRange& range, uint64_t piece_bytes) {
    for (uint64_t offset = 0; offset < range.bytes; offset++) {
      if (offset % piece_bytes == 0) last_piece++;
      at(range.address + offset) = last_piece;
    }
  }
  void unmap(const MemoryRange& range) {
    std::fill_n(&at(range.address), range.bytes, 0);
    const auto is_gone = [&](const MemoryRange& block) { return block.overlaps(range); };
    live.erase(std::remove_if(live.begin(), live.end(), is_gone), live.end());
    if (is_empty(MemoryRange{base, piece.size()})) is_divided = false;
  }
  bool may_touch(const MemoryRange& range) {
    if (!has_memory(range)) return false;
    const auto holds = [&](const MemoryRange& block) { return block.contains(range); };
    return !is_divided || std::any_of(live.begin(), live.end(), holds);
  }
  bool declare(const MemoryRange& block, bool is_live) {
    if (!has_memory(block)) return false;
    const auto position = std::find_if(live.begin(), live.end(), [&](const MemoryRange& other) {
      return is_live ? other.overlaps(block)
                     : other.address == block.address && other.bytes == block.bytes;
    });
    if (is_live != (position == live.end())) return false;
    if (is_live) {
      live.push_back(block);
      is_divided = true;
    } else {
      live.erase(position);
    }
    return true;
  }
};

class Campaign {
 public:
  Campaign() {
    for (int device = 0; device < 2; device++) {
      models_[device].base = bases[device];
      reserve(device);
    }
  }

  void step() {
    const int device = below(2);
    switch (below(8)) {
      case 0:
      case 1: return map(device);
      case 2:
      case 3: return unmap(device);
      case 4: return declare(device);
      case 5: return release(device);
      default: return touch(device);
    }
  }

  int disagreements = 0;
  int done[4] = {};  // maps, unmaps, declarations, releases that succeeded

 private:
  uint64_t below(uint64_t limit) { return random_() % limit; }

  // Seldom where nothing can succeed: across the border, before, behind, off the pages.
  MemoryRange range_of_pages(int device) {
    const uint64_t first = below(pages + 1);
    const uint64_t count = 1 + below(5);
    MemoryRange range{bases[device] + first * page, count * page};
    if (below(12) == 0) range.address -= 1 + below(page);
    if (below(12) == 0) range.bytes += 1;
    return range;
  }
  MemoryRange range_of_bytes(int device) {
    return MemoryRange{bases[device] - 4 + below(pages * page + 8), 1 + below(3 * page)};
  }

  void agree(bool actual, bool expected) { disagreements += actual != expected ? 1 : 0; }

  void reserve(int device) {
    table_.insert(MappingTable::prepare(pages * page, page, device), bases[device]);
  }

  void map(int device) {
    const MemoryRange range = range_of_pages(device);
    const uint64_t piece_bytes = below(12) == 0 ? page / 2 : (1 + below(4)) * page;
    Model& model = models_[device];
    const bool expected =
        model.is_empty(range) && model.is_aligned(range) && piece_bytes % page == 0;
    const bool claimed = succeeds([&] { table_.claim_empty(range, piece_bytes, device); });
    agree(claimed, expected);
    if (!claimed || !expected) return;
    // Claimed pages are no memory, and no room.
    agree(table_.find(range, device) == Membership::inside, false);
    agree(succeeds([&] { table_.claim_empty(range, page, device); }), false);
    agree(succeeds([&] { table_.take(bases[device], device); }), false);
    const uint64_t mapped =
        below(4) == 0 ? below(range.bytes / piece_bytes + 1) * piece_bytes : range.bytes;
    table_.settle_mapped(range, mapped);
    if (mapped > 0) model.map(MemoryRange{range.address, mapped}, piece_bytes);
    done[0]++;
  }

  void unmap(int device) {
    MemoryRange range = range_of_pages(device);
    Model& model = models_[device];
    while (below(3) != 0 && model.contains(range) && !model.is_pieces(range)) {
      range = range_of_pages(device);
    }
    const bool expected = model.is_pieces(range) && model.is_aligned(range);
    agree(succeeds([&] { table_.require_pieces(range, device); }), expected);
    const bool claimed = succeeds([&] { table_.claim_pieces(range, device); });
    agree(claimed, expected);
    if (!claimed || !expected) return;
    agree(table_.find(range, device) == Membership::inside, false);
    agree(succeeds([&] { table_.claim_pieces(range, device); }), false);
    agree(succeeds([&] { table_.claim_empty(range, page, device); }), false);
    // Sometimes only some of the last pieces go, or none.
    uint64_t kept_bytes = 0;
    if (below(4) == 0) {
      kept_bytes = range.bytes;
      for (uint64_t gone = below(3); gone > 0 && kept_bytes > 0; gone--) {
        const MemoryRange rest{range.address, kept_bytes};
        const MemoryRange last = table_.last_piece(rest);
        agree(last.end() == rest.end() && rest.contains(last) && model.is_pieces(last) &&
                  model.at(last.address) == model.at(last.end() - 1),
              true);
        kept_bytes -= last.bytes;
      }
    }
    table_.settle_unmapped(range, kept_bytes);
    const MemoryRange gone{range.address + kept_bytes, range.bytes - kept_bytes};
    if (gone.bytes > 0) model.unmap(gone);
    done[1]++;
  }

  void declare(int device) {
    Model& model = models_[device];
    const bool is_live = below(2) == 0;
    const bool known = !is_live && !model.live.empty();
    const MemoryRange block = known ? model.live[below(model.live.size())] : range_of_bytes(device);
    bool declared = false;
    const bool decided =
        succeeds([&] { declared = table_.declare(block, device, is_live) == Membership::inside; });
    const bool expected = model.declare(block, is_live);
    agree(decided && declared, expected);
    done[2] += expected ? 1 : 0;
  }

  // Piece by piece.
  void unmap_all(int device) {
    Model& model = models_[device];
    for (uint64_t first = 0; first < pages * page; first += page) {
      if (model.piece[first] == 0) continue;
      const uint64_t bytes = std::count(model.piece.begin(), model.piece.end(), model.piece[first]);
      const MemoryRange range{model.base + first, bytes};
      agree(succeeds([&] { table_.claim_pieces(range, device); }), true);
      table_.settle_unmapped(range, 0);
      model.unmap(range);
    }
  }

  void release(int device) {
    if (below(16) == 0) unmap_all(device);
    const uint64_t address = bases[device] + (below(4) == 0 ? page : 0);
    Model& model = models_[device];
    const bool expected =
        address == model.base && model.is_empty(MemoryRange{model.base, pages * page});
    agree(succeeds([&] { table_.take(address, 1 - device); }), false);
    const bool taken = succeeds([&] { table_.take(address, device); });
    agree(taken, expected);
    if (!taken) return;
    agree(table_.find(MemoryRange{model.base, 1}, device) == Membership::outside, true);
    reserve(device);
    done[3]++;
  }

  void touch(int device) {
    const MemoryRange range = range_of_bytes(device);
    Model& model = models_[device];
    agree(table_.find(range, device) == Membership::inside, model.may_touch(range));
    agree(table_.find(range, 1 - device) == Membership::inside,
          models_[1 - device].may_touch(range));
    MemoryRange block;
    const BlockAt at = table_.find_block(range.address, block);
    const MemoryRange byte{range.address, 1};
    Model& holder = models_[range.address < bases[1] ? 0 : 1];
    const BlockAt expected = !holder.has_memory(byte) ? BlockAt::unknown
                             : !holder.is_divided     ? BlockAt::undivided
                             : holder.may_touch(byte) ? BlockAt::live
                                                      : BlockAt::dead;
    agree(at == expected && (at != BlockAt::live || block.contains(byte)), true);
    uint64_t mapped = 0;
    for (Model& each : models_) {
      mapped += each.piece.size() - std::count(each.piece.begin(), each.piece.end(), 0);
    }
    agree(table_.totals().mapped_bytes == mapped && table_.totals().reservations == 2, true);
  }

  MappingTable table_;
  Model models_[2];
  std::mt19937 random_{20240229};
};

}  // namespace

int main() {
  check_capacity();
  check_retirement();
  check_abandoned_reservation();
  check_deferred_end();
  check_failure_to_end();
  check_end_after_users();
  Campaign campaign;
  for (int step = 0; step < 200'000; step++) campaign.step();
  check(campaign.disagreements == 0, "the table and the model agree: " +
                                         std::to_string(campaign.disagreements) + " differences");
  check(*std::min_element(campaign.done, campaign.done + 4) > 1000,
        "maps, unmaps, declarations and releases that succeeded: " +
            std::to_string(campaign.done[0]) + ", " + std::to_string(campaign.done[1]) + ", " +
            std::to_string(campaign.done[2]) + ", " + std::to_string(campaign.done[3]));
  std::printf("%d failed\n", failed);
  return failed == 0 ? 0 : 1;
}
