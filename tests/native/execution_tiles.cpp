// Tiles of every size, in blocks that do not fill their last warp.
#include "execution_groups.h"

namespace execution {
namespace {

template <unsigned Size>
__global__ void ask_tiles(Answers* out) {
  ask(cg::tiled_partition<Size>(cg::this_thread_block()), out);
}

// The same tiles, cut from larger ones, passed as a type that does not name the parent.
template <unsigned Size>
__device__ unsigned butterfly(cg::thread_block_tile<Size> tile) {
  return static_cast<unsigned>(tile.shfl_xor(static_cast<int>(tile.thread_rank()), Size / 2));
}
template <unsigned Size>
__global__ void cut_tiles(unsigned* out) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const auto tile = cg::tiled_partition<Size>(warp);
  const cg::thread_group group = tile;
  unsigned* const own = out + 4 * cg::this_thread_block().thread_rank();
  own[0] = butterfly<Size>(tile);
  own[1] = tile.meta_group_rank();
  own[2] = tile.meta_group_size();
  own[3] = static_cast<unsigned>(group.thread_rank() + 100 * group.size());
}

template <unsigned Size>
void check_tile(dim3 block) {
  const unsigned threads = block.x * block.y * block.z;
  std::vector<Answers> out(threads);
  const Outcome outcome = run<ask_tiles<Size>>(1, block, 0, out.data());
  check_groups("tiles of " + std::to_string(Size), outcome, out, [=](unsigned thread) {
    const auto same_tile = [=](unsigned other) { return other / Size == thread / Size; };
    return Grouping{{warp_members(thread, threads, same_tile), Size},
                    thread / Size,
                    (threads + Size - 1) / Size};
  });
}

template <unsigned Size>
void check_cut() {
  std::vector<unsigned> out(4 * 64);
  const Outcome outcome = run<cut_tiles<Size>>(1, 64, 0, out.data());
  bool right = outcome.code == cudaSuccess;
  for (unsigned thread = 0; thread < 64; ++thread) {
    const unsigned* const own = &out[4 * thread];
    right = right && own[0] == (thread % Size ^ Size / 2) && own[1] == thread % 32 / Size &&
            own[2] == 32 / Size && own[3] == thread % Size + 100 * Size;
  }
  check(right, "tiles of " + std::to_string(Size) + " of a tile", outcome.description);
}

template <unsigned Size>
void check_tiles() {
  for (const unsigned threads : {1u, 31u, 32u, 33u, 45u, 128u}) check_tile<Size>(threads);
  check_tile<Size>(dim3(7, 3, 5));
  check_cut<Size>();
}

// What a tile of several warps answers, and zeros for the rest.
template <class Group>
__device__ Answers answers_of(const Group& group) {
  const unsigned thread = cg::this_thread_block().thread_rank();
  const int value = value_of(thread);
  Answers got{};
  got.rank = group.thread_rank();
  got.size = group.size();
  got.meta_rank = group.meta_group_rank();
  got.meta_size = group.meta_group_size();
  got.from_first = group.shfl(Triple{value, -value, value + 1}, 0);
  got.any = group.any(votes(thread) ? 256 : 0) != 0;
  got.all = group.all(votes(thread) ? 0 : -1) != 0;
  got.sum = cg::reduce(group, value, cg::plus<int>());
  got.least = cg::reduce(group, value, cg::less<int>());
  got.greatest = cg::reduce(group, value, cg::greater<int>());
  got.bits = cg::reduce(group, value, cg::bit_xor<int>());
  got.inclusive = cg::inclusive_scan(group, value);
  got.exclusive = cg::exclusive_scan(group, value);
  got.from_leader = cg::invoke_one_broadcast(group, [=] { return value + 5; });
  return got;
}

// Tiles do different numbers of rounds, so none may wait for another.
template <unsigned Size>
__global__ void ask_large_tiles(Answers* out) {
  __shared__ cg::block_tile_memory<1024> memory;
  const cg::thread_block block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<Size>(block);
  const unsigned thread = blockIdx.x * block.size() + block.thread_rank();
  for (unsigned round = 0; round <= tile.meta_group_rank(); ++round) {
    out[thread] = answers_of(tile);
    out[thread].product = tile.shfl(static_cast<int>(round), Size / 64);
  }
  const auto half = cg::tiled_partition<Size / 2>(tile);
  out[thread].from_next = static_cast<int>(half.meta_group_rank() * 100 + half.meta_group_size());
  out[thread].from_before = cg::reduce(half, 1, cg::plus<int>());
}

template <unsigned Size>
void check_large_tile(unsigned threads) {
  std::vector<Answers> out(3 * threads);
  const Outcome outcome = run<ask_large_tiles<Size>>(3, threads, 0, out.data());
  std::string wrong = outcome.description;
  for (unsigned index = 0; index < out.size() && wrong.empty(); ++index) {
    const unsigned thread = index % threads;
    const auto to = [=](unsigned end) { return end < threads ? end : threads; };
    const unsigned first = thread / Size * Size;
    std::vector<unsigned> members;
    for (unsigned other = first; other < to(first + Size); ++other) members.push_back(other);
    const unsigned tiles = (threads + Size - 1) / Size;
    Answers expected = expect({members, Size}, thread - first, thread / Size, tiles);
    expected.from_after = expected.all_equal = 0;
    expected.ballot = expected.match_any = expected.match_all = expected.match_all_of_equal = 0;
    expected.product = static_cast<int>(thread / Size);
    const unsigned half = thread / (Size / 2) * (Size / 2);
    expected.from_next = static_cast<int>(thread % Size / (Size / 2) * 100 + 2);
    expected.from_before = static_cast<int>(to(half + Size / 2) - half);
    wrong = difference(out[index], expected);
    if (!wrong.empty()) wrong = "thread " + std::to_string(thread) + ": " + wrong;
  }
  check(wrong.empty(),
        "tiles of " + std::to_string(Size) + ", " + std::to_string(threads) + " threads", wrong);
}

template <unsigned Size>
void check_large_tiles() {
  for (const unsigned threads : {Size, 1024u, 640u, 1000u}) check_large_tile<Size>(threads);
}

// All tiles but one of a warp wait, each in a collective of its own.
__global__ void wait_in_all_tiles(unsigned* out) {
  const auto tile = cg::tiled_partition<1>(cg::this_thread_block());
  const auto pair = cg::tiled_partition<2>(cg::this_thread_block());
  if (threadIdx.x % 2 == 1) __nanosleep(1);
  pair.sync();
  tile.sync();
  out[threadIdx.x] = pair.shfl(threadIdx.x, 1);
}

void check_many_tiles() {
  std::vector<unsigned> out(32);
  const Outcome outcome = run<wait_in_all_tiles>(1, 32, 0, out.data());
  bool right = outcome.code == cudaSuccess;
  for (unsigned lane = 0; lane < 32; ++lane) right = right && out[lane] == (lane | 1);
  check(right, "sixteen tiles of a warp wait at once", outcome.description);
}

// A thread writes between its arrival and its wait, after which all others have written.
template <class Group>
__device__ unsigned count_between(const Group& group, unsigned* written) {
  auto token = group.barrier_arrive();
  written[threadIdx.x] = 1;
  group.barrier_wait(std::move(token));
  unsigned count = 0;
  for (unsigned thread = 0; thread < 64; ++thread) count += written[thread];
  return count;
}
__global__ void wait_in_halves(unsigned* out) {
  __shared__ unsigned written[2][64];
  written[0][threadIdx.x] = written[1][threadIdx.x] = 0;
  const cg::thread_block block = cg::this_thread_block();
  block.sync();
  out[threadIdx.x] = count_between(block, written[0]);
  const auto tile = cg::tiled_partition<64>(block);
  out[64 + threadIdx.x] = count_between(tile, written[1]);
  // Not the first of its warp.
  if (threadIdx.x == 40) return;
  tile.sync();
  out[128 + threadIdx.x] = 64;
}

void check_waiting_in_halves() {
  std::vector<unsigned> out(3 * 64), expected(3 * 64, 64);
  expected[128 + 40] = 0;
  const Outcome outcome = run<wait_in_halves>(1, 64, 0, out.data());
  check(outcome.code == cudaSuccess && out == expected,
        "a group's barrier waits in barrier_wait(), and a tile for the threads that are left",
        outcome.description);
}

}  // namespace

void check_tiles() {
  check_tiles<1>();
  check_tiles<2>();
  check_tiles<4>();
  check_tiles<8>();
  check_tiles<16>();
  check_tiles<32>();
  check_large_tiles<64>();
  check_large_tiles<128>();
  check_large_tiles<256>();
  check_large_tiles<512>();
  check_many_tiles();
  check_waiting_in_halves();
}

}  // namespace execution
