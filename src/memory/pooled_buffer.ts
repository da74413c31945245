/**
 * Buffers of a pool, without blocking the event loop where the pool has to wait for memory.
 *
 * @module
 */

import type { DeviceContext } from "../hardware/device_context.ts";
import { bytesOfLength, checkAlignment } from "./buffer_checks.ts";
import { streamFor } from "./buffer_copy.ts";
import type { PlacementOptions } from "./buffer_options.ts";
import { DeviceBuffer } from "./device_buffer.ts";
import type { DType } from "./dtype.ts";
import type { BlockPool } from "./pool/block_pool.ts";

/** The twin of {@linkcode DeviceBuffer.fromPool} that never blocks the event loop. */
export async function bufferFromPool<D extends DType>(
  pool: BlockPool,
  context: DeviceContext,
  dtype: D,
  length: number,
  options: PlacementOptions,
): Promise<DeviceBuffer<D>> {
  const bytes = bytesOfLength(length, dtype);
  const stream = streamFor(context, options.stream);
  const alignment = checkAlignment(options.alignment ?? pool.settings.alignment);
  // The device must not close while this waits for its streams.
  context.retain();
  try {
    const block = await pool.allocateAsync(bytes, stream, alignment);
    return DeviceBuffer.ofBlock(pool, block, context, dtype, length, stream);
  } finally {
    context.release();
  }
}
