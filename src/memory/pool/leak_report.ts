/**
 * Reports on the live buffers of a pool, and the error if there is no memory for another.
 *
 * @module
 */

import { displayAs } from "../../ffi/display.ts";
import { requireOptions } from "../../ffi/arguments.ts";
import { OutOfMemoryError } from "../../ffi/cuda_error.ts";
import { describeValue, formatBytes } from "../../ffi/describe_value.ts";
import { logger } from "../../ffi/logging.ts";
import type { AllocationLadder } from "./allocation_ladder.ts";
import type { BlockPool } from "./block_pool.ts";
import { innermostOf } from "./block_tracker.ts";
import { type BlockView, walkLive } from "./segment_walk.ts";

/**
 * A live buffer.
 * @category Memory
 */
export interface LiveBuffer {
  /** Its address. */
  readonly address: number;
  /** Its size in bytes, including rounding. */
  readonly bytes: number;
  /** The requested bytes. */
  readonly requested: number;
  /** Milliseconds since its allocation; `null` unless memory is tracked. */
  readonly age: number | null;
  /** The name of the stream that it was allocated for. */
  readonly stream: string;
  /** The stack of its allocation, innermost frame first; `null` unless memory is tracked. */
  readonly site: string | null;
}

type LeakSite = LeakReport["sites"][number];

/** CUDA's status for a lack of memory. */
const MEMORY_ALLOCATION = 2;
/** Sites in the text. */
const MAX_SITES = 10;
/** Buffers in the text. */
const MAX_BUFFERS = 20;

/**
 * The live buffers of a pool, as data for JSON and as text.
 * @category Memory
 */
export class LeakReport {
  /** The device's label. */
  readonly device: string;
  /** The age threshold in milliseconds; `null` if there was none. */
  readonly olderThan: number | null;
  /** The number of live buffers. */
  readonly count: number;
  /** Their size in bytes, including rounding. */
  readonly bytes: number;
  /** Their requested bytes. */
  readonly requested: number;
  /** Buffers dropped without `free()` so far; their memory is free again. */
  readonly dropped: number;
  /** The buffers, oldest first. */
  readonly buffers: readonly LiveBuffer[];
  /** The allocation sites, largest first. */
  readonly sites: readonly {
    /** The stack, innermost frame first; `null` unless memory is tracked. */
    readonly site: string | null;
    /** The number of live buffers. */
    readonly count: number;
    /** Their size in bytes, including rounding. */
    readonly bytes: number;
    /** Their requested bytes. */
    readonly requested: number;
  }[];

  /** Adds buffers up. */
  constructor(
    device: string,
    olderThan: number | undefined,
    buffers: readonly LiveBuffer[],
    dropped = 0,
  ) {
    this.device = device;
    this.olderThan = olderThan ?? null;
    this.count = buffers.length;
    this.dropped = dropped;
    this.bytes = buffers.reduce((sum, { bytes }) => sum + bytes, 0);
    this.requested = buffers.reduce((sum, { requested }) => sum + requested, 0);
    this.buffers = buffers.toSorted((a, b) => (b.age ?? 0) - (a.age ?? 0) || a.address - b.address);
    this.sites = bySite(this.buffers, ({ site }) => site);
  }

  /** The report as text, with at most 10 sites and 20 buffers. */
  toString(): string {
    const age = this.olderThan === null ? "" : ` older than ${duration(this.olderThan)}`;
    const dropped = this.dropped === 0
      ? []
      : [`${counted(this.dropped, "buffer")} dropped without free() so far`];
    if (this.count === 0) return [`No live buffers${age} on ${this.device}`, ...dropped].join("\n");
    return [
      `${counted(this.count, "live buffer")}${age} on ${this.device}: ${
        formatBytes(this.requested)
      }, ` +
      `which take up ${formatBytes(this.bytes)}`,
      ...dropped,
      "By site:",
      ...this.sites.slice(0, MAX_SITES).map(siteText),
      ...restOf(this.sites.length, MAX_SITES),
      "By age:",
      ...this.buffers.slice(0, MAX_BUFFERS).map(bufferText),
      ...restOf(this.count, MAX_BUFFERS),
    ].join("\n");
  }
}

displayAs(LeakReport.prototype, "LeakReport", {
  device: ({ device }) => device,
  buffers: ({ count }) => count,
  requested: ({ requested }) => formatBytes(requested),
  olderThan: ({ olderThan }) => olderThan ?? undefined,
  sites: ({ sites }) => sites.length,
  largest: ({ sites: [largest] }) => largest?.site?.replace(/\n[^]*$/, "").trim(),
}, { isData: true, more: { report: String } });

/**
 * Reports the live buffers of a pool. Makes no native call.
 *
 * @param options.olderThan Limits the report to buffers allocated longer ago, in milliseconds.
 */
export function checkLeaks(
  pool: BlockPool,
  options: { readonly olderThan?: number } = {},
): LeakReport {
  requireOptions(options, ["olderThan"], "check for leaks");
  const { olderThan } = options;
  if (olderThan !== undefined && !(Number.isFinite(olderThan) && olderThan >= 0)) {
    const Refusal = typeof olderThan === "number" ? RangeError : TypeError;
    throw new Refusal(
      `Cannot check for leaks as options.olderThan must be a number of milliseconds, 0 or more: it is ${
        describeValue(olderThan)
      }`,
    );
  }
  if (olderThan !== undefined && pool.tracker === undefined) {
    throw new TypeError(
      "Cannot check for leaks by age as the pool does not track memory: make it with " +
        "enableMemoryTracking: true",
    );
  }
  const buffers = [...walkLive(pool)].map((block) => describe(pool, block))
    .filter(({ age }) => olderThan === undefined || age! > olderThan);
  return new LeakReport(pool.upstream.label, olderThan, buffers, pool.dropped.count);
}

/** Logs the live buffers of a pool that is disposed, if it tracks memory. */
export function warnOfLeaks(pool: BlockPool): void {
  if (pool.tracker === undefined) return;
  const report = checkLeaks(pool);
  if (report.count === 0) return;
  logger("memory").warn("a pool of {device} is disposed while buffers live: {report}", {
    device: pool.upstream.label,
    report: String(report),
  });
}

/** @param refusedBy The limit that the request exceeded, or the device. */
export function outOfMemoryError(
  pool: BlockPool,
  bytes: number,
  refusedBy: AllocationLadder["refusedBy"],
  detail?: string,
): OutOfMemoryError {
  const { settings, upstream } = pool;
  const { limitBytes, limitName, refuseShare, virtualMemory } = settings;
  const { largestFree, fragmentation, pending } = pool.stats();
  const used = pool.counters.allocatedBytes + pending;
  const limit = refusedBy === "pressure"
    ? { name: "pressure.refuse", bytes: limitBytes * refuseShare, used }
    : { name: limitName, bytes: limitBytes, used };
  return new OutOfMemoryError({
    code: MEMORY_ALLOCATION,
    action: `allocate ${bytes} bytes`,
    ...(refusedBy === "device"
      ? { call: virtualMemory ? "cuMemCreate" : "cudaMalloc" }
      : { limit }),
    device: upstream.label,
    ...(detail === undefined ? {} : { detail }),
    requested: bytes,
    free: upstream.freeBytes(),
    total: upstream.totalBytes,
    largestBlock: largestFree,
    fragmentation: fragmentation.external,
    pendingBytes: pending,
    topSites: largestSites(pool),
  });
}

/** The innermost frames that hold the most memory, largest first; none unless tracked. */
function largestSites(pool: BlockPool): OutOfMemoryError["topSites"] {
  const { tracker } = pool;
  if (tracker === undefined) return [];
  return bySite(walkLive(pool), ({ number }) => tracker.siteOf(number).frame)
    .map(({ site, bytes, count }) => ({ site, bytes, count }));
}

function bySite<Site, Memory extends { readonly bytes: number; readonly requested: number }>(
  all: Iterable<Memory>,
  siteOf: (memory: Memory) => Site,
): { site: Site; count: number; bytes: number; requested: number }[] {
  return [...Map.groupBy(all, siteOf)].map(([site, of]) => ({
    site,
    count: of.length,
    bytes: of.reduce((sum, { bytes }) => sum + bytes, 0),
    requested: of.reduce((sum, { requested }) => sum + requested, 0),
  })).sort((a, b) => b.bytes - a.bytes || b.count - a.count);
}

function describe(pool: BlockPool, { number, bytes, requested, stream }: BlockView): LiveBuffer {
  const { tracker, names } = pool;
  const owner = stream === undefined ? -1 : names.indexOf(stream);
  return {
    address: pool.addressOf(number),
    bytes,
    requested,
    age: tracker?.ageOf(number) ?? null,
    stream: names.nameOf(tracker?.streamOf(number) ?? owner),
    site: tracker?.siteOf(number).text ?? null,
  };
}

function siteText({ site, count, requested }: LeakSite): string {
  const frames = site === null ? ["unknown"] : site.split("\n");
  return [
    `  ${requested} bytes in ${counted(count, "buffer")}`,
    ...frames.map((frame) => `    at ${frame}`),
  ].join("\n");
}

function bufferText({ address, requested, age, stream, site }: LiveBuffer): string {
  return [
    `  0x${address.toString(16)}: ${requested} bytes`,
    age === null ? "" : `, ${duration(age)} old`,
    `, ${stream === "default" ? "default stream" : stream}`,
    site === null ? "" : `, at ${innermostOf(site)}`,
  ].join("");
}

function restOf(count: number, shown: number): string[] {
  return count > shown ? [`  and ${count - shown} more`] : [];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function duration(milliseconds: number): string {
  return milliseconds < 1000
    ? `${milliseconds.toFixed(0)} ms`
    : `${(milliseconds / 1000).toFixed(1)} s`;
}
