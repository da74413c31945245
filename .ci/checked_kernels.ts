/**
 * Runs the kernels that share memory between threads on small sizes, for race checks, which take
 * hundreds of times as long as the kernels.
 *
 * @module
 */

import { openDevice, validate } from "../mod.ts";

/** The kernels with shared memory or atomics. */
const KERNELS = ["sum", "mean", "min", "max", "moments", "histogram_shared"];

using device = openDevice();
const rows = await validate(device, { kernels: KERNELS, sizes: [1, 5003] });
const failed = rows.filter(({ passed }) => !passed);
console.log(`${rows.length - failed.length} passed, ${failed.length} failed on ${device.label}`);
for (const { kernel, dtype, size } of failed) console.error(`${kernel} ${dtype} ${size} failed`);
if (failed.length > 0) Deno.exit(1);
