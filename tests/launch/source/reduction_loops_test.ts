// Loops of reductions that the host device shortens: the same source with its loops in a macro,
// where they are not recognized, must give the same bits.
// May hang on a GPU: branches of a warp pass barriers and shuffles, which CUDA does not define.

import { assertEquals } from "@std/assert";
import { shortenReductions } from "../../../src/launch/source/reduction_loops.ts";
import { device, onHostDevice } from "../../support/device.ts";

const count = (text: string) => text.split("::gridstride::host::").length - 1;

Deno.test("shortenReductions() adds calls where the form leaves no doubt, and nowhere else", () => {
  const ladder = "for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);";
  const tree =
    "for (int s = 64; s > 0; s /= 2) { if (threadIdx.x < s) { a[s]++; } __syncthreads(); }";
  const shortened: [source: string, from?: string, to?: string][] = [
    [ladder],
    [ladder, "int o = 16; o > 0; o /= 2", "unsigned int o = warpSize / 2; o; o >>= 1"],
    [
      ladder,
      "v += __shfl_down_sync(~0u, v, o)",
      "v = fmaxf(v, __shfl_xor_sync(ns::all, v, o, 32))",
    ],
    [ladder, "v += __shfl_down_sync(~0u, v, o);", "{ v = __shfl_down_sync(m, v, o) + v; }"],
    [tree],
    [tree, "{ a[s]++; }", "a[s]++;"],
    [tree, "s > 0; s /= 2", "s > 32; s >>= 1"],
    [tree.replace(" __syncthreads();", ""), "{ if", "{ __syncthreads(); if"],
    ["unsigned t = threadIdx.x; " + tree, "threadIdx.x <", "t <"],
  ];
  for (const [source, from = "", to = ""] of shortened) {
    assertEquals(count(shortenReductions(source.replace(from, to))), 1, source.replace(from, to));
  }
  const kept: [source: string, from: string, to: string][] = [
    [ladder, "v, o)", "w, o)"],
    [ladder, "v, o)", "v, 1)"],
    [ladder, "v +=", "v += f() +"],
    [ladder, "v +=", "v = o +"],
    [ladder, "(~0u", "(f()"],
    [ladder, "o /= 2", "o -= 2"],
    [ladder, "int o =", "o ="],
    [ladder, "v +=", "\n#if 1\nv +="],
    [tree, "threadIdx.x <", "t <"],
    ["int t = 0; int& t = u; " + tree, "threadIdx.x <", "t <"],
    [tree, "{ a[s]++; }", "if (a[s]) a[s]++;"],
    [tree, "} __", "} else a[s]--; __"],
    [tree, "__syncthreads();", "__syncthreads(); a[s]++;"],
    [tree, "s /= 2", "--s"],
  ];
  for (const [source, from, to] of kept) {
    const changed = source.replace(from, to);
    assertEquals(shortenReductions(changed), changed);
  }
});

/** Ladders of a type, in whole and partial warps, and in warps of which a half does otherwise. */
const KERNELS = `
#define FULL 0xffffffffu
template <class T> __global__ void ladders(const T* x, T* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  T a = x[i], b = a, c = a, d = a;
  if (blockIdx.x == 2 && lane % 5 == 3) return;
  for (int o = 16; o > 0; o >>= 1) a += __shfl_down_sync(FULL, a, o);
  for (int o = 16; o > 0; o >>= 1) b += __shfl_xor_sync(FULL, b, o);
  if (blockIdx.x == 3 && lane < 16) return;
  for (int o = 16; o > 0; o /= 2) c = max(c, __shfl_down_sync(FULL, c, o));
  if (lane % 2 == 0) {
    for (int o = 16; o > 0; o /= 2) d += __shfl_down_sync(FULL, d, o);
  } else if (lane % 3 == 0) {
    for (int o = 16; o > 0; o /= 2) d -= __shfl_down_sync(FULL, d, o);
  } else {
    for (int n = 0; n < 5; ++n) d += __shfl_down_sync(FULL, d, n);
  }
  y[4 * i] = a, y[4 * i + 1] = b, y[4 * i + 2] = c, y[4 * i + 3] = d;
}
template __global__ void ladders<float>(const float*, float*);
template __global__ void ladders<double>(const double*, double*);
template __global__ void ladders<int>(const int*, int*);
// Threads that leave, barriers that count, and two trees at once, of four rounds and of two.
__global__ void trees(const int* x, int* y) {
  __shared__ int s[256];
  unsigned t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  if (blockIdx.x == 1 && t >= 200) return;
  for (int n = 128; n > 0; n >>= 1) {
    if (t < n) s[t] = s[t] * 3 + s[t + n];
    __syncthreads();
  }
  int seen = __syncthreads_count(t % 3 == 0);
  if (t < 100) {
    for (int n = 64; n > 4; n /= 2) { if (t < n) s[t] = s[t] * 3 + s[t + n]; __syncthreads(); }
  } else {
    for (int n = 128; n > 32; n /= 2) { if (t < n) s[t + 128] ^= s[t + 28]; __syncthreads(); }
    __syncthreads(), __syncthreads();
  }
  if (blockIdx.x == 2 && t == 7) return;
  for (int n = 128; n > 0; n /= 2) { __syncthreads(); if (t < n) s[t] = s[t] * 5 + s[t + n]; }
  __syncthreads();
  y[blockIdx.x * 256 + t] = s[t] + seen;
}`;

/** Every loop through a macro. */
const STEPWISE = "#define LOOP for\n" + KERNELS.replaceAll(/\bfor (?=\(int [on] = \d+)/g, "LOOP ");

// Only the host device defines collectives that the lanes of a warp reach in different branches; on a
// GPU these kernels never end.
Deno.test(
  "kernel.launch() gives the same bits when loops of shuffles and trees are shortened",
  onHostDevice,
  async () => {
    assertEquals([count(shortenReductions(KERNELS)), count(shortenReductions(STEPWISE))], [9, 0]);
    using short = await device.compile(KERNELS);
    using stepwise = await device.compile(STEPWISE);
    for (const block of [64, 80]) {
      for (
        const [type, name, Numbers] of [
          ["float32", "float", Float32Array],
          ["float64", "double", Float64Array],
          ["int32", "int", Int32Array],
        ] as const
      ) {
        const values = Array.from({ length: 4 * block }, (_, i) => Math.sin(i * i) * 1e6 | 0)
          .map((value) => type === "int32" ? value : value / 7e4);
        const results = await Promise.all([short, stepwise].map(async (module) => {
          using x = device.allocate(type, values.length),
            y = device.allocate(type, 16 * block, { fill: 0 });
          x.copyFrom(Numbers.from(values));
          module.kernel(`ladders<${name}>`).launch({ grid: 4, block }, x, y);
          return await y.toArray();
        }));
        assertEquals(results[0], results[1]);
      }
    }
    const results = await Promise.all([short, stepwise].map(async (module) => {
      using x = device.allocate("int32", 768), y = device.allocate("int32", 768, { fill: 0 });
      x.copyFrom(Int32Array.from({ length: 768 }, (_, i) => i * i * 7919));
      module.kernel("trees").launch({ grid: 3, block: 256 }, x, y);
      return await y.toArray();
    }));
    assertEquals(results[0], results[1]);
  },
);
