/**
 * Bank conflicts in shared memory.
 *
 * Shared memory has 32 banks, each a word of 4 bytes wide; successive words lie in successive banks.
 * A wavefront serves one word of each bank, to all lanes that access it. Lanes that access 4
 * bytes or less are served together; with 8 bytes a warp is served in halves, with 16 in quarters, as no
 * more than 128 bytes can go at once. Elements of 12 bytes take three requests of 4 bytes.
 *
 * @module
 */

import { requireOptions } from "../../ffi/arguments.ts";
import { accessBytesOf, ELEMENT_BYTES, WARP_LANES } from "./access_report.ts";
import { rangeError, requireInteger, requireOneOf } from "./arguments.ts";
import { type AccessIndices, IndexBatch } from "./index_batch.ts";

const ACTION = "count bank conflicts";
const BANKS = 32;
const WORD_BYTES = 4;
/** Elements of any size after which places and banks repeat. */
const PERIOD = 128;

/** Slots: many more than members, as lookups should end at the first. */
const SLOTS = 512;
const SHIFT = 23;
const LAST_STAMP = 2 ** 31 - 1;

/** A set of at most 128 integers below 2^53. */
export class StampedSet {
  readonly #keys = new Float64Array(SLOTS);
  /** The stamp under which each key was added; keys with an older stamp are not in the set. */
  readonly #stamps = new Int32Array(SLOTS);
  #stamp = 1;

  clear(): void {
    if (this.#stamp === LAST_STAMP) {
      this.#stamps.fill(0);
      this.#stamp = 0;
    }
    this.#stamp++;
  }

  /** Adds a member; false if it is one already. */
  add(key: number): boolean {
    const stamp = this.#stamp;
    let slot = Math.imul(key | 0, 0x9e3779b1) >>> SHIFT;
    while (this.#stamps[slot] === stamp) {
      if (this.#keys[slot] === key) return false;
      slot = slot + 1 & SLOTS - 1;
    }
    this.#stamps[slot] = stamp;
    this.#keys[slot] = key;
    return true;
  }
}

/** Counts the wavefronts of requests to shared memory. */
export class BankCounter {
  wavefronts = 0;
  /** Wavefronts that they would take without a conflict. */
  idealWavefronts = 0;
  /** The most different words in one bank that lanes access together; 0 at first. */
  degree = 0;
  worstBank = 0;

  readonly #elementBytes: number;
  readonly #parts: number;
  /** Words that a lane accesses in a request. */
  readonly #words: number;
  /** Lanes that are served together. */
  readonly #group: number;
  readonly #offset: number;
  /** Elements that share a word; 1 for elements of a word or more. */
  readonly #elementsOfWord: number;
  /** Words that a group accesses, each by the first element in it. */
  readonly #seen = new StampedSet();
  readonly #counts = new Uint8Array(BANKS);

  /** `offset` is the byte address of element 0, a multiple of the access size. */
  constructor(elementBytes: number, offset = 0) {
    const accessBytes = accessBytesOf(elementBytes);
    this.#elementBytes = elementBytes;
    this.#parts = elementBytes / accessBytes;
    this.#words = Math.max(1, accessBytes / WORD_BYTES);
    this.#group = WARP_LANES / this.#words;
    this.#offset = offset;
    this.#elementsOfWord = Math.max(1, WORD_BYTES / elementBytes);
  }

  /** Adds an access of a warp with the indices at `from` to `to`, exclusive. */
  add(indices: ArrayLike<number>, from: number, to: number): void {
    for (let part = 0; part < this.#parts; part++) {
      for (let lane = from; lane < to; lane += this.#group) {
        this.#serve(indices, lane, Math.min(to, lane + this.#group), part * WORD_BYTES);
      }
    }
  }

  /** Serves lanes together, each with the bytes of its element from `begin` on. */
  #serve(indices: ArrayLike<number>, from: number, to: number, begin: number): void {
    const counts = this.#counts.fill(0);
    const seen = this.#seen;
    const elementBytes = this.#elementBytes;
    const share = this.#elementsOfWord;
    const offset = this.#offset + begin;
    seen.clear();
    let max = 1;
    for (let lane = from; lane < to; lane++) {
      const index = indices[lane]!;
      const first = (index & PERIOD - 1) * elementBytes + offset >>> 2;
      const key = share === 1 ? index : Math.floor((index + this.#offset / elementBytes) / share);
      if (!seen.add(key)) continue;
      for (let word = first; word < first + this.#words; word++) {
        const count = counts[word & BANKS - 1]! + 1;
        counts[word & BANKS - 1] = count;
        if (count > max) max = count;
      }
    }
    this.wavefronts += max;
    this.idealWavefronts++;
    if (max <= this.degree) return;
    this.degree = max;
    this.worstBank = counts.indexOf(max);
  }
}

/**
 * The cost of accesses to shared memory.
 * @category Memory access
 */
export interface BankReport {
  /** Accesses of warps. */
  readonly requests: number;
  /** Wavefronts that they take: passes, each of one word of every bank. */
  readonly wavefronts: number;
  /** Wavefronts that they would take without a conflict: more than one for 8 bytes and more. */
  readonly idealWavefronts: number;
  /** `wavefronts - idealWavefronts`. */
  readonly conflicts: number;
  /**
   * The most different words in one bank that lanes access together: 1 is no conflict, 32 the worst
   * case, 0 no access.
   */
  readonly degree: number;
  /** The first request of that degree; null if none conflicts. */
  readonly worstRequest: number | null;
  /** The first bank of that degree, 0 to 31; null if none conflicts. */
  readonly worstBank: number | null;
}

/**
 * Counts the wavefronts that warps take for accesses of shared memory.
 *
 * Shared memory has 32 banks of 4 bytes. Lanes that access the same word share it; each further word
 * in the same bank takes a wavefront of its own. A warp is served at once with up to 4 bytes a lane,
 * in halves with 8, in quarters with 16, and word by word with 12.
 *
 * @param indices The element that each lane accesses: the first 32 are the first request's.
 * @param options `elementBytes`: bytes of an element, 1, 2, 4, 8, 12 or 16; 4 by default. `offset`:
 * byte address of element 0 in shared memory, a multiple of the access size; 0 by default.
 * @throws {RangeError} If an index or option is a number that is not allowed.
 * @throws {TypeError} If one is of another type.
 *
 * @example
 * ```ts
 * import { bankConflicts } from "@gridstride/cuda/analysis";
 *
 * const column = (pitch: number) => Uint32Array.from({ length: 32 }, (_, row) => row * pitch);
 * console.log(bankConflicts(column(32)).wavefronts); // 32
 * console.log(bankConflicts(column(33)).wavefronts); // 1
 * ```
 * @category Memory access
 */
export function bankConflicts(
  indices: AccessIndices,
  options: { readonly elementBytes?: number; readonly offset?: number } = {},
): BankReport {
  requireOptions(options, ["elementBytes", "offset"], ACTION);
  const { elementBytes = 4, offset = 0 } = options;
  requireOneOf(ACTION, "elementBytes", elementBytes, ELEMENT_BYTES);
  requireInteger(ACTION, "offset", offset, 0);
  const multiple = accessBytesOf(elementBytes);
  if (offset % multiple !== 0) {
    throw rangeError(ACTION, "offset", `be a multiple of ${multiple} bytes`, offset);
  }
  const banks = new BankCounter(elementBytes, offset % (BANKS * WORD_BYTES));
  let requests = 0;
  let worstRequest: number | null = null;
  const batch = new IndexBatch(ACTION, (values, count) => {
    for (let from = 0; from < count; from += WARP_LANES) {
      const { degree } = banks;
      banks.add(values, from, Math.min(count, from + WARP_LANES));
      if (banks.degree > Math.max(1, degree)) worstRequest = requests;
      requests++;
    }
  });
  batch.addAll(indices);
  batch.flush();
  const { wavefronts, idealWavefronts, degree, worstBank } = banks;
  return {
    requests,
    wavefronts,
    idealWavefronts,
    conflicts: wavefronts - idealWavefronts,
    degree,
    worstRequest,
    worstBank: worstRequest === null ? null : worstBank,
  };
}
