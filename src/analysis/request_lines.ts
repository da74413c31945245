/**
 * The lines that one request touches, each once, and what it touches of them.
 *
 * Most requests are counted without a branch that depends on their indices, as those of random ones
 * are mispredicted: each line has a place by its hash, and where two lines have the same the request
 * is counted once more, with care.
 *
 * @module
 */

import { type AccessGeometry, isAligned, SECTOR_BYTES, WARP_LANES } from "./access_geometry.ts";
import { bitCount } from "./bit_count.ts";

/** Places of lines: so many that two seldom have the same, so few that they stay cached. */
const PLACES = 4096;
const PLACE_SHIFT = 20;
/** Words of 32 bits that hold one bit for each byte of a line. */
const MASK_WORDS = 4;
const LAST_STAMP = 2 ** 31 - 1;

/** Counts what a request touches. */
export class RequestLines {
  /** Lines of the request, in the order in which lanes touch them; two of each lane at most. */
  readonly order: Int32Array<ArrayBuffer> = new Int32Array(2 * WARP_LANES + 1);
  /** How many lines they are. */
  lines = 0;
  /** How many sectors of them are touched. */
  sectors = 0;
  /** How many granules are touched: elements, or parts of them that each lie in one sector. */
  granules = 0;

  readonly #geometry: AccessGeometry;
  /** Whether a lane touches one granule, and those of a line are 32 at most. */
  readonly #isSimple: boolean;
  /** Which line has a place, in which request. */
  readonly #lineAt = new Int32Array(PLACES);
  readonly #stamps = new Int32Array(PLACES);
  #stamp = 0;
  /** Places of the lines of lanes. */
  readonly #placeOf = new Int32Array(WARP_LANES);
  /** Granules that are touched, a bit each, by place. */
  readonly #touched = new Int32Array(PLACES);
  /** The same of the lines in {@linkcode order}. */
  readonly #touchedOf = new Int32Array(2 * WARP_LANES * MASK_WORDS);

  /** @param geometry How accesses lie in lines. */
  constructor(geometry: AccessGeometry) {
    this.#geometry = geometry;
    this.#isSimple = isAligned(geometry) && geometry.granuleBytes >= 4;
  }

  /**
   * Counts a request.
   *
   * @param values Indices of elements.
   * @param from The first lane's.
   * @param to Behind the last lane's.
   * @param part Which part of the elements is accessed.
   */
  count(values: Uint32Array<ArrayBuffer>, from: number, to: number, part: number): void {
    if (!this.#isSimple || !this.#place(values, from, to, part)) {
      this.#countWithCare(values, from, to, part);
    } else if (this.lines === to - from) {
      this.sectors = this.granules = this.lines;
    } else {
      this.#countTouched(values, from, to, part);
    }
  }

  /** Gives the lines places; `false` where two have the same. */
  #place(values: Uint32Array<ArrayBuffer>, from: number, to: number, part: number): boolean {
    const { elementBytes, accessBytes, offset } = this.#geometry;
    const lineAt = this.#lineAt;
    const stamps = this.#stamps;
    const placeOf = this.#placeOf;
    const touched = this.#touched;
    const order = this.order;
    const stamp = this.#nextStamp();
    const begin = offset + part * accessBytes;
    let lines = 0;
    let clashes = 0;
    for (let lane = from; lane < to; lane++) {
      const index = values[lane]!;
      // 128 elements are as many lines as an element has bytes.
      const byte = Math.imul(index & 127, elementBytes) + begin;
      const line = Math.imul(index >>> 7, elementBytes) + (byte >>> 7);
      const place = Math.imul(line, 0x9e3779b1) >>> PLACE_SHIFT;
      const difference = stamps[place]! ^ stamp;
      const isNew = (difference | -difference) >>> 31;
      clashes |= (lineAt[place]! ^ line) & isNew - 1;
      stamps[place] = stamp;
      lineAt[place] = line;
      touched[place] = 0;
      placeOf[lane - from] = place;
      order[lines] = line;
      lines += isNew;
    }
    this.lines = lines;
    return clashes === 0;
  }

  #nextStamp(): number {
    if (this.#stamp === LAST_STAMP) {
      this.#stamps.fill(0);
      this.#stamp = 0;
    }
    return ++this.#stamp;
  }

  /** Counts what lanes touch of lines that have places. */
  #countTouched(values: Uint32Array<ArrayBuffer>, from: number, to: number, part: number): void {
    const { elementBytes, accessBytes, granuleBytes, offset } = this.#geometry;
    const placeOf = this.#placeOf;
    const touched = this.#touched;
    const shift = 31 - Math.clz32(granuleBytes);
    const begin = offset + part * accessBytes;
    for (let lane = from; lane < to; lane++) {
      const byte = Math.imul(values[lane]! & 127, elementBytes) + begin;
      const place = placeOf[lane - from]!;
      touched[place] = touched[place]! | 1 << ((byte & 127) >>> shift);
    }
    let sectors = 0;
    let granules = 0;
    for (let lane = 0; lane < to - from; lane++) {
      const place = placeOf[lane]!;
      const bits = touched[place]!;
      touched[place] = 0;
      granules += bitCount(bits);
      sectors += sectorCount(bits, granuleBytes);
    }
    this.sectors = sectors;
    this.granules = granules;
  }

  /** Counts any request: the lines before it are looked through for that of each granule. */
  #countWithCare(values: Uint32Array<ArrayBuffer>, from: number, to: number, part: number): void {
    const { elementBytes, accessBytes, granuleBytes, offset } = this.#geometry;
    const shift = 31 - Math.clz32(granuleBytes);
    const begin = offset + part * accessBytes;
    this.lines = this.sectors = this.granules = 0;
    for (let lane = from; lane < to; lane++) {
      const index = values[lane]!;
      const firstLine = Math.imul(index >>> 7, elementBytes);
      const byte = Math.imul(index & 127, elementBytes) + begin;
      for (let at = byte; at < byte + accessBytes; at += granuleBytes) {
        this.#touch(firstLine + (at >>> 7), (at & 127) >>> shift, SECTOR_BYTES >>> shift);
      }
    }
  }

  #touch(line: number, granule: number, granulesOfSector: number): void {
    const { order } = this;
    const touched = this.#touchedOf;
    let known = this.lines - 1;
    while (known >= 0 && order[known] !== line) known--;
    if (known < 0) {
      known = this.lines++;
      order[known] = line;
      touched.fill(0, known * MASK_WORDS, (known + 1) * MASK_WORDS);
    }
    const word = known * MASK_WORDS + (granule >>> 5);
    const bits = touched[word]!;
    const bit = 1 << granule;
    if ((bits & bit) !== 0) return;
    touched[word] = bits | bit;
    this.granules++;
    // The bits of a sector's granules lie in one word.
    const sector = (-1 >>> 32 - granulesOfSector) << (granule & -granulesOfSector);
    if ((bits & sector) === 0) this.sectors++;
  }
}

/** In how many of a line's four sectors granules are touched, of 4 bytes or more. */
function sectorCount(bits: number, granuleBytes: number): number {
  let folded = bits;
  if (granuleBytes === 4) folded |= folded >>> 4;
  if (granuleBytes <= 8) folded |= folded >>> 2;
  folded |= folded >>> 1;
  const firsts = granuleBytes === 4 ? 0x01010101 : granuleBytes === 8 ? 0x1111 : 0x55;
  return bitCount(folded & firsts);
}
