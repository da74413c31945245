/**
 * What accesses of whole warps cost that are like others, each kind counted once.
 *
 * Lines and banks repeat every 128 elements, whatever their size. So what an access costs depends on
 * the distances between its lanes and on the place of one of them in a group of 128.
 *
 * @module
 */

/** Elements after which lines and banks are as before. */
const PERIOD = 128;
const LANES = 32;
/** Indices of a batch are below it. */
const RANGE = 2 ** 32;
/** Shapes that are remembered: those of a tile's rows follow each other in turn. */
const SHAPES = 256;
/** Counts of accesses, packed: 8 bits each of sectors, lines, ideal sectors and bank conflicts. */
export type PackedCounts = number;

/** Counts the accesses of a warp whose first lane has the index at a place; never 0. */
export type WarpCounter = (values: Uint32Array<ArrayBuffer>, first: number) => PackedCounts;

/** Packs counts, each below 256. */
export function packCounts(
  sectors: number,
  lines: number,
  idealSectors: number,
  conflicts: number,
): PackedCounts {
  return sectors | lines << 8 | idealSectors << 16 | conflicts << 24;
}

/** Remembers counts of warps with a constant stride, by stride and place. */
export class StridedRequests {
  readonly #lanes = new Uint32Array(LANES);
  readonly #tables: (Int32Array<ArrayBuffer> | undefined)[] = [];
  readonly #count: WarpCounter;
  #stride = NaN;
  #step = 0;
  #table = new Int32Array(0);

  /** @param count Counts the accesses of a warp. */
  constructor(count: WarpCounter) {
    this.#count = count;
  }

  /**
   * Counts of an access. What runs down is what runs up from its other end.
   *
   * @param lowest The least index.
   * @param stride From one index to the next, not negative.
   */
  counts(lowest: number, stride: number): PackedCounts {
    if (stride !== this.#stride) this.#select(stride);
    const place = lowest & PERIOD - 1;
    const known = this.#table[place]!;
    return known !== 0 ? known : this.#table[place] = this.#counted(place);
  }

  /**
   * Of a stride beyond the period it matters that no two lanes share a line, and what is left when
   * the period is taken off as often as possible.
   */
  #select(stride: number): void {
    this.#stride = stride;
    this.#step = stride < PERIOD ? stride : PERIOD + stride % PERIOD;
    this.#table = this.#tables[this.#step] ??= new Int32Array(PERIOD);
  }

  #counted(place: number): PackedCounts {
    const lanes = this.#lanes;
    for (let lane = 0; lane < LANES; lane++) lanes[lane] = place + lane * this.#step;
    return this.#count(lanes, 0);
  }
}

/** Remembers counts of other warps, by the distances of their lanes from the first and its place. */
export class ShapedRequests {
  readonly #count: WarpCounter;
  /** Of the shapes that belong there, the one that came last: whether it may be another is seen. */
  readonly #signatures = new Int32Array(SHAPES);
  /** Whether a shape has come twice, and is worth remembering. */
  readonly #isKept = new Uint8Array(SHAPES);
  /** What is known of shapes; made when the first is kept. */
  #distances = new Int32Array(0);
  /** The least and the greatest distance of each, in full. */
  #reaches = new Float64Array(0);
  #tables = new Int32Array(0);

  /** @param count Counts the accesses of a warp. */
  constructor(count: WarpCounter) {
    this.#count = count;
  }

  /** Counts of the access whose first lane has the index at a place. */
  counts(values: Uint32Array<ArrayBuffer>, first: number): PackedCounts {
    const signature = signatureOf(values, first);
    const shape = signature >>> 24;
    if (this.#signatures[shape] !== signature) {
      this.#signatures[shape] = signature;
      this.#isKept[shape] = 0;
      return this.#count(values, first);
    }
    if (this.#isKept[shape] === 0) this.#keep(values, first, shape);
    if (!this.#isShape(values, first, shape)) return this.#count(values, first);
    const place = shape * PERIOD + (values[first]! & PERIOD - 1);
    const known = this.#tables[place]!;
    return known !== 0 ? known : this.#tables[place] = this.#count(values, first);
  }

  #keep(values: Uint32Array<ArrayBuffer>, first: number, shape: number): void {
    if (this.#distances.length === 0) {
      this.#distances = new Int32Array(SHAPES * LANES);
      this.#reaches = new Float64Array(2 * SHAPES);
      this.#tables = new Int32Array(SHAPES * PERIOD);
    }
    let least = 0;
    let greatest = 0;
    for (let lane = 0; lane < LANES; lane++) {
      const distance = values[first + lane]! - values[first]!;
      this.#distances[shape * LANES + lane] = distance;
      least = Math.min(least, distance);
      greatest = Math.max(greatest, distance);
    }
    this.#reaches[2 * shape] = least;
    this.#reaches[2 * shape + 1] = greatest;
    this.#tables.fill(0, shape * PERIOD, (shape + 1) * PERIOD);
    this.#isKept[shape] = 1;
  }

  /**
   * Whether lanes have the distances of a shape. To compare 32 bits of them is enough where the whole
   * shape fits there; where it does not, lanes that are neighbours in it would be 2^32 apart.
   */
  #isShape(values: Uint32Array<ArrayBuffer>, first: number, shape: number): boolean {
    const distances = this.#distances;
    const begin = values[first]!;
    const reaches = this.#reaches;
    if (begin + reaches[2 * shape]! < 0 || begin + reaches[2 * shape + 1]! >= RANGE) return false;
    const place = shape * LANES;
    let differences = 0;
    for (let lane = 1; lane < LANES; lane++) {
      differences |= values[first + lane]! - begin - distances[place + lane]!;
    }
    return differences === 0;
  }
}

/** A number that differs for most shapes which do. */
function signatureOf(values: Uint32Array<ArrayBuffer>, first: number): number {
  const begin = values[first]!;
  const signature = Math.imul(values[first + 1]! - begin, 0x9e3779b1) +
    Math.imul(values[first + 8]! - begin, 0x85ebca6b) +
    Math.imul(values[first + 16]! - begin, 0xc2b2ae35) +
    Math.imul(values[first + 24]! - begin, 0x165667b1) +
    Math.imul(values[first + 31]! - begin, 0x27d4eb2f);
  return Math.imul(signature ^ signature >>> 15, 0x9e3779b1);
}
