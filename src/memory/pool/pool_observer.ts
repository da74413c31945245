/**
 * Notifications of a pool.
 *
 * @module
 */

import type { MemoryStream } from "./memory_upstream.ts";

/** Notified of the events of a pool. It must not use the pool while it is called. */
export interface PoolObserver {
  /** A block became live. */
  allocated?(block: number, stream: MemoryStream, alignment: number): void;
  /** A live block was freed; it still has its size and address. */
  freed?(block: number): void;
  /** Another stream uses a live block. */
  used?(block: number, stream: MemoryStream): void;
  /** The pool took memory from the device or, if negative, returned some. */
  reserved?(bytes: number, address: number): void;
  /** The pool waits for a stream to make memory available. */
  waited?(): void;
  /** A request failed. */
  failed?(bytes: number): void;
}
