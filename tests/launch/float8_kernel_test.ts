// Kernels of 8-bit floats: by value, by pointer, and with the same bits as TypeScript makes.

import { assertEquals } from "@std/assert";
import { narrowFloatBits, narrowFloatValue } from "../../src/memory/element_bits.ts";
import { device } from "../support/device.ts";

const SOURCE = `
  #include <cuda_fp8.h>

  __global__ void encode(const double* x, __nv_fp8_e4m3* a, __nv_fp8_e5m2* b, int n) {
    __shared__ __nv_fp8_e4m3 staged[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) staged[threadIdx.x] = __nv_fp8_e4m3(x[i]);
    __syncthreads();
    if (i >= n) return;
    a[i] = staged[threadIdx.x];
    b[i] = static_cast<__nv_fp8_e5m2>(x[i]);
  }

  __global__ void scale(const __nv_fp8_e4m3* a, const __nv_fp8_e5m2* b, __nv_fp8_e4m3 factor,
                        float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = float(factor) * (float(a[i]) + float(b[i]));
  }
`;

const module = await device.compile(SOURCE, { name: "float8.cu" });
globalThis.addEventListener("unload", () => module[Symbol.dispose]());

/** All values of both formats, the midpoints, and values out of range. */
const NUMBERS = Float64Array.from(
  [0, ...Array(255).keys()].flatMap((bits) =>
    (["float8_e4m3", "float8_e5m2"] as const).flatMap((dtype) => {
      const [value, next] = [narrowFloatValue(dtype, bits), narrowFloatValue(dtype, bits + 1)];
      const between = (value + next) / 2;
      return [value, between, between * (1 + 2 ** -50), between * (1 - 2 ** -50), value * 1e30];
    })
  ),
);

Deno.test("a kernel rounds to 8 bits as TypeScript does", async () => {
  const n = NUMBERS.length;
  using x = device.upload(NUMBERS);
  using a = device.allocate("float8_e4m3", n);
  using b = device.allocate("float8_e5m2", n);
  const encode = module.kernel(
    "encode(const double* x, __nv_fp8_e4m3* a, __nv_fp8_e5m2* b, int n)",
  );
  encode.launch({ grid: Math.ceil(n / 256), block: 256 }, x, a, b, n);
  for (const buffer of [a, b]) {
    const bits = [...await buffer.toArray()];
    // Which NaN a NaN becomes depends on its sign and payload.
    const values = bits.map((pattern) => narrowFloatValue(buffer.dtype, pattern));
    const expected = Array.from(
      NUMBERS,
      (number) => narrowFloatValue(buffer.dtype, narrowFloatBits(buffer.dtype, number)),
    );
    assertEquals(values, expected, buffer.dtype);
  }
});

Deno.test("8-bit floats are passed by value and by pointer", async () => {
  using a = device.upload(Uint8Array.of(0x38, 0x40, 0xb8), { dtype: "float8_e4m3" });
  using b = device.upload(Uint8Array.of(0x3c, 0x40, 0x3c), { dtype: "float8_e5m2" });
  using out = device.allocate("float32", 3);
  const scale = module.kernel(
    "scale(const __nv_fp8_e4m3* a, const __nv_fp8_e5m2* b, __nv_fp8_e4m3 factor, float* out, int n)",
  );
  // The factor is rounded as CUDA's constructor does: 1.55 is 1.5.
  scale.launch({ grid: 1, block: 3 }, a, b, 1.55, out, 3);
  assertEquals(await out.toArray(), Float32Array.of(3, 6, 0));
});
