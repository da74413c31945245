/**
 * Several observers of a pool as one.
 *
 * @module
 */

import type { MemoryStream } from "./memory_upstream.ts";
import type { PoolObserver } from "./pool_observer.ts";

/** Tells everybody, in order. */
class ObserverList implements PoolObserver {
  readonly #observers: readonly PoolObserver[];

  constructor(observers: readonly PoolObserver[]) {
    this.#observers = observers;
  }

  allocated(block: number, stream: MemoryStream): void {
    for (const observer of this.#observers) observer.allocated(block, stream);
  }

  freed(block: number): void {
    for (const observer of this.#observers) observer.freed(block);
  }

  used(block: number, stream: MemoryStream): void {
    for (const observer of this.#observers) observer.used(block, stream);
  }

  reserved(bytes: number, address: number): void {
    for (const observer of this.#observers) observer.reserved(bytes, address);
  }

  waited(): void {
    for (const observer of this.#observers) observer.waited();
  }

  failed(bytes: number): void {
    for (const observer of this.#observers) observer.failed(bytes);
  }
}

/**
 * One observer that tells several, in their order; `undefined` where there is none, so that an
 * engine without observers has nobody to call.
 */
export function observerOf(
  observers: readonly (PoolObserver | undefined)[],
): PoolObserver | undefined {
  const present = observers.filter((observer) => observer !== undefined);
  return present.length > 1 ? new ObserverList(present) : present[0];
}
