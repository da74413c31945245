/**
 * The kernels of the reductions: one that leaves a partial result per block, for each element type
 * of the input, and one that makes the result of these, for each element type of the output.
 *
 * @module
 */

import { KernelFamily } from "../launch/kernel_library.ts";
import { cTypeOf } from "../memory/dtype.ts";
import { type FloatingDType, isFloating, type NumericDType } from "./operands.ts";

/** The element type of the partial sums of a type: exact for integers, wide for floats. */
export function accumulatorOf(dtype: NumericDType): "float64" | "int64" {
  return isFloating(dtype) ? "float64" : "int64";
}

/** Sums: one partial result of the accumulator's type per block. */
export const SUM_PARTIAL: KernelFamily<NumericDType> = new KernelFamily((dtype) =>
  `sum_partial_${dtype}(const ${cTypeOf(dtype)}* x, ${
    cTypeOf(accumulatorOf(dtype))
  }* partials, unsigned long long n)`
);

/** The sum of floating-point partial sums, times a factor. */
export const SUM_FINAL: KernelFamily<FloatingDType> = new KernelFamily((dtype) =>
  `sum_final_${dtype}(const double* partials, unsigned int count, double factor, ${
    cTypeOf(dtype)
  }* out)`
);

/** The sum of integer partial sums. */
export const INTEGER_SUM_FINAL: KernelFamily<"int64"> = new KernelFamily((dtype) =>
  `sum_final_${dtype}(const long long* partials, unsigned int count, long long* out)`
);

/** The sum of integer partial sums, times a factor. */
export const INTEGER_MEAN_FINAL: KernelFamily<FloatingDType> = new KernelFamily((dtype) =>
  `mean_final_${dtype}(const long long* partials, unsigned int count, double factor, ${
    cTypeOf(dtype)
  }* out)`
);

function extremumKernels(operation: string): KernelFamily<NumericDType> {
  return new KernelFamily((dtype) => {
    const type = cTypeOf(dtype);
    return `${operation}_partial_${dtype}(const ${type}* x, ${type}* partials, unsigned long long n)`;
  });
}

/** Extrema: the partial results are reduced by the same kernel. */
export const EXTREMUM: Readonly<Record<"min" | "max", KernelFamily<NumericDType>>> = {
  min: extremumKernels("min"),
  max: extremumKernels("max"),
};

/** Moments: count, mean and sum of squared deviations per block. */
export const MOMENTS_PARTIAL: KernelFamily<NumericDType> = new KernelFamily((dtype) =>
  `moments_partial_${dtype}(const ${cTypeOf(dtype)}* x, double* partials, unsigned long long n)`
);

/** Mean and variance of partial moments. */
export const MOMENTS_FINAL: KernelFamily<FloatingDType> = new KernelFamily((dtype) =>
  `moments_final_${dtype}(const double* partials, unsigned int count, double correction, ${
    cTypeOf(dtype)
  }* out)`
);
