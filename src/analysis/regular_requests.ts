/**
 * What accesses of whole warps with a constant stride cost, each kind counted once.
 *
 * Lines and banks repeat every 128 elements, whatever their size. So only a stride below that
 * matters by itself; of a larger one it matters that no two lanes share a line, and what is left
 * when 128 is taken off as often as possible. And only the place of the first element in a group of
 * 128 matters. What runs down is what runs up from its other end.
 *
 * @module
 */

/** Elements after which lines and banks are as before. */
export const PERIOD = 128;

/** Counts of accesses, packed: 8 bits each of sectors, lines, ideal sectors and bank conflicts. */
export type PackedCounts = number;

/** Packs counts, each below 256. */
export function packCounts(
  sectors: number,
  lines: number,
  idealSectors: number,
  conflicts: number,
): PackedCounts {
  return sectors | lines << 8 | idealSectors << 16 | conflicts << 24;
}

/** Remembers counts by stride and place. */
export class RegularRequests {
  readonly #lanes = new Uint32Array(32);
  readonly #tables: (Int32Array | undefined)[] = [];
  readonly #count: (lanes: Uint32Array<ArrayBuffer>) => PackedCounts;
  #stride = NaN;
  #step = 0;
  #table = new Int32Array(0);

  /** @param count Counts the accesses of a warp. */
  constructor(count: (lanes: Uint32Array<ArrayBuffer>) => PackedCounts) {
    this.#count = count;
  }

  /**
   * Counts of an access.
   *
   * @param lowest The least index.
   * @param stride From one index to the next, not negative.
   */
  counts(lowest: number, stride: number): PackedCounts {
    if (stride !== this.#stride) this.#select(stride);
    const place = lowest & (PERIOD - 1);
    const known = this.#table[place]!;
    return known !== 0 ? known : this.#table[place] = this.#counted(place);
  }

  #select(stride: number): void {
    this.#stride = stride;
    this.#step = stride < PERIOD ? stride : PERIOD + stride % PERIOD;
    this.#table = this.#tables[this.#step] ??= new Int32Array(PERIOD);
  }

  #counted(place: number): PackedCounts {
    const lanes = this.#lanes;
    for (let lane = 0; lane < lanes.length; lane++) lanes[lane] = place + lane * this.#step;
    return this.#count(lanes);
  }
}
