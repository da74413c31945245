/**
 * Several observers of a pool as one.
 *
 * @module
 */

import { UNIT } from "./block_table.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import type { PoolObserver } from "./pool_observer.ts";

/** Calls several observers in order. */
export class ObserverList {
  /** The alignment of the request that is being served. */
  alignment = UNIT;
  readonly #observers: readonly PoolObserver[];

  /** Calls these observers. */
  constructor(observers: readonly PoolObserver[]) {
    this.#observers = observers;
  }

  /** A block became live. */
  allocated(block: number, stream: MemoryStream): void {
    for (const observer of this.#observers) observer.allocated?.(block, stream, this.alignment);
  }

  /** A live block was freed. */
  freed(block: number): void {
    for (const observer of this.#observers) observer.freed?.(block);
  }

  /** Another stream uses a live block. */
  used(block: number, stream: MemoryStream): void {
    for (const observer of this.#observers) observer.used?.(block, stream);
  }

  /** The pool grew or, below zero, shrank. */
  reserved(bytes: number, address: number): void {
    for (const observer of this.#observers) observer.reserved?.(bytes, address);
  }

  /** The pool waits for a stream. */
  waited(): void {
    for (const observer of this.#observers) observer.waited?.();
  }

  /** A request failed. */
  failed(bytes: number): void {
    for (const observer of this.#observers) observer.failed?.(bytes);
  }
}
