/**
 * How a device makes buffers.
 *
 * @module
 */

import { requireInstance, requireObject } from "../ffi/arguments.ts";
import { giveBackAfterFailure } from "../ffi/give_back.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { fill } from "../kernels/elementwise.ts";
import type { PlacementOptions, StreamChoice } from "../memory/buffer_options.ts";
import { DeviceBuffer } from "../memory/device_buffer.ts";
import { bufferFromPool } from "../memory/pooled_buffer.ts";
import type { DType, ElementOf } from "../memory/dtype.ts";
import { poolOf } from "../memory/pool/device_pool.ts";
import { MemoryPool } from "../memory/pool/memory_pool.ts";
import type { PoolCore } from "../memory/pool/pool_core.ts";
import { defaultStream } from "../stream/default_stream.ts";
import type { Stream } from "../stream/stream.ts";
import { requireOnDevice } from "./device_checks.ts";

const ACTION = "allocate a buffer";

/** Options of {@linkcode Device.allocate}. */
export interface AllocateOptions<D extends DType> extends PlacementOptions {
  /** What every element is set to; absent leaves the content undefined. */
  readonly fill?: ElementOf<D>;
  /** The pool that it comes from; the device's own when absent. */
  readonly pool?: MemoryPool;
}

/** Options of who gives none: a new object each time would cost as much as the pool. */
export const NO_OPTIONS: Readonly<Record<string, never>> = Object.freeze({});

/** Allocates buffers from the pool of a device, or another. The device has made sure of itself. */
export class BufferAllocator {
  readonly #context: DeviceContext;
  // Kept here, as looking them up would take as long as allocating.
  #pool: PoolCore | undefined;
  #stream: Stream | undefined;

  /** Allocates on a device, whose pool is made when it is first needed. */
  constructor(context: DeviceContext) {
    this.#context = context;
  }

  /** See {@linkcode Device.allocate}. */
  allocate<D extends DType>(
    dtype: D,
    length: number,
    options: AllocateOptions<D>,
  ): DeviceBuffer<D> {
    if (options !== NO_OPTIONS) requireObject(options, "options", ACTION);
    // Read before there is a buffer: what the options throw must not leave one behind.
    const { fill: value, pool } = options;
    const context = this.#context;
    const buffer = pool === undefined
      ? DeviceBuffer.fromPool(
        this.#pool ??= poolOf(context),
        context,
        dtype,
        length,
        options,
        this.#stream ??= defaultStream(context),
      )
      : checkedPool(context, pool).allocate(dtype, length, options);
    if (value !== undefined) fillNew(buffer, value, options);
    return buffer;
  }

  /** See {@linkcode Device.allocateAsync}. */
  async allocateAsync<D extends DType>(
    dtype: D,
    length: number,
    options: AllocateOptions<D>,
  ): Promise<DeviceBuffer<D>> {
    requireObject(options, "options", ACTION);
    const { fill: value, pool } = options;
    const context = this.#context;
    const buffer = pool === undefined
      ? await bufferFromPool(
        this.#pool ??= poolOf(context),
        context,
        dtype,
        length,
        options,
      )
      : await checkedPool(context, pool).allocateAsync(dtype, length, options);
    if (value !== undefined) fillNew(buffer, value, options);
    return buffer;
  }
}

/**
 * The pool that the options of an allocation name.
 *
 * @throws {TypeError} If it is none, or of another device.
 */
function checkedPool(context: DeviceContext, pool: unknown): MemoryPool {
  requireInstance(pool, MemoryPool, "options.pool", ACTION);
  requireOnDevice(context, pool, "options.pool", ACTION);
  return pool;
}

/** Fills a buffer that was just made, and frees it if that fails. */
function fillNew<D extends DType>(
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
