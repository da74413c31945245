/**
 * After how many other lines a line is accessed again.
 *
 * Lines are followed by their hash: a line either always is or never. When more are in the sample
 * than it may have, those with the greatest hashes leave it (fixed-size sampling, Waldspurger et al.,
 * "Efficient MRC Construction with SHARDS", FAST 2015). Inside the sample distances are exact. A line
 * and an access in it stand for as many more in all as the sample is smaller than all at that time;
 * that is the same as to scale what was counted whenever the sample shrinks.
 *
 * Accesses are looked at in pieces, each in short loops one after the other: which of them are in the
 * sample, which members they are, after how many others these come again, and the histogram. A loop
 * then waits neither for what the one before it looks up nor for its mispredicted branches.
 *
 * @module
 */

import { LINE_BYTES } from "./access_geometry.ts";
import type { ReuseHistogram } from "./access_report.ts";
import { HASHES, hashLine, lowerOf, spreadOf, upperOf } from "./line_hash.ts";
import { FIRST, RecencyOrder } from "./recency_order.ts";
import { SampledLines } from "./sampled_lines.ts";

/** Entries that a histogram can have: distances are below 2^53. */
const ENTRIES = 54;
/** Accesses of a piece, after which the sample has at most as many lines as it may have. */
const PIECE = 1024;
/** Lines that are told together are less than so far from the first that there can be. */
const REACH = 2 ** 30;
/** What a threshold is lowered to: all the lines to go are found at once. */
const LOWERED = 15 / 16;
/** The line that is the base itself. */
const HERE = new Int32Array(1);

/** Counts reuse distances. */
export class ReuseDistances {
  readonly #capacity: number;
  readonly #sample: SampledLines;
  readonly #order: RecencyOrder;
  /** Accesses to each line of the sample. */
  readonly #accessesOf: Float64Array<ArrayBuffer>;
  /** Accesses by entry of the histogram, as many as those of the sample stand for. */
  readonly #counts = new Float64Array(ENTRIES);
  #firstTouches = 0;
  #accesses = 0;
  /** Lines with hashes below it are in the sample. */
  #threshold = HASHES;
  /** For how many lines one in the sample stands. */
  #weight = 1;

  /** Of a piece, the lines that are in the sample, what members they are, and their distances. */
  readonly #sampled = new Int32Array(PIECE + 1);
  readonly #members = new Int32Array(PIECE);
  readonly #distances = new Int32Array(PIECE);
  readonly #removed: Int32Array<ArrayBuffer>;

  /** @param capacity How many lines are followed at most, when a piece has been looked at. */
  constructor(capacity: number) {
    const most = capacity + PIECE;
    this.#capacity = capacity;
    this.#sample = new SampledLines(most);
    this.#order = new RecencyOrder(most);
    this.#accessesOf = new Float64Array(most + 1);
    this.#removed = new Int32Array(most);
  }

  /**
   * Counts accesses to lines.
   *
   * @param lines The lines, in order, each in 0..2^30 − 1.
   * @param count How many of them.
   * @param base What was taken off the number of each.
   */
  accessAll(lines: Int32Array<ArrayBuffer>, count: number, base: number): void {
    if (upperOf(base + REACH) !== upperOf(base)) {
      for (let i = 0; i < count; i++) this.access(base + lines[i]!);
      return;
    }
    for (let from = 0; from < count; from += PIECE) {
      this.#accessPiece(lines, from, Math.min(count, from + PIECE), base);
    }
  }

  /** Counts an access. */
  access(line: number): void {
    this.#accessPiece(HERE, 0, 1, line);
  }

  #accessPiece(lines: Int32Array<ArrayBuffer>, from: number, to: number, base: number): void {
    this.#accesses += to - from;
    let count = to - from;
    if (this.#threshold === HASHES) {
      this.#sample.findAll(this.#members, lines, from, to, base);
    } else {
      count = this.#draw(lines, from, to, base);
      this.#sample.findAll(this.#members, this.#sampled, 0, count, base);
    }
    this.#order.useAll(this.#members, count, this.#distances);
    this.#tally(count);
    if (this.#sample.size > this.#capacity) this.#shrink();
  }

  /** Draws the lines of a piece that are in the sample and returns how many they are. */
  #draw(lines: Int32Array<ArrayBuffer>, from: number, to: number, base: number): number {
    const sampled = this.#sampled;
    const greatest = this.#threshold - 1 | 0;
    const lower = lowerOf(base);
    const spread = spreadOf(upperOf(base));
    let count = 0;
    for (let i = from; i < to; i++) {
      const line = lines[i]!;
      sampled[count] = line;
      // Without a branch, which for a fair share would often be mispredicted.
      count += greatest - hashLine(lower + line | 0, spread) >>> 31 ^ 1;
    }
    return count;
  }

  /** Counts accesses of which members and distances are known. */
  #tally(count: number): void {
    const members = this.#members;
    const distances = this.#distances;
    const accessesOf = this.#accessesOf;
    const counts = this.#counts;
    const weight = this.#weight;
    for (let i = 0; i < count; i++) {
      const member = members[i]!;
      const distance = distances[i]!;
      accessesOf[member] = accessesOf[member]! + 1;
      if (distance === FIRST) {
        this.#firstTouches += weight;
        continue;
      }
      const entry = entryOf(distance * weight);
      counts[entry] = counts[entry]! + weight;
    }
  }

  /** Lowers the threshold until there are no more lines than there may be. */
  #shrink(): void {
    const removed = this.#removed;
    while (this.#sample.size > this.#capacity) {
      this.#threshold = Math.floor(this.#threshold * LOWERED);
      const count = this.#sample.removeFrom(this.#threshold, removed);
      for (let i = 0; i < count; i++) {
        this.#order.remove(removed[i]!);
        this.#accessesOf[removed[i]!] = 0;
      }
    }
    this.#weight = HASHES / Math.max(1, this.#threshold);
  }

  /** What was counted. */
  histogram(): ReuseHistogram {
    const counted = this.#counts.reduce((sum, count) => sum + count, this.#firstTouches);
    // All accesses are known, only those of the sample by distance.
    const scale = counted === 0 ? 0 : this.#accesses / counted;
    const sampled = this.#threshold / HASHES;
    return {
      granularity: LINE_BYTES,
      counts: [...this.#counts.subarray(0, this.#usedEntries())].map((count) => count * scale),
      firstTouches: this.#firstTouches * scale,
      sampled,
      standardError: this.#standardError(sampled),
    };
  }

  #usedEntries(): number {
    let used = ENTRIES;
    while (used > 0 && this.#counts[used - 1] === 0) used--;
    return used;
  }

  /**
   * Accesses are drawn by line, so the sample is as good as one of as many lines as would have the
   * same spread if all were accessed equally often (Kish's effective sample size); a share is known
   * worst where it is one half.
   */
  #standardError(sampled: number): number {
    if (sampled === 1) return 0;
    let sum = 0;
    let squares = 0;
    const accessesOf = this.#accessesOf;
    for (let member = 0; member < accessesOf.length; member++) {
      const accesses = accessesOf[member]!;
      sum += accesses;
      squares += accesses * accesses;
    }
    return sum === 0 ? 1 : 0.5 * Math.sqrt((1 - sampled) * squares) / sum;
  }
}

/** The entry of the histogram that a distance, rounded, belongs to. */
function entryOf(distance: number): number {
  const above = distance + 0.5;
  if (above < 2 ** 31) return 32 - Math.clz32(above);
  return Math.min(ENTRIES - 1, Math.floor(Math.log2(above)) + 1);
}
