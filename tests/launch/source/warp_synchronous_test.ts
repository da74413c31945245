// Lanes of a warp that share memory without barriers, as code before compute capability 7.0 does.

import { assertEquals } from "@std/assert";
import { device, onHostDevice } from "../../support/device.ts";

const STEPS = [32, 16, 8, 4, 2, 1];
const SOURCE = `
  __global__ void without(int* out) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = s[t + 32] = 1;
    __syncwarp();
    volatile int* v = s;
    ${STEPS.map((step) => `v[t] += v[t + ${step}];`).join(" ")}
    if (t == 0) *out = v[0];
  }
  __global__ void with_barriers(int* out) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = s[t + 32] = 1;
    int sum = s[t];
    ${
  STEPS.map((step) =>
    `__syncwarp(); sum += t < ${step} ? s[t + ${step}] : 0; __syncwarp(); s[t] = sum;`
  ).join("\n")
}
    if (t == 0) *out = sum;
  }
  __global__ void with_shuffles(int* out) {
    int sum = 2;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x == 0) *out = sum;
  }`;
const module = await device.compile(SOURCE);
globalThis.addEventListener("unload", () => module[Symbol.dispose]());

async function sumOf(kernel: "without" | "with_barriers" | "with_shuffles"): Promise<number> {
  using out = device.allocate("int32", 1, { fill: 0 });
  module.kernel(`${kernel}(int* out)`).launch({ grid: 1, block: 32 }, out);
  return (await out.toArray())[0]!;
}

Deno.test("A warp's sum by volatile memory needs __syncwarp() between reads and writes", async () => {
  assertEquals(await sumOf("with_barriers"), 64);
  assertEquals(await sumOf("with_shuffles"), 64);
});

Deno.test({
  name: "A warp's sum by volatile memory alone lacks the lanes that run later",
  ...onHostDevice,
}, async () => {
  // The first lane runs before the others: it adds one value a step.
  assertEquals(await sumOf("without"), 1 + STEPS.length);
});
