/**
 * Indices of a warp that are further apart than 32 bits say, as others that are not.
 *
 * Only which of them share a line, a sector or a word matters, and where in its bank. That stays as
 * it is when space without an index is taken out in pieces of 2^20 elements, which are whole lines.
 *
 * @module
 */

const PIECE = 2 ** 20;

/** Moves indices together. */
export class DistantLanes {
  /** The indices, moved. */
  readonly lanes: Uint32Array<ArrayBuffer> = new Uint32Array(32);

  /** Pieces that are kept, as they were, by what they are now. */
  readonly #pieces: number[] = [];

  /** Moves the indices `from` to `to`, without that, to {@linkcode lanes}. */
  move(values: Float64Array, from: number, to: number): void {
    const pieces = new Set<number>();
    for (let i = from; i < to; i++) pieces.add(Math.floor(values[i]! / PIECE));
    this.#pieces.length = 0;
    const places = new Map<number, number>();
    for (const piece of [...pieces].sort((a, b) => a - b)) {
      // What an offset moves across the end of a piece must not meet the next that is kept.
      const last = this.#pieces.at(-1);
      if (last !== undefined && last !== piece - 1) this.#pieces.push(last + 1);
      if (this.#pieces.at(-1) !== piece) this.#pieces.push(piece);
      places.set(piece, this.#pieces.length - 1);
    }
    this.#pieces.push((this.#pieces.at(-1) ?? 0) + 1);
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      const piece = Math.floor(value / PIECE);
      this.lanes[i - from] = places.get(piece)! * PIECE + (value - piece * PIECE);
    }
  }

  /** The number that a line had before indices were moved. */
  lineOf(line: number, elementBytes: number): number {
    const linesOfPiece = PIECE * elementBytes / 128;
    const place = Math.floor(line / linesOfPiece);
    return this.#pieces[place]! * linesOfPiece + (line - place * linesOfPiece);
  }
}
