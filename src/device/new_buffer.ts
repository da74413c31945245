/**
 * What a new buffer of a device may be asked to be.
 *
 * @module
 */

import { requireInstance } from "../ffi/arguments.ts";
import { giveBackAfterFailure } from "../ffi/give_back.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { fill } from "../kernels/elementwise.ts";
import type { PlacementOptions, StreamChoice } from "../memory/buffer_options.ts";
import type { DeviceBuffer } from "../memory/device_buffer.ts";
import type { DType, ElementOf } from "../memory/dtype.ts";
import { MemoryPool } from "../memory/pool/memory_pool.ts";

/** Options of {@linkcode Device.allocate}. */
export interface AllocateOptions<D extends DType> extends PlacementOptions {
  /** What every element is set to; absent leaves the content undefined. */
  readonly fill?: ElementOf<D>;
  /** The pool that it comes from; the device's own when absent. */
  readonly pool?: MemoryPool;
}

/**
 * Refuses what lies on another device.
 *
 * @param name What was passed, as the error message says it.
 * @param action What the caller is about to do, as the error message says it.
 * @throws {TypeError} If it does.
 */
export function requireOnDevice(
  context: DeviceContext,
  owner: { readonly context: DeviceContext },
  name: string,
  action: string,
): void {
  if (context.isSameDevice(owner.context)) return;
  throw new TypeError(
    `Cannot ${action} as ${name} must be of ${context.label}: it is of ${owner.context.label}`,
  );
}

/**
 * The pool that the options of an allocation name.
 *
 * @throws {TypeError} If it is none, or of another device.
 */
export function checkedPool(context: DeviceContext, pool: unknown): MemoryPool {
  requireInstance(pool, MemoryPool, "options.pool", "allocate a buffer");
  requireOnDevice(context, pool, "options.pool", "allocate a buffer");
  return pool;
}

/** Fills a buffer that was just made, and frees it if that fails. */
export function fillNew<D extends DType>(
  buffer: DeviceBuffer<D>,
  value: ElementOf<D>,
  options: StreamChoice,
): void {
  try {
    fill(buffer, value, options);
  } catch (error) {
    giveBackAfterFailure(buffer);
    throw error;
  }
}
