// Tables of generation-checked handles. JavaScript names a native resource by a number that may be
// stale, forged or used on two threads at once: such a number is an error, not a crash.
//
// A handle is 11 bits of generation (1 to 2047) above 20 bits of index: a positive int32. A slot
// with no generations left is retired: no handle is ever issued twice.
//
// A call holds its resource through a Use. Looking one up takes no lock. A resource destroyed
// during a Use is gone for all other calls at once; the last Use ends it.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "shim/guard.h"

namespace gridstride {

// Resource is default-constructible, trivially destructible and has `void end()`, which releases
// the native resource and throws if that fails. A table is constant-initialised and never
// destroyed: calls may still be running when the process exits.
template <class Resource>
class HandleTable {
  struct Slot;

 public:
  // No handle is less.
  static constexpr int32_t min_handle = int32_t{1} << 20;

  // A call's hold on a resource.
  class Use {
   public:
    explicit Use(Slot* slot, HandleTable* table) : slot_(slot), table_(table) {}
    Use(Use&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)), table_(other.table_) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      if (slot_ != nullptr) table_->leave(*slot_);
    }

    Resource* operator->() const { return &slot_->resource; }

   private:
    Slot* slot_;
    HandleTable* table_;
  };

  // A slot taken before the resource is made: nothing can fail once the resource exists.
  class Reservation {
   public:
    Reservation(HandleTable* table, uint32_t index) : table_(table), index_(index) {
      new (&table_->slot(index_).resource) Resource();
    }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation() {
      if (!published_) table_->give_back(index_);
    }

    Resource* operator->() const { return &table_->slot(index_).resource; }

    // From here on the handle is valid.
    int32_t publish() {
      published_ = true;
      return table_->publish(index_);
    }

   private:
    HandleTable* table_;
    uint32_t index_;
    bool published_ = false;
  };

  Reservation reserve() { return Reservation(this, take_slot()); }

  Use use(int32_t handle) {
    Slot& slot = slot_of(handle);
    uint64_t state = slot.state.load(std::memory_order_acquire);
    do {
      require(is_open_as(state, handle), GS_ERROR_HANDLE);
    } while (!slot.state.compare_exchange_weak(state, state + 1, std::memory_order_acquire));
    return Use(&slot, this);
  }

  // Ends the resource, or leaves that to its last user. Without users a failure reaches the caller
  // and the handle stays valid, unless a lost device has taken the resource.
  void destroy(int32_t handle) {
    Slot& slot = slot_of(handle);
    if (users_of(close(slot, handle, 0)) == 0) end_or_reopen(slot);
  }

  // Waits until the last user has left, then ends the resource. For resources with users that do
  // not wait for this thread.
  void destroy_after_users(int32_t handle) {
    Slot& slot = slot_of(handle);
    // Counting itself as a user keeps every other from being the last.
    close(slot, handle, 1);
    for (int turn = 0; users_of(slot.state.load(std::memory_order_acquire)) != 1; turn++) {
      await_user(turn);
    }
    end_or_reopen(slot);
  }

  // The resources of an isolate that has ended, and so makes no more.
  std::vector<int32_t> handles_of(int32_t isolate) {
    uint32_t count = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      count = slots_made_;
    }
    std::vector<int32_t> found;
    for (uint32_t index = 0; index < count; index++) {
      Slot& each = slot(index);
      const uint64_t state = each.state.load(std::memory_order_acquire);
      if ((state & open) == 0 || each.isolate.load(std::memory_order_relaxed) != isolate) continue;
      found.push_back(static_cast<int32_t>(generation_of(state) << index_bits | index));
    }
    return found;
  }

  // Resources that exist: handles given and not yet ended.
  int64_t live() const { return live_.load(std::memory_order_relaxed); }

 private:
  static_assert(std::is_trivially_destructible_v<Resource>, "slots are reused, not destroyed");

  static constexpr int index_bits = 20;
  static_assert(min_handle == 1 << index_bits, "generations begin at 1");
  static constexpr uint32_t slot_limit = uint32_t{1} << index_bits;
  static constexpr uint64_t last_generation = 2047;
  static constexpr uint32_t slots_per_chunk = 1024;
  static constexpr uint32_t no_slot = UINT32_MAX;

  // The state of a slot: its generation above one bit "open" above the number of its users.
  static constexpr int open_bit = 32;
  static constexpr uint64_t open = uint64_t{1} << open_bit;

  struct Slot {
    std::atomic<uint64_t> state{0};
    uint32_t index = 0;
    uint32_t next_free = no_slot;
    std::atomic<int32_t> isolate{0};  // the owner
    Resource resource;
  };

  struct Chunk {
    Slot slots[slots_per_chunk];
  };

  static uint64_t generation_of(uint64_t state) { return state >> (open_bit + 1); }
  static uint32_t users_of(uint64_t state) { return static_cast<uint32_t>(state); }
  static uint64_t state_of(uint64_t generation) { return generation << (open_bit + 1); }

  static bool is_open_as(uint64_t state, int32_t handle) {
    const uint64_t generation = static_cast<uint32_t>(handle) >> index_bits;
    return (state >> open_bit) == (generation << 1 | 1);
  }

  Slot& slot(uint32_t index) {
    return chunks_[index / slots_per_chunk]
        .load(std::memory_order_acquire)
        ->slots[index % slots_per_chunk];
  }

  Slot& slot_of(int32_t handle) {
    require(handle > 0, GS_ERROR_HANDLE);
    const uint32_t index = static_cast<uint32_t>(handle) & (slot_limit - 1);
    Chunk* chunk = chunks_[index / slots_per_chunk].load(std::memory_order_acquire);
    require(chunk != nullptr, GS_ERROR_HANDLE);
    return chunk->slots[index % slots_per_chunk];
  }

  uint32_t take_slot() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (first_free_ != no_slot) {
      const uint32_t index = first_free_;
      first_free_ = slot(index).next_free;
      return index;
    }
    require(slots_made_ < slot_limit, GS_ERROR_CAPACITY);
    if (slots_made_ % slots_per_chunk == 0) {
      chunks_[slots_made_ / slots_per_chunk].store(new Chunk, std::memory_order_release);
    }
    slot(slots_made_).index = slots_made_;
    return slots_made_++;
  }

  void give_back(uint32_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    slot(index).next_free = first_free_;
    first_free_ = index;
  }

  int32_t publish(uint32_t index) {
    Slot& slot = this->slot(index);
    const uint64_t generation = generation_of(slot.state.load(std::memory_order_relaxed)) + 1;
    live_.fetch_add(1, std::memory_order_relaxed);
    slot.isolate.store(thread_state.isolate, std::memory_order_relaxed);
    slot.state.store(state_of(generation) | open, std::memory_order_release);
    return static_cast<int32_t>(generation << index_bits | index);
  }

  // Closes the slot to new users and returns its state.
  uint64_t close(Slot& slot, int32_t handle, uint64_t users_added) {
    uint64_t state = slot.state.load(std::memory_order_acquire);
    uint64_t closed = 0;
    do {
      require(is_open_as(state, handle), GS_ERROR_HANDLE);
      closed = (state & ~open) + users_added;
    } while (!slot.state.compare_exchange_weak(state, closed, std::memory_order_acq_rel));
    return closed;
  }

  void leave(Slot& slot) noexcept {
    const uint64_t state = slot.state.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if (users_of(state) != 0 || (state & open) != 0) return;
    try {
      slot.resource.end();
      vacate(slot);
    } catch (...) {
      // The destroying call has long returned. This thread remembers the failure, and the slot
      // stays taken: the tally goes on counting the resource.
      if (tells_loss(remember_exception())) vacate(slot);
    }
  }

  // Most users leave within a microsecond; one that reads a file may take a second.
  static void await_user(int turn) {
    if (turn < 1000) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  void end_or_reopen(Slot& slot) {
    try {
      slot.resource.end();
    } catch (...) {
      if (exception_tells_loss()) {
        vacate(slot);
      } else {
        const uint64_t generation = generation_of(slot.state.load(std::memory_order_relaxed));
        slot.state.store(state_of(generation) | open, std::memory_order_release);
      }
      throw;
    }
    vacate(slot);
  }

  void vacate(Slot& slot) {
    live_.fetch_sub(1, std::memory_order_relaxed);
    const uint64_t generation = generation_of(slot.state.load(std::memory_order_relaxed));
    slot.state.store(state_of(generation), std::memory_order_release);
    if (generation < last_generation) give_back(slot.index);
  }

  std::atomic<Chunk*> chunks_[slot_limit / slots_per_chunk] = {};
  std::mutex mutex_;  // guards the two below, and next_free of every slot
  uint32_t first_free_ = no_slot;
  uint32_t slots_made_ = 0;
  std::atomic<int64_t> live_{0};
};

}  // namespace gridstride
