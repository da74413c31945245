/**
 * Runs the kernels that share memory between threads on small sizes, for race checks, which take
 * hundreds of times as long as the kernels.
 *
 * @module
 */

import { openDevice, validate } from "../../mod.ts";
import { validateOperations } from "../../src/device/tensor.ts";

/** The kernels with shared memory or atomics. */
const KERNELS = ["sum", "mean", "min", "max", "moments", "histogram_shared"];
const OPERATIONS = ["matmul", "attention", "ternaryMatmul"];

using device = openDevice();
const kernels = await validate(device, { kernels: KERNELS, sizes: [1, 5003] });
const operations = await validateOperations(device, { operations: OPERATIONS });
const rows = [
  ...kernels.map((row) => ({ ...row, name: `${row.kernel} ${row.dtype} ${row.size}` })),
  ...operations.map((row) => ({ ...row, name: `${row.operation} ${row.variant} ${row.dtype}` })),
];
const failed = rows.filter(({ passed }) => !passed);
console.log(`${rows.length - failed.length} passed, ${failed.length} failed on ${device.label}`);
for (const { name } of failed) console.error(`${name} failed`);
if (failed.length > 0) Deno.exit(1);
