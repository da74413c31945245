/**
 * Which step between neighbours is the commonest.
 *
 * @module
 */

const PLACES = 2 ** 14;
/** At most so many indices at once, so that the table is never more than half full. */
export const ELECTION_LIMIT: number = PLACES / 2;
/** Among fewer indices the table is asked at once. */
const FEW = 64;
/** Accesses for each of which one has to repeat a step, or there is no use in counting all steps. */
const REPEATING = 8;

/** Indices of 32 bits, or others. */
export type Indices = Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

/** Counts steps. */
export class StrideElection {
  readonly #steps = new Float64Array(PLACES);
  readonly #counts = new Int32Array(PLACES);

  /**
   * The commonest step, of equals the first to be as common; null where none occurs twice, unless it
   * is the only one.
   *
   * @param values Indices.
   * @param count How many of them, up to {@linkcode ELECTION_LIMIT}.
   */
  commonest(values: Indices, count: number): number | null {
    if (count < 2 || !repeatsSteps(values, count)) return null;
    const steps = this.#steps;
    const counts = this.#counts;
    counts.fill(0);
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

  #place(step: number): number {
    const mixed = Math.imul(step | 0, 0x9e3779b1) ^ Math.imul(step / 2 ** 32 | 0, 0x85ebca6b);
    let place = mixed >>> 18;
    while (this.#counts[place] !== 0 && this.#steps[place] !== step) {
      place = place + 1 & (PLACES - 1);
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
