/**
 * The result of a validation case.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";

/**
 * The result of one operation with one element type.
 * @category Detection and diagnosis
 */
export interface ValidationRow {
  /** The operation. */
  readonly operation: string;
  /**
   * The kernel or the option, if the operation has several: `"causal"` of `attention`. Rows of the
   * methods of `device.kernels` begin with `"device.kernels"`.
   */
  readonly variant?: string;
  /** The device it ran on. */
  readonly device: string;
  /** Whether `GRIDSTRIDE_FAKE` makes the device up. */
  readonly fake: boolean;
  /** The element type of the operands. */
  readonly dtype: DType;
  /** The number of elements; for methods of `device.kernels` only. */
  readonly size?: number;
  /**
   * The error of the element that is closest to its bound, or furthest beyond it: 0 where exact,
   * infinite without a result.
   */
  readonly maxError: number;
  /** The bound of that element: 0 where the result must be exact. */
  readonly bound: number;
  /**
   * The unit of error and bound: `"ulp"`, units in the last place of the result's type, or
   * `"absolute"`.
   */
  readonly unit: "ulp" | "absolute";
  /** Whether every element is within its bound. */
  readonly passed: boolean;
  /** The compiler's first error, if a kernel of the operation does not compile. */
  readonly compileError?: string;
}
