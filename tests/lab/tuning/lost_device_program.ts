/**
 * Tunes with a configuration that faults, and prints what came of it, as JSON. Started by
 * `lost_device_test.ts`, twice with the same cache, with the device and the number of the launch
 * that faults.
 *
 * @module
 */

import { CudaError, openDevice } from "../../../mod.ts";
import { autotune, TuningError } from "../../../src/lab/tuning/mod.ts";

using device = openDevice(Deno.args[0]);
const fault = device.kernels.load("fault_trap()");
const spin = device.kernels.load(
  "spin_float32(float* out, unsigned long long nanoseconds, float value)",
);
const y = device.allocate("float32", 10, { fill: 1 });
const faulty = Number(Deno.args[1]);
let launches = 0;

async function outcome() {
  try {
    const { best, report } = await autotune(device, {
      name: "dangerous",
      key: 1,
      warmUp: 1,
      repeats: 4,
      configurations: [{ traps: false }, { traps: true }, { traps: false, again: 1 }],
      launch: ({ traps }) => {
        if (!traps) spin.launch({ grid: 1, block: 1 }, y, 9_500_000, 2);
        else if (++launches === faulty) fault.launch({ grid: 1, block: 32 });
        else device.kernels.fill(y, 2);
      },
      restore: [y],
    });
    return {
      traps: best.traps,
      failed: report.map(({ failed }) => failed),
      content: [...await y.toArray()],
    };
  } catch (error) {
    if (!(error instanceof TuningError)) throw error;
    const { message, cause, report } = error;
    const sticky = cause instanceof CudaError && cause.sticky;
    return { message, sticky, report: report.map(({ configuration }) => configuration) };
  }
}

console.log(JSON.stringify(await outcome()));
try {
  y.free();
} catch (error) {
  if (!(error instanceof CudaError && error.sticky)) throw error;
}
