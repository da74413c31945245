/**
 * Runs the kernels that share memory between threads on small sizes, for race checks, which take
 * hundreds of times as long as the kernels.
 *
 * @module
 */

import { type Device, openDevice } from "../../mod.ts";
import {
  add,
  attention,
  layerNorm,
  matmul,
  softmax,
  sum,
  type Tensor,
  uniform,
  validate,
} from "../../src/device/tensor.ts";

/** The operations with shared memory or atomics. */
const OPERATIONS = [
  ...["sum", "mean", "min", "max", "moments", "histogram"],
  ...["softmax", "layerNorm", "sort", "argmax", "cumulativeSum"],
  ...["matmul", "attention", "ternaryMatmul"],
];

type Halves = Tensor<"float16">;

/** Calls whose kernels `validate()` has no size for. */
function furtherCalls(device: Device): Readonly<Record<string, () => Tensor>> {
  const random = (...shape: number[]) => uniform(shape, { device });
  const halves = (...shape: number[]) => random(...shape).astype("float16");
  const attend = (queries: number, keys: number, causal: boolean) => {
    const [k, v] = [0, 1].map(() => halves(1, 2, keys, 128)) as [Halves, Halves];
    return attention(halves(1, 2, queries, 128), k, v, { causal });
  };
  return {
    "tiles of a transposed operand": () => add(random(70, 90), random(90, 70).transpose()),
    "rows of a block": () => softmax(random(3, 5003)),
    "rows of a cluster": () => layerNorm(random(3, 10_001)),
    "rows in parts": () => sum(random(2, 2 ** 17), { axis: 1 }),
    "columns": () => sum(random(1000, 30), { axis: 0 }),
    // Large tiles are taken when all multiprocessors have one.
    "staged tiles on tensor cores": () => {
      const rows = 128 * device.info.multiprocessorCount;
      return matmul(halves(rows, 128), halves(128, 256), {
        variant: "mma",
      });
    },
    "attention to several tiles": () => attend(150, 300, false),
    "causal attention": () => attend(150, 150, true),
    "attention of few queries": () => attend(1, 700, false),
  };
}

using device = openDevice();
const rows = await validate(device, { operations: OPERATIONS, sizes: [1, 5003] });
const failures = rows.filter(({ passed }) => !passed)
  .map(({ operation, variant, dtype, size, maxError, bound, unit, compileError }) => {
    const name = [operation, variant, dtype, size].filter((word) => word !== undefined).join(" ");
    return `${name}  ${compileError ?? `${maxError} of ${bound} (${unit})`}`;
  });
let count = rows.length;
for (const [name, call] of Object.entries(furtherCalls(device))) {
  count++;
  try {
    using result = call();
    await result.ready();
    await device.done();
  } catch (error) {
    failures.push(`${name}  ${error}`);
  }
}
console.log(`${count - failures.length} passed, ${failures.length} failed on ${device.label}`);
// In the form of `gridstride validate`, for the report.
for (const failure of failures) console.log(`✗ ${failure}`);
if (failures.length > 0) Deno.exit(1);
