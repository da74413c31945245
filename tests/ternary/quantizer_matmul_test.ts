// Products of `DeviceAwareQuantizer` in chunks and with fallback, against integers in JavaScript.

import { device } from "../support/device.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { openDevice } from "../../mod.ts";
import { DeviceAwareQuantizer } from "../../src/device/ternary.ts";
import { roundToEven } from "../../src/device/validation/tensor_references.ts";
import { shifted } from "../support/shifted_array.ts";
import type { Multiplication } from "./quantizer_worker.ts";

const small = openDevice(device.label, { memory: { maxPoolSize: "4MiB" } });
const numbers = (length: number) =>
  Float32Array.from({ length }, (_, at) => (at * 7919 % 10007) / 5003.5 - 1);
const { fround } = Math;

Deno.test("DeviceAwareQuantizer.matmul() gives exact sums times both scales in chunks", async () => {
  const [m, n, k] = [15_000, 8, 96];
  using quantizer = new DeviceAwareQuantizer({ device: small, fallback: null });
  const x = numbers(m * k).fill(0, k, 2 * k);
  for (const format of ["int8", "i2_s"] as const) {
    const weights = await quantizer.quantize(
      numbers(n * k).map((it) => it * it * it),
      [n, k],
      format,
    );
    const values = await quantizer.dequantize(weights);
    const scales = weights.scales ?? new Float32Array(n).fill(Math.max(...values));
    const codes = values.map((it, at) => Math.round(it / scales[Math.trunc(at / k)]!));
    const expected = new Float32Array(m * n);
    for (let row = 0; row < m; row++) {
      const own = x.subarray(row * k, (row + 1) * k);
      const most = fround(own.reduce((max, it) => Math.max(max, Math.abs(it)), 1e-5));
      const factor = fround(127 / most);
      const q = own.map((it) => roundToEven(fround(it * factor)));
      for (let column = 0; column < n; column++) {
        let sum = 0;
        for (let i = 0; i < k; i++) sum += q[i]! * codes[column * k + i]!;
        expected[row * n + column] = fround(sum * fround(most / 127)) * scales[column]!;
      }
    }
    const product = await quantizer.matmul(shifted(x), [3, m / 3, k], {
      ...weights,
      bytes: shifted(weights.bytes),
      ...(weights.scales === undefined ? {} : { scales: shifted(weights.scales) }),
    });
    const wrong = product.findIndex((it, at) => it !== expected[at]);
    assertEquals([wrong, product.length, product[wrong]], [-1, m * n, undefined], format);
    assertEquals((await quantizer.matmul(x.subarray(0, 0), [0, k], weights)).length, 0);
    const rejected = [
      [() => quantizer.matmul(x, [m * 2, k / 2], weights), "rows of 48 elements"],
      [() => quantizer.matmul(x, [m, k], { ...weights, bytes: new Uint8Array(7) }), "must have"],
      [() => quantizer.matmul(Float32Array.of(...x.slice(1, k), NaN), [k], weights), "[95] is NaN"],
    ] as const;
    for (const [run, text] of rejected) await assertRejects(run, RangeError, text);
  }
  assertEquals(quantizer.stats().byKind.matmul!.operations, 2);
  for (
    const [format, shape] of [["tq2_0", [0, 256]], ["i2_s", [3, 0]], ["int8", [3, 0]]] as const
  ) {
    const empty = await quantizer.quantize(new Float32Array(), shape, format);
    assertEquals((await quantizer.dequantize(empty)).length, 0, format);
  }
});

Deno.test("DeviceAwareQuantizer.matmul() falls back in a worker, with the same result", async () => {
  const width = 2 ** 21;
  using alone = new DeviceAwareQuantizer({ device, fallback: null });
  const values = numbers(width);
  const weights = await alone.quantize(values, [1, width], "tq2_0");
  const worker = new Worker(new URL("./quantizer_worker.ts", import.meta.url), { type: "module" });
  const answer = new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    };
  });
  worker.postMessage({ selector: device.label, values, weights } satisfies Multiplication);
  const product = await alone.matmul(values, [1, width], weights);
  assertEquals(await answer, { product, fallbackCount: 1, operations: 1 });
  worker.terminate();
});
