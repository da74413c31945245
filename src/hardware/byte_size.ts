/**
 * Parses sizes such as `512MiB` and `2G`.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";

/** The grammar of {@linkcode parseByteSize}, for error messages. */
export const BYTE_SIZE_GRAMMAR =
  "a positive integer with an optional unit B, K, KB, KiB, M, MB, MiB, G, GB, GiB, T, TB or TiB " +
  "(all powers of 1024)";

const UNITS: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["B", 1],
  ["K", 2 ** 10],
  ["KB", 2 ** 10],
  ["KiB", 2 ** 10],
  ["M", 2 ** 20],
  ["MB", 2 ** 20],
  ["MiB", 2 ** 20],
  ["G", 2 ** 30],
  ["GB", 2 ** 30],
  ["GiB", 2 ** 30],
  ["T", 2 ** 40],
  ["TB", 2 ** 40],
  ["TiB", 2 ** 40],
]);

/** The bytes that a text names, or undefined if it does not follow the grammar. */
export function matchByteSize(text: string): number | undefined {
  const match = /^([1-9]\d*)([A-Za-z]*)$/.exec(String(text));
  const unit = match === null ? undefined : UNITS.get(match[2]!);
  if (unit === undefined) return undefined;
  const bytes = Number(match![1]) * unit;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/**
 * Parses a size in bytes.
 *
 * Units are powers of 1024, `KB`, `MB`, `GB` and `TB` too, as other allocators
 * read `"2GB"`.
 *
 * @param text Such as `"512MiB"`, `"2G"` or `"4096"`.
 * @returns Bytes, below 2^53.
 * @throws {RangeError} If the text is not such a size.
 *
 * @example
 * ```ts
 * import { parseByteSize } from "@gridstride/cuda/memory";
 *
 * console.log(parseByteSize("2KiB")); // 2048
 * ```
 * @category Sizes
 */
export function parseByteSize(text: string): number {
  const bytes = matchByteSize(text);
  if (bytes !== undefined) return bytes;
  throw new RangeError(
    `Cannot read a size as text must be ${BYTE_SIZE_GRAMMAR} below 2^53 bytes: it is ${
      describeValue(text)
    }`,
  );
}
