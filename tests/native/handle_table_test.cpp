// The handle table by itself: what takes too many handles, or a failure at the wrong moment, to
// show through the library.
//
//   c++ -std=c++17 -Icsrc tests/native/handle_table_test.cpp -x c++ csrc/shim/guard.cu -pthread
//
// Prints one line per check and exits with 1 when one failed.
#include "shim/handle_table.h"

#include <cstdio>
#include <set>
#include <vector>

namespace {

using gridstride::Failure;
using gridstride::HandleTable;

int failed = 0;

void check(bool holds, const char* what) {
  std::printf("%s %s\n", holds ? "ok  " : "FAIL", what);
  failed += holds ? 0 : 1;
}

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

}  // namespace

int main() {
  check_capacity();
  check_retirement();
  check_abandoned_reservation();
  check_deferred_end();
  check_failure_to_end();
  check_end_after_users();
  std::printf("%d failed\n", failed);
  return failed == 0 ? 0 : 1;
}
