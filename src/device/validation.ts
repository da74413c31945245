/**
 * Validation: operations against a computation in double precision.
 *
 * @module
 */

import { checkSize, requireInstance, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { Device } from "./device.ts";
import { KERNEL_CASES, runSizedCases, sizedCases } from "./validation/kernel_cases.ts";
import { runTensorCases, TENSOR_CASES } from "./validation/tensor_cases.ts";
import type { ValidationRow } from "./validation/validation_row.ts";

/**
 * Options of {@linkcode validate}.
 * @category Detection and diagnosis
 */
export interface ValidationOptions {
  /** Operations among {@linkcode VALIDATED_OPERATIONS}; all by default. */
  readonly operations?: readonly string[];
  /**
   * Element counts of the methods of `device.kernels`; by default one of them odd and of many
   * blocks. Tensor operations have shapes of their own.
   */
  readonly sizes?: readonly number[];
  /** Seed of the random data; equal seeds give equal data. */
  readonly seed?: number;
  /** Called before each row. */
  readonly onProgress?: (progress: {
    /** Finished rows. */
    readonly done: number;
    /** All rows. */
    readonly total: number;
    /** The operation of the next row. */
    readonly operation: string;
  }) => void;
}

/**
 * The operations that {@linkcode validate} runs: methods of `device.kernels` and tensor operations.
 * @category Detection and diagnosis
 */
export const VALIDATED_OPERATIONS: readonly string[] = [
  ...new Set([...KERNEL_CASES, ...TENSOR_CASES].map(({ operation }) => operation)),
].sort();

function requireList(value: unknown, name: string): asserts value is readonly unknown[] {
  if (Array.isArray(value)) return;
  throw new TypeError(
    `Cannot call validate() as ${name} must be an array: it is ${describeValue(value)}`,
  );
}

function requireCallback(onProgress: unknown): void {
  if (onProgress === undefined || typeof onProgress === "function") return;
  throw new TypeError(
    `Cannot call validate() as onProgress must be a function: it is ${describeValue(onProgress)}`,
  );
}

function requireOperations(operations: readonly string[]): void {
  requireList(operations, "operations");
  const unknown = operations.findIndex((name) => !VALIDATED_OPERATIONS.includes(name));
  if (unknown < 0) return;
  throw new RangeError(
    `Cannot call validate() as each of operations must be in VALIDATED_OPERATIONS: one is ${
      describeValue(operations[unknown])
    }`,
  );
}

function requireSizes(sizes: readonly number[]): void {
  requireList(sizes, "sizes");
  for (const size of sizes) checkSize(size, "each of sizes", "validate");
}

/**
 * Runs operations with every element type that they take and compares the results with a
 * double-precision computation. A name such as `"sum"` stands for the method of `device.kernels`,
 * whose bounds its file derives, and for the tensor operation, whose bounds are in units of the last
 * place. Integer results must be exact. The kernels of tensor operations are compiled on the first
 * run; one that does not compile fails its row, and the others are run.
 *
 * @param device The device to validate.
 * @param options The operations, the sizes, the seed, and a callback for progress.
 * @throws {RangeError} If an operation is unknown.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { validate } from "@gridstride/cuda/tensor";
 *
 * using device = openDevice();
 * const rows = await validate(device, { operations: ["moments", "histogram"] });
 * console.table(rows.filter(({ passed }) => !passed));
 * ```
 * @category Detection and diagnosis
 */
export async function validate(
  device: Device,
  options: ValidationOptions = {},
): Promise<ValidationRow[]> {
  requireInstance(device, Device, "device", "validate");
  requireOptions(options, ["operations", "sizes", "seed", "onProgress"], "validate");
  const { operations = VALIDATED_OPERATIONS, sizes = [1, 100_003], seed = 1, onProgress } = options;
  requireOperations(operations);
  requireSizes(sizes);
  checkSize(seed, "seed", "validate");
  requireCallback(onProgress);
  const sized = sizedCases(operations, sizes);
  const cases = TENSOR_CASES.filter(({ operation }) => operations.includes(operation));
  const total = sized.length + cases.length;
  let done = 0;
  const onStart = (operation: string) => onProgress?.({ done: done++, total, operation });
  const rows = await runSizedCases(device, sized, seed, onStart);
  return [...rows, ...await runTensorCases(device, cases, seed, onStart)];
}
