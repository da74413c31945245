/**
 * Bands of sizes for accounting and policy.
 *
 * A band is not a pool: a pool for each band would keep free memory that the others lack.
 *
 * | band     | sizes                         | served by                         |
 * | -------- | ----------------------------- | --------------------------------- |
 * | `small`  | 1 byte to `small`             | the pool                          |
 * | `medium` | above `small`, up to `medium` | the pool                          |
 * | `large`  | above `medium`, up to `large` | the pool                          |
 * | `direct` | above `large`                 | the device, which gets it back    |
 *
 * @module
 */

import { requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { BYTE_SIZE_GRAMMAR, matchByteSize } from "../../hardware/byte_size.ts";

const NAMES = ["small", "medium", "large", "direct"] as const;

const DEFAULT_SMALL = 2 ** 20;
const DEFAULT_MEDIUM = 100 * 2 ** 20;
const DEFAULT_LARGE_SHARE = 0.25;

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

export class SizeBands {
  readonly #limits: readonly number[];

  /**
   * Divides sizes into bands.
   *
   * @param usableBytes Usable memory of the device.
   * @param limits The largest size of each band: 1 MiB, 100 MiB and a quarter of the usable memory
   * by default.
   */
  constructor(
    usableBytes: number,
    limits: Readonly<Partial<Record<"small" | "medium" | "large", number | string>>> = {},
  ) {
    requireOptions(limits, ["small", "medium", "large"], ACTION, "bands");
    const small = readLimit(limits.small ?? DEFAULT_SMALL, "small", 0);
    const medium = readLimit(limits.medium ?? Math.max(DEFAULT_MEDIUM, small + 1), "medium", small);
    const share = Math.floor(usableBytes * DEFAULT_LARGE_SHARE);
    const large = readLimit(limits.large ?? Math.max(share, medium + 1), "large", medium);
    this.#limits = [small, medium, large, Infinity];
  }

  /** The band of a size; an empty request counts as small. */
  bandOf(bytes: number): typeof NAMES[number] {
    return NAMES[this.#limits.findIndex((limit) => bytes <= limit)]!;
  }

  count(sizes: Iterable<number>): {
    readonly band: typeof NAMES[number];
    readonly from: number;
    readonly to: number;
    readonly count: number;
    readonly bytes: number;
  }[] {
    const bands = NAMES.map((band, index) => ({
      band,
      from: (this.#limits[index - 1] ?? 0) + 1,
      to: this.#limits[index]!,
      count: 0,
      bytes: 0,
    }));
    for (const size of sizes) {
      const band = bands.find(({ to }) => size <= to)!;
      band.count++;
      band.bytes += size;
    }
    return bands;
  }
}
