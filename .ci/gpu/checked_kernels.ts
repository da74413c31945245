/**
 * Runs the kernels that share memory between threads on small sizes, for race checks, which take
 * hundreds of times as long as the kernels.
 *
 * @module
 */

import { openDevice } from "../../mod.ts";
import { validate } from "../../src/device/tensor.ts";

/** The operations with shared memory or atomics. */
const OPERATIONS = [
  ...["sum", "mean", "min", "max", "moments", "histogram"],
  ...["softmax", "layerNorm", "sort", "argmax", "cumulativeSum"],
  ...["matmul", "attention", "ternaryMatmul"],
];

using device = openDevice();
const rows = await validate(device, { operations: OPERATIONS, sizes: [1, 5003] });
const failed = rows.filter(({ passed }) => !passed);
console.log(`${rows.length - failed.length} passed, ${failed.length} failed on ${device.label}`);
// In the form of `gridstride validate`, for the report.
for (const { operation, variant, dtype, size, maxError, bound, unit, compileError } of failed) {
  const name = [operation, variant, dtype, size].filter((word) => word !== undefined).join(" ");
  const error = compileError ?? `${maxError} of ${bound} (${unit})`;
  console.log(`✗ ${name}  ${error}`);
}
if (failed.length > 0) Deno.exit(1);
