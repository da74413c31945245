/**
 * The pools that this isolate has on each device, and who else may address their memory.
 *
 * A device that is opened twice has two pools, and a program may make more. They do not share
 * memory, but one that finds none has the others give back what is free.
 *
 * @module
 */

import type { NativeLibrary } from "../../ffi/library.ts";
import { shareMemory } from "../../ffi/native_memory.ts";
import { NEXT, UNIT, UNMAPPED } from "./block_table.ts";
import type { PoolCore } from "./pool_core.ts";

/** A device of a library. */
export interface DevicePlace {
  /** The library that drives it. */
  readonly library: NativeLibrary;
  /** Its number there. */
  readonly ordinal: number;
}

interface DevicePools {
  readonly pools: Set<PoolCore>;
  /** Ordinals of the devices that may address what is mapped on this one. */
  readonly accessors: Set<number>;
  readonly watchers: Set<PoolWatcher>;
}

/** Who is told of the pools of a device. */
export interface PoolWatcher {
  /** A pool is there. */
  added(pool: PoolCore): void;
  /** One has ended, and has given its memory back. */
  removed(pool: PoolCore): void;
}

const devices = new WeakMap<NativeLibrary, Map<number, DevicePools>>();

function poolsOn({ library, ordinal }: DevicePlace): DevicePools {
  let ofLibrary = devices.get(library);
  if (ofLibrary === undefined) devices.set(library, ofLibrary = new Map());
  let those = ofLibrary.get(ordinal);
  if (those === undefined) {
    those = { pools: new Set(), accessors: new Set(), watchers: new Set() };
    ofLibrary.set(ordinal, those);
  }
  return those;
}

/** Notes a pool of a device until it is closed. */
export function registerPool(device: DevicePlace, pool: PoolCore): void {
  const { pools, watchers } = poolsOn(device);
  pools.add(pool);
  pool.onClose(() => {
    pools.delete(pool);
    for (const watcher of watchers) watcher.removed(pool);
  });
  for (const watcher of watchers) watcher.added(pool);
}

/**
 * Tells a watcher of every pool of a device: those that there are, and each when it is made.
 *
 * @returns Has it told of no more.
 */
export function watchPools(device: DevicePlace, watcher: PoolWatcher): () => void {
  const { pools, watchers } = poolsOn(device);
  watchers.add(watcher);
  for (const pool of pools) watcher.added(pool);
  return () => void watchers.delete(watcher);
}

/** Has all pools of a device but one give back what is free. */
export function trimOthers(device: DevicePlace, pool: PoolCore | undefined): void {
  for (const other of poolsOn(device).pools) if (other !== pool) other.trim();
}

/** Has them wait, blocking this thread, for the streams that use what is free, and give that back. */
export function drainPools(device: DevicePlace): void {
  for (const pool of poolsOn(device).pools) {
    pool.settleSync();
    pool.trim();
  }
}

/**
 * Lets another device address what the pools of a device have mapped; what they map later is
 * shared by {@linkcode shareMapping}. Plain memory needs no more than peer access.
 *
 * @param accessor The ordinal of the other device, which has peer access.
 * @throws {CudaError} If the memory cannot be shared.
 */
export function shareWith(device: DevicePlace, accessor: number): void {
  const { pools, accessors } = poolsOn(device);
  if (accessors.has(accessor)) return;
  for (const pool of pools) {
    for (const { address, bytes } of mappedRanges(pool)) {
      shareMemory(device.library, device.ordinal, accessor, address, bytes);
    }
  }
  accessors.add(accessor);
}

/** Lets those who may address a device's memory address what was mapped just now. */
export function shareMapping(device: DevicePlace, address: number, bytes: number): void {
  for (const accessor of poolsOn(device).accessors) {
    shareMemory(device.library, device.ordinal, accessor, address, bytes);
  }
}

/** What a pool has mapped: ranges without gaps, whole pieces each. */
function* mappedRanges({ engine }: PoolCore): Generator<{ address: number; bytes: number }> {
  const { table } = engine;
  for (const segment of engine.segments) {
    if (segment?.pieces === undefined) continue;
    let bytes = 0;
    let address = 0;
    for (let block = segment.firstBlock; block !== 0; block = table.field(block, NEXT)) {
      if (table.state(block) !== UNMAPPED) {
        if (bytes === 0) address = table.address(block);
        bytes += table.units(block) * UNIT;
      } else if (bytes > 0) {
        yield { address, bytes };
        bytes = 0;
      }
    }
    if (bytes > 0) yield { address, bytes };
  }
}
