/**
 * Live resources, to find leaks of uploads.
 *
 * @module
 */

import { resourceTally } from "../../../src/ffi/native_device.ts";
import type { DeviceContext } from "../../../src/hardware/device_context.ts";
import { poolOf } from "../../../src/memory/pool/device_pools.ts";

/** Live resources, without cached memory. */
export interface HeldResources {
  /** Live buffers, including empty ones. */
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

/** Counts the live resources of a device. */
export function heldResources(context: DeviceContext): HeldResources {
  const { files, streams, pinnedSlabs, pinnedBytes } = resourceTally(context.library);
  const { allocationCount, deallocationCount, currentUsage } = poolOf(context).stats();
  const buffers = allocationCount - deallocationCount;
  return { buffers, bufferBytes: currentUsage, files, streams, pinnedSlabs, pinnedBytes };
}
