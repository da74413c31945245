// Coalesced groups of divergent code, partitions, and groups of any kind, in blocks that do not
// fill their last warp.
#include <cooperative_groups/memcpy_async.h>

#include "execution_groups.h"

namespace execution {
namespace {

// ---- coalesced groups and partitions -----------------------------------------------------------

// Both branches at the same time, and each its own lanes.
__global__ void ask_coalesced(Answers* out, unsigned pattern) {
  const unsigned lane = cg::this_thread_block().thread_rank() % 32;
  if (pattern >> lane & 1) {
    ask(cg::coalesced_threads(), out);
  } else {
    ask(cg::coalesced_threads(), out);
  }
}

__global__ void ask_partitions(Answers* out, unsigned pattern, int kind) {
  const unsigned thread = cg::this_thread_block().thread_rank();
  if ((pattern >> thread % 32 & 1) == 0) return;
  const cg::coalesced_group group = cg::coalesced_threads();
  if (kind == 0) ask(cg::tiled_partition(group, 3), out);
  if (kind == 1) ask(cg::binary_partition(group, votes(thread)), out);
  if (kind == 2) ask(cg::labeled_partition(group, label_of(thread)), out);
}

void check_coalesced(unsigned threads, unsigned pattern) {
  std::vector<Answers> out(threads);
  const Outcome outcome = run<ask_coalesced>(1, threads, 0, out.data(), pattern);
  check_groups("coalesced by " + std::to_string(pattern), outcome, out, [=](unsigned thread) {
    const auto goes_along = [=](unsigned other) {
      return (pattern >> other % 32 & 1) == (pattern >> thread % 32 & 1);
    };
    std::vector<unsigned> members = warp_members(thread, threads, goes_along);
    const auto size = static_cast<unsigned>(members.size());
    return Grouping{{std::move(members), size}, 0, 1};
  });
}

Grouping partition_of(unsigned thread, unsigned threads, unsigned pattern, int kind) {
  const auto in_group = [=](unsigned other) { return (pattern >> other % 32 & 1) != 0; };
  if (!in_group(thread)) return {};
  const std::vector<unsigned> group = warp_members(thread, threads, in_group);
  const auto rank_of = [&](unsigned other) {
    unsigned rank = 0;
    while (group[rank] != other) ++rank;
    return rank;
  };
  const auto part_of = [&](unsigned other) {
    if (kind == 0) return static_cast<int>(rank_of(other) / 3);
    return kind == 1 ? static_cast<int>(votes(other)) : label_of(other);
  };
  std::vector<int> parts;
  std::vector<unsigned> members;
  unsigned meta_rank = 0;
  for (const unsigned other : group) {
    bool is_new = true;
    for (const int part : parts) is_new = is_new && part != part_of(other);
    if (is_new && part_of(other) == part_of(thread)) meta_rank = unsigned(parts.size());
    if (is_new) parts.push_back(part_of(other));
    if (part_of(other) == part_of(thread)) members.push_back(other);
  }
  const auto size = static_cast<unsigned>(members.size());
  if (kind == 1) return {{std::move(members), size}, votes(thread), 2};
  return {{std::move(members), size}, meta_rank, static_cast<unsigned>(parts.size())};
}

void check_partitions(unsigned threads, unsigned pattern) {
  const char* const names[] = {"coalesced tiles of 3", "binary partition", "labeled partition"};
  for (int kind = 0; kind < 3; ++kind) {
    std::vector<Answers> out(threads);
    const Outcome outcome = run<ask_partitions>(1, threads, 0, out.data(), pattern, kind);
    check_groups(names[kind], outcome, out,
                 [=](unsigned thread) { return partition_of(thread, threads, pattern, kind); });
  }
}

// ---- groups of any kind ------------------------------------------------------------------------

__global__ void ask_any_group(unsigned long long* out, unsigned size) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_group tile = cg::tiled_partition(block, size);
  const cg::thread_group part = cg::tiled_partition(tile, 2);
  const cg::thread_group alone = cg::this_thread();
  const cg::thread_group whole = block;
  tile.sync();
  cg::sync(part);
  cg::sync(whole);
  unsigned long long* const own = out + 8 * (block.thread_rank() + block.size() * blockIdx.x);
  own[0] = tile.thread_rank() + 1000 * tile.size();
  own[1] = part.thread_rank() + 1000 * part.size();
  own[2] = alone.thread_rank() + 1000 * alone.size();
  own[3] = cg::thread_rank(whole) + 100000 * cg::group_size(whole);
  const cg::grid_group grid = cg::this_grid();
  own[4] = grid.thread_rank();
  own[5] = grid.size() + 1000000 * grid.num_blocks();
  own[6] = grid.block_rank() + 1000 * block.group_index().x + 1000000 * block.dim_threads().y;
  own[7] = grid.is_valid();
}

void check_any_group(dim3 block, unsigned size) {
  const unsigned threads = block.x * block.y * block.z;
  const unsigned blocks = 3;
  std::vector<unsigned long long> out(8 * blocks * threads);
  const Outcome outcome = run<ask_any_group>(blocks, block, 0, out.data(), size);
  bool right = outcome.code == cudaSuccess;
  for (unsigned global = 0; global < blocks * threads; ++global) {
    const unsigned thread = global % threads, number = global / threads;
    const unsigned lane = thread % 32, rank = lane % size;
    const unsigned in_warp = threads - (thread - lane) < 32 ? threads - (thread - lane) : 32;
    const unsigned first = lane - rank;
    const unsigned count = in_warp - first < size ? in_warp - first : size;
    const unsigned pair = count - rank / 2 * 2 < 2 ? 1 : 2;
    const unsigned long long* const own = &out[8 * global];
    right = right && own[0] == rank + 1000ull * count && own[1] == rank % 2 + 1000ull * pair &&
            own[2] == 1000 && own[3] == thread + 100000ull * threads && own[4] == global &&
            own[5] == blocks * threads + 1000000ull * blocks &&
            own[6] == number + 1000ull * number + 1000000ull * block.y && own[7] == 0;
  }
  check(right, "groups of any kind, of " + std::to_string(threads) + " threads",
        outcome.description);
}

__global__ void divide_badly(unsigned size) { cg::tiled_partition(cg::this_thread_block(), size); }

void check_bad_sizes() {
  for (const unsigned size : {0u, 3u, 64u}) {
    const Outcome outcome = run<divide_badly>(1, 32, 0, size);
    check(outcome.description.find("no power of two up to 32") != std::string::npos,
          "a block is not divided into tiles of " + std::to_string(size), outcome.description);
  }
}

// ---- copies ------------------------------------------------------------------------------------

__global__ void copy_through_shared(const unsigned char* in, unsigned char* out, unsigned bytes) {
  __shared__ __align__(16) unsigned char staged[2048];
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, staged, in, bytes);
  cg::wait(block);
  for (unsigned i = block.thread_rank(); i < bytes; i += block.size())
    out[i] = staged[bytes - 1 - i];
}

void check_copy(unsigned bytes) {
  std::vector<unsigned char> in(bytes + 1), out(bytes + 1);
  for (unsigned i = 0; i <= bytes; ++i) in[i] = static_cast<unsigned char>(i * 37 + 1);
  const Outcome outcome = run<copy_through_shared>(1, 37, 0, in.data(), out.data(), bytes);
  bool right = outcome.code == cudaSuccess && out[bytes] == 0;
  for (unsigned i = 0; i < bytes; ++i) right = right && out[i] == in[bytes - 1 - i];
  check(right, "a block copies " + std::to_string(bytes) + " bytes", outcome.description);
}

}  // namespace

void check_cooperative_groups() {
  for (const unsigned threads : {1u, 32u, 45u, 96u}) {
    for (const unsigned pattern : {0u, 0xffffffffu, 0x55555555u, 0x80000001u, 0x00ff1234u}) {
      check_coalesced(threads, pattern);
      check_partitions(threads, pattern);
    }
  }
  for (const unsigned size : {1u, 2u, 8u, 32u}) {
    check_any_group(77, size);
    check_any_group(dim3(5, 4, 2), size);
  }
  check_bad_sizes();
  for (const unsigned bytes : {0u, 1u, 15u, 16u, 17u, 601u, 2048u}) check_copy(bytes);
}

}  // namespace execution
