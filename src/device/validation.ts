/**
 * Validation: every built-in kernel against a computation in double precision.
 *
 * @module
 */

import { requireInstance, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { checkSize } from "../ffi/arguments.ts";
import type { DType } from "../memory/dtype.ts";
import { Device } from "./device.ts";
import { ELEMENTWISE_CASES } from "./validation/elementwise_cases.ts";
import { REDUCTION_CASES } from "./validation/reduction_cases.ts";
import { RandomSource } from "./validation/validation_case.ts";

/**
 * The result of one kernel with one element type on one size.
 * @category Detection and diagnosis
 */
export interface ValidationRow {
  /** The kernel. */
  readonly kernel: string;
  /** The device it ran on. */
  readonly device: string;
  /** Whether `GRIDSTRIDE_FAKE` makes the device up. */
  readonly fake: boolean;
  /** The element type. */
  readonly dtype: DType;
  /** The number of elements. */
  readonly size: number;
  /** The error of the element that is closest to its bound, or furthest beyond it. */
  readonly maxError: number;
  /** The bound of that element: 0 where the result must be exact. */
  readonly bound: number;
  /** Whether every element is within its bound. */
  readonly passed: boolean;
}

/**
 * Options of {@linkcode validate}.
 * @category Detection and diagnosis
 */
export interface ValidationOptions {
  /** Element counts; by default one of them odd and of many blocks. */
  readonly sizes?: readonly number[];
  /** Kernels; all by default. */
  readonly kernels?: readonly string[];
  /** Seed of the random data; equal seeds give equal data. */
  readonly seed?: number;
  /** Called before each row. */
  readonly onProgress?: (progress: {
    /** Finished rows. */
    readonly done: number;
    /** All rows. */
    readonly total: number;
    /** The kernel of the next row. */
    readonly kernel: string;
  }) => void;
}

const CASES = [...ELEMENTWISE_CASES, ...REDUCTION_CASES];

/**
 * The kernels that {@linkcode validate} runs.
 * @category Detection and diagnosis
 */
export const VALIDATED_KERNELS: readonly string[] = [
  ...new Set(CASES.map(({ kernel }) => kernel)),
];

function requireList(value: unknown, name: string): asserts value is readonly unknown[] {
  if (Array.isArray(value)) return;
  throw new TypeError(`Cannot validate as ${name} must be an array: it is ${describeValue(value)}`);
}

function requireCallback(onProgress: unknown): void {
  if (onProgress === undefined || typeof onProgress === "function") return;
  throw new TypeError(
    `Cannot validate as onProgress must be a function: it is ${describeValue(onProgress)}`,
  );
}

function requireKernels(kernels: readonly string[]): void {
  requireList(kernels, "kernels");
  for (const kernel of kernels) {
    if (VALIDATED_KERNELS.includes(kernel)) continue;
    throw new RangeError(
      `Cannot validate as kernels must be among ${VALIDATED_KERNELS.join(", ")}: one is ${
        describeValue(kernel)
      }`,
    );
  }
}

function requireSizes(sizes: readonly number[]): void {
  requireList(sizes, "sizes");
  for (const size of sizes) checkSize(size, "each of sizes", "validate");
}

/**
 * Runs every built-in kernel with every element type and compares the results with a
 * double-precision computation. Bounds are those the kernels' own files derive; integer results
 * must be exact.
 *
 * @throws {RangeError} If a kernel is unknown.
 *
 * @example
 * ```ts
 * import { openDevice, validate } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * const failed = (await validate(device)).filter(({ passed }) => !passed);
 * console.table(failed);
 * ```
 * @category Detection and diagnosis
 */
export async function validate(
  device: Device,
  options: ValidationOptions = {},
): Promise<ValidationRow[]> {
  requireInstance(device, Device, "device", "validate");
  requireOptions(options, ["sizes", "kernels", "seed", "onProgress"], "validate");
  const { sizes = [1, 100_003], kernels = VALIDATED_KERNELS, seed = 1, onProgress } = options;
  requireKernels(kernels);
  requireSizes(sizes);
  checkSize(seed, "seed", "validate");
  requireCallback(onProgress);
  const work = CASES
    .filter(({ kernel }) => kernels.includes(kernel))
    .flatMap((candidate) =>
      sizes
        .filter((size) => size > 0 || candidate.needsElements !== true)
        .map((size) => ({ candidate, size }))
    );
  const rows: ValidationRow[] = [];
  for (const [done, { candidate, size }] of work.entries()) {
    const { kernel, dtype } = candidate;
    onProgress?.({ done, total: work.length, kernel });
    const comparison = await candidate.run(device, size, new RandomSource(seed + size));
    const { label, info: { fake } } = device;
    rows.push({ kernel, device: label, fake, dtype, size, ...comparison });
  }
  return rows;
}
