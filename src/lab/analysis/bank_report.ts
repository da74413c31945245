/**
 * Bank conflicts of accesses by their indices.
 *
 * @module
 */

import type { AccessIndices } from "./access_analyzer.ts";
import { BankCounter } from "./bank_conflicts.ts";
import { DistantLanes } from "./distant_lanes.ts";
import { IndexBatch } from "./index_batch.ts";
import { requireInteger, requireObject, requireOneOf } from "./integer_argument.ts";

const ACTION = "count bank conflicts";
const WARP_LANES = 32;

/** How indices into shared memory are to be understood. */
export interface BankOptions {
  /** Bytes that a lane accesses, which an index counts: 1, 2, 4, 8, 12 or 16; 4 by default. */
  readonly elementBytes?: number;
  /** Byte of shared memory at which element 0 lies: a multiple of what is accessed; 0 by default. */
  readonly offset?: number;
}

/** What accesses of shared memory take. */
export interface BankReport {
  /** Accesses of warps. */
  readonly requests: number;
  /** Wavefronts that they take: passes, each of one word of every bank. */
  readonly wavefronts: number;
  /** Wavefronts that they would take without a conflict: more than one for 8 bytes and more. */
  readonly idealWavefronts: number;
  /** The difference. */
  readonly conflicts: number;
  /**
   * The most different words that lanes which are served together want of one bank: 1 is no
   * conflict, 32 the worst there is, 0 no access.
   */
  readonly degree: number;
  /** The first request that is that bad; null where none conflicts. */
  readonly worstRequest: number | null;
  /** The bank, 0 to 31, that it is because of; null where none conflicts. */
  readonly worstBank: number | null;
}

/**
 * Counts the wavefronts that warps take for accesses of shared memory.
 *
 * Shared memory has 32 banks of 4 bytes. Lanes that want the same word share it; of different words
 * in one bank each takes a wavefront of its own. A warp is served at once with up to 4 bytes a lane,
 * in halves with 8, in quarters with 16, and word by word with 12.
 *
 * @param indices Element that each lane accesses: the first 32 are the first request's.
 * @param options How they are to be understood.
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
 */
export function bankConflicts(indices: AccessIndices, options: BankOptions = {}): BankReport {
  requireObject(ACTION, "options", options);
  const { elementBytes = 4, offset = 0 } = options;
  const banks = new BankCounter(elementBytes, checkedOffset(elementBytes, offset));
  const distant = new DistantLanes();
  let requests = 0;
  let worstRequest: number | null = null;
  const request = (lanes: ArrayLike<number>, from: number, to: number) => {
    const { degree } = banks;
    banks.add(lanes, from, to);
    if (banks.degree > Math.max(1, degree)) worstRequest = requests;
    requests++;
  };
  const batch = new IndexBatch(ACTION, {
    take(values, count) {
      for (let from = 0; from < count; from += WARP_LANES) {
        request(values, from, Math.min(count, from + WARP_LANES));
      }
    },
    takeDistant(values, count) {
      for (let from = 0; from < count; from += WARP_LANES) {
        const to = Math.min(count, from + WARP_LANES);
        distant.move(values, from, to);
        request(distant.lanes, 0, to - from);
      }
    },
  });
  batch.addAll(indices);
  batch.flush();
  const { wavefronts, idealWavefronts, degree } = banks;
  return {
    requests,
    wavefronts,
    idealWavefronts,
    conflicts: wavefronts - idealWavefronts,
    degree,
    worstRequest,
    worstBank: worstRequest === null ? null : banks.worstBank,
  };
}

/** An access at another address would fault. */
function checkedOffset(elementBytes: number, offset: number): number {
  requireOneOf(ACTION, "elementBytes", elementBytes, [1, 2, 4, 8, 12, 16]);
  requireInteger(ACTION, "offset", offset, 0);
  const multiple = elementBytes === 12 ? 4 : elementBytes;
  if (offset % multiple !== 0) {
    throw new RangeError(
      `Cannot ${ACTION} as offset must be a multiple of ${multiple} bytes: it is ${offset}`,
    );
  }
  return offset % 128;
}
