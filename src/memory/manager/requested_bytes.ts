/**
 * How many bytes a request is for.
 *
 * @module
 */

import { checkInteger } from "../../ffi/arguments.ts";
import { bytesPerElement, type DType } from "../dtype.ts";

/**
 * The bytes of a buffer of this many elements.
 *
 * @throws {RangeError} If the length is negative, fractional, not a number or too large.
 */
export function requestedBytes(dtype: DType, length: number): number {
  const size = bytesPerElement(dtype);
  const most = Math.floor(Number.MAX_SAFE_INTEGER / size);
  return checkInteger(length, "length", `allocate a ${dtype} buffer`, 0, most) * size;
}
