/**
 * Error bounds of the built-in kernels, derived in the kernel files, and exact reference sums.
 *
 * @module
 */

import { isFloating, type NumericDType } from "../../kernels/operands.ts";
import type { KernelForm } from "../../kernels/kernel_form.ts";

/** Unit roundoff of double precision. */
const DOUBLE = 2 ** -53;

/** Half the distance between neighbours, relative to the value: 2 to minus the significand bits. */
export const UNIT_ROUNDOFF = {
  float64: DOUBLE,
  float32: 2 ** -24,
  float16: 2 ** -11,
  bfloat16: 2 ** -8,
} as const;

/** Half the distance between neighbours near zero. */
export const SUBNORMAL_ROUNDOFF = {
  float64: 2 ** -1075,
  float32: 2 ** -150,
  float16: 2 ** -25,
  bfloat16: 2 ** -134,
} as const;

/** A sum in double precision with Neumaier's compensation, taken as exact. */
export function exactSum(values: Float64Array, of: (value: number) => number): number {
  let sum = 0;
  let compensation = 0;
  for (const value of values) {
    const term = of(value);
    const next = sum + term;
    compensation += Math.abs(sum) >= Math.abs(term) ? sum - next + term : term - next + sum;
    sum = next;
  }
  return sum + compensation;
}

/** The bound of additions in single precision, relative to Σ|x|, by the form; `reduce.cuh`. */
const SINGLE_ADDITIONS: Readonly<Record<KernelForm, number>> = {
  block: 20 * UNIT_ROUNDOFF.float32,
  threads: 5 * UNIT_ROUNDOFF.float32,
};

/** Upper bound of the double-precision additions that an element takes part in. */
function doubleAdditions(length: number): number {
  return 64 + Math.ceil(length / 2048);
}

/** The bound of a floating-point sum of these elements by kernels of a form. */
export function sumBound(dtype: NumericDType, values: Float64Array, form: KernelForm): number {
  const isSingle = isFloating(dtype) && dtype !== "float64";
  const magnitude = exactSum(values, Math.abs);
  const relative = (isSingle ? SINGLE_ADDITIONS[form] : 0) +
    doubleAdditions(values.length) * DOUBLE;
  return relative * magnitude * (1 + 2 ** -20);
}

/** Depth of the tree that averages a batch, and its precision; `moments.cuh`. */
const MOMENTS_BATCH: { readonly [D in NumericDType]: readonly [depth: number, roundoff: number] } =
  {
    float64: [3, DOUBLE],
    float32: [4, UNIT_ROUNDOFF.float32],
    float16: [5, UNIT_ROUNDOFF.float32],
    bfloat16: [5, UNIT_ROUNDOFF.float32],
    int64: [3, DOUBLE],
    uint64: [3, DOUBLE],
    int32: [4, DOUBLE],
    uint32: [4, DOUBLE],
    int16: [0, 0],
    uint16: [0, 0],
    int8: [0, 0],
    uint8: [0, 0],
  };

/** The bounds of mean and sum of squared deviations. */
export function momentsBounds(
  dtype: NumericDType,
  values: Float64Array,
  squares: number,
): { mean: number; squares: number } {
  const n = Math.max(1, values.length);
  const [depth, u] = MOMENTS_BATCH[dtype];
  const most = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const merges = doubleAdditions(n) + 100;
  const shift = merges * DOUBLE * most;
  return {
    mean: ((depth + 2) * u * Math.sqrt(squares / n) + merges * DOUBLE * most) * (1 + 2 ** -10),
    squares: ((3 * depth + 5) * u * (squares + n * (depth * u * most) ** 2) +
      (merges * merges + 100) * DOUBLE * squares + 2 * shift * Math.sqrt(n * squares) +
      n * shift * shift) * (1 + 2 ** -10),
  };
}
