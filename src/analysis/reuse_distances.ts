/**
 * After how many other lines a line is accessed again.
 *
 * Lines are followed by their hash: a line either always is or never. When more are in the sample
 * than there is room for, those with the greatest hashes leave it, and what was counted so far is
 * scaled to the smaller share (fixed-size sampling, Waldspurger et al., "Efficient MRC Construction
 * with SHARDS", FAST 2015). Inside the sample distances are exact; one in the sample stands for as
 * many more in all as the sample is smaller.
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
  /** Accesses by entry of the histogram, of the lines in the sample. */
  readonly #counts = new Float64Array(ENTRIES);
  #firstTouches = 0;
  #accesses = 0;
  /** Lines with hashes below it are in the sample. */
  #threshold = HASHES;
  #newest = ABSENT;

  /** @param capacity How many lines are followed at most. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#sample = new SampledLines(capacity + 1);
    this.#order = new RecencyOrder(capacity + 1);
    this.#accessesOf = new Float64Array(capacity + 1);
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
      this.#counts[0] = this.#counts[0]! + 1;
      return;
    }
    const distance = this.#order.newerThan(member) * (HASHES / this.#threshold);
    const entry = entryOf(distance);
    this.#counts[entry] = this.#counts[entry]! + 1;
    this.#order.remove(member);
    this.#order.append(member);
    this.#newest = member;
  }

  #touchFirst(line: number, hash: number): void {
    this.#firstTouches++;
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
      const member = this.#sample.removeGreatest();
      this.#order.remove(member);
      if (member === this.#newest) this.#newest = ABSENT;
    }
    const share = threshold / this.#threshold;
    for (let entry = 0; entry < ENTRIES; entry++) {
      this.#counts[entry] = this.#counts[entry]! * share;
    }
    this.#firstTouches *= share;
    this.#threshold = threshold;
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
