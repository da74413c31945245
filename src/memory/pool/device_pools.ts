/**
 * The pools of devices.
 *
 * A device that is opened twice has two pools, and a program may make more. Pools do not share
 * memory, but one that finds none makes the others of its device return free memory.
 *
 * @module
 */

import type { NativeLibrary } from "../../ffi/library.ts";
import { deviceMemory } from "../../ffi/native_device.ts";
import { shareMemory } from "../../ffi/native_memory.ts";
import { logger } from "../../ffi/logging.ts";
import { type DeviceContext, labelOf } from "../../hardware/device_context.ts";
import { environment } from "../../hardware/device_list.ts";
import { usableMemory } from "../../hardware/memory_reserve.ts";
import { listen } from "../../stream/activity.ts";
import type { CapturedSite } from "./block_tracker.ts";
import { observeCaptures } from "../../stream/running_captures.ts";
import { BlockPool, type PoolLifetime } from "./block_pool.ts";
import { NativeUpstream } from "./native_upstream.ts";
import { PoolExpiry } from "./pool_expiry.ts";
import { MemoryWatch } from "./pool_observer.ts";
import { type MemoryPoolOptions, type PoolSettings, resolvePoolSettings } from "./pool_options.ts";
import { walkSegments } from "./segment_walk.ts";

export interface DevicePlace {
  readonly library: NativeLibrary;
  readonly ordinal: number;
}

export interface PoolWatcher {
  /** A pool was made, or existed already. */
  added(pool: BlockPool): void;
  /** A pool was closed and has returned its memory. */
  removed(pool: BlockPool): void;
}

export class DevicePool extends BlockPool {
  readonly expiry: PoolExpiry;
  readonly watch: MemoryWatch;

  constructor(upstream: NativeUpstream, settings: PoolSettings, lifetime: PoolLifetime) {
    super(upstream, settings, lifetime);
    this.expiry = new PoolExpiry(this, settings.cleanupInterval);
    this.watch = new MemoryWatch(() => ({
      device: upstream.label,
      reserved: this.reservedBytes,
      live: this.requestedBytes,
      limit: settings.limitBytes,
    }));
    this.observe({
      reserved: () => {
        this.expiry.update();
        this.watch.changed();
      },
    });
    this.expiry.update();
    this.onClose(() => this.expiry.stop());
  }
}

interface DevicePools {
  readonly pools: Set<BlockPool>;
  /** Ordinals of the devices that may address the mapped memory of this one. */
  readonly accessors: Set<number>;
  readonly watchers: Set<PoolWatcher>;
}

const devices = new WeakMap<NativeLibrary, Map<number, DevicePools>>();
const pools = new WeakMap<DeviceContext, DevicePool>();

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

/**
 * The pool of an opened device. It is made on first use, with settings from the environment, unless
 * {@linkcode openPool} has made it before. It is closed with the device.
 */
export function poolOf(context: DeviceContext): DevicePool {
  return pools.get(context) ?? openPool(context, {});
}

/** Makes the pool of an opened device that has none yet. */
export function openPool(context: DeviceContext, options: MemoryPoolOptions): DevicePool {
  if (context.closed) throw new TypeError(`Cannot use ${context.label} as it is disposed`);
  const pool = createPool(context, options, context);
  pools.set(context, pool);
  context.onClose(() => pool.close());
  return pool;
}

/**
 * Makes a pool of a device. The caller closes it.
 *
 * @param lifetime The pool's owner, which exists while the pool is in use.
 */
export function createPool(
  context: DeviceContext,
  options: MemoryPoolOptions,
  lifetime: PoolLifetime,
): DevicePool {
  const { library, ordinal, info } = context;
  const settings = resolvePoolSettings(options, environment, {
    totalBytes: info.totalMemory,
    virtualMemory: info.virtualMemoryManagement,
    usableBytes: () => usableMemory(deviceMemory(library, ordinal)).usable,
  });
  // The constructor may need other pools' memory for the initial size.
  let pool: DevicePool | undefined = undefined;
  const upstream = new NativeUpstream(context, settings.virtualMemory, {
    onPress: () => trimOthers(context, pool),
    onMap: (address, bytes) => shareMapping(context, address, bytes),
  });
  pool = new DevicePool(upstream, settings, lifetime);
  const { pools, watchers } = poolsOn(context);
  pools.add(pool);
  pool.onClose(() => {
    pools.delete(pool);
    for (const watcher of watchers) watcher.removed(pool);
  });
  for (const watcher of watchers) watcher.added(pool);
  logRequests(context, pool);
  if (settings.enableMemoryTracking) pool.onClose(recordLaunchSites(context, pool));
  pool.onClose(observeCaptures({
    captureBegun: () => {},
    captureEnded: (token, graph) => pool.streams.endCapture(token, graph),
  }));
  return pool;
}

/** Logs the allocations and frees of a pool as `trace` records, if such records are enabled now. */
function logRequests(context: DeviceContext, pool: BlockPool): void {
  const records = logger("memory");
  if (!records.isEnabledFor("trace")) return;
  const device = labelOf(context);
  const { table } = pool;
  pool.observe({
    allocated: (block, { id: stream }) =>
      records.trace("{device}: allocated {bytes} bytes on stream {stream} at {address}", {
        ...{ device, stream, bytes: table.requested(block), address: hex(table.address(block)) },
      }),
    freed: (block) =>
      records.trace("{device}: freed {bytes} bytes at {address}", {
        ...{ device, bytes: table.requested(block), address: hex(table.address(block)) },
      }),
  });
}

const hex = (address: number) => `0x${address.toString(16)}`;

/**
 * Records the call site of the last launch of each kernel, for the errors of faults, which surface
 * at a later call.
 *
 * @returns Ends the recording.
 */
function recordLaunchSites(context: DeviceContext, pool: DevicePool): () => void {
  const { library, ordinal } = context;
  const sites = new Map<string, CapturedSite>();
  library.launchSites.set(ordinal, (fault) => {
    const last = sites.entries().toArray();
    const found = last.findLast(([name]) => fault.includes(name)) ?? last.at(-1);
    return found === undefined ? "" : `the last launch of ${found[0]} was at ${found[1].frame}`;
  });
  return listen({
    context,
    work(work, _stream, enqueue) {
      if (work.kind === "kernel") {
        sites.delete(work.name);
        sites.set(work.name, pool.sites.capture());
      }
      enqueue();
    },
    compiled() {},
  });
}

/**
 * Notifies a watcher of every present and future pool of a device until the returned function is
 * called.
 */
export function watchPools(device: DevicePlace, watcher: PoolWatcher): () => void {
  const { pools, watchers } = poolsOn(device);
  watchers.add(watcher);
  for (const pool of pools) watcher.added(pool);
  return () => void watchers.delete(watcher);
}

/** Makes all pools of a device except one return free memory. */
export function trimOthers(device: DevicePlace, pool: BlockPool | undefined): void {
  for (const other of poolsOn(device).pools) if (other !== pool) other.trim();
}

/** Makes all pools of a device wait for streams, blocking this thread, and return free memory. */
export function drainPools(device: DevicePlace): void {
  for (const pool of poolsOn(device).pools) {
    pool.settleSync();
    pool.trim();
  }
}

/**
 * Lets another device address the mapped memory of a device's pools, present and future. Plain
 * memory needs no more than peer access.
 *
 * @param accessor The ordinal of the other device, which has peer access.
 */
export function shareWith(device: DevicePlace, accessor: number): void {
  const { pools, accessors } = poolsOn(device);
  if (accessors.has(accessor)) return;
  const { library, ordinal } = device;
  for (const pool of pools) {
    for (const [address, bytes] of mappedRanges(pool)) {
      shareMemory(library, ordinal, accessor, address, bytes);
    }
  }
  accessors.add(accessor);
}

/** Whether memory is of a device, or of one that has shared its memory with the device. */
export function mayAddress(
  accessor: { readonly library: object; readonly ordinal: number },
  { library, ordinal }: { readonly library: object; readonly ordinal: number },
): boolean {
  if (library !== accessor.library) return false;
  return ordinal === accessor.ordinal ||
    devices.get(library as NativeLibrary)?.get(ordinal)?.accessors.has(accessor.ordinal) === true;
}

function shareMapping({ library, ordinal }: DevicePlace, address: number, bytes: number): void {
  for (const accessor of poolsOn({ library, ordinal }).accessors) {
    shareMemory(library, ordinal, accessor, address, bytes);
  }
}

/** The mapped ranges of a pool, without gaps, of whole pieces each. */
function* mappedRanges(pool: BlockPool): Generator<[address: number, bytes: number]> {
  for (const { kind, blocks } of walkSegments(pool)) {
    if (kind === "plain") continue;
    let [mapped, last] = [0, 0];
    for (const { address, bytes, state } of blocks) {
      if (state !== "unmapped") mapped += bytes;
      else if (mapped > 0) {
        yield [address - mapped, mapped];
        mapped = 0;
      }
      last = address + bytes;
    }
    if (mapped > 0) yield [last - mapped, mapped];
  }
}
