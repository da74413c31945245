/**
 * What is live in a pool, since when, and who asked for it.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import { requireObject } from "../../ffi/arguments.ts";
import { innermostOf } from "./allocation_sites.ts";

/** Options of `checkLeaks()`. */
export interface LeakOptions {
  /** Only buffers that were allocated longer ago than this many milliseconds; all by default. */
  readonly olderThan?: number;
}

/** A live buffer. */
export interface LiveBuffer {
  /** Its address. */
  readonly address: number;
  /** Bytes that it takes up, with rounding. */
  readonly bytes: number;
  /** Bytes that were asked for. */
  readonly requested: number;
  /** Milliseconds since it was allocated; `null` where memory is not tracked. */
  readonly age: number | null;
  /** The name of the stream that it was allocated for. */
  readonly stream: string;
  /** The stack that allocated it, innermost frame first; `null` where memory is not tracked. */
  readonly site: string | null;
  /** Whether its buffer was collected as garbage, so that nobody can free it any more. */
  readonly collected: boolean;
}

/** What one site holds. */
export interface LeakSite {
  /** The stack, innermost frame first; `null` where memory is not tracked. */
  readonly site: string | null;
  /** Number of live buffers. */
  readonly count: number;
  /** Bytes that they take up. */
  readonly bytes: number;
  /** Bytes that were asked for. */
  readonly requested: number;
}

/** Sites shown in the text. */
const SITES_SHOWN = 10;
/** Buffers shown in the text. */
const BUFFERS_SHOWN = 20;

/**
 * Checks the options of `checkLeaks()`.
 *
 * @returns The threshold in milliseconds; `undefined` where there is none.
 * @throws {TypeError | RangeError} If an option is wrong.
 */
export function leakThreshold(options: LeakOptions): number | undefined {
  requireObject(options, "options", "check for leaks");
  const { olderThan } = options;
  if (olderThan === undefined) return undefined;
  const Refusal = typeof olderThan === "number" ? RangeError : TypeError;
  if (typeof olderThan === "number" && Number.isFinite(olderThan) && olderThan >= 0) {
    return olderThan;
  }
  throw new Refusal(
    `Cannot check for leaks as options.olderThan must be a number of milliseconds, 0 or more: it is ${
      describeValue(olderThan)
    }`,
  );
}

/** What is live in a pool. Its text is for people, and its fields are plain for JSON. */
export class LeakReport {
  /** The device, as messages name it. */
  readonly device: string;
  /** The threshold in milliseconds; `null` where all live buffers were wanted. */
  readonly olderThan: number | null;
  /** Number of live buffers. */
  readonly count: number;
  /** Bytes that they take up. */
  readonly bytes: number;
  /** Bytes that were asked for. */
  readonly requested: number;
  /** The buffers, the oldest first. */
  readonly buffers: readonly LiveBuffer[];
  /** What their sites hold, the most first. */
  readonly sites: readonly LeakSite[];

  /** Adds buffers up. */
  constructor(device: string, olderThan: number | undefined, buffers: readonly LiveBuffer[]) {
    this.device = device;
    this.olderThan = olderThan ?? null;
    this.count = buffers.length;
    this.bytes = buffers.reduce((sum, { bytes }) => sum + bytes, 0);
    this.requested = buffers.reduce((sum, { requested }) => sum + requested, 0);
    this.buffers = buffers.toSorted((a, b) => (b.age ?? 0) - (a.age ?? 0) || a.address - b.address);
    this.sites = sitesOf(this.buffers);
  }

  /** The report as text; at most 10 sites and 20 buffers are listed. */
  toString(): string {
    const age = this.olderThan === null ? "" : ` older than ${duration(this.olderThan)}`;
    if (this.count === 0) return `No live buffers${age} on ${this.device}`;
    const sites = this.sites.slice(0, SITES_SHOWN).map(siteText);
    const buffers = this.buffers.slice(0, BUFFERS_SHOWN).map(bufferText);
    return [
      `${counted(this.count, "live buffer")}${age} on ${this.device}: ${this.requested} bytes, ` +
      `which take up ${this.bytes}`,
      "By site:",
      ...sites,
      ...restOf(this.sites.length, SITES_SHOWN),
      "By age:",
      ...buffers,
      ...restOf(this.count, BUFFERS_SHOWN),
    ].join("\n");
  }
}

function sitesOf(buffers: readonly LiveBuffer[]): LeakSite[] {
  const totals = new Map<string | null, { -readonly [Key in keyof LeakSite]: LeakSite[Key] }>();
  for (const { site, bytes, requested } of buffers) {
    const total = totals.get(site);
    if (total === undefined) totals.set(site, { site, count: 1, bytes, requested });
    else {
      total.count++;
      total.bytes += bytes;
      total.requested += requested;
    }
  }
  return [...totals.values()].sort((a, b) => b.bytes - a.bytes || b.count - a.count);
}

function siteText({ site, count, requested }: LeakSite): string {
  const frames = site === null ? ["unknown"] : site.split("\n");
  return [
    `  ${requested} bytes in ${counted(count, "buffer")}`,
    ...frames.map((frame) => `    at ${frame}`),
  ].join("\n");
}

function bufferText({ address, requested, age, stream, site, collected }: LiveBuffer): string {
  return [
    `  0x${address.toString(16)}: ${requested} bytes`,
    age === null ? "" : `, ${duration(age)} old`,
    `, ${stream === "default" ? "default stream" : stream}`,
    site === null ? "" : `, at ${innermostOf(site)}`,
    collected ? ", collected without having been freed" : "",
  ].join("");
}

function restOf(count: number, shown: number): string[] {
  return count > shown ? [`  and ${count - shown} more`] : [];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function duration(milliseconds: number): string {
  return milliseconds < 1000
    ? `${milliseconds.toFixed(0)} ms`
    : `${(milliseconds / 1000).toFixed(1)} s`;
}
