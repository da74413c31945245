/**
 * The lines that one request touches, each once, and what it touches of them.
 *
 * @module
 */

/** Twice as many places as a request can touch lines, which are two for each lane. */
const PLACES = 128;
/** Words of 32 bits that hold one for each byte of a line. */
const MASK_WORDS = 4;
const LAST_STAMP = 2 ** 31 - 1;

/** A set of lines that is emptied in no time: what an earlier request left there has its stamp. */
export class RequestLines {
  /** Lines of the request, in the order in which lanes touch them. */
  readonly order: Int32Array<ArrayBuffer> = new Int32Array(PLACES / 2);
  /** How many lines they are. */
  lines = 0;
  /** How many sectors of them are touched. */
  sectors = 0;
  /** How many granules are touched: elements, or the parts of them that always lie in one sector. */
  granules = 0;

  readonly #keys = new Int32Array(PLACES);
  readonly #stamps = new Int32Array(PLACES);
  readonly #sectors = new Uint8Array(PLACES);
  readonly #granules = new Int32Array(PLACES * MASK_WORDS);
  #stamp = 0;

  /** Begins a request. */
  begin(): void {
    if (this.#stamp === LAST_STAMP) {
      this.#stamps.fill(0);
      this.#stamp = 0;
    }
    this.#stamp++;
    this.lines = 0;
    this.sectors = 0;
    this.granules = 0;
  }

  /**
   * Adds what a lane touches: the granule of a line at a byte.
   *
   * @param line The number of the line, below 2^31.
   * @param byte The granule's first byte in it.
   * @param shift The binary logarithm of a granule's bytes.
   */
  touch(line: number, byte: number, shift: number): void {
    const place = this.#place(line);
    const sector = 1 << (byte >>> 5);
    const sectors = this.#sectors[place]!;
    if ((sectors & sector) === 0) {
      this.#sectors[place] = sectors | sector;
      this.sectors++;
    }
    const granule = byte >>> shift;
    const word = place * MASK_WORDS + (granule >>> 5);
    const granules = this.#granules[word]!;
    const bit = 1 << (granule & 31);
    if ((granules & bit) === 0) {
      this.#granules[word] = granules | bit;
      this.granules++;
    }
  }

  #place(line: number): number {
    let place = Math.imul(line, 0x9e3779b1) >>> 25;
    while (this.#stamps[place] === this.#stamp) {
      if (this.#keys[place] === line) return place;
      place = (place + 1) & (PLACES - 1);
    }
    this.#stamps[place] = this.#stamp;
    this.#keys[place] = line;
    this.#sectors[place] = 0;
    this.#granules.fill(0, place * MASK_WORDS, (place + 1) * MASK_WORDS);
    this.order[this.lines++] = line;
    return place;
  }
}
