/**
 * What is told of all that happens in a pool, where somebody wants to know.
 *
 * @module
 */

import type { MemoryStream } from "./memory_upstream.ts";

/** Told of what happens, where somebody wants to know. */
export interface PoolObserver {
  /** A block became live. */
  allocated(block: number, stream: MemoryStream): void;
  /** A live block was freed; it still has its size and address. */
  freed(block: number): void;
  /** A live block is used on another stream as well. */
  used(block: number, stream: MemoryStream): void;
  /** Memory was taken from the device or, below zero, given back. */
  reserved(bytes: number, address: number): void;
  /** Somebody waited for a stream so that memory becomes available. */
  waited(): void;
  /** A request failed. */
  failed(bytes: number): void;
}
