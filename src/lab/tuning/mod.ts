/**
 * Tuning: finds the fastest of several configurations of a kernel by timing them on the device, and
 * stores the results for later processes.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { autotune } from "@gridstride/cuda/tuning";
 *
 * using device = openDevice();
 * using x = device.allocate("float32", 100_000, { fill: 1 });
 * const scale = device.kernels.load(
 *   "scale_float32(const float* x, float* out, float factor, float offset, unsigned long long n)",
 * );
 * const { best } = await autotune(device, {
 *   name: "scale",
 *   key: { elements: x.length },
 *   configurations: [{ block: 256 }, { block: 128 }, { block: 512 }],
 *   launch: ({ block }) =>
 *     scale.launch({ grid: Math.ceil(x.length / block), block }, x, x, 2, 0, x.length),
 *   restore: [x],
 * });
 * console.log(best.block);
 * ```
 *
 * @module
 */

export { autotune, Autotuner, setTuningMode, TuningError } from "./autotune.ts";
export { type KernelTuningRow, type TunableOperation, tuneKernels } from "./kernel_tuning.ts";
export type {
  AutotuneOptions,
  AutotunerOptions,
  TuningResult,
  TuningRow,
  TuningRun,
  TuningValue,
} from "./tuning_options.ts";
export { clearTunings, type TuningStats, tuningStats } from "./tuning_store.ts";
