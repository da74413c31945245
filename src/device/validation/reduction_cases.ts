/**
 * Validation of sum, mean, min, max, moments and histogram.
 *
 * @module
 */

import { isFloating, NUMERIC_DTYPES, type NumericDType } from "../../kernels/operands.ts";
import { kernelFormOf } from "../../kernels/kernel_form.ts";
import type { TypedArrayOf } from "../../memory/dtype.ts";
import { exactSum, momentsBounds, sumBound } from "./bounds.ts";
import {
  compareIntegers,
  compareNumbers,
  isBig,
  moderateElements,
  randomElements,
  readNumbers,
  type ValidationCase,
} from "./validation_case.ts";

const identity = (value: number): number => value;

/** The sum of integers, modulo 2^64. */
function integerSum(array: TypedArrayOf<NumericDType>): bigint {
  let sum = 0n;
  for (const value of array) sum += BigInt(value);
  return BigInt.asIntN(64, sum);
}

function sumCase(dtype: NumericDType): ValidationCase {
  return {
    operation: "sum",
    dtype,
    async run(device, size, random) {
      const array = randomElements(dtype, size, random);
      using x = device.upload(array, { dtype });
      if (!isFloating(dtype)) {
        using out = device.allocate("int64", 1);
        device.kernels.sum(x, out as never);
        return compareIntegers(await out.toArray(), [integerSum(array)]);
      }
      using out = device.allocate("float64", 1);
      device.kernels.sum(x, out as never);
      const values = readNumbers(dtype, array);
      return compareNumbers(
        await out.toArray(),
        Float64Array.of(exactSum(values, identity)),
        () => sumBound(dtype, values, kernelFormOf(device.context)),
      );
    },
  };
}

function meanCase(dtype: NumericDType): ValidationCase {
  return {
    operation: "mean",
    dtype,
    async run(device, size, random) {
      const array = moderateElements(dtype, size, random);
      using x = device.upload(array, { dtype });
      using out = device.allocate("float64", 1);
      device.kernels.mean(x, out);
      const values = readNumbers(dtype, array);
      const mean = exactSum(values, identity) / size;
      return compareNumbers(
        await out.toArray(),
        Float64Array.of(mean),
        () =>
          sumBound(dtype, values, kernelFormOf(device.context)) / Math.max(1, size) +
          Math.abs(mean) * 2 ** -51,
      );
    },
  };
}

function extremumCase(operation: "min" | "max", dtype: NumericDType): ValidationCase {
  return {
    operation,
    dtype,
    needsElements: true,
    async run(device, size, random) {
      const array = randomElements(dtype, size, random);
      using x = device.upload(array, { dtype });
      using out = device.allocate(dtype, 1);
      device.kernels[operation](x, out);
      const actual = await out.toArray();
      if (isBig(array) && isBig(actual)) {
        const better = (a: bigint, b: bigint) => (operation === "min") === (a < b) ? a : b;
        return compareIntegers(actual, [Array.from(array).reduce(better)]);
      }
      const expected = readNumbers(dtype, array).reduce((a, b) => Math[operation](a, b));
      return compareNumbers(readNumbers(dtype, actual), Float64Array.of(expected), () => 0);
    },
  };
}

function momentsCase(dtype: NumericDType): ValidationCase {
  return {
    operation: "moments",
    dtype,
    async run(device, size, random) {
      const array = moderateElements(dtype, size, random);
      using x = device.upload(array, { dtype });
      using out = device.allocate("float64", 2);
      device.kernels.moments(x, out);
      const values = readNumbers(dtype, array);
      const mean = exactSum(values, identity) / size;
      const squares = exactSum(values, (value) => (value - mean) ** 2);
      const bounds = momentsBounds(dtype, values, squares);
      const variance = size > 1 ? squares / (size - 1) : NaN;
      return compareNumbers(
        await out.toArray(),
        Float64Array.of(mean, variance),
        (i) => i === 0 ? bounds.mean : bounds.squares / Math.max(1, size - 1) + variance * 2 ** -51,
      );
    },
  };
}

/** Counts by the kernel's own formula, in double precision. */
function histogramReference(
  values: Float64Array,
  bins: number,
  low: number,
  high: number,
): Float64Array {
  const counts = new Float64Array(bins);
  const scale = bins / (high - low);
  for (const value of values) {
    if (!(value >= low && value <= high)) continue;
    counts[Math.min(Math.floor((value - low) * scale), bins - 1)]!++;
  }
  return counts;
}

/** Few bins are counted in shared memory, many in global memory. */
const HISTOGRAM_BINS = { shared: 100, global: 20_011 } as const;

function histogramCase(
  memory: keyof typeof HISTOGRAM_BINS,
  dtype: NumericDType,
): ValidationCase {
  const bins = HISTOGRAM_BINS[memory];
  return {
    operation: "histogram",
    variant: memory,
    dtype,
    async run(device, size, random) {
      const array = moderateElements(dtype, size, random);
      const [low, high] = [-73.5, 91.25];
      using x = device.upload(array, { dtype });
      using counts = device.allocate("uint32", bins);
      device.kernels.histogram(x, counts, { low, high });
      return compareNumbers(
        Float64Array.from(await counts.toArray()),
        histogramReference(readNumbers(dtype, array), bins, low, high),
        () => 0,
      );
    },
  };
}

/** All cases of this file. */
export const REDUCTION_CASES: readonly ValidationCase[] = NUMERIC_DTYPES.flatMap((dtype) => [
  sumCase(dtype),
  meanCase(dtype),
  extremumCase("min", dtype),
  extremumCase("max", dtype),
  momentsCase(dtype),
  histogramCase("shared", dtype),
  histogramCase("global", dtype),
]);
