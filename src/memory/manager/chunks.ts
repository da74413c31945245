/**
 * Splitting work that does not fit into memory at once.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { checkInteger, checkSize } from "../../ffi/arguments.ts";

/** What a chunk may need. All sizes are bytes. */
export interface ChunkOptions {
  /** Memory that may be used. */
  readonly availableBytes: number;
  /** Memory needed once, however much is done at a time; 0 by default. */
  readonly fixedBytes?: number;
  /** Chunks that are in memory at the same time, such as 2 where copies overlap; 1 by default. */
  readonly inFlight?: number;
  /** All chunks but the last are a multiple of this many elements, such as a row; 1 by default. */
  readonly multipleOf?: number;
  /** Most elements of a chunk, where something else than memory limits them. */
  readonly maxElements?: number;
}

/** A part of the work: the elements from `start` up to, but without, `end`. */
export interface Chunk {
  /** Its number, from 0. */
  readonly index: number;
  /** Its first element. */
  readonly start: number;
  /** Behind its last element. */
  readonly end: number;
  /** The number of its elements. */
  readonly length: number;
}

const ACTION = "split work into chunks";

function largestChunk(bytesPerElement: number, multiple: number, options: ChunkOptions): number {
  const { availableBytes, fixedBytes = 0, inFlight = 1, maxElements } = options;
  const available = checkSize(availableBytes, "availableBytes", ACTION);
  const fixed = checkSize(fixedBytes, "fixedBytes", ACTION);
  const flights = checkInteger(inFlight, "inFlight", ACTION, 1, 2 ** 20);
  const most = maxElements === undefined
    ? Number.MAX_SAFE_INTEGER
    : checkInteger(maxElements, "maxElements", ACTION, 1, Number.MAX_SAFE_INTEGER);
  const room = Math.floor((available - fixed) / flights / bytesPerElement);
  const elements = Math.min(room, most);
  if (elements >= multiple) return elements - elements % multiple;
  if (room >= multiple) {
    throw new RangeError(
      `Cannot ${ACTION} as maxElements must be at least multipleOf, which is ${multiple}: it is ${most}`,
    );
  }
  const needed = fixed + multiple * bytesPerElement * flights;
  throw new RangeError(
    `Cannot ${ACTION} as availableBytes must be at least the ${needed} bytes that the smallest ` +
      `chunk needs: it is ${available}`,
  );
}

/**
 * Splits work into the fewest chunks that fit into memory, as equal as can be, in order. Arguments
 * are checked at once, chunks are made as they are asked for.
 *
 * @param totalElements Elements in all; 0 gives no chunk.
 * @param bytesPerElement Memory that each element of a chunk needs: of all buffers together, input,
 * output and scratch.
 * @param options What there is, and what else a chunk needs.
 * @throws {RangeError} If an argument is out of range, or not even the smallest chunk fits.
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
 */
export function chunksThatFit(
  totalElements: number,
  bytesPerElement: number,
  options: ChunkOptions,
): Generator<Chunk, void> {
  requireObject(options, "options", ACTION);
  const total = checkSize(totalElements, "totalElements", ACTION);
  const element = checkInteger(
    bytesPerElement,
    "bytesPerElement",
    ACTION,
    1,
    Number.MAX_SAFE_INTEGER,
  );
  const multiple = checkInteger(
    options.multipleOf ?? 1,
    "multipleOf",
    ACTION,
    1,
    Number.MAX_SAFE_INTEGER,
  );
  const largest = largestChunk(element, multiple, options);
  return cut(total, multiple, largest);
}

/** Cuts lazily: there may be more chunks than an array holds. */
function* cut(total: number, multiple: number, largest: number): Generator<Chunk, void> {
  if (total === 0) return;
  // Equal chunks, counted in multiples, so that no kernel gets a sliver at the end.
  const multiples = Math.ceil(total / multiple);
  const count = Math.ceil(multiples / (largest / multiple));
  const share = Math.floor(multiples / count);
  const longer = multiples % count;
  let start = 0;
  for (let index = 0; index < count; index++) {
    const length = Math.min(total - start, (share + Number(index < longer)) * multiple);
    yield { index, start, end: start + length, length };
    start += length;
  }
}
