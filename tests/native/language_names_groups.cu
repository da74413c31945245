// Every name of cooperative groups, and of DPX, used once, with its result type: see
// language_names.cu.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_runtime.h>

#include <type_traits>

#define RETURNS(type, ...)                                                                    \
  static_assert(std::is_same<decltype(__VA_ARGS__), type>::value, #__VA_ARGS__ " is " #type); \
  (void)(__VA_ARGS__)

namespace cg = cooperative_groups;

using uint32 = unsigned int;
using uint64 = unsigned long long;

struct Pair {
  double first, second;
};

template <class Group>
__device__ void lane_group_names(const Group& group, int& flag) {
  RETURNS(uint32, group.thread_rank());
  RETURNS(uint32, group.num_threads());
  RETURNS(uint32, group.size());
  RETURNS(uint32, group.meta_group_rank());
  RETURNS(uint32, group.meta_group_size());
  RETURNS(void, group.sync());
  RETURNS(float, group.shfl(1.0f, 0));
  RETURNS(Pair, group.shfl(Pair{1, 2}, 0));
  RETURNS(double, group.shfl_up(1.0, 1));
  RETURNS(int, group.shfl_down(1, 1u));
  RETURNS(int, group.any(1));
  RETURNS(int, group.all(1));
  RETURNS(uint32, group.ballot(1));
  RETURNS(uint32, group.match_any(1));
  RETURNS(uint32, group.match_all(1ll, flag));
  RETURNS(int, cg::reduce(group, 1, cg::plus<int>()));
  RETURNS(float, cg::reduce(group, 1.0f, cg::less<float>()));
  RETURNS(float, cg::reduce(group, 1.0f, cg::greater<float>()));
  RETURNS(uint32, cg::reduce(group, 1u, cg::bit_and<uint32>()));
  RETURNS(uint32, cg::reduce(group, 1u, cg::bit_or<uint32>()));
  RETURNS(uint32, cg::reduce(group, 1u, cg::bit_xor<uint32>()));
  RETURNS(int, cg::inclusive_scan(group, 1));
  RETURNS(int, cg::inclusive_scan(group, 1, cg::plus<int>()));
  RETURNS(int, cg::exclusive_scan(group, 1));
  RETURNS(int, cg::exclusive_scan(group, 1, cg::plus<int>()));
  RETURNS(cg::coalesced_group, cg::binary_partition(group, true));
  RETURNS(cg::coalesced_group, cg::labeled_partition(group, 3));
  const cg::thread_group any = group;
  RETURNS(void, any.sync());
  cg::invoke_one(group, [&] { flag = 1; });
  const auto one = [] { return 1; };
  RETURNS(int, cg::invoke_one_broadcast(group, one));
}

template <unsigned int Size, class Parent>
__device__ void tile_names(const cg::thread_block_tile<Size, Parent>& tile, int& flag) {
  lane_group_names(tile, flag);
  RETURNS(int, tile.shfl_xor(1, 1));
  const cg::thread_block_tile<Size> same = tile;
  RETURNS(uint32, same.thread_rank());
}

__global__ void group_names(int* flag, int* out) {
  const cg::thread_block block = cg::this_thread_block();
  RETURNS(void, block.sync());
  RETURNS(uint32, block.thread_rank());
  RETURNS(uint32, block.num_threads());
  RETURNS(uint32, block.size());
  RETURNS(dim3, block.group_index());
  RETURNS(dim3, block.thread_index());
  RETURNS(dim3, block.dim_threads());
  RETURNS(dim3, block.group_dim());
  auto token = block.barrier_arrive();
  block.barrier_wait(static_cast<decltype(token)&&>(token));
  const auto warp = cg::tiled_partition<32>(block);
  static_assert(std::is_convertible<decltype(warp), cg::thread_block_tile<32>>::value,
                "a tile without its parent");
  tile_names(warp, *flag);
  tile_names(cg::tiled_partition<4>(warp), *flag);
  const cg::coalesced_group active = cg::coalesced_threads();
  lane_group_names(active, *flag);
  RETURNS(cg::coalesced_group, cg::tiled_partition(active, 4));
  RETURNS(cg::thread_group, cg::tiled_partition(block, 8));
  const cg::thread_group one = cg::this_thread();
  RETURNS(uint64, one.thread_rank());
  RETURNS(uint64, one.size());
  RETURNS(void, cg::sync(block));
  RETURNS(uint32, cg::thread_rank(block));
  RETURNS(uint32, cg::group_size(block));
  cg::memcpy_async(block, out, flag, sizeof(int));
  cg::memcpy_async(block, out, 1, flag, 1);
  cg::wait(block);
  cg::wait_prior<1>(block);
}

__global__ void grid_names() {
  const cg::grid_group grid = cg::this_grid();
  RETURNS(bool, grid.is_valid());
  RETURNS(void, grid.sync());
  RETURNS(uint64, grid.thread_rank());
  RETURNS(uint64, grid.num_threads());
  RETURNS(uint64, grid.size());
  RETURNS(uint64, grid.block_rank());
  RETURNS(uint64, grid.num_blocks());
  RETURNS(dim3, grid.dim_blocks());
  RETURNS(dim3, grid.block_index());
  RETURNS(dim3, grid.group_dim());
  auto token = grid.barrier_arrive();
  grid.barrier_wait(static_cast<decltype(token)&&>(token));
}

#define DPX_WORDS(type, kind)                                  \
  RETURNS(type, __viaddmax_##kind(type(1), type(1), type(1))); \
  RETURNS(type, __viaddmin_##kind(type(1), type(1), type(1))); \
  RETURNS(type, __vimax3_##kind(type(1), type(1), type(1)));   \
  RETURNS(type, __vimin3_##kind(type(1), type(1), type(1)))
#define DPX_RECTIFIED(type, kind)                         \
  DPX_WORDS(type, kind##_relu);                           \
  RETURNS(type, __vimax_##kind##_relu(type(1), type(1))); \
  RETURNS(type, __vimin_##kind##_relu(type(1), type(1)))

__global__ void dpx_names(bool* first, bool* second) {
  DPX_WORDS(int, s32);
  DPX_WORDS(uint32, u32);
  DPX_WORDS(uint32, s16x2);
  DPX_WORDS(uint32, u16x2);
  DPX_RECTIFIED(int, s32);
  DPX_RECTIFIED(uint32, s16x2);
  RETURNS(int, __vibmax_s32(1, 1, first));
  RETURNS(int, __vibmin_s32(1, 1, first));
  RETURNS(uint32, __vibmax_u32(1u, 1u, first));
  RETURNS(uint32, __vibmin_u32(1u, 1u, first));
  RETURNS(uint32, __vibmax_s16x2(1u, 1u, first, second));
  RETURNS(uint32, __vibmin_s16x2(1u, 1u, first, second));
  RETURNS(uint32, __vibmax_u16x2(1u, 1u, first, second));
  RETURNS(uint32, __vibmin_u16x2(1u, 1u, first, second));
}

__global__ void bessel_names(float f, double d) {
  RETURNS(float, cyl_bessel_i0(f));
  RETURNS(double, cyl_bessel_i0(d));
  RETURNS(float, cyl_bessel_i1(f));
  RETURNS(double, cyl_bessel_i1(d));
  RETURNS(float, cyl_bessel_i0f(f));
  RETURNS(float, cyl_bessel_i1f(f));
}
