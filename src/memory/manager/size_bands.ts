/**
 * Bands of sizes: small, medium and large, and what is beyond them.
 *
 * Bands are for accounting and policy, not pools of their own: a pool for each would keep free
 * memory that the others lack, which is fragmentation by design. What the pool divides differently
 * for small and large requests is its own affair.
 *
 * | band     | sizes                               | served by                                    |
 * | -------- | ----------------------------------- | -------------------------------------------- |
 * | `small`  | 1 byte to `small`                   | the pool                                     |
 * | `medium` | above `small`, up to `medium`       | the pool                                     |
 * | `large`  | above `medium`, up to `large`       | the pool                                     |
 * | `direct` | above `large`                       | the device: goes back to it when it is freed |
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { BYTE_SIZE_GRAMMAR, matchByteSize } from "../../hardware/byte_size.ts";

/** A band. */
export type SizeBand = "small" | "medium" | "large" | "direct";

/** The bands, smallest first. */
export const SIZE_BANDS: readonly SizeBand[] = ["small", "medium", "large", "direct"];

/**
 * The largest size of each band, in bytes or as a text such as `"100MB"`; each above the one
 * before.
 */
export interface BandLimits {
  /** 1 MiB by default: the bulk of activations' bookkeeping, scalars and small vectors. */
  readonly small?: number | string;
  /** 100 MiB by default. */
  readonly medium?: number | string;
  /**
   * A quarter of usable memory by default: kept for reuse, a larger block would be missing
   * elsewhere.
   */
  readonly large?: number | string;
}

/** The sizes of one band, in bytes. */
export interface BandRange {
  /** The band. */
  readonly band: SizeBand;
  /** Its smallest size. */
  readonly from: number;
  /** Its largest size; `Infinity` for the last. */
  readonly to: number;
}

/** What a band holds. */
export interface BandFigures extends BandRange {
  /** Buffers. */
  readonly count: number;
  /** Bytes that were asked for. */
  readonly bytes: number;
}

/** Default of {@linkcode BandLimits.small}. */
export const DEFAULT_SMALL: number = 2 ** 20;
/** Default of {@linkcode BandLimits.medium}. */
export const DEFAULT_MEDIUM: number = 100 * 2 ** 20;
/** Share of usable memory that is the default of {@linkcode BandLimits.large}. */
export const DEFAULT_LARGE_SHARE = 0.25;

const ACTION = "divide sizes into bands";

function readLimit(value: unknown, name: string, above: number): number {
  const bytes = typeof value === "string" ? matchByteSize(value) : value;
  if (typeof bytes === "number" && Number.isSafeInteger(bytes) && bytes > above) return bytes;
  const message = `Cannot ${ACTION} as bands.${name} must be an integer in ${
    above + 1
  }..2^53-1 or ${BYTE_SIZE_GRAMMAR}: it is ${describeValue(value)}`;
  const isSize = typeof value === "number" || typeof value === "string";
  throw isSize ? new RangeError(message) : new TypeError(message);
}

/** The bands of a device. */
export class SizeBands {
  /** The sizes of each band, smallest first, without gaps and without overlap. */
  readonly ranges: readonly BandRange[];
  readonly #limits: readonly number[];

  /**
   * Divides sizes into bands.
   *
   * @param usableBytes Usable memory of the device.
   * @param limits The largest size of each band.
   * @throws {TypeError} If a limit is no size.
   * @throws {RangeError} If a limit is not above the one before.
   */
  constructor(usableBytes: number, limits: BandLimits = {}) {
    requireObject(limits, "bands", ACTION);
    const small = readLimit(limits.small ?? DEFAULT_SMALL, "small", 0);
    const medium = readLimit(limits.medium ?? Math.max(DEFAULT_MEDIUM, small + 1), "medium", small);
    const quarter = Math.floor(usableBytes * DEFAULT_LARGE_SHARE);
    const large = readLimit(limits.large ?? Math.max(quarter, medium + 1), "large", medium);
    this.#limits = [small, medium, large, Infinity];
    this.ranges = SIZE_BANDS.map((band, index) => ({
      band,
      from: (this.#limits[index - 1] ?? 0) + 1,
      to: this.#limits[index]!,
    }));
  }

  /** The band of a size; an empty request counts as small. */
  bandOf(bytes: number): SizeBand {
    return SIZE_BANDS[this.#limits.findIndex((limit) => bytes <= limit)]!;
  }

  /** Counts sizes by band; all bands are listed, also empty ones. */
  count(sizes: Iterable<number>): BandFigures[] {
    const counts = SIZE_BANDS.map(() => 0);
    const bytes = SIZE_BANDS.map(() => 0);
    for (const size of sizes) {
      const index = this.#limits.findIndex((limit) => size <= limit);
      counts[index]!++;
      bytes[index]! += size;
    }
    return this.ranges.map((range, index) => ({
      ...range,
      count: counts[index]!,
      bytes: bytes[index]!,
    }));
  }
}
