// D = alpha A B + beta C with tensor cores: a warp computes a tile of D. Rows are padded.
#include <mma.h>

#include <type_traits>

using namespace nvcuda;
using rows = wmma::row_major;
using columns = wmma::col_major;

template <class Layout>
struct Lines {
  static constexpr bool are_rows = std::is_same<Layout, rows>::value;
  int stride;
  __device__ Lines(int height, int width) : stride((are_rows ? width : height) + 16) {}
  __device__ int at(int row, int column) const {
    return are_rows ? row * stride + column : column * stride + row;
  }
};

template <int M, int N, int K, class T, class LayoutA, class LayoutB, class LayoutC, class Element,
          class Sum>
__device__ void multiply(const Element* a, const Element* b, Sum* c, int m, int n, int k, Sum alpha,
                         Sum beta) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize * M;
  const int column = (blockIdx.y * blockDim.y + threadIdx.y) * N;
  if (row >= m || column >= n) return;
  const Lines<LayoutA> in_a(m, k);
  const Lines<LayoutB> in_b(k, n);
  const Lines<LayoutC> in_c(m, n);
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> a_tile;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> b_tile;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> sums, tile;
  wmma::fill_fragment(sums, 0.0f);
  for (int i = 0; i < k; i += K) {
    wmma::load_matrix_sync(a_tile, a + in_a.at(row, i), in_a.stride);
    wmma::load_matrix_sync(b_tile, b + in_b.at(i, column), in_b.stride);
    if constexpr (std::is_same<T, wmma::precision::tf32>::value) {
      for (auto& x : a_tile.x) x = wmma::__float_to_tf32(x);
      for (auto& x : b_tile.x) x = wmma::__float_to_tf32(x);
    }
    wmma::mma_sync(sums, a_tile, b_tile, sums);
  }
  const auto layout = in_c.are_rows ? wmma::mem_row_major : wmma::mem_col_major;
  wmma::load_matrix_sync(tile, c + in_c.at(row, column), in_c.stride, layout);
#pragma unroll
  for (int i = 0; i < tile.num_elements; i++) tile.x[i] = alpha * sums.x[i] + beta * tile.x[i];
  wmma::store_matrix_sync(c + in_c.at(row, column), tile, in_c.stride, layout);
}

__global__ void half_to_float(const half* a, const half* b, float* c, int m, int n, int k,
                              float alpha, float beta) {
  multiply<16, 16, 16, half, rows, columns, rows>(a, b, c, m, n, k, alpha, beta);
}
__global__ void half_to_half(const half* a, const half* b, half* c, int m, int n, int k,
                             half alpha, half beta) {
  multiply<32, 8, 16, half, columns, rows, columns>(a, b, c, m, n, k, alpha, beta);
}
__global__ void half_to_wide(const half* a, const half* b, float* c, int m, int n, int k,
                             float alpha, float beta) {
  multiply<8, 32, 16, half, columns, columns, rows>(a, b, c, m, n, k, alpha, beta);
}
__global__ void bfloat16_to_float(const nv_bfloat16* a, const nv_bfloat16* b, float* c, int m,
                                  int n, int k, float alpha, float beta) {
  multiply<16, 16, 16, nv_bfloat16, rows, rows, columns>(a, b, c, m, n, k, alpha, beta);
}
__global__ void int8_to_int(const signed char* a, const signed char* b, int* c, int m, int n,
                            int k, int alpha, int beta) {
  multiply<32, 8, 16, signed char, rows, columns, rows>(a, b, c, m, n, k, alpha, beta);
}
__global__ void uint8_to_int(const unsigned char* a, const unsigned char* b, int* c, int m, int n,
                             int k, int alpha, int beta) {
  multiply<8, 32, 16, unsigned char, columns, rows, rows>(a, b, c, m, n, k, alpha, beta);
}
__global__ void tf32_to_float(const float* a, const float* b, float* c, int m, int n, int k,
                              float alpha, float beta) {
  multiply<16, 16, 8, wmma::precision::tf32, rows, rows, rows>(a, b, c, m, n, k, alpha, beta);
}
__global__ void double_to_double(const double* a, const double* b, double* c, int m, int n, int k,
                                 double alpha, double beta) {
  multiply<8, 8, 4, double, columns, rows, columns>(a, b, c, m, n, k, alpha, beta);
}

// How many elements a lane has, by use and shape.
template <class Use, int M, int N, int K, class T>
constexpr int count = wmma::fragment<Use, M, N, K, T, rows>::num_elements;
static_assert(count<wmma::matrix_a, 16, 16, 16, half> == 16, "half is repeated");
static_assert(count<wmma::matrix_b, 32, 8, 16, half> == 16, "half is repeated");
static_assert(count<wmma::matrix_b, 32, 8, 16, signed char> == 4, "16 by 8");
static_assert(count<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32> == 4, "16 by 8");
static_assert(wmma::fragment<wmma::accumulator, 8, 32, 16, int>::num_elements == 8, "8 by 32");
