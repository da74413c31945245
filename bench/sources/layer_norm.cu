// Layer normalisation of the rows of a matrix, as an inference library has it: one block for each
// row, sums by warp shuffles and then through shared memory, in single precision throughout.
//
// The benchmarks of compiling take this source for an ordinary one: a kernel of some hundred lines
// with device functions, a template, shared memory and a header.
#include <cuda_runtime.h>

namespace {

constexpr int WARP = 32;
constexpr int MOST_WARPS = 32;
constexpr unsigned ALL_LANES = 0xffffffffu;

// Sums over a row: its elements, and their squares less the row's first element. Subtracting it
// keeps the difference of two large numbers out of the variance.
struct Moments {
  float sum;
  float squares;

  __device__ Moments() : sum(0), squares(0) {}
  __device__ Moments(float sum, float squares) : sum(sum), squares(squares) {}

  __device__ void add(float value) {
    sum += value;
    squares += value * value;
  }

  __device__ void add(const Moments& other) {
    sum += other.sum;
    squares += other.squares;
  }
};

// The moments of all lanes of a warp, in its first lane.
__device__ Moments reduce_warp(Moments moments) {
  for (int offset = WARP / 2; offset > 0; offset /= 2) {
    const float sum = __shfl_down_sync(ALL_LANES, moments.sum, offset);
    const float squares = __shfl_down_sync(ALL_LANES, moments.squares, offset);
    moments.add(Moments(sum, squares));
  }
  return moments;
}

// The moments of all threads of a block, in every thread. Its threads fill whole warps.
__device__ Moments reduce_block(Moments moments) {
  __shared__ float sums[MOST_WARPS];
  __shared__ float squares[MOST_WARPS];
  const int warp = threadIdx.x / WARP;
  const int lane = threadIdx.x % WARP;
  const int warps = blockDim.x / WARP;
  moments = reduce_warp(moments);
  if (lane == 0) {
    sums[warp] = moments.sum;
    squares[warp] = moments.squares;
  }
  __syncthreads();
  if (warp == 0) {
    Moments partial;
    if (lane < warps) partial = Moments(sums[lane], squares[lane]);
    partial = reduce_warp(partial);
    if (lane == 0) {
      sums[0] = partial.sum;
      squares[0] = partial.squares;
    }
  }
  __syncthreads();
  return Moments(sums[0], squares[0]);
}

// What becomes of a normalised element.
template <bool Affine>
__device__ float scaled(float value, const float* weight, const float* bias, int column) {
  if (!Affine) return value;
  return value * weight[column] + bias[column];
}

template <bool Affine>
__device__ void normalise_row(const float* in, float* out, const float* weight, const float* bias,
                              int columns, float epsilon) {
  const float shift = in[0];
  Moments moments;
  for (int column = threadIdx.x; column < columns; column += blockDim.x) {
    moments.add(in[column] - shift);
  }
  moments = reduce_block(moments);
  const float mean = moments.sum / columns;
  const float variance = fmaxf(moments.squares / columns - mean * mean, 0.0f);
  const float factor = rsqrtf(variance + epsilon);
  for (int column = threadIdx.x; column < columns; column += blockDim.x) {
    const float value = (in[column] - shift - mean) * factor;
    out[column] = scaled<Affine>(value, weight, bias, column);
  }
}

}  // namespace

extern "C" __global__ void layer_norm(const float* in, float* out, const float* weight,
                                      const float* bias, int columns, float epsilon) {
  const long long row = static_cast<long long>(blockIdx.x) * columns;
  normalise_row<true>(in + row, out + row, weight, bias, columns, epsilon);
}
