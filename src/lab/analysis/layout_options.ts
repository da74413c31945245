/**
 * What `optimizeLayout()` is told, checked, and what it returns.
 *
 * @module
 */

import type { AccessReport } from "./access_report.ts";
import type { DataLayout, LayoutKind } from "./data_layout.ts";
import type { DataArray } from "./element_words.ts";
import { describeInput } from "./index_error.ts";
import { checkedProduct, requireInteger, requireObject } from "./integer_argument.ts";
import type { MatrixShape } from "./matrix_shape.ts";

const ACTION = "optimise the layout";

const KINDS: readonly LayoutKind[] = [
  "transposed",
  "structure-of-arrays",
  "tiled",
  "z-order",
  "first-touch",
];

/** What is known of the data, and which layouts are welcome. */
export interface LayoutOptions {
  /** The matrix that the data is, by rows. Without it, its columns are taken from the pattern. */
  readonly shape?: MatrixShape;
  /** Elements of a record, if the data is records one behind the other. */
  readonly elementsPerRecord?: number;
  /** Byte at which element 0 lies, modulo 128: 0 by default, as allocations are aligned. */
  readonly offset?: number;
  /** Layouts that may be tried; all by default. */
  readonly layouts?: readonly LayoutKind[];
  /** How many times fewer sectors a layout must touch to be worth it; 1.05 by default. */
  readonly minimumGain?: number;
}

/** Data in a layout that suits its accesses, and what that gains. */
export interface OptimizedLayout<T extends DataArray> {
  /** The layout that was chosen; `unchanged` if there is nothing to gain. */
  readonly layout: LayoutKind;
  /** The data in that layout: a new array, or the same one if it is unchanged. */
  readonly data: T;
  /**
   * The accesses, rewritten: where in `data` each of them finds its element. If that is unchanged and
   * they came as a `Uint32Array`, that array itself.
   */
  readonly indices: Uint32Array;
  /** Where each element lies now, and the way back. */
  readonly map: DataLayout;
  /** What the accesses were. */
  readonly before: AccessReport;
  /** What they are now: the same analysis of `indices`. */
  readonly after: AccessReport;
  /** How many times fewer sectors they touch: `before.sectors / after.sectors`. */
  readonly gain: number;
  /** Why, in a sentence. */
  readonly reason: string;
  /**
   * Puts data of that layout back in its original order, bit for bit.
   *
   * @param data What to put back; `data` by default.
   * @returns A new array.
   */
  undo(data?: T): T;
}

/** Options with all defaults. */
export interface CheckedLayoutOptions {
  readonly shape: MatrixShape | undefined;
  readonly elementsPerRecord: number | undefined;
  readonly offset: number;
  readonly layouts: readonly LayoutKind[];
  readonly minimumGain: number;
}

/**
 * Checks options.
 *
 * @param options The options.
 * @param length Elements of the data.
 * @throws {RangeError} If a number is not allowed, or does not fit the data.
 * @throws {TypeError} If something is of another type.
 */
export function checkLayoutOptions(options: LayoutOptions, length: number): CheckedLayoutOptions {
  requireObject(ACTION, "options", options);
  const { shape, elementsPerRecord, offset = 0, layouts = KINDS, minimumGain = 1.05 } = options;
  if (elementsPerRecord !== undefined) {
    requireInteger(ACTION, "elementsPerRecord", elementsPerRecord, 1);
    if (length % elementsPerRecord !== 0) {
      throw new RangeError(
        `Cannot ${ACTION} as elementsPerRecord must divide the ${length} elements of data: it is ` +
          elementsPerRecord,
      );
    }
  }
  checkLayouts(layouts);
  if (typeof minimumGain !== "number") {
    throw new TypeError(
      `Cannot ${ACTION} as minimumGain must be a number: it is ${describeInput(minimumGain)}`,
    );
  }
  if (!(minimumGain >= 1)) {
    throw new RangeError(`Cannot ${ACTION} as minimumGain must be 1 or more: it is ${minimumGain}`);
  }
  requireInteger(ACTION, "offset", offset, 0);
  return {
    shape: shape === undefined ? undefined : checkedShape(shape, length),
    elementsPerRecord,
    offset,
    layouts,
    minimumGain,
  };
}

function checkedShape(shape: MatrixShape, length: number): MatrixShape {
  requireObject(ACTION, "shape", shape);
  const { rows, columns } = shape;
  requireInteger(ACTION, "shape.rows", rows, 0);
  requireInteger(ACTION, "shape.columns", columns, 0);
  if (checkedProduct(ACTION, "rows × columns", rows, columns) !== length) {
    throw new RangeError(
      `Cannot ${ACTION} as shape must have the ${length} elements of data: it is ${rows} × ${columns}`,
    );
  }
  return { rows, columns };
}

function checkLayouts(layouts: readonly LayoutKind[]): void {
  if (!Array.isArray(layouts)) {
    throw new TypeError(
      `Cannot ${ACTION} as layouts must be an array: it is ${describeInput(layouts)}`,
    );
  }
  const wrong = layouts.find((kind) => !KINDS.includes(kind));
  if (wrong === undefined) return;
  const given = typeof wrong === "string" ? wrong : describeInput(wrong);
  throw new RangeError(
    `Cannot ${ACTION} as layouts must be of ${KINDS.join(", ")}: one is ${given}`,
  );
}
