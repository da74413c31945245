/**
 * Mean and variance in one pass: two launches on one stream. Every block reduces a share to a partial
 * result, then one block reduces these, always in the same order. The same launch gives the same bits;
 * tuning may choose another number of blocks, and with it another order of sums.
 *
 * @module
 */

import { cannot, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { KernelFamily } from "../launch/kernel_library.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import type { StreamChoice } from "../memory/buffer_options.ts";
import type { DeviceBuffer } from "../memory/device_buffer.ts";
import { cTypeOf } from "../memory/dtype.ts";
import { workspaceMemory } from "../memory/workspace.ts";
import { REDUCTION_BLOCK, REDUCTION_STEP_BYTES, reductionLaunch } from "./launch_choice.ts";
import {
  FLOATING_DTYPES,
  type FloatingDType,
  NUMERIC_DTYPES,
  type NumericDType,
  requireDType,
  requireLength,
  requireOperands,
} from "./operands.ts";

/** Count, mean and sum of squared deviations per block. */
export const MOMENTS_PARTIAL: KernelFamily<NumericDType> = new KernelFamily((dtype) =>
  `moments_partial_${dtype}(const ${cTypeOf(dtype)}* x, double* partials, unsigned long long n)`
);

/** Mean and variance of partial moments. */
const MOMENTS_FINAL = new KernelFamily<FloatingDType>((dtype) =>
  `moments_final_${dtype}(const double* partials, unsigned int count, double correction, ${
    cTypeOf(dtype)
  }* out)`
);

/**
 * Enqueues `out = [mean, variance]` of `x` in one pass over it, by merging means and sums of
 * squared deviations (Chan, Golub and LeVeque 1983); large means cost no digits.
 *
 * @param out Two elements of any floating-point type. The variance is NaN if n ≤ correction.
 * @param options `correction` is subtracted from n in the variance's denominator: 1 (by default, as
 * in PyTorch) estimates the variance of the population that `x` is a sample of, 0 (as in NumPy) is
 * the variance of `x` itself.
 */
export function moments<D extends NumericDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  out: DeviceBuffer<FloatingDType>,
  options: StreamChoice & { readonly correction?: number } = {},
): void {
  const action = "compute moments";
  requireOptions(options, ["correction", "stream"], action);
  const { correction = 1 } = options;
  if (!Number.isFinite(correction) || correction < 0) {
    throw new RangeError(
      `${cannot(action)} as correction must be a number of at least 0: it is ${
        describeValue(correction)
      }`,
    );
  }
  requireOperands(action, context, { x, out });
  requireDType(action, "x", x, NUMERIC_DTYPES);
  requireLength(action, "out", out, 2);
  requireDType(action, "out", out, FLOATING_DTYPES);
  const stream = streamFor(x.context, options.stream);
  const kernel = MOMENTS_PARTIAL.of(x.context, x.dtype);
  const { grid, block } = reductionLaunch(kernel, x, REDUCTION_STEP_BYTES);
  const partials = workspaceMemory(stream, "float64", 3 * grid);
  kernel.launch({ grid, block, stream }, x, partials, x.length);
  MOMENTS_FINAL.of(x.context, out.dtype)
    .launch({ grid: 1, block: REDUCTION_BLOCK, stream }, partials, grid, correction, out);
}
