/**
 * Options of an analysis, checked, and how accesses of that size lie in lines.
 *
 * @module
 */

import type { AccessOptions } from "./access_report.ts";
import { describeInput } from "./index_error.ts";

/** Bytes of a sector, of a line, and lanes of a warp. */
export const SECTOR_BYTES = 32;
export const LINE_BYTES = 128;
export const WARP_LANES = 32;

/** Lines that are followed where `reuse` is `true`. */
export const DEFAULT_REUSE_LINES = 8192;
/** At most so many lines are followed: some 190 MB of tables. */
export const MAXIMUM_REUSE_LINES = 2 ** 22;

const ELEMENT_BYTES: readonly number[] = [1, 2, 4, 8, 12, 16];

/** Where the accesses of a warp lie. */
export interface AccessGeometry {
  /** Bytes from one element to the next. */
  readonly elementBytes: number;
  /** Byte of a line at which element 0 begins. */
  readonly offset: number;
  /** Requests that an access of a warp takes; request `i` is for byte 4 `i` of the element on. */
  readonly parts: number;
  /** Bytes that a lane accesses in a request. */
  readonly accessBytes: number;
  /** The largest power of two that divides the bytes and the place of every access. */
  readonly granuleBytes: number;
  /** Lines that are followed to find how they are used again; 0 where that was not asked for. */
  readonly reuseLines: number;
}

/**
 * Whether an instruction can access elements there: of global memory a lane reads or writes 1, 2, 4,
 * 8 or 16 bytes, at an address that is a multiple of them (CUDA C++ Programming Guide, "Size and
 * Alignment Requirement").
 */
export function isAligned({ granuleBytes, accessBytes }: AccessGeometry): boolean {
  return granuleBytes === accessBytes;
}

/**
 * Checks options.
 *
 * @throws {RangeError} If a number is none that is allowed.
 * @throws {TypeError} If one is no number, or the options are no object.
 */
export function accessGeometry(options: AccessOptions): AccessGeometry {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(
      `Cannot analyse accesses as options must be an object: it is ${describeInput(options)}`,
    );
  }
  const { elementBytes = 4, offset = 0, reuse = false } = options;
  checkNumber("elementBytes", elementBytes);
  if (!ELEMENT_BYTES.includes(elementBytes)) {
    throw problem("elementBytes", ELEMENT_BYTES.join(", "), elementBytes);
  }
  checkNumber("offset", offset);
  if (!Number.isSafeInteger(offset) || offset < 0) {
    throw problem("offset", "an integer in 0..9007199254740991", offset);
  }
  // What no instruction accesses at once is accessed word by word, as the alignment of these
  // vectors, 4 bytes, allows no more.
  const accessBytes = elementBytes === 12 ? 4 : elementBytes;
  const place = offset % LINE_BYTES;
  return {
    elementBytes,
    offset: place,
    parts: elementBytes / accessBytes,
    accessBytes,
    granuleBytes: place === 0 ? accessBytes : Math.min(accessBytes, place & -place),
    reuseLines: reuseLines(reuse),
  };
}

function reuseLines(reuse: unknown): number {
  if (typeof reuse === "boolean") return reuse ? DEFAULT_REUSE_LINES : 0;
  if (typeof reuse !== "number") {
    throw new TypeError(
      `Cannot analyse accesses as reuse must be a boolean or a number: it is ${
        describeInput(reuse)
      }`,
    );
  }
  if (!Number.isInteger(reuse) || reuse < 1 || reuse > MAXIMUM_REUSE_LINES) {
    throw problem("reuse", `an integer in 1..${MAXIMUM_REUSE_LINES}`, reuse);
  }
  return reuse;
}

function checkNumber(name: string, value: unknown): void {
  if (typeof value === "number") return;
  throw new TypeError(
    `Cannot analyse accesses as ${name} must be a number: it is ${describeInput(value)}`,
  );
}

function problem(name: string, allowed: string, value: number): RangeError {
  return new RangeError(
    `Cannot analyse accesses as ${name} must be ${
      name === "elementBytes" ? "one of " : ""
    }${allowed}: it is ${value}`,
  );
}
