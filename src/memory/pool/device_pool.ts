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
import { NativeUpstream } from "./native_upstream.ts";
import { PoolCore } from "./pool_core.ts";
import type { MemoryPoolOptions } from "./pool_options.ts";
import { resolvePoolSettings } from "./pool_settings.ts";

const pools = new WeakMap<DeviceContext, PoolCore>();

/**
 * The pool of an opened device, made when it is first needed, with the settings that the
 * environment gives. It ends with the device.
 *
 * @throws {EnvironmentError} If a variable for pools cannot be understood.
 */
export function poolOf(context: DeviceContext): PoolCore {
  const known = pools.get(context);
  if (known !== undefined) return known;
  if (context.closed) throw new TypeError(`Cannot use ${context.label} as it is disposed`);
  const pool = createPool(context, {});
  pools.set(context, pool);
  context.onClose(() => pool.close());
  return pool;
}

/**
 * Makes a pool of a device. Who makes it closes it.
 *
 * @throws {TypeError | RangeError} If an option is wrong.
 * @throws {EnvironmentError} If a variable for pools cannot be understood.
 * @throws {OutOfMemoryError} If what is to be preallocated is not there.
 */
export function createPool(context: DeviceContext, options: MemoryPoolOptions): PoolCore {
  const { library, ordinal, info } = context;
  const settings = resolvePoolSettings(options, environment, {
    totalBytes: info.totalMemory,
    virtualMemory: info.virtualMemoryManagement,
    usableBytes: () => usableMemory(deviceMemory(library, ordinal)).usable,
  });
  const upstream = new NativeUpstream(context, settings.virtualMemory);
  const pool = new PoolCore(upstream, settings, context);
  const stop = observeCaptures({
    captureBegun: () => {},
    captureEnded: (token, graph) => pool.endCapture(token, graph),
  });
  pool.onClose(stop);
  return pool;
}
