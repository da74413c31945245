/**
 * Extents padded to multiples: of a warp, a tile, a vector.
 *
 * @module
 */

import { describeInput } from "./index_error.ts";
import { requireInteger } from "./integer_argument.ts";

/**
 * The least multiple of a number that is not less than an extent.
 *
 * @param extent The extent; 0 stays 0.
 * @param multiple What it shall be a multiple of; need not be a power of two.
 * @throws {RangeError} If a number is not allowed, or the result would be more than 2^53 − 1.
 * @throws {TypeError} If an argument is no number.
 *
 * @example
 * ```ts
 * import { padTo } from "@gridstride/cuda/analysis";
 *
 * console.log(padTo(1000, 32), padTo(1024, 32), padTo(7, 3)); // 1024 1024 9
 * ```
 */
export function padTo(extent: number, multiple: number): number {
  requireInteger("pad an extent", "extent", extent, 0);
  requireInteger("pad an extent", "multiple", multiple, 1);
  const rest = extent % multiple;
  const missing = rest === 0 ? 0 : multiple - rest;
  if (extent > Number.MAX_SAFE_INTEGER - missing) {
    throw new RangeError(
      `Cannot pad an extent as the result must be at most 9007199254740991: it is ${extent} and ` +
        `${missing} more`,
    );
  }
  return extent + missing;
}

/** A shape, padded. */
export interface PaddedShape {
  /** Its extents. */
  readonly shape: readonly number[];
  /** Elements of the padded shape. */
  readonly elements: number;
  /** How many of them are padding. */
  readonly padding: number;
  /** Which share of them that is, 0 to 1. */
  readonly waste: number;
}

/**
 * Pads the extents of a shape, each to a multiple of its own: `[rows, columns]` to those of a tile,
 * or the last to a warp's 32 lanes.
 *
 * @param shape The extents; none is the shape of a single element.
 * @param multiples For the last extents, as many as there are: `[32]` pads the last only.
 * @throws {RangeError} If a number is not allowed, there are more multiples than extents, or there
 * would be more than 2^53 − 1 elements.
 * @throws {TypeError} If an argument is no array of numbers.
 *
 * @example
 * ```ts
 * import { paddedShape } from "@gridstride/cuda/analysis";
 *
 * console.log(paddedShape([100, 30], [32]).shape); // [ 100, 32 ]
 * console.log(paddedShape([100, 30], [64, 32]).shape); // [ 128, 32 ]
 * ```
 */
export function paddedShape(shape: readonly number[], multiples: readonly number[]): PaddedShape {
  checkExtents("shape", shape, 0);
  checkExtents("multiples", multiples, 1);
  if (multiples.length > shape.length) {
    throw new RangeError(
      `Cannot pad a shape as there must be at most ${shape.length} multiples: there are ` +
        multiples.length,
    );
  }
  const first = shape.length - multiples.length;
  const padded = shape.map((extent, axis) =>
    axis < first ? extent : padTo(extent, multiples[axis - first]!)
  );
  const elements = elementsOf(padded);
  const padding = elements - elementsOf(shape);
  return { shape: padded, elements, padding, waste: elements === 0 ? 0 : padding / elements };
}

function checkExtents(name: string, extents: readonly number[], least: number): void {
  if (!Array.isArray(extents)) {
    throw new TypeError(
      `Cannot pad a shape as ${name} must be an array: it is ${describeInput(extents)}`,
    );
  }
  for (let axis = 0; axis < extents.length; axis++) {
    requireInteger("pad a shape", `${name}[${axis}]`, extents[axis], least);
  }
}

/** Exact where it is at most 2^53 − 1: a partial product is no more than the product, or that is 0. */
function elementsOf(shape: readonly number[]): number {
  if (shape.includes(0)) return 0;
  const elements = shape.reduce((product, extent) => product * extent, 1);
  if (Number.isSafeInteger(elements)) return elements;
  throw new RangeError(
    `Cannot pad a shape as it must have at most 9007199254740991 elements: it is ${
      shape.join(" × ")
    }`,
  );
}
