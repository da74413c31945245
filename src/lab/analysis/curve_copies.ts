/**
 * Copies between a matrix by rows and the same along Morton's curve, in squares of 8 × 8 elements:
 * the curve goes through each of them before the next, always by the same steps.
 *
 * @module
 */

import type { WordArray } from "./element_words.ts";
import type { MatrixShape } from "./matrix_shape.ts";
import { mortonColumn, mortonRow, squareSide } from "./morton_code.ts";

const SIDE = 8;
const SQUARE = SIDE * SIDE;
const ROWS = Int32Array.from({ length: SQUARE }, (_, code) => mortonRow(code));
const COLUMNS = Int32Array.from({ length: SQUARE }, (_, code) => mortonColumn(code));

/** Where elements lie in the matrix, from the first of their square on. */
type Offsets = Int32Array | Float64Array;
/** Copies elements that lie `offsets` behind `base` in the matrix, and side by side on the curve. */
type SquareCopy = (base: number, place: number, offsets: Offsets, count: number) => void;

/**
 * Moves a matrix to the curve, or back.
 *
 * @param from Where from.
 * @param to Where to: elements of the same width.
 * @param shape The matrix.
 * @param isForward Whether it goes to the curve.
 */
export function moveAlongCurve(
  from: WordArray,
  to: WordArray,
  shape: MatrixShape,
  isForward: boolean,
): void {
  const curve = new CurveCopy(shape, squareCopyOf(from, to, isForward));
  curve.copy(0, 0, Math.max(SIDE, squareSide(shape.rows, shape.columns)));
}

/** Room for the offsets of a square: of long rows these need more than 32 bits. */
function emptyOffsets(columns: number): Offsets {
  return SIDE * columns < 2 ** 31 ? new Int32Array(SQUARE) : new Float64Array(SQUARE);
}

class CurveCopy {
  readonly #rows: number;
  readonly #columns: number;
  readonly #copySquare: SquareCopy;
  /** Where the elements of a square lie, from its first on. */
  readonly #offsets: Offsets;
  /** The same for those elements of a square that are in the matrix. */
  readonly #some: Offsets;
  #place = 0;

  constructor({ rows, columns }: MatrixShape, copySquare: SquareCopy) {
    this.#rows = rows;
    this.#columns = columns;
    this.#copySquare = copySquare;
    this.#offsets = emptyOffsets(columns);
    for (let code = 0; code < SQUARE; code++) {
      this.#offsets[code] = ROWS[code]! * columns + COLUMNS[code]!;
    }
    this.#some = emptyOffsets(columns);
  }

  /** Copies the square at a place, as far as the matrix reaches. */
  copy(top: number, left: number, side: number): void {
    if (top >= this.#rows || left >= this.#columns) return;
    if (side === SIDE) return this.#copySmall(top, left);
    const half = side / 2;
    this.copy(top, left, half);
    this.copy(top, left + half, half);
    this.copy(top + half, left, half);
    this.copy(top + half, left + half, half);
  }

  #copySmall(top: number, left: number): void {
    const height = this.#rows - top;
    const width = this.#columns - left;
    const base = top * this.#columns + left;
    if (height >= SIDE && width >= SIDE) {
      this.#copySquare(base, this.#place, this.#offsets, SQUARE);
      this.#place += SQUARE;
      return;
    }
    let count = 0;
    for (let code = 0; code < SQUARE; code++) {
      if (ROWS[code]! < height && COLUMNS[code]! < width) {
        this.#some[count++] = this.#offsets[code]!;
      }
    }
    this.#copySquare(base, this.#place, this.#some, count);
    this.#place += count;
  }
}

// One loop for each width and direction: a loop that sees several kinds of arrays is slow.

function squareCopyOf(from: WordArray, to: WordArray, isForward: boolean): SquareCopy {
  if (from instanceof Int32Array) {
    const target = to as Int32Array;
    return isForward
      ? (...square) => gather32(from, target, ...square)
      : (...square) => scatter32(from, target, ...square);
  }
  if (from instanceof BigUint64Array) {
    const target = to as BigUint64Array;
    return isForward
      ? (...square) => gather64(from, target, ...square)
      : (...square) => scatter64(from, target, ...square);
  }
  return (...square) => copyNarrow(from, to as Uint8Array, isForward, ...square);
}

function gather32(
  from: Int32Array,
  to: Int32Array,
  base: number,
  place: number,
  offsets: Offsets,
  count: number,
): void {
  for (let i = 0; i < count; i++) to[place + i] = from[base + offsets[i]!]!;
}

function scatter32(
  from: Int32Array,
  to: Int32Array,
  base: number,
  place: number,
  offsets: Offsets,
  count: number,
): void {
  for (let i = 0; i < count; i++) to[base + offsets[i]!] = from[place + i]!;
}

function gather64(
  from: BigUint64Array,
  to: BigUint64Array,
  base: number,
  place: number,
  offsets: Offsets,
  count: number,
): void {
  for (let i = 0; i < count; i++) to[place + i] = from[base + offsets[i]!]!;
}

function scatter64(
  from: BigUint64Array,
  to: BigUint64Array,
  base: number,
  place: number,
  offsets: Offsets,
  count: number,
): void {
  for (let i = 0; i < count; i++) to[base + offsets[i]!] = from[place + i]!;
}

function copyNarrow(
  from: Uint8Array | Uint16Array,
  to: Uint8Array | Uint16Array,
  isForward: boolean,
  base: number,
  place: number,
  offsets: Offsets,
  count: number,
): void {
  for (let i = 0; i < count; i++) {
    if (isForward) to[place + i] = from[base + offsets[i]!]!;
    else to[base + offsets[i]!] = from[place + i]!;
  }
}
