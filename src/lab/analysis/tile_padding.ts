/**
 * How the rows of a tile in shared memory have to lie so that banks do not conflict.
 *
 * @module
 */

import { requireInteger, requireObject, requireOneOf } from "./integer_argument.ts";
import { describeInput } from "./index_error.ts";
import { type WalkCost, walkCost, type WalkedTile } from "./tile_walk.ts";

const ACTION = "pad a tile";
/** All banks: what is so many bytes further lies in the same one. */
const BANK_BYTES = 128;
/** The widest access, whose alignment padding may cost. */
const VECTOR_BYTES = 16;
/** More shared memory than a block has on any GPU: 227 KiB from compute capability 9.0 on. */
const MOST_BYTES = 2 ** 18;

/** A tile in shared memory and how it is accessed. */
export interface SharedTile {
  /** Rows. */
  readonly rows: number;
  /** Elements of a row. */
  readonly columns: number;
  /** Bytes of an element: 1, 2, 4, 8 or 16. */
  readonly elementBytes: number;
  /**
   * Bytes that a lane accesses at once where lanes go along rows, and where each lane has a row of
   * its own: whole elements, up to 16 bytes; an element by default, 0 where tiles are not accessed
   * so. `ldmatrix` is `{ rows: 0, columns: 16 }`.
   */
  readonly access?: { readonly rows?: number; readonly columns?: number };
}

/**
 * A permutation of a tile's elements: bits of an element's index are combined by exclusive or with
 * others, `index ^ ((index >> shift) & (2^bits − 1) << base)`, as by CuTe's `Swizzle<bits, base,
 * shift>`.
 */
export interface Swizzle {
  /** How many bits. */
  readonly bits: number;
  /** The lowest of those that change: 2^base elements stay side by side. */
  readonly base: number;
  /** How much higher those lie that they are combined with. */
  readonly shift: number;
  /** Wavefronts of all accesses then. */
  readonly wavefronts: number;
}

/** What {@linkcode paddingFor} found. */
export interface TilePadding {
  /** Elements to add to every row; 0 where more would not help. */
  readonly padding: number;
  /** Elements from one row to the next with it. */
  readonly pitch: number;
  /** Bytes of the tile with it. */
  readonly bytes: number;
  /** Wavefronts of warps that walk over the whole tile once in each way, without padding. */
  readonly unpaddedWavefronts: number;
  /** The same with padding. */
  readonly wavefronts: number;
  /** The same if no bank conflicted. */
  readonly idealWavefronts: number;
  /** How many times as many wavefronts it takes without padding. */
  readonly gain: number;
  /** The alignment that all rows have with padding, in bytes; 16 at most. */
  readonly rowAlignment: number;
  /**
   * What needs no memory instead and keeps 16 bytes whole, if padding costs rows that alignment; or
   * has fewer wavefronts than padding. Null where there is neither.
   */
  readonly swizzle: Swizzle | null;
}

/**
 * The least padding of a tile's rows with which walking over it, along rows and columns, takes the
 * fewest wavefronts: none in conflict wherever there is such a padding. Found by counting all
 * paddings that make a difference, which are those below 128 bytes.
 *
 * @param tile The tile and how it is accessed.
 * @throws {RangeError} If a number is not allowed, accesses do not divide rows, or the tile is larger
 * than 256 KiB, which no shared memory is.
 * @throws {TypeError} If one is of another type.
 *
 * @example
 * ```ts
 * import { paddingFor } from "@gridstride/cuda/analysis";
 *
 * const { padding, gain, swizzle } = paddingFor({ rows: 32, columns: 32, elementBytes: 4 });
 * console.log(padding, gain, swizzle);
 * // 1 16.5 { bits: 3, base: 2, shift: 3, wavefronts: 160 }
 * ```
 */
export function paddingFor(tile: SharedTile): TilePadding {
  const walked = checkTile(tile);
  const { rows, columns, elementBytes } = walked;
  const unpadded = walkCost(walked, (row, column) => row * columns + column);
  const [padding, cost] = bestPadding(walked, unpadded);
  const pitch = columns + padding;
  const rowAlignment = alignmentOf(pitch * elementBytes);
  return {
    padding,
    pitch,
    bytes: rows * pitch * elementBytes,
    unpaddedWavefronts: unpadded.wavefronts,
    wavefronts: cost.wavefronts,
    idealWavefronts: cost.idealWavefronts,
    gain: cost.wavefronts === 0 ? 1 : unpadded.wavefronts / cost.wavefronts,
    rowAlignment,
    swizzle: rowAlignment < alignmentOf(columns * elementBytes)
      ? bestSwizzle(walked, VECTOR_BYTES, unpadded)
      : bestSwizzle(walked, widestAccess(walked), cost),
  };
}

function bestPadding(tile: WalkedTile, unpadded: WalkCost): readonly [number, WalkCost] {
  const { columns, elementBytes } = tile;
  let padding = 0;
  let best = unpadded;
  // Rows that are no whole number of accesses apart would make these fault.
  const step = widestAccess(tile) / elementBytes;
  for (let more = step; more < BANK_BYTES / elementBytes; more += step) {
    if (best.wavefronts === best.idealWavefronts) break;
    const pitch = columns + more;
    const cost = walkCost(tile, (row, column) => row * pitch + column, best.wavefronts);
    if (cost.wavefronts < best.wavefronts) [padding, best] = [more, cost];
  }
  return [padding, best];
}

/**
 * The swizzle with the fewest wavefronts, and fewer than without one, of those that keep some bytes side by side;
 * of equals the one that changes the fewest bits, by the lowest ones.
 */
function bestSwizzle(tile: WalkedTile, wholeBytes: number, cost: WalkCost): Swizzle | null {
  const { rows, columns, elementBytes } = tile;
  const size = rows * columns;
  const base = Math.log2(Math.max(1, wholeBytes / elementBytes));
  let limit = cost.wavefronts;
  let best: Swizzle | null = null;
  for (let bits = 1; 2 ** (base + bits) * elementBytes <= BANK_BYTES; bits++) {
    // Indices stay inside of the tile if it is whole groups of those that change places.
    if (size % 2 ** (base + bits) !== 0) break;
    const mask = 2 ** bits - 1 << base;
    for (let shift = bits; 2 ** (base + shift) < size; shift++) {
      if (limit === cost.idealWavefronts) return best;
      const { wavefronts } = walkCost(tile, (row, column) => {
        const index = row * columns + column;
        return index ^ (index >> shift & mask);
      }, limit);
      if (wavefronts >= limit) continue;
      limit = wavefronts;
      best = { bits, base, shift, wavefronts };
    }
  }
  return best;
}

function widestAccess({ elementBytes, rowBytes, columnBytes }: WalkedTile): number {
  return Math.max(elementBytes, rowBytes, columnBytes);
}

/** The largest power of two, up to 16, that divides a number of bytes. */
function alignmentOf(bytes: number): number {
  return bytes % VECTOR_BYTES === 0 ? VECTOR_BYTES : bytes & -bytes;
}

function checkTile(tile: SharedTile): WalkedTile {
  requireObject(ACTION, "tile", tile);
  const { rows, columns, elementBytes, access = {} } = tile;
  requireInteger(ACTION, "rows", rows, 0, MOST_BYTES);
  requireInteger(ACTION, "columns", columns, 0, MOST_BYTES);
  requireOneOf(ACTION, "elementBytes", elementBytes, [1, 2, 4, 8, 16]);
  if (rows * columns * elementBytes > MOST_BYTES) {
    throw new RangeError(
      `Cannot ${ACTION} as it must have at most ${MOST_BYTES} bytes: it has ` +
        `${rows} × ${columns} × ${elementBytes}`,
    );
  }
  requireObject(ACTION, "access", access);
  const { rows: rowBytes = elementBytes, columns: columnBytes = elementBytes } = access;
  const walked = { rows, columns, elementBytes, rowBytes, columnBytes };
  checkAccess("access.rows", rowBytes, walked);
  checkAccess("access.columns", columnBytes, walked);
  return walked;
}

function checkAccess(name: string, bytes: unknown, { columns, elementBytes }: WalkedTile): void {
  const allowed = [0, 1, 2, 4, 8, 16].filter((each) => each === 0 || each >= elementBytes);
  requireOneOf(ACTION, name, bytes, allowed);
  if (bytes !== 0 && columns * elementBytes % bytes !== 0) {
    throw new RangeError(
      `Cannot ${ACTION} as ${name} must divide the ${
        columns * elementBytes
      } bytes of a row: it is ${describeInput(bytes)}`,
    );
  }
}
