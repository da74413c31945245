// Where the blocks of a cooperative launch wait for one another.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace gridstride::host {

struct BlockState;

// Each block is an OS thread here: all its threads wait, and block nothing else.
class CooperativeGrid {
 public:
  explicit CooperativeGrid(uint64_t blocks);

  enum class Result {
    passed,
    cancelled,
    // A block that all others wait for has ended.
    deadlocked,
  };
  struct Meeting {
    Result result;
    uint64_t waiting;
    uint64_t ended;
  };

  // Waits for the other blocks.
  Meeting arrive();

  // The calling block has ended, in whichever way.
  void leave();

  // Lets those that wait go, and all that will arrive.
  void cancel();

 private:
  Meeting meeting(Result result) const { return {result, arrived_, ended_}; }
  bool is_deadlocked() const { return arrived_ != 0 && arrived_ + ended_ >= blocks_; }
  void poll(uint64_t passed) const;

  const uint64_t blocks_;
  const bool has_processors_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t arrived_ = 0;
  uint64_t ended_ = 0;
  bool cancelled_ = false;
  // How often all have met; read without the lock by those that poll.
  std::atomic<uint64_t> passed_{0};
};

// Waits with the whole block, when its living threads have all arrived at a barrier. Does not
// return when the wait cannot end: the block ends then, with a fault if it is its own.
void pass_grid_barrier(BlockState& block);

}  // namespace gridstride::host
