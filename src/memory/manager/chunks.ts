/**
 * Splits work that does not fit into memory at once.
 *
 * @module
 */

import { checkInteger, checkSize, requireOptions } from "../../ffi/arguments.ts";

/**
 * The memory for chunks. All sizes are bytes.
 * @category Memory
 */
export interface ChunkOptions {
  /** The available memory. */
  readonly availableBytes: number;
  /** Memory that is needed once; 0 by default. */
  readonly fixedBytes?: number;
  /** Chunks in memory at the same time, such as 2 for overlapping copies; 1 by default. */
  readonly inFlight?: number;
  /** All chunks but the last are a multiple of this many elements, such as a row; 1 by default. */
  readonly multipleOf?: number;
  /** The maximum elements of a chunk. */
  readonly maxElements?: number;
}

const ACTION = "split work into chunks";
const MAX = Number.MAX_SAFE_INTEGER;

/**
 * Splits work into the fewest chunks that fit into memory, of almost equal size, in order. Arguments
 * are checked at once; chunks are generated on demand.
 *
 * @param totalElements All elements; 0 gives no chunk.
 * @param bytesPerElement The memory for each element of a chunk in all buffers: input, output and
 * scratch.
 * @param options The available memory and further limits.
 * @throws {RangeError} If an argument is out of range, or the smallest chunk does not fit.
 *
 * @example
 * ```ts
 * import { chunksThatFit } from "@gridstride/cuda";
 *
 * // a float32 array doubled in 1 MiB: 4 bytes in, 4 bytes out
 * for (const { start, end } of chunksThatFit(1_000_000, 8, { availableBytes: 2 ** 20 })) {
 *   console.log(start, end);
 * }
 * ```
 * @category Memory
 */
export function chunksThatFit(
  totalElements: number,
  bytesPerElement: number,
  options: ChunkOptions,
): Generator<{
  /** Its number, from 0. */
  readonly index: number;
  /** Its first element. */
  readonly start: number;
  /** The end, exclusive. */
  readonly end: number;
  /** The number of its elements. */
  readonly length: number;
}, void> {
  requireOptions(
    options,
    ["availableBytes", "fixedBytes", "inFlight", "multipleOf", "maxElements"],
    ACTION,
  );
  const { fixedBytes = 0, inFlight = 1, multipleOf = 1, maxElements = MAX } = options;
  const total = checkSize(totalElements, "totalElements", ACTION);
  const element = checkInteger(bytesPerElement, "bytesPerElement", ACTION, 1, MAX);
  const multiple = checkInteger(multipleOf, "multipleOf", ACTION, 1, MAX);
  const available = checkSize(options.availableBytes, "availableBytes", ACTION);
  const fixed = checkSize(fixedBytes, "fixedBytes", ACTION);
  const flights = checkInteger(inFlight, "inFlight", ACTION, 1, 2 ** 20);
  const most = checkInteger(maxElements, "maxElements", ACTION, 1, MAX);
  const room = Math.floor((available - fixed) / flights / element);
  if (room < multiple) {
    const needed = fixed + multiple * element * flights;
    throw new RangeError(
      `Cannot ${ACTION} as availableBytes must be at least the ${needed} bytes that the smallest ` +
        `chunk needs: it is ${available}`,
    );
  }
  if (most < multiple) {
    throw new RangeError(
      `Cannot ${ACTION} as maxElements must be at least multipleOf, which is ${multiple}: it is ${most}`,
    );
  }
  return cut(total, multiple, Math.floor(Math.min(room, most) / multiple));
}

/** Cuts on demand: there may be more chunks than an array holds. */
function* cut(total: number, multiple: number, largest: number): ReturnType<typeof chunksThatFit> {
  if (total === 0) return;
  // Almost equal chunks, in multiples, avoid a tiny last chunk.
  const multiples = Math.ceil(total / multiple);
  const count = Math.ceil(multiples / largest);
  const share = Math.floor(multiples / count);
  const longer = multiples % count;
  let start = 0;
  for (let index = 0; index < count; index++) {
    const length = Math.min(total - start, (share + Number(index < longer)) * multiple);
    yield { index, start, end: start + length, length };
    start += length;
  }
}
