/**
 * Reuse distances of lines, in bounded memory.
 *
 * Lines are drawn by their hash: a line is followed always or never. If more lines are followed than
 * allowed, those with the greatest hashes are dropped (fixed-size sampling, Waldspurger et al.,
 * "Efficient MRC Construction with SHARDS", FAST 2015). Distances are exact inside the sample. A line
 * stands for as many lines, and an access for as many accesses, as the sample is smaller than all
 * lines at that time.
 *
 * @module
 */

import { LINE_BYTES, type ReuseHistogram } from "./access_report.ts";

/** Entries of a histogram: distances are below 2^53. */
const ENTRIES = 54;
const HASHES = 2 ** 31;
/** Factor by which a full sample lowers the threshold. */
const LOWERED = 15 / 16;
/** Places for each line, after which marks move to the beginning. */
const PLACES_OF_LINE = 4;
const MIN_PLACES = 1024;

/** The place of a line's last access, and the number of its accesses. */
interface Followed {
  place: number;
  accesses: number;
}

export class ReuseDistances {
  readonly #capacity: number;
  readonly #followed = new Map<number, Followed>();
  /** The line that was accessed at each place, in the order of accesses. */
  readonly #lineAt: Float64Array;
  /** Fenwick tree: counts the places that are the last access of their line. */
  readonly #tree: Int32Array;
  #next = 0;
  readonly #counts = new Float64Array(ENTRIES);
  #firstTouches = 0;
  #accesses = 0;
  /** Lines with hashes below it are followed. */
  #threshold = HASHES;
  /** Lines for which a followed line stands. */
  #weight = 1;

  constructor(capacity: number) {
    const places = Math.max(MIN_PLACES, PLACES_OF_LINE * capacity);
    this.#capacity = capacity;
    this.#lineAt = new Float64Array(places);
    this.#tree = new Int32Array(places + 1);
  }

  access(line: number): void {
    this.#accesses++;
    if (hashLine(line) >= this.#threshold) return;
    if (this.#next === this.#lineAt.length) this.#compact();
    const place = this.#next++;
    this.#lineAt[place] = line;
    this.#mark(place, 1);
    const known = this.#followed.get(line);
    if (known === undefined) {
      this.#firstTouches += this.#weight;
      this.#followed.set(line, { place, accesses: 1 });
      if (this.#followed.size > this.#capacity) this.#shrink();
      return;
    }
    // All marked places after the line's own, but the new one.
    const distance = this.#followed.size - this.#marksUpTo(known.place);
    this.#mark(known.place, -1);
    known.place = place;
    known.accesses++;
    const entry = entryOf(distance * this.#weight);
    this.#counts[entry] = this.#counts[entry]! + this.#weight;
  }

  #mark(place: number, change: number): void {
    const tree = this.#tree;
    for (let node = place + 1; node < tree.length; node += node & -node) {
      tree[node] = tree[node]! + change;
    }
  }

  #marksUpTo(place: number): number {
    let marks = 0;
    for (let node = place + 1; node > 0; node &= node - 1) marks += this.#tree[node]!;
    return marks;
  }

  /** Moves the last accesses of all followed lines to the first places, in their order. */
  #compact(): void {
    const lineAt = this.#lineAt;
    let count = 0;
    for (let place = 0; place < this.#next; place++) {
      const followed = this.#followed.get(lineAt[place]!);
      if (followed?.place !== place) continue;
      lineAt[count] = lineAt[place]!;
      followed.place = count++;
    }
    this.#next = count;
    const tree = this.#tree;
    for (let node = 1; node < tree.length; node++) {
      tree[node] = Math.max(0, Math.min(node, count) - (node & node - 1));
    }
  }

  /** Lowers the threshold until no more lines are followed than allowed. */
  #shrink(): void {
    while (this.#followed.size > this.#capacity) {
      this.#threshold = Math.floor(this.#threshold * LOWERED);
      for (const [line, { place }] of this.#followed) {
        if (hashLine(line) < this.#threshold) continue;
        this.#mark(place, -1);
        this.#followed.delete(line);
      }
    }
    this.#weight = HASHES / Math.max(1, this.#threshold);
  }

  histogram(): ReuseHistogram {
    const counted = this.#counts.reduce((sum, count) => sum + count, this.#firstTouches);
    // The number of all accesses is known, their distances only inside the sample.
    const scale = counted === 0 ? 0 : this.#accesses / counted;
    const sampled = this.#threshold / HASHES;
    const used = this.#counts.findLastIndex((count) => count > 0) + 1;
    return {
      granularity: LINE_BYTES,
      counts: [...this.#counts.subarray(0, used)].map((count) => count * scale),
      firstTouches: this.#firstTouches * scale,
      sampled,
      standardError: this.#standardError(sampled),
    };
  }

  /**
   * Accesses are drawn by line, so the sample is as good as one of as many lines as would have the
   * same spread if all were accessed equally often (Kish's effective sample size). A share of one
   * half has the greatest error.
   */
  #standardError(sampled: number): number {
    if (sampled === 1) return 0;
    let sum = 0;
    let squares = 0;
    for (const { accesses } of this.#followed.values()) {
      sum += accesses;
      squares += accesses * accesses;
    }
    return sum === 0 ? 1 : 0.5 * Math.sqrt((1 - sampled) * squares) / sum;
  }
}

/** The entry of the histogram for a distance, rounded. */
function entryOf(distance: number): number {
  return distance < 0.5 ? 0 : Math.min(ENTRIES - 1, Math.floor(Math.log2(distance + 0.5)) + 1);
}

/**
 * The hash of a line: neither powers of two nor strides must show in the sample, which takes two
 * multiplications between shifts (constants: Wellons, "Prospecting for Hash Functions", 2018,
 * lowbias32).
 */
export function hashLine(line: number): number {
  const upper = Math.floor(line / 2 ** 32);
  let spread = Math.imul(upper ^ upper >>> 16, 0x9e3779b1);
  spread = Math.imul(spread ^ spread >>> 15, 0x85ebca6b);
  const lower = line | 0;
  const mixed = Math.imul(lower ^ lower >>> 16, 0x7feb352d) ^ spread ^ spread >>> 16;
  const hash = Math.imul(mixed ^ mixed >>> 15, 0x846ca68b);
  return (hash ^ hash >>> 16) >>> 1;
}
