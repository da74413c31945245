/**
 * Copies of the rows of tiles between a matrix and its tiles.
 *
 * A row of a tile is moved in the widest words that it consists of, as long as these are aligned in
 * both arrays.
 *
 * @module
 */

import type { WordArray } from "./element_words.ts";

/** A matrix and its tiles, in elements. */
export interface BlockRows {
  /** Rows of the matrix. */
  readonly rows: number;
  /** Elements of its rows. */
  readonly columns: number;
  /** Rows of a tile. */
  readonly tileRows: number;
  /** Elements of a tile's row. */
  readonly tileColumns: number;
}

/** Bytes of a row from which a copy of it by the engine takes less than a loop. */
const LONG_ROW = 512;

/**
 * Moves a matrix into tiles, or back.
 *
 * @param from Where from.
 * @param to Where to: elements of the same width.
 * @param shape The matrix and its tiles.
 * @param isForward Whether it goes into tiles.
 */
export function moveRows(
  from: WordArray,
  to: WordArray,
  shape: BlockRows,
  isForward: boolean,
): void {
  const bytes = from.BYTES_PER_ELEMENT;
  const tileBytes = shape.tileColumns * bytes;
  const rowBytes = shape.columns * bytes;
  const isWhole = (width: number) =>
    [tileBytes, rowBytes, from.byteOffset, to.byteOffset].every((place) => place % width === 0);
  if (tileBytes >= LONG_ROW) {
    const [source, target] = [viewOf(Uint8Array, from), viewOf(Uint8Array, to)];
    moveTiles(shape, bytes, isForward, (i, o, count) => {
      target.set(source.subarray(i, i + count), o);
    });
  } else if (isWhole(8)) {
    const [source, target] = [viewOf(BigUint64Array, from), viewOf(BigUint64Array, to)];
    moveTiles(shape, bytes / 8, isForward, (i, o, count) => copy64(source, target, i, o, count));
  } else if (isWhole(4)) {
    const [source, target] = [viewOf(Uint32Array, from), viewOf(Uint32Array, to)];
    moveTiles(shape, bytes / 4, isForward, (i, o, count) => copy32(source, target, i, o, count));
  } else {
    moveTiles(shape, 1, isForward, (i, o, count) => {
      copyNarrow(from as Uint8Array, to as Uint8Array, i, o, count);
    });
  }
}

/** Calls with where each row of each tile is, where it goes and how long it is, in units. */
function moveTiles(
  { rows, columns, tileRows, tileColumns }: BlockRows,
  unitsPerElement: number,
  isForward: boolean,
  copy: (from: number, to: number, count: number) => void,
): void {
  const pitch = columns * unitsPerElement;
  const tileWidth = tileColumns * unitsPerElement;
  for (let top = 0; top < rows; top += tileRows) {
    const height = Math.min(tileRows, rows - top);
    let inTiles = top * pitch;
    for (let left = 0; left < pitch; left += tileWidth) {
      const width = Math.min(tileWidth, pitch - left);
      for (let row = 0; row < height; row++, inTiles += width) {
        const inMatrix = (top + row) * pitch + left;
        if (isForward) copy(inMatrix, inTiles, width);
        else copy(inTiles, inMatrix, width);
      }
    }
  }
}

function viewOf<V extends WordArray>(
  View: new (buffer: ArrayBufferLike, byteOffset: number, length: number) => V,
  words: WordArray,
): V {
  const width = (View as unknown as { readonly BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT;
  return new View(words.buffer, words.byteOffset, Math.floor(words.byteLength / width));
}

function copy64(from: BigUint64Array, to: BigUint64Array, i: number, o: number, count: number) {
  for (let k = 0; k < count; k++) to[o + k] = from[i + k]!;
}

function copy32(from: Uint32Array, to: Uint32Array, i: number, o: number, count: number) {
  for (let k = 0; k < count; k++) to[o + k] = from[i + k]!;
}

function copyNarrow(
  from: Uint8Array | Uint16Array,
  to: Uint8Array | Uint16Array,
  i: number,
  o: number,
  count: number,
) {
  for (let k = 0; k < count; k++) to[o + k] = from[i + k]!;
}
