/**
 * Memory of a device past all pools: scratch memory, and buffers that a program wants from nowhere
 * else.
 *
 * @module
 */

import { allocateMemory, tryAllocateMemory } from "../ffi/native_memory.ts";
import { pressMemory } from "../ffi/native_virtual.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { drainPools, trimOthers } from "./pool/device_pools.ts";

/**
 * Allocates plain memory. Where the device has none left, the pools give back what they keep free:
 * first what no stream uses, then, which blocks this thread, what streams still do.
 *
 * @param bytes More than 0.
 * @returns The address.
 * @throws {OutOfMemoryError} If the device has no room all the same.
 * @throws {MemoryCorruptionError} If a pool in debug mode has found something while it made room.
 */
export function allocateDirectly(context: DeviceContext, bytes: number): number {
  const { library, ordinal } = context;
  const atOnce = tryAllocateMemory(library, ordinal, bytes);
  if (atOnce !== 0) return atOnce;
  trimOthers(context, undefined);
  pressMemory(library, ordinal);
  const afterTrim = tryAllocateMemory(library, ordinal, bytes);
  if (afterTrim !== 0) return afterTrim;
  drainPools(context);
  return allocateMemory(library, ordinal, bytes);
}
