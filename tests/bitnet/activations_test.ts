// Norms, gates and quantisation in one kernel beside the single operations.

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { relu, rmsNorm, silu, square, type Tensor, uniform } from "../../src/device/tensor.ts";
import { quantizeActivations } from "../../src/device/ternary.ts";
import {
  type QuantizedRows,
  quantizeGated,
  quantizeRows,
} from "../../src/bitnet/decoder/activations.ts";
import { device } from "../support/device.ts";

const random = (shape: readonly number[], seed: number): Tensor<"float32"> =>
  uniform(shape, { low: -3, high: 3, seed, device });

/** On a GPU a kernel with more to read may divide a row among more threads: its sum has another order. */
const hasEqualOrder = device.info.kind !== "cuda";

async function assertQuantized(own: QuantizedRows, row: Tensor<"float32">): Promise<void> {
  const { values, scale } = quantizeActivations(row);
  const of = async (tensor: Tensor) => [...await tensor.toArray() as Iterable<number>];
  const [ownValues, ownScale] = [await of(own.values as Tensor), await of(own.scale as Tensor)];
  const [allValues, allScale] = [await of(values as Tensor), await of(scale as Tensor)];
  if (hasEqualOrder) {
    assertEquals(ownValues, allValues);
    assertEquals(ownScale, allScale);
  } else {
    ownValues.forEach((it, at) => assert(Math.abs(it - allValues[at]!) <= 1));
    ownScale.forEach((it, at) => assertAlmostEquals(it / allScale[at]!, 1, 2 ** -21));
  }
  for (const tensor of [values, scale, own.values, own.scale]) tensor.dispose();
}

Deno.test("quantizeRows() gives the bits of sum, norm and quantisation", async () => {
  for (const [rows, columns] of [[1, 1], [3, 100], [17, 2560]] as const) {
    using x = random([rows, columns], 1);
    using residual = random([rows, columns], 2);
    using weight = random([columns], 3);
    const norm = { weight, epsilon: 1e-5 };
    using sum = x.add(residual);
    using normal = rmsNorm(sum, { weight });
    const own = quantizeRows(x, { norm, residual });
    using ownSum = own.sum!;
    assertEquals(await ownSum.toArray(), await sum.toArray());
    await assertQuantized(own, normal);
    using plain = rmsNorm(x, { weight });
    await assertQuantized(quantizeRows(x, { norm }), plain);
    await assertQuantized(quantizeRows(x, {}), x);
  }
});

Deno.test("quantizeGated() gives the bits of activation, product, norm and quantisation", async () => {
  using both = random([5, 2 * 100], 4);
  using gate = both.slice([{}, { stop: 100 }]);
  using up = both.slice([{}, { start: 100 }]);
  using weight = random([100], 5);
  for (const activation of ["squaredRelu", "silu"] as const) {
    using positive = relu(gate);
    using active = activation === "silu" ? silu(gate) : square(positive);
    using row = active.multiply(up);
    await assertQuantized(quantizeGated(gate, up, activation, {}), row);
    using normal = rmsNorm(row, { weight, epsilon: 1e-6 });
    const norm = { weight, epsilon: 1e-6 };
    await assertQuantized(quantizeGated(gate, up, activation, { norm }), normal);
  }
});
