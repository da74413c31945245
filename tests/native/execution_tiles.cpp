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

}  // namespace

void check_tiles() {
  check_tiles<1>();
  check_tiles<2>();
  check_tiles<4>();
  check_tiles<8>();
  check_tiles<16>();
  check_tiles<32>();
  check_many_tiles();
}

}  // namespace execution
