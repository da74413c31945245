// A module for module_checks.cpp, as the compiler of the host device would make it. The same
// kernels in PTX are in shim/module_stage.cpp.
#include <cuda_runtime.h>
#include <gridstride/module_table.h>

struct Moved {
  double mass;
  float position[3];
  int id;
};

// Takes all argument slots but one.
struct Large {
  unsigned char bytes[4088];
};

__device__ int counter = 3;
__constant__ float weights[4];

__global__ void store_int(int value, int* out) { *out = value; }

__global__ void move(Moved moved, float4 by, double* out) {
  out[0] = moved.mass;
  out[1] = static_cast<double>(moved.position[0] + by.x);
  out[2] = static_cast<double>(moved.position[2] + by.w);
  out[3] = moved.id;
}

// Takes so many ticks of the device's clock.
__global__ void spin(long long ticks, int* out) {
  const long long start = clock64();
  while (clock64() - start < ticks) {
  }
  *out = 1;
}

__global__ void count(int by) { counter += by; }

__global__ void weigh(float* out) { *out = weights[3]; }

__global__ void ends(Large large, unsigned char* out) {
  out[0] = large.bytes[0];
  out[1] = large.bytes[4087];
}

GS_MODULE_BEGIN
GS_MODULE_KERNEL("store_int", store_int)
GS_MODULE_KERNEL("move", move)
GS_MODULE_KERNEL("spin", spin)
GS_MODULE_KERNEL("count", count)
GS_MODULE_KERNEL("weigh", weigh)
GS_MODULE_KERNEL("ends", ends)
GS_MODULE_VARIABLE("counter", counter)
GS_MODULE_VARIABLE("weights", weights)
GS_MODULE_END
