/**
 * Which step between neighbours is the commonest.
 *
 * @module
 */

/** Among fewer indices the table is asked at once. */
const FEW = 64;
/** Accesses for each of which one has to repeat a step, or there is no use in counting all steps. */
const REPEATING = 8;

/** Indices of 32 bits, or others. */
export type Indices = Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

/** Counts steps. */
export class StrideElection {
  /** Steps by hash, with linear probing, and how often each occurs; 0 where there is none. */
  #steps = new Float64Array(0);
  #counts = new Int32Array(0);
  /** How many bits of a hash say no place. */
  #shift = 32;

  /**
   * The commonest step, of equals the first to be as common; null where none occurs twice, unless it
   * is the only one.
   *
   * @param values Indices.
   * @param count How many of them.
   */
  commonest(values: Indices, count: number): number | null {
    if (count < 2 || !repeatsSteps(values, count)) return null;
    this.#empty(count);
    const steps = this.#steps;
    const counts = this.#counts;
    let best = 0;
    let most = 0;
    for (let i = 1; i < count; i++) {
      const step = values[i]! - values[i - 1]!;
      const place = this.#place(step);
      steps[place] = step;
      const times = ++counts[place]!;
      if (times > most) {
        most = times;
        best = step;
      }
    }
    return most > 1 || count === 2 ? best : null;
  }

  /** Empties the table, which is to be half full at most. */
  #empty(count: number): void {
    if (this.#counts.length >= 2 * count) {
      this.#counts.fill(0);
      return;
    }
    const bits = Math.ceil(Math.log2(2 * count));
    this.#steps = new Float64Array(2 ** bits);
    this.#counts = new Int32Array(2 ** bits);
    this.#shift = 32 - bits;
  }

  #place(step: number): number {
    const mixed = Math.imul(step | 0, 0x9e3779b1) ^ Math.imul(step / 2 ** 32 | 0, 0x85ebca6b);
    let place = mixed >>> this.#shift;
    while (this.#counts[place] !== 0 && this.#steps[place] !== step) {
      place = place + 1 & this.#counts.length - 1;
    }
    return place;
  }
}

/**
 * Whether steps repeat as they do in every pattern that half of the accesses follow: one of two
 * neighbours, as in runs of two, and of three in longer ones. At random they hardly do.
 */
function repeatsSteps(values: Indices, count: number): boolean {
  if (count < FEW) return true;
  let last = values[1]! - values[0]!;
  let beforeLast = NaN;
  let repeated = 0;
  for (let i = 2; i < count; i++) {
    const step = values[i]! - values[i - 1]!;
    if (step === last || step === beforeLast) repeated++;
    beforeLast = last;
    last = step;
  }
  return repeated * REPEATING >= count;
}
