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

/** Places of lines: so many that two seldom have the same, so few that they stay cached. */
const PLACES = 4096;
const PLACE_SHIFT = 20;
/** Words of 32 bits that hold one bit for each byte of a line. */
const MASK_WORDS = 4;
const LAST_STAMP = 2 ** 31 - 1;
/** Places of marks, likewise. */
const MARKS = 8192;
const MARK_SHIFT = 19;
const LAST_MARK = 2 ** 16 - 1;

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

  /** The different indices of the request, in the order in which lanes have them. */
  readonly distinct: Uint32Array<ArrayBuffer> = new Uint32Array(WARP_LANES + 1);
  /** Whether {@linkcode distinct} has been written. */
  isDistinct = false;

  readonly #geometry: AccessGeometry;
  /** Whether a lane touches one granule, and those of a line are at most 32. */
  readonly #isSimple: boolean;
  /** Whether each lane of the last request had a line of its own: often so if one had. */
  #wasApart: boolean;
  /** Marks that lines leave; those of earlier requests are others. */
  readonly #marks = new Uint16Array(MARKS);
  #mark = 0;
  /** Which line has a place, in which request. */
  readonly #lineAt = new Int32Array(PLACES);
  readonly #stamps = new Int32Array(PLACES);
  #stamp = 0;
  /** Places of the lines of lanes. */
  readonly #placeOf = new Int32Array(WARP_LANES);
  /** Granules that are touched, a bit each, by place; 0 between requests. */
  readonly #touched = new Int32Array(PLACES);
  /** The same of the lines in {@linkcode order}. */
  readonly #touchedOf = new Int32Array(2 * WARP_LANES * MASK_WORDS);

  /** @param geometry How accesses lie in lines. */
  constructor(geometry: AccessGeometry) {
    this.#geometry = geometry;
    this.#isSimple = isAligned(geometry) && geometry.granuleBytes >= 4;
    this.#wasApart = isAligned(geometry);
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
    this.isDistinct = false;
    const isApart = this.#wasApart && this.#isApart(values, from, to, part);
    if (!isApart && !(this.#isSimple && this.#place(values, from, to, part))) {
      this.#countWithCare(values, from, to, part);
    } else if (isApart || this.lines === to - from) {
      this.lines = this.sectors = this.granules = to - from;
    } else {
      this.#countTouched(values, from, to, part);
    }
    this.#wasApart = isAligned(this.#geometry) && this.lines === to - from;
  }

  /** Finds the lines of a request, and nothing else of what {@linkcode count} counts. */
  findLines(values: Uint32Array<ArrayBuffer>, from: number, to: number, part: number): void {
    if (this.#wasApart && this.#isApart(values, from, to, part)) {
      this.lines = to - from;
    } else if (!isAligned(this.#geometry) || !this.#place(values, from, to, part)) {
      this.#countWithCare(values, from, to, part);
    }
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
      const place = Math.imul(line, 0x9e3779b1) >>> MARK_SHIFT;
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

  /** Gives the lines places; `false` where two have the same. */
  #place(values: Uint32Array<ArrayBuffer>, from: number, to: number, part: number): boolean {
    const { elementBytes, accessBytes, offset } = this.#geometry;
    const lineAt = this.#lineAt;
    const stamps = this.#stamps;
    const placeOf = this.#placeOf;
    const order = this.order;
    const stamp = this.#nextStamp();
    const begin = offset + part * accessBytes;
    let lines = 0;
    let clashes = 0;
    for (let lane = from; lane < to; lane++) {
      const index = values[lane]!;
      const byte = Math.imul(index & 127, elementBytes) + begin;
      const line = Math.imul(index >>> 7, elementBytes) + (byte >>> 7);
      const place = Math.imul(line, 0x9e3779b1) >>> PLACE_SHIFT;
      const difference = stamps[place]! ^ stamp;
      const isNew = (difference | -difference) >>> 31;
      clashes |= (lineAt[place]! ^ line) & isNew - 1;
      stamps[place] = stamp;
      lineAt[place] = line;
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
    const distinct = this.distinct;
    const shift = 31 - Math.clz32(granuleBytes);
    const granulesOfSector = SECTOR_BYTES >>> shift;
    const sector = (1 << granulesOfSector) - 1;
    const begin = offset + part * accessBytes;
    let sectors = 0;
    let granules = 0;
    for (let lane = from; lane < to; lane++) {
      const index = values[lane]!;
      const granule = (Math.imul(index & 127, elementBytes) + begin & 127) >>> shift;
      const place = placeOf[lane - from]!;
      const bits = touched[place]!;
      const ofSector = bits & sector << (granule & -granulesOfSector);
      touched[place] = bits | 1 << granule;
      distinct[granules] = index;
      granules += bits >>> granule & 1 ^ 1;
      sectors += (ofSector | -ofSector) >>> 31 ^ 1;
    }
    for (let lane = 0; lane < to - from; lane++) touched[placeOf[lane]!] = 0;
    this.sectors = sectors;
    this.granules = granules;
    this.isDistinct = true;
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
