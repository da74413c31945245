/**
 * Options of what is done with buffers, and where these are.
 *
 * @module
 */

import type { DeviceContext } from "../hardware/device_context.ts";
import type { Stream } from "../stream/stream.ts";
import type { DType } from "./dtype.ts";
import type { BlockPool } from "./pool/block_pool.ts";

/** Options of operations that are enqueued on a stream. */
export interface StreamChoice {
  /** The stream; the device's default stream when absent. */
  readonly stream?: Stream;
}

/** Options of an allocation. */
export interface PlacementOptions extends StreamChoice {
  /**
   * The stream that uses the memory first: it belongs to that stream. The device's default stream
   * when absent.
   */
  readonly stream?: Stream;
  /** What the address is a multiple of: a power of two; the pool's own, 512 at least, when absent. */
  readonly alignment?: number;
}

/** Options of a copy into or out of a buffer. */
export interface CopyOptions extends StreamChoice {
  /** The first element of this buffer that is copied; 0 by default. */
  readonly offset?: number;
}

/** Options of `DeviceBuffer.fromAddress()`. */
export interface ForeignMemoryOptions<D extends DType> {
  /** The device the memory lies on, or anything else that has its context. */
  readonly device: { readonly context: DeviceContext };
  /** The element type; `uint8` by default. */
  readonly dtype?: D;
  /** What must stay reachable as long as the memory is used. */
  readonly owner?: unknown;
}

/** Where a buffer's memory is, for its pool. */
export interface BufferPlace {
  /** The pool; `undefined` where the memory is of none. */
  readonly pool: BlockPool | undefined;
  /** The number of its block there. */
  readonly block: number;
  /** Whether the buffer is a view of another. */
  readonly isView: boolean;
}
