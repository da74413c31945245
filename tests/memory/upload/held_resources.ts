/**
 * What uploads may leave behind: nothing.
 *
 * @module
 */

import { resourceTally } from "../../../src/ffi/native_device.ts";
import type { DeviceContext } from "../../../src/hardware/device_context.ts";
import { poolOf } from "../../../src/memory/pool/device_pool.ts";

/** Live resources, without the memory that the pool keeps for reuse. */
export interface HeldResources {
  /** Buffers that somebody has, empty ones too. */
  readonly buffers: number;
  /** Their bytes. */
  readonly bufferBytes: number;
  /** Opened files. */
  readonly files: number;
  /** Streams. */
  readonly streams: number;
  /** Pinned slabs. */
  readonly pinnedSlabs: number;
  /** Their bytes. */
  readonly pinnedBytes: number;
}

/** Counts what is live on a device now. */
export function heldResources(context: DeviceContext): HeldResources {
  const { files, streams, pinnedSlabs, pinnedBytes } = resourceTally(context.library);
  const { allocationCount, deallocationCount, currentUsage } = poolOf(context).stats();
  const buffers = allocationCount - deallocationCount;
  return { buffers, bufferBytes: currentUsage, files, streams, pinnedSlabs, pinnedBytes };
}
