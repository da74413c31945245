/**
 * Bank conflicts in shared memory.
 *
 * Shared memory has 32 banks, each a word of 4 bytes wide; successive words lie in successive banks.
 * A wavefront serves one word of each bank, to as many lanes as want it. A warp whose lanes access 4
 * bytes or less is served together; with 8 bytes it is served in halves, with 16 in quarters, as no
 * more than 128 bytes can go at once. There is no instruction for 12 bytes (PTX ISA, `ld`: vectors of
 * two or four), so such elements take three requests of 4 bytes.
 *
 * @module
 */

const BANKS = 32;
const WORD_BYTES = 4;
const WARP_LANES = 32;

/** Counts the wavefronts of requests to shared memory that begins at bank 0. */
export class BankCounter {
  readonly #elementBytes: number;
  readonly #wordsPerLane: number;
  readonly #parts: number;
  /** Lanes that are served together. */
  readonly #group: number;
  /** Different words that the group wants of each bank, and how many. */
  readonly #words = new Float64Array(BANKS * WARP_LANES);
  readonly #counts = new Uint8Array(BANKS);
  #wavefronts = 0;
  #idealWavefronts = 0;

  /**
   * @param elementBytes Bytes of an element, which an index counts: 1, 2, 4, 8, 12 or 16.
   * @throws {RangeError} If there are no such accesses.
   */
  constructor(elementBytes: number) {
    if (![1, 2, 4, 8, 12, 16].includes(elementBytes)) {
      throw new RangeError(
        `Cannot count bank conflicts as elementBytes must be one of 1, 2, 4, 8, 12, 16: it is ${elementBytes}`,
      );
    }
    this.#elementBytes = elementBytes;
    this.#parts = elementBytes === 12 ? 3 : 1;
    this.#wordsPerLane = elementBytes === 8 || elementBytes === 16 ? elementBytes / WORD_BYTES : 1;
    this.#group = WARP_LANES / this.#wordsPerLane;
  }

  /** Wavefronts of the requests so far. */
  get wavefronts(): number {
    return this.#wavefronts;
  }

  /** Wavefronts that they would take without a conflict. */
  get idealWavefronts(): number {
    return this.#idealWavefronts;
  }

  /** Adds an access of a warp, whose lanes have the indices `from` to `to`, without that. */
  add(indices: ArrayLike<number>, from: number, to: number): void {
    for (let part = 0; part < this.#parts; part++) {
      for (let lane = from; lane < to; lane += this.#group) {
        this.#serve(indices, lane, Math.min(to, lane + this.#group), part);
      }
    }
  }

  /**
   * The same where no two lanes access the same word.
   *
   * @internal
   */
  addApart(indices: ArrayLike<number>, from: number, to: number): void {
    for (let part = 0; part < this.#parts; part++) {
      for (let lane = from; lane < to; lane += this.#group) {
        this.#serveApart(indices, lane, Math.min(to, lane + this.#group), part);
      }
    }
  }

  #serve(indices: ArrayLike<number>, from: number, to: number, part: number): void {
    const words = this.#words;
    const counts = this.#counts;
    const wordsPerLane = this.#wordsPerLane;
    const scale = this.#elementBytes / WORD_BYTES;
    counts.fill(0);
    let most = 1;
    for (let lane = from; lane < to; lane++) {
      const first = Math.floor(indices[lane]! * scale) + part;
      for (let word = first; word < first + wordsPerLane; word++) {
        const bank = word & BANKS - 1;
        const count = counts[bank]!;
        const begin = bank * WARP_LANES;
        let i = 0;
        while (i < count && words[begin + i] !== word) i++;
        if (i < count) continue;
        words[begin + count] = word;
        counts[bank] = count + 1;
        if (count >= most) most = count + 1;
      }
    }
    this.#wavefronts += most;
    this.#idealWavefronts++;
  }

  #serveApart(indices: ArrayLike<number>, from: number, to: number, part: number): void {
    const counts = this.#counts;
    const wordsPerLane = this.#wordsPerLane;
    const scale = this.#elementBytes / WORD_BYTES;
    counts.fill(0);
    let most = 1;
    for (let lane = from; lane < to; lane++) {
      const first = Math.floor(indices[lane]! * scale) + part;
      for (let word = first; word < first + wordsPerLane; word++) {
        const count = counts[word & BANKS - 1]! + 1;
        counts[word & BANKS - 1] = count;
        if (count > most) most = count;
      }
    }
    this.#wavefronts += most;
    this.#idealWavefronts++;
  }
}
