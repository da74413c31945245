// Bodies that attract each other: vectors, structures by value, a functor, tiles of dynamic shared
// memory that are cut out of one array of bytes.
#include <cuda_runtime.h>
#include <vector_functions.h>
#include <vector_types.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

namespace gravity {

inline __host__ __device__ float3 operator+(float3 a, float3 b) {
  return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}
inline __host__ __device__ float3 operator*(float s, float3 a) {
  return make_float3(s * a.x, s * a.y, s * a.z);
}

struct Law {
  float softening;

  // Position in x, y and z, mass in w.
  __device__ float3 operator()(const float4& on, const float4& by) const {
    const float3 apart = make_float3(by.x - on.x, by.y - on.y, by.z - on.z);
    const float square = apart.x * apart.x + apart.y * apart.y + apart.z * apart.z + softening;
    const float inverse = rsqrtf(square);
    return (by.w * inverse * inverse * inverse) * apart;
  }
};

template <class Attraction>
__global__ void accelerate(const float4* __restrict__ bodies, float3* __restrict__ accelerations,
                           int count, Attraction attraction) {
  extern __shared__ __align__(16) unsigned char raw[];
  float4* const tile = reinterpret_cast<float4*>(raw);
  const int own = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 body = own < count ? bodies[own] : make_float4(0.f, 0.f, 0.f, 0.f);
  float3 sum = make_float3(0.f, 0.f, 0.f);
  for (int start = 0; start < count; start += blockDim.x) {
    const int other = start + threadIdx.x;
    if (other < count) tile[threadIdx.x] = bodies[other];
    __syncthreads();
    const int there = min(static_cast<int>(blockDim.x), count - start);
    for (int i = 0; i < there; i++) sum = sum + attraction(body, tile[i]);
    __syncthreads();
  }
  if (own < count) accelerations[own] = sum;
}

__global__ void move(float4* bodies, float3* velocities, const float3* accelerations, int count,
                     float step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  velocities[i] = velocities[i] + step * accelerations[i];
  const float3 moved = step * velocities[i];
  bodies[i].x += moved.x;
  bodies[i].y += moved.y;
  bodies[i].z += moved.z;
}

std::vector<float4> random_bodies(int count) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> anywhere(-1.f, 1.f);
  std::vector<float4> bodies(count);
  std::generate(bodies.begin(), bodies.end(), [&] {
    return make_float4(anywhere(engine), anywhere(engine), anywhere(engine), 1.f / 1000);
  });
  return bodies;
}

// In seconds.
double step(float4* bodies, float3* velocities, float3* accelerations, int count) {
  const auto begin = std::chrono::steady_clock::now();
  const int threads = 128, blocks = (count + threads - 1) / threads;
  accelerate<<<blocks, threads, threads * sizeof(float4)>>>(bodies, accelerations, count,
                                                            Law{1e-4f});
  move<<<blocks, threads>>>(bodies, velocities, accelerations, count, 1e-3f);
  cudaDeviceSynchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace gravity

template __global__ void gravity::accelerate<gravity::Law>(const float4*, float3*, int,
                                                           gravity::Law);
