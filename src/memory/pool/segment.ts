/**
 * Segments: what a pool takes from the device as one.
 *
 * A plain segment is one allocation. A virtual segment is a long range of addresses of which
 * memory is mapped to some; memory is mapped in pieces, and a piece is unmapped whole.
 *
 * @module
 */

/** Requests up to `LARGEST_SMALL` are served from segments of this kind. */
export const SMALL = 0;
/** Larger requests are served from segments of this kind. */
export const LARGE = 1;

/** A segment. */
export class Segment {
  /** Its number; blocks name it by it. */
  readonly number: number;
  /** Its first address. */
  readonly address: number;
  /** Its bytes, with those that have no memory. */
  readonly bytes: number;
  /** {@linkcode SMALL} or {@linkcode LARGE}. */
  readonly kind: number;
  /** What is mapped, in a virtual segment. */
  readonly pieces: PieceMap | undefined;
  /** Its first block. */
  readonly firstBlock: number;
  /** Its blocks without memory. */
  readonly unmapped: Set<number> = new Set();

  /** Makes a segment of one block. */
  constructor(
    number: number,
    address: number,
    bytes: number,
    kind: number,
    pieces: PieceMap | undefined,
    firstBlock: number,
  ) {
    this.number = number;
    this.address = address;
    this.bytes = bytes;
    this.kind = kind;
    this.pieces = pieces;
    this.firstBlock = firstBlock;
  }
}

/** Which granules of a virtual segment are mapped, and in which pieces. */
export class PieceMap {
  // At a piece's first granule its length in granules; behind it how far back that is, negative.
  #granules = new Int32Array(64);

  /** Notes pieces of `perPiece` granules, the last maybe shorter, from a granule on. */
  map(first: number, count: number, perPiece: number): void {
    this.#reach(first + count);
    for (let start = 0; start < count; start += perPiece) {
      const length = Math.min(perPiece, count - start);
      this.#granules[first + start] = length;
      for (let inside = 1; inside < length; inside++) {
        this.#granules[first + start + inside] = -inside;
      }
    }
  }

  /** Forgets pieces. */
  unmap(first: number, count: number): void {
    this.#granules.fill(0, first, first + count);
  }

  /**
   * The whole pieces inside a mapped range: where they begin and end, in granules. Equal where
   * there is none.
   *
   * @param most Where more than this many granules are inside, as many pieces from the end as
   * reach it.
   */
  wholePieces(first: number, end: number, most: number): { first: number; end: number } {
    let start = first;
    // Skip what is left of a piece that begins before the range.
    while (start < end && this.#granules[start]! < 0) start++;
    let stop = end;
    if (stop > start && this.#lengthAt(stop - 1) > stop - this.#startOf(stop - 1)) {
      stop = this.#startOf(stop - 1);
    }
    if (stop <= start) return { first: start, end: start };
    if (stop - start > most) start = Math.max(start, this.#startOf(stop - most));
    return { first: start, end: stop };
  }

  #startOf(granule: number): number {
    const entry = this.#granules[granule]!;
    return entry < 0 ? granule + entry : granule;
  }

  #lengthAt(granule: number): number {
    return this.#granules[this.#startOf(granule)]!;
  }

  #reach(count: number): void {
    if (count <= this.#granules.length) return;
    const longer = new Int32Array(Math.max(count, this.#granules.length * 2));
    longer.set(this.#granules);
    this.#granules = longer;
  }
}
