// How long a block of a launch takes: a table of the launches seen last, without locks.
#include "host/execution/block_times.h"

#include <algorithm>
#include <atomic>

namespace gridstride::host {
namespace {

// A launch is found by a hash: the lower half says where, the upper half is kept beside the time.
constexpr uint32_t entries = 4096;
std::atomic<uint64_t> table[entries];

uint64_t mix(uint64_t hash, uint64_t value) {
  // The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
  uint64_t x = (hash ^ value) + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t hash_of(const LaunchContext& launch) {
  uint64_t hash = reinterpret_cast<uintptr_t>(launch.kernel);
  hash = mix(hash, uint64_t{launch.grid.x} << 32 | launch.grid.y);
  hash = mix(hash, uint64_t{launch.grid.z} << 32 | launch.block.x);
  return mix(hash, uint64_t{launch.block.y} << 32 | launch.block.z);
}

std::atomic<uint64_t>& entry_of(uint64_t hash) { return table[hash % entries]; }

// An entry of zero is an empty one: times are stored plus one.
uint32_t time_in(uint64_t entry, uint64_t hash) {
  const bool is_of_launch = static_cast<uint32_t>(entry) != 0 && entry >> 32 == hash >> 32;
  return is_of_launch ? static_cast<uint32_t>(entry) - 1 : BlockTimes::unknown;
}

}  // namespace

BlockTimes& BlockTimes::instance() {
  static BlockTimes times;
  return times;
}

uint32_t BlockTimes::recall(const LaunchContext& launch) const {
  const uint64_t hash = hash_of(launch);
  return time_in(entry_of(hash).load(std::memory_order_relaxed), hash);
}

void BlockTimes::note(const LaunchContext& launch, uint64_t nanoseconds) {
  const uint64_t hash = hash_of(launch);
  std::atomic<uint64_t>& entry = entry_of(hash);
  const uint32_t known = time_in(entry.load(std::memory_order_relaxed), hash);
  const uint64_t halfway = known == unknown ? 0 : (known + nanoseconds) / 2;
  const uint64_t time = std::min<uint64_t>(std::max(nanoseconds, halfway), unknown - 2);
  entry.store(hash >> 32 << 32 | (time + 1), std::memory_order_relaxed);
}

}  // namespace gridstride::host
