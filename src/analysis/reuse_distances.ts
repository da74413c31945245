/**
 * After how many other lines a line is accessed again.
 *
 * Lines are followed by their hash: a line either always is or never. When more are in the sample
 * than there is room for, those with the greatest hashes leave it (fixed-size sampling, Waldspurger
 * et al., "Efficient MRC Construction with SHARDS", FAST 2015). Inside the sample distances are
 * exact. A line and an access in it stand for as many more in all as the sample is smaller than all
 * at that time; that is the same as to scale what was counted whenever the sample shrinks.
 *
 * @module
 */

import { LINE_BYTES } from "./access_geometry.ts";
import type { ReuseHistogram } from "./access_report.ts";
import { RecencyOrder } from "./recency_order.ts";
import { ABSENT, hashLine, SampledLines } from "./sampled_lines.ts";

const HASHES = 2 ** 32;
/** Entries that a histogram can have: distances are below 2^53. */
const ENTRIES = 54;

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
  #newest = ABSENT;

  /** @param capacity How many lines are followed at most. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#sample = new SampledLines(capacity + 1);
    this.#order = new RecencyOrder(capacity + 1);
    this.#accessesOf = new Float64Array(capacity + 1);
  }

  /**
   * Counts accesses to lines.
   *
   * @param lines The lines, in order.
   * @param count How many of them.
   * @param base What was taken off the number of each.
   */
  accessAll(lines: Int32Array<ArrayBuffer>, count: number, base: number): void {
    let sampled = 0;
    // Most lines are not in the sample: that is seen here, without a call.
    for (let i = 0; i < count; i++) {
      const line = base + lines[i]!;
      if (hashLine(line) < this.#threshold) {
        this.access(line);
        sampled++;
      }
    }
    this.#accesses += count - sampled;
  }

  /** Counts an access. */
  access(line: number): void {
    this.#accesses++;
    const hash = hashLine(line);
    if (hash >= this.#threshold) return;
    const member = this.#sample.find(line, hash);
    if (member === ABSENT) this.#touchFirst(line, hash);
    else this.#touchAgain(member);
  }

  #touchAgain(member: number): void {
    this.#accessesOf[member] = this.#accessesOf[member]! + 1;
    if (member === this.#newest) {
      this.#counts[0] = this.#counts[0]! + this.#weight;
      return;
    }
    const entry = entryOf(this.#order.newerThan(member) * this.#weight);
    this.#counts[entry] = this.#counts[entry]! + this.#weight;
    this.#order.remove(member);
    this.#order.append(member);
    this.#newest = member;
  }

  #touchFirst(line: number, hash: number): void {
    this.#firstTouches += this.#weight;
    const member = this.#sample.add(line, hash);
    this.#accessesOf[member] = 1;
    this.#order.append(member);
    this.#newest = member;
    if (this.#sample.size > this.#capacity) this.#shrink();
  }

  /** Lowers the threshold to the greatest hash in the sample. */
  #shrink(): void {
    const threshold = this.#sample.greatestHash;
    while (this.#sample.size > 0 && this.#sample.greatestHash >= threshold) {
      this.#order.remove(this.#sample.removeGreatest());
    }
    this.#threshold = threshold;
    this.#weight = HASHES / Math.max(1, threshold);
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
    for (const member of this.#sample.members()) {
      const accesses = this.#accessesOf[member]!;
      sum += accesses;
      squares += accesses * accesses;
    }
    return sum === 0 ? 1 : 0.5 * Math.sqrt((1 - sampled) * squares) / sum;
  }
}

/** The entry of the histogram that a distance belongs to. */
function entryOf(distance: number): number {
  const whole = Math.round(distance);
  if (whole < 2 ** 31) return 32 - Math.clz32(whole);
  return Math.min(ENTRIES - 1, Math.floor(Math.log2(whole)) + 1);
}
