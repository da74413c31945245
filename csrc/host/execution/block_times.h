// How long a block of a launch takes, learnt from the launches before it.
#ifndef GRIDSTRIDE_HOST_BLOCK_TIMES_H
#define GRIDSTRIDE_HOST_BLOCK_TIMES_H

#include <cstdint>

#include "host/execution/block_runner.h"

namespace gridstride::host {

// What is remembered of launches of one kernel with one grid and block. Only a hint: arguments may
// change what a block does, and what is remembered may have been overwritten by other launches.
class BlockTimes {
 public:
  static BlockTimes& instance();

  // Nanoseconds; `unknown` when no such launch has been seen.
  static constexpr uint32_t unknown = UINT32_MAX;
  uint32_t recall(const LaunchContext& launch) const;

  // A longer time is believed at once and a shorter one by half: to take a long launch for a short
  // one costs the help of other workers, and to take a short one for a long one a needless waking.
  void note(const LaunchContext& launch, uint64_t nanoseconds);
};

}  // namespace gridstride::host

#endif
