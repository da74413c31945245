/**
 * Validation of the methods of `device.kernels`, which need no compiler.
 *
 * @module
 */

import type { Device } from "../device.ts";
import { ELEMENTWISE_CASES } from "./elementwise_cases.ts";
import { REDUCTION_CASES } from "./reduction_cases.ts";
import { RandomSource, type ValidationCase } from "./validation_case.ts";
import type { ValidationRow } from "./validation_row.ts";

/** All cases. */
export const KERNEL_CASES: readonly ValidationCase[] = [...ELEMENTWISE_CASES, ...REDUCTION_CASES];

/** The names of the methods. */
export const KERNEL_OPERATIONS: readonly string[] = [
  ...new Set(KERNEL_CASES.map(({ operation }) => operation)),
];

/** A case with a number of elements. */
export interface SizedCase {
  readonly candidate: ValidationCase;
  readonly size: number;
}

/** The cases of some operations with each of some sizes. */
export function sizedCases(operations: readonly string[], sizes: readonly number[]): SizedCase[] {
  return KERNEL_CASES
    .filter(({ operation }) => operations.includes(operation))
    .flatMap((candidate) =>
      sizes
        .filter((size) => size > 0 || candidate.needsElements !== true)
        .map((size) => ({ candidate, size }))
    );
}

/** Runs cases; `onStart` is called before each, with its operation. */
export async function runSizedCases(
  device: Device,
  work: readonly SizedCase[],
  seed: number,
  onStart?: (operation: string) => void,
): Promise<ValidationRow[]> {
  const rows: ValidationRow[] = [];
  const { label, info: { fake } } = device;
  for (const { candidate: { operation, variant = "", dtype, run }, size } of work) {
    onStart?.(operation);
    const { maxError, bound, passed } = await run(device, size, new RandomSource(seed + size));
    const named = { operation, variant: `device.kernels ${variant}`.trim(), device: label };
    rows.push({ ...named, fake, dtype, size, maxError, bound, unit: "absolute", passed });
  }
  return rows;
}
