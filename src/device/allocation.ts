/**
 * Allocation of buffers with options.
 *
 * @module
 */

import { requireInstance, requireOptions } from "../ffi/arguments.ts";
import { giveBackAfterFailure } from "../ffi/give_back.ts";
import { type DeviceContext, requireOnDevice } from "../hardware/device_context.ts";
import { fill } from "../kernels/elementwise.ts";
import type { PlacementOptions, StreamChoice } from "../memory/buffer_options.ts";
import { bufferFromPool, bufferFromPoolAsync, type DeviceBuffer } from "../memory/device_buffer.ts";
import type { DType, ElementOf } from "../memory/dtype.ts";
import { MemoryPool } from "../memory/pool/memory_pool.ts";
import { poolOf } from "../memory/pool/device_pools.ts";

/** Names of options, also of `allocateAsync()`. */
const ALLOCATE_NAMES = ["fill", "pool", "stream", "alignment", "wait", "signal", "timeout"];

/**
 * Options of {@linkcode Device.allocate}.
 * @category Devices
 */
export interface AllocateOptions<D extends DType> extends PlacementOptions {
  /** The initial value of every element. The content is undefined if absent. */
  readonly fill?: ElementOf<D>;
  /** The pool to allocate from; {@linkcode Device.pool} by default. */
  readonly pool?: MemoryPool;
}

/**
 * Options of {@linkcode Device.allocateAsync}.
 * @category Devices
 */
export interface AllocateAsyncOptions<D extends DType> extends AllocateOptions<D> {
  /** Whether to wait, first come first served, for memory that others will free. */
  readonly wait?: boolean;
  /** Cancels the wait, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The longest wait in milliseconds; then it rejects with an {@linkcode OutOfMemoryError}. */
  readonly timeout?: number;
}

/** The options of a pool. */
function placementOf<Options extends AllocateOptions<DType>>(options: Options) {
  const { fill: _fill, pool: _pool, ...placement } = options;
  return placement;
}

/** The pool and initial value of an allocation, read before the buffer exists. */
function sourceOf<D extends DType>(context: DeviceContext, options: AllocateOptions<D>) {
  const action = "allocate a buffer";
  requireOptions(options, ALLOCATE_NAMES, action);
  const { fill: value, pool } = options;
  if (pool !== undefined) {
    requireInstance(pool, MemoryPool, "options.pool", action);
    requireOnDevice(context, pool, "options.pool", action);
  }
  return { pool, value };
}

/** Fills a new buffer, or frees it if that fails. */
function filled<D extends DType>(
  buffer: DeviceBuffer<D>,
  value: ElementOf<D> | undefined,
  { stream }: StreamChoice,
): DeviceBuffer<D> {
  if (value === undefined) return buffer;
  try {
    fill(buffer.context, buffer, value, stream === undefined ? {} : { stream });
    return buffer;
  } catch (error) {
    giveBackAfterFailure(buffer);
    throw error;
  }
}

/** Allocates a buffer from a pool, and fills it. */
export function allocateBuffer<D extends DType>(
  context: DeviceContext,
  dtype: D,
  length: number,
  options: AllocateOptions<D>,
): DeviceBuffer<D> {
  const { pool, value } = sourceOf(context, options);
  const buffer = pool === undefined
    ? bufferFromPool(poolOf(context), context, dtype, length, options)
    : pool.allocate(dtype, length, placementOf(options));
  return filled(buffer, value, options);
}

/** The twin of {@linkcode allocateBuffer} that never blocks the event loop. */
export async function allocateBufferAsync<D extends DType>(
  context: DeviceContext,
  dtype: D,
  length: number,
  options: AllocateAsyncOptions<D>,
): Promise<DeviceBuffer<D>> {
  const { pool, value } = sourceOf(context, options);
  const buffer = pool === undefined
    ? await bufferFromPoolAsync(poolOf(context), context, dtype, length, options)
    : await pool.allocateAsync(dtype, length, placementOf(options));
  return filled(buffer, value, options);
}
