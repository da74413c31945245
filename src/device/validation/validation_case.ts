/**
 * What a validation case is.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import type { Device } from "../device.ts";
import type { Comparison } from "./comparison.ts";
import type { RandomSource } from "./sample.ts";

/** One kernel with one element type. */
export interface ValidationCase {
  /** The kernel. */
  readonly kernel: string;
  /** The element type. */
  readonly dtype: DType;
  /** Whether it needs at least one element. */
  readonly needsElements?: boolean;
  /** Runs it on that many elements and compares the result with the reference. */
  run(device: Device, size: number, random: RandomSource): Promise<Comparison>;
}
