/**
 * How warps walk over a tile in shared memory, and what that takes.
 *
 * Along rows, lanes take what lies side by side in a row, and go on in the next; along columns, what
 * lies below each other, and go on beside it.
 *
 * @module
 */

import { BankCounter } from "./bank_conflicts.ts";

const WARP_LANES = 32;

/** Where an element of the tile lies, in elements. */
export type Placement = (row: number, column: number) => number;

/** A tile, and the bytes that a lane accesses along its rows and columns; 0 is not at all. */
export interface WalkedTile {
  /** Rows of the tile. */
  readonly rows: number;
  /** Elements of a row. */
  readonly columns: number;
  /** Bytes of an element. */
  readonly elementBytes: number;
  /** Bytes of an access along rows: a multiple of an element's. */
  readonly rowBytes: number;
  /** Bytes of an access along columns, by lanes that each have a row. */
  readonly columnBytes: number;
}

/** Wavefronts of all warps that walk over a tile. */
export interface WalkCost {
  /** What they are. */
  readonly wavefronts: number;
  /** What they would be without conflicts. */
  readonly idealWavefronts: number;
}

/**
 * Counts the wavefronts of the walks over a tile.
 *
 * @param tile The tile.
 * @param place Where its elements lie.
 * @param limit Wavefronts from which nobody wants to know how many they are.
 */
export function walkCost(tile: WalkedTile, place: Placement, limit = Infinity): WalkCost {
  const { rowBytes, columnBytes } = tile;
  let wavefronts = 0;
  let idealWavefronts = 0;
  for (const isAlongRows of [true, false]) {
    const bytes = isAlongRows ? rowBytes : columnBytes;
    if (bytes === 0) continue;
    const cost = oneWalk(tile, place, bytes, isAlongRows, limit - wavefronts);
    wavefronts += cost.wavefronts;
    idealWavefronts += cost.idealWavefronts;
  }
  return { wavefronts, idealWavefronts };
}

function oneWalk(
  { rows, columns, elementBytes }: WalkedTile,
  place: Placement,
  bytes: number,
  isAlongRows: boolean,
  limit: number,
): WalkCost {
  const banks = new BankCounter(bytes);
  const elements = bytes / elementBytes;
  const vectors = columns / elements;
  const lanes = new Float64Array(WARP_LANES);
  const accesses = rows * vectors;
  for (let first = 0; first < accesses && banks.wavefronts < limit; first += WARP_LANES) {
    const count = Math.min(WARP_LANES, accesses - first);
    for (let lane = 0; lane < count; lane++) {
      const access = first + lane;
      const row = isAlongRows ? Math.floor(access / vectors) : access % rows;
      const vector = isAlongRows ? access % vectors : Math.floor(access / rows);
      lanes[lane] = place(row, vector * elements) / elements;
    }
    banks.add(lanes, 0, count);
  }
  return banks;
}
