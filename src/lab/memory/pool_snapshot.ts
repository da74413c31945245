/**
 * Snapshots of memory pools.
 *
 * @module
 */

import type { BlockPool } from "../../memory/pool/block_pool.ts";
import { blocksOf, type MemoryPool } from "../../memory/pool/memory_pool.ts";
import { type BlockView, walkSegments } from "../../memory/pool/segment_walk.ts";
import { BlockHistory, type PoolHistory } from "./pool_history.ts";
import {
  type MemorySnapshot,
  SNAPSHOT_FORMAT,
  SNAPSHOT_VERSION,
  type SnapshotBlock,
  type SnapshotSegment,
} from "./snapshot/memory_snapshot.ts";

/**
 * Takes a snapshot of a pool: every segment and block, the settings and the statistics, as plain
 * JSON for `gridstride memory report` and {@linkcode memoryReport}. Makes no native call.
 *
 * @param pool The pool.
 * @param history Its history, from {@linkcode recordHistory}; without one the snapshot has no
 * timeline.
 * @throws {TypeError} If the history is of another pool.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { memoryReportText, snapshotPool } from "@gridstride/cuda/memory";
 *
 * using device = openDevice(undefined, { memory: { preset: "development" } });
 * using _weights = device.allocate("float16", 1000);
 * console.log(memoryReportText(snapshotPool(device.pool)));
 * ```
 */
export function snapshotPool(pool: MemoryPool, history?: PoolHistory): MemorySnapshot {
  const { label, info: { name, fake, totalMemory: totalBytes } } = pool.context;
  return snapshotBlocks(blocksOf(pool), { label, name, fake, totalBytes }, history);
}

/** Takes a snapshot of the blocks of a pool on the named device. */
export function snapshotBlocks(
  pool: BlockPool,
  device: MemorySnapshot["device"],
  history?: PoolHistory,
): MemorySnapshot {
  if (history instanceof BlockHistory && history.blocks !== pool) {
    throw new TypeError("Cannot take a snapshot as history must be of the same pool");
  }
  for (const stream of pool.streamsSeen()) pool.names.indexOf(stream);
  // Blocks and events come first, because describing them adds streams and sites.
  const segments = segmentsOf(pool);
  const timeline = history?.timeline() ?? null;
  return {
    format: SNAPSHOT_FORMAT,
    version: SNAPSHOT_VERSION,
    source: "gridstride",
    takenAt: new Date().toISOString(),
    device,
    settings: plainSettings(pool.settings),
    statistics: plainStatistics(pool.stats()),
    streams: pool.names.names(),
    sites: [...pool.sites.texts],
    segments,
    timeline,
  };
}

function segmentsOf(pool: BlockPool): SnapshotSegment[] {
  return [...walkSegments(pool)].map(({ address, bytes, kind, purpose, blocks }) => ({
    address,
    bytes,
    kind,
    pool: purpose,
    blocks: [...blocks].map((block) => blockOf(pool, block, address)),
  })).sort((a, b) => a.address - b.address);
}

function blockOf({ tracker, names }: BlockPool, block: BlockView, base: number): SnapshotBlock {
  const { number, address, bytes, requested, state, stream } = block;
  const isOwned = state === "live" || state === "pending";
  return {
    offset: address - base,
    bytes,
    requested: state === "live" ? requested : 0,
    state,
    stream: stream === undefined ? null : names.indexOf(stream),
    // A free block may be several that were freed at different times.
    age: tracker !== undefined && (isOwned || state === "cached") ? tracker.ageOf(number) : null,
    site: tracker !== undefined && isOwned ? tracker.siteOf(number).index : null,
  };
}

/** Settings as JSON has them: `null` for no limit. */
function plainSettings(settings: object): MemorySnapshot["settings"] {
  const plain: Record<string, string | number | boolean | null> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (name === "onMemoryPressure") plain[name] = value !== undefined;
    else plain[name] = value === Infinity ? null : value;
  }
  return plain;
}

/** Statistics as numbers by path: `allocation.all.peak`. */
function plainStatistics(statistics: object, prefix = ""): Record<string, number> {
  const plain: Record<string, number> = {};
  for (const [name, value] of Object.entries(statistics)) {
    if (typeof value === "number") plain[prefix + name] = value;
    else Object.assign(plain, plainStatistics(value, `${prefix}${name}.`));
  }
  return plain;
}
