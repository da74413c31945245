// Products of rows of integers with a scale each.

import { assertEquals } from "@std/assert";
import { fromTypedArray, type Tensor } from "../../src/device/tensor.ts";
import { multiplyScaledRows } from "../../src/ternary/integer_product.ts";
import { device } from "../support/device.ts";

/** Integers of the whole range, the extremes among them. */
function integers(seed: number, length: number): Int8Array<ArrayBuffer> {
  let state = seed;
  return Int8Array.from({ length }, (_, at) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return at % 5 === 0 ? -128 : at % 7 === 0 ? 127 : state >>> 24;
  });
}

const onDevice = (values: Int8Array<ArrayBuffer>, rows: number) => ({
  values: fromTypedArray(values, [rows, values.length / rows], { device }),
  // Powers of two, so that products are exact.
  scale: fromTypedArray(Float32Array.from({ length: rows }, (_, row) => 2 ** -(row % 9)), [rows], {
    device,
  }),
});

Deno.test("multiplyScaledRows() gives exact sums times the scales of both rows", async () => {
  for (const depth of [16, 192, 100, 2560]) {
    for (const [m, n] of [[1, 1], [1, 70], [2, 9], [3, 70], [5, 6], [8, 33], [9, 33]] as const) {
      const [x, w] = [integers(m, m * depth), integers(7, n * depth)];
      using both = new DisposableStack();
      const [left, right] = [onDevice(x, m), onDevice(w, n)];
      for (const { values, scale } of [left, right]) [values, scale].map((it) => both.use(it));
      const expected = Float32Array.from({ length: m * n }, (_, at) => {
        const [row, column] = [Math.floor(at / n), at % n];
        let sum = 0;
        for (let k = 0; k < depth; k++) sum += x[row * depth + k]! * w[column * depth + k]!;
        return Math.fround(sum) * 2 ** -(row % 9) * 2 ** -(column % 9);
      });
      const result: Tensor<"float32"> = both.use(multiplyScaledRows(left, right));
      assertEquals(await result.toArray(), expected, `${m} and ${n} rows of ${depth}`);
    }
  }
});
