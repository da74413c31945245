/**
 * The lines that one request touches, each once, and what it touches of them.
 *
 * @module
 */

import { type AccessGeometry, isAligned, SECTOR_BYTES } from "./access_geometry.ts";

/** Twice as many places as a request can touch lines, which are two for each lane. */
const PLACES = 128;
/** Words of 32 bits that hold one bit for each byte of a line. */
const MASK_WORDS = 4;
/** In the place of a line where there is none. */
const NONE = -1;
/** Places of marks: so many that lines which differ seldom meet, so few that they stay cached. */
const MARKS = 8192;
const LAST_MARK = 2 ** 16 - 1;

/** Counts what a request touches. */
export class RequestLines {
  /** Lines of the request, in the order in which lanes touch them. */
  readonly order: Int32Array<ArrayBuffer> = new Int32Array(PLACES / 2);
  /** How many lines they are. */
  lines = 0;
  /** How many sectors of them are touched. */
  sectors = 0;
  /** How many granules are touched: elements, or parts of them that each lie in one sector. */
  granules = 0;

  readonly #geometry: AccessGeometry;
  /** Lines, found by hash with linear probing. */
  readonly #table = new Int32Array(PLACES).fill(NONE);
  /** Places of the lines that are in the table. */
  readonly #places = new Uint8Array(PLACES / 2);
  /** Granules that are touched, a bit each, by place. */
  readonly #touched = new Int32Array(PLACES * MASK_WORDS);

  #tabled = 0;
  /** What an earlier request left there is another mark than this one's. */
  readonly #marks = new Uint16Array(MARKS);
  #mark = 0;

  /** @param geometry How accesses lie in lines. */
  constructor(geometry: AccessGeometry) {
    this.#geometry = geometry;
  }

  /**
   * Counts a request.
   *
   * @param values Indices of elements.
   * @param from The first lane's.
   * @param to Behind the last lane's.
   * @param part Which part of the elements is accessed.
   * @returns Whether each lane has a line of its own; where `false`, it may be so nevertheless.
   */
  count(
    values: Uint32Array<ArrayBuffer>,
    from: number,
    to: number,
    part: number,
  ): boolean {
    if (isAligned(this.#geometry) && this.#isApart(values, from, to, part)) {
      this.lines = this.sectors = this.granules = to - from;
      return true;
    }
    this.#countShared(values, from, to, part);
    return false;
  }

  /** Whether no two lanes leave a mark in the same place, which is certain for two in one line. */
  #isApart(values: Uint32Array<ArrayBuffer>, from: number, to: number, part: number): boolean {
    const { elementBytes, accessBytes, offset } = this.#geometry;
    const marks = this.#marks;
    const order = this.order;
    const mark = this.#nextMark();
    const begin = offset + part * accessBytes;
    let meetings = 0;
    for (let lane = from; lane < to; lane++) {
      const index = values[lane]!;
      // 128 elements are as many lines as an element has bytes.
      const byte = Math.imul(index & 127, elementBytes) + begin;
      const line = Math.imul(index >>> 7, elementBytes) + (byte >>> 7);
      const place = Math.imul(line, 0x9e3779b1) >>> 19;
      meetings |= marks[place] === mark ? 1 : 0;
      marks[place] = mark;
      order[lane - from] = line;
    }
    return meetings === 0;
  }

  #nextMark(): number {
    if (this.#mark === LAST_MARK) {
      this.#marks.fill(0);
      this.#mark = 0;
    }
    return ++this.#mark;
  }

  #countShared(values: Uint32Array<ArrayBuffer>, from: number, to: number, part: number): void {
    const { elementBytes, accessBytes, granuleBytes, offset } = this.#geometry;
    const table = this.#table;
    const places = this.#places;
    const touched = this.#touched;
    const order = this.order;
    for (let i = 0; i < this.#tabled; i++) table[places[i]!] = NONE;
    const begin = offset + part * accessBytes;
    const shift = 31 - Math.clz32(granuleBytes);
    const granulesOfSector = SECTOR_BYTES >>> shift;
    const sectorMask = -1 >>> (32 - granulesOfSector);
    let lines = 0;
    let sectors = 0;
    let granules = 0;
    for (let lane = from; lane < to; lane++) {
      const index = values[lane]!;
      const firstLine = Math.imul(index >>> 7, elementBytes);
      let byte = Math.imul(index & 127, elementBytes) + begin;
      const end = byte + accessBytes;
      do {
        const line = firstLine + (byte >>> 7);
        let place = Math.imul(line, 0x9e3779b1) >>> 25;
        let found = table[place]!;
        while (found !== line) {
          if (found === NONE) {
            table[place] = line;
            const word = place * MASK_WORDS;
            touched[word] = 0;
            touched[word + 1] = 0;
            touched[word + 2] = 0;
            touched[word + 3] = 0;
            places[lines] = place;
            order[lines++] = line;
            break;
          }
          place = place + 1 & PLACES - 1;
          found = table[place]!;
        }
        const granule = (byte & 127) >>> shift;
        const word = place * MASK_WORDS + (granule >>> 5);
        const bits = touched[word]!;
        const bit = 1 << granule;
        if ((bits & bit) === 0) {
          granules++;
          if ((bits & sectorMask << (granule & -granulesOfSector)) === 0) sectors++;
          touched[word] = bits | bit;
        }
        byte += granuleBytes;
      } while (byte < end);
    }
    this.lines = this.#tabled = lines;
    this.sectors = sectors;
    this.granules = granules;
  }
}
