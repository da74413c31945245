/**
 * What a memory manager needs of a pool, and buffers past all pools.
 *
 * @module
 */

import type { DeviceContext } from "../../hardware/device_context.ts";
import { OwnedAllocation } from "../allocation.ts";
import type { PlacementOptions } from "../buffer_options.ts";
import { DeviceBuffer } from "../device_buffer.ts";
import { bytesPerElement, type DType } from "../dtype.ts";
import type { PoolStatistics } from "../pool/pool_statistics.ts";

/** A pool, as far as a manager is concerned. A `MemoryPool` is one. */
export interface ManagedPool {
  /** Its device. */
  readonly context: DeviceContext;
  /** Most bytes that it takes from the device. */
  readonly limitBytes: number;

  /** Allocates a buffer from the pool. */
  allocate<D extends DType>(dtype: D, length: number, options?: PlacementOptions): DeviceBuffer<D>;
  /** Allocates a buffer from the device, to which it goes back when it is freed. */
  allocateDirect<D extends DType>(dtype: D, length: number): DeviceBuffer<D>;

  /** What it counts; makes no native call. */
  stats(): PoolStatistics;
  /** What live buffers were asked for, in bytes, as its statistics say, without making all these. */
  memoryAllocated(): number;
  /** What was asked for, in bytes, of each live buffer. */
  liveSizes(): Iterable<number>;
  /** Whether an address lies in a live buffer, also inside of it. */
  ownsPointer(address: number): boolean;
  /** Gives all free memory back that no stream uses; how many bytes it was. */
  clearCache(): number;
}

/**
 * Allocates a buffer past all pools.
 *
 * @param length The number of elements, which the caller has checked.
 * @throws {OutOfMemoryError} If the device has no room.
 */
export function allocateDirect<D extends DType>(
  context: DeviceContext,
  dtype: D,
  length: number,
): DeviceBuffer<D> {
  const allocation = new OwnedAllocation(context, length * bytesPerElement(dtype));
  return DeviceBuffer.ofAllocation(allocation, dtype, length);
}
