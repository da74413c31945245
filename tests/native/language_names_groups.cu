// Every name of cooperative groups, and of DPX, used once, with its result type: see
// language_names.cu.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_runtime.h>

#include <type_traits>

#include "language_names.h"

namespace cg = cooperative_groups;

using uint32 = unsigned int;
using uint64 = unsigned long long;

struct Pair {
  double first, second;
};

template <class Group>
__device__ void lane_group_names(const Group& group, int& flag) {
  returns<uint32>(group.thread_rank(), group.num_threads(), group.size(), group.meta_group_rank(),
                  group.meta_group_size());
  group.sync();
  returns<float>(group.shfl(1.0f, 0), cg::reduce(group, 1.0f, cg::less<float>()),
                 cg::reduce(group, 1.0f, cg::greater<float>()));
  returns<Pair>(group.shfl(Pair{1, 2}, 0));
  returns<double>(group.shfl_up(1.0, 1));
  returns<int>(group.shfl_down(1, 1u), group.any(1), group.all(1),
               cg::reduce(group, 1, cg::plus<int>()), cg::inclusive_scan(group, 1),
               cg::inclusive_scan(group, 1, cg::plus<int>()), cg::exclusive_scan(group, 1),
               cg::exclusive_scan(group, 1, cg::plus<int>()));
  returns<uint32>(group.ballot(1), group.match_any(1), group.match_all(1ll, flag),
                  cg::reduce(group, 1u, cg::bit_and<uint32>()),
                  cg::reduce(group, 1u, cg::bit_or<uint32>()),
                  cg::reduce(group, 1u, cg::bit_xor<uint32>()));
  returns<cg::coalesced_group>(cg::binary_partition(group, true), cg::labeled_partition(group, 3));
  const cg::thread_group any = group;
  any.sync();
  cg::invoke_one(group, [&] { flag = 1; });
  const auto one = [] { return 1; };
  returns<int>(cg::invoke_one_broadcast(group, one));
}

template <unsigned int Size, class Parent>
__device__ void tile_names(const cg::thread_block_tile<Size, Parent>& tile, int& flag) {
  lane_group_names(tile, flag);
  returns<int>(tile.shfl_xor(1, 1));
  const cg::thread_block_tile<Size> same = tile;
  returns<uint32>(same.thread_rank());
}

__global__ void group_names(int* flag, int* out) {
  const cg::thread_block block = cg::this_thread_block();
  block.sync();
  returns<uint32>(block.thread_rank(), block.num_threads(), block.size());
  returns<dim3>(block.group_index(), block.thread_index(), block.dim_threads(), block.group_dim());
  auto token = block.barrier_arrive();
  block.barrier_wait(static_cast<decltype(token)&&>(token));
  const auto warp = cg::tiled_partition<32>(block);
  static_assert(std::is_convertible<decltype(warp), cg::thread_block_tile<32>>::value,
                "a tile without its parent");
  tile_names(warp, *flag);
  tile_names(cg::tiled_partition<4>(warp), *flag);
  const cg::coalesced_group active = cg::coalesced_threads();
  lane_group_names(active, *flag);
  returns<cg::coalesced_group>(cg::tiled_partition(active, 4));
  returns<cg::thread_group>(cg::tiled_partition(block, 8));
  const cg::thread_group one = cg::this_thread();
  returns<uint64>(one.thread_rank(), one.size());
  cg::sync(block);
  returns<uint32>(cg::thread_rank(block), cg::group_size(block));
  cg::memcpy_async(block, out, flag, sizeof(int));
  cg::memcpy_async(block, out, 1, flag, 1);
  cg::wait(block);
  cg::wait_prior<1>(block);
}

__global__ void grid_names() {
  const cg::grid_group grid = cg::this_grid();
  returns<bool>(grid.is_valid());
  grid.sync();
  returns<uint64>(grid.thread_rank(), grid.num_threads(), grid.size(), grid.block_rank(),
                  grid.num_blocks());
  returns<dim3>(grid.dim_blocks(), grid.block_index(), grid.group_dim());
  auto token = grid.barrier_arrive();
  grid.barrier_wait(static_cast<decltype(token)&&>(token));
}

#define DPX_WORDS(type, kind)                                 \
  returns<type>(__viaddmax_##kind(type(1), type(1), type(1)), \
                __viaddmin_##kind(type(1), type(1), type(1)), \
                __vimax3_##kind(type(1), type(1), type(1)),   \
                __vimin3_##kind(type(1), type(1), type(1)))
#define DPX_RECTIFIED(type, kind) \
  DPX_WORDS(type, kind##_relu);   \
  returns<type>(__vimax_##kind##_relu(type(1), type(1)), __vimin_##kind##_relu(type(1), type(1)))

__global__ void dpx_names(bool* first, bool* second) {
  DPX_WORDS(int, s32);
  DPX_WORDS(uint32, u32);
  DPX_WORDS(uint32, s16x2);
  DPX_WORDS(uint32, u16x2);
  DPX_RECTIFIED(int, s32);
  DPX_RECTIFIED(uint32, s16x2);
  returns<int>(__vibmax_s32(1, 1, first), __vibmin_s32(1, 1, first));
  returns<uint32>(__vibmax_u32(1u, 1u, first), __vibmin_u32(1u, 1u, first),
                  __vibmax_s16x2(1u, 1u, first, second), __vibmin_s16x2(1u, 1u, first, second),
                  __vibmax_u16x2(1u, 1u, first, second), __vibmin_u16x2(1u, 1u, first, second));
}

__global__ void bessel_names(float f, double d) {
  returns<float>(cyl_bessel_i0(f), cyl_bessel_i1(f), cyl_bessel_i0f(f), cyl_bessel_i1f(f));
  returns<double>(cyl_bessel_i0(d), cyl_bessel_i1(d));
}
