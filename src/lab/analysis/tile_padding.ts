/**
 * Padding and swizzles for tiles in shared memory.
 *
 * @module
 */

import { WARP_LANES } from "./access_report.ts";
import { rangeError, requireInteger, requireObject, requireOneOf } from "./arguments.ts";
import { BankCounter } from "./bank_conflicts.ts";

const ACTION = "pad a tile";
/** Bytes after which banks repeat. */
const BANK_BYTES = 128;
const VECTOR_BYTES = 16;
/** More shared memory than a block has on any GPU: 227 KiB from compute capability 9.0 on. */
const MAX_BYTES = 2 ** 18;

/**
 * A tile in shared memory and its accesses.
 * @category Alignment and padding
 */
export interface SharedTile {
  /** Rows. */
  readonly rows: number;
  /** Elements of a row. */
  readonly columns: number;
  /** Bytes of an element: 1, 2, 4, 8 or 16. */
  readonly elementBytes: number;
  /**
   * Bytes that a lane accesses at once, by lanes along rows and by lanes that each have a row of
   * their own: whole elements, up to 16 bytes; an element by default, 0 for no such access.
   * `ldmatrix` is `{ rows: 0, columns: 16 }`.
   */
  readonly access?: { readonly rows?: number; readonly columns?: number };
}

/**
 * The result of {@linkcode paddingFor}.
 * @category Alignment and padding
 */
export interface TilePadding {
  /** Elements to add to every row; 0 if more would not help. */
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
  /** The factor by which padding reduces wavefronts. */
  readonly gain: number;
  /** The alignment that all rows have with padding, in bytes; 16 at most. */
  readonly rowAlignment: number;
  /**
   * An alternative that needs no memory: a permutation that combines bits of an element's index by
   * exclusive or with others, `index ^ ((index >> shift) & (2^bits − 1) << base)`, as CuTe's
   * `Swizzle<bits, base, shift>` does. It keeps 16 bytes whole if padding costs rows that
   * alignment; otherwise it has fewer wavefronts than padding. Null if there is neither.
   */
  readonly swizzle: {
    /** The number of bits. */
    readonly bits: number;
    /** The lowest bit that changes: 2^base elements stay side by side. */
    readonly base: number;
    /** The distance to the bits that they are combined with. */
    readonly shift: number;
    /** Wavefronts of all accesses with it. */
    readonly wavefronts: number;
  } | null;
}

/**
 * Finds the least padding of a tile's rows with which walking over it, along rows and columns, takes
 * the fewest wavefronts, by counting all paddings below 128 bytes.
 *
 * @param tile The tile and its accesses.
 * @throws {RangeError} If a number is not allowed, accesses do not divide rows, or the tile is larger
 * than 256 KiB, more than any shared memory.
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
 * @category Alignment and padding
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
  // Accesses fault in rows that are no whole number of accesses apart.
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
 * The swizzle with the fewest wavefronts, fewer than `cost`, of those that keep some bytes side by
 * side; of equals the one that changes the fewest bits, by the lowest ones.
 */
function bestSwizzle(
  tile: WalkedTile,
  wholeBytes: number,
  cost: WalkCost,
): TilePadding["swizzle"] {
  const { rows, columns, elementBytes } = tile;
  const size = rows * columns;
  const base = Math.log2(Math.max(1, wholeBytes / elementBytes));
  let limit = cost.wavefronts;
  let best: TilePadding["swizzle"] = null;
  for (let bits = 1; 2 ** (base + bits) * elementBytes <= BANK_BYTES; bits++) {
    // Indices stay inside of a tile of whole groups that change places.
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

/** A checked tile; lanes along rows access `rowBytes`, lanes that each have a row `columnBytes`. */
interface WalkedTile {
  readonly rows: number;
  readonly columns: number;
  readonly elementBytes: number;
  readonly rowBytes: number;
  readonly columnBytes: number;
}

type WalkCost = Pick<TilePadding, "wavefronts" | "idealWavefronts">;

/**
 * Counts the wavefronts of warps that walk over a tile with its elements at `place`: along rows and
 * along columns. It stops counting at `limit`.
 */
function walkCost(
  { rows, columns, elementBytes, rowBytes, columnBytes }: WalkedTile,
  place: (row: number, column: number) => number,
  limit = Infinity,
): WalkCost {
  const cost = { wavefronts: 0, idealWavefronts: 0 };
  const lanes = new Float64Array(WARP_LANES);
  for (const isAlongRows of [true, false]) {
    const bytes = isAlongRows ? rowBytes : columnBytes;
    if (bytes === 0) continue;
    const banks = new BankCounter(bytes);
    const elements = bytes / elementBytes;
    const vectors = columns / elements;
    const accesses = rows * vectors;
    for (let first = 0; first < accesses; first += WARP_LANES) {
      if (cost.wavefronts + banks.wavefronts >= limit) break;
      const count = Math.min(WARP_LANES, accesses - first);
      for (let lane = 0; lane < count; lane++) {
        const access = first + lane;
        const row = isAlongRows ? Math.floor(access / vectors) : access % rows;
        const vector = isAlongRows ? access % vectors : Math.floor(access / rows);
        lanes[lane] = place(row, vector * elements) / elements;
      }
      banks.add(lanes, 0, count);
    }
    cost.wavefronts += banks.wavefronts;
    cost.idealWavefronts += banks.idealWavefronts;
  }
  return cost;
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
  requireInteger(ACTION, "rows", rows, 0, MAX_BYTES);
  requireInteger(ACTION, "columns", columns, 0, MAX_BYTES);
  requireOneOf(ACTION, "elementBytes", elementBytes, [1, 2, 4, 8, 16]);
  if (rows * columns * elementBytes > MAX_BYTES) {
    throw new RangeError(
      `Cannot ${ACTION} as it must have at most ${MAX_BYTES} bytes: it has ` +
        `${rows} × ${columns} × ${elementBytes}`,
    );
  }
  requireObject(ACTION, "access", access);
  const { rows: rowBytes = elementBytes, columns: columnBytes = elementBytes } = access;
  const allowed = [0, 1, 2, 4, 8, 16].filter((each) => each === 0 || each >= elementBytes);
  const ofRow = columns * elementBytes;
  for (
    const [name, bytes] of [["access.rows", rowBytes], ["access.columns", columnBytes]] as const
  ) {
    requireOneOf(ACTION, name, bytes, allowed);
    if (bytes !== 0 && ofRow % bytes !== 0) {
      throw rangeError(ACTION, name, `divide the ${ofRow} bytes of a row`, bytes);
    }
  }
  return { rows, columns, elementBytes, rowBytes, columnBytes };
}
