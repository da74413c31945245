/**
 * The pool of a device: where buffers come from that name no other.
 *
 * @module
 */

import { deviceMemory } from "../../ffi/native_device.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { environment } from "../../hardware/device_list.ts";
import { usableMemory } from "../../hardware/memory_reserve.ts";
import { observeCaptures } from "../../stream/running_captures.ts";
import { MemoryWatch } from "./memory_watch.ts";
import { registerPool, trimOthers } from "./device_pools.ts";
import { NativeUpstream } from "./native_upstream.ts";
import { PoolCore, type PoolLifetime } from "./pool_core.ts";
import { REQUESTED_BYTES, RESERVED_BYTES } from "./pool_counters.ts";
import { PoolExpiry } from "./pool_expiry.ts";
import type { MemoryPoolOptions } from "./pool_options.ts";
import { resolvePoolSettings } from "./pool_settings.ts";

/** What a pool does besides giving and taking memory. */
export interface PoolUpkeep {
  /** Gives back what has been free for long. */
  readonly expiry: PoolExpiry;
  /** Tells who wants to know how much memory the pool has. */
  readonly watch: MemoryWatch;
}

const pools = new WeakMap<DeviceContext, PoolCore>();
const upkeeps = new WeakMap<PoolCore, PoolUpkeep>();

/**
 * The pool of an opened device, made when it is first needed, with the settings that the
 * environment gives unless {@linkcode openPool} has made it before. It ends with the device.
 *
 * @throws {TypeError} If the device is disposed.
 * @throws {EnvironmentError} If a variable for pools cannot be understood.
 */
export function poolOf(context: DeviceContext): PoolCore {
  return pools.get(context) ?? openPool(context, {});
}

/**
 * Makes the pool of an opened device that nobody has allocated memory of.
 *
 * @throws {TypeError | RangeError} If an option is wrong.
 * @throws {EnvironmentError} If a variable for pools cannot be understood.
 * @throws {OutOfMemoryError} If what is to be preallocated is not there.
 */
export function openPool(context: DeviceContext, options: MemoryPoolOptions): PoolCore {
  if (context.closed) throw new TypeError(`Cannot use ${context.label} as it is disposed`);
  const pool = createPool(context, options, context);
  pools.set(context, pool);
  context.onClose(() => pool.close());
  return pool;
}

/**
 * Makes a pool of a device. Who makes it closes it.
 *
 * @param lifetime What the pool holds while it is used.
 * @throws {TypeError | RangeError} If an option is wrong.
 * @throws {EnvironmentError} If a variable for pools cannot be understood.
 * @throws {OutOfMemoryError} If what is to be preallocated is not there.
 */
export function createPool(
  context: DeviceContext,
  options: MemoryPoolOptions,
  lifetime: PoolLifetime,
): PoolCore {
  const { library, ordinal, info } = context;
  const settings = resolvePoolSettings(options, environment, {
    totalBytes: info.totalMemory,
    virtualMemory: info.virtualMemoryManagement,
    usableBytes: () => usableMemory(deviceMemory(library, ordinal)).usable,
  });
  // What is preallocated may find no room before there is a pool.
  let pool: PoolCore | undefined = undefined;
  const upstream = new NativeUpstream(
    context,
    settings.virtualMemory,
    () => trimOthers(context, pool),
  );
  pool = new PoolCore(upstream, settings, lifetime);
  registerPool(context, pool);
  const stop = observeCaptures({
    captureBegun: () => {},
    captureEnded: (token, graph) => pool.endCapture(token, graph),
  });
  pool.onClose(stop);
  upkeeps.set(pool, attachUpkeep(pool, context.label));
  return pool;
}

/** What a pool that {@linkcode createPool} has made does besides giving and taking memory. */
export function upkeepOf(pool: PoolCore): PoolUpkeep {
  return upkeeps.get(pool)!;
}

function attachUpkeep(pool: PoolCore, device: string): PoolUpkeep {
  const { engine, settings } = pool;
  const expiry = new PoolExpiry(pool, settings.cleanupInterval);
  const watch = new MemoryWatch(() => ({
    device,
    reserved: engine.counters.current(RESERVED_BYTES),
    live: engine.counters.current(REQUESTED_BYTES),
    limit: settings.limitBytes,
  }));
  engine.onReservedChange = () => {
    expiry.update();
    watch.changed();
  };
  // What is preallocated is there already.
  expiry.update();
  pool.onClose(() => expiry.stop());
  return { expiry, watch };
}
