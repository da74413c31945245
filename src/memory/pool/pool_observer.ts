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

/**
 * A change of the memory that a pool has taken from the device. All sizes are bytes.
 * @category Memory
 */
export interface MemoryChange {
  /** The device's label: `cuda:0`. */
  readonly device: string;
  /** Memory taken from the device. */
  readonly reserved: number;
  /** Its growth since the listener's last call; negative if it shrank. */
  readonly change: number;
  /** Bytes requested for live buffers. */
  readonly live: number;
  /** The pool's limit. */
  readonly limit: number;
}

interface Listening {
  readonly listener: (change: MemoryChange) => void;
  reserved: number;
}

/**
 * Calls listeners when the reserved memory of a pool has changed: at the end of the program's task,
 * once for all changes, which allows listeners to use the pool.
 */
export class MemoryWatch {
  readonly #level: () => Omit<MemoryChange, "change">;
  readonly #listening = new Set<Listening>();
  #isDue = false;

  /**
   * No listeners yet.
   *
   * @param level Reads the present figures of the pool.
   */
  constructor(level: () => Omit<MemoryChange, "change">) {
    this.#level = level;
  }

  /** Adds a listener; disposing the result removes it. */
  add(listener: (change: MemoryChange) => void): Disposable {
    const listening: Listening = { listener, reserved: this.#level().reserved };
    this.#listening.add(listening);
    return { [Symbol.dispose]: () => void this.#listening.delete(listening) };
  }

  /** Schedules the listeners, after memory was taken or returned. */
  changed(): void {
    if (this.#isDue || this.#listening.size === 0) return;
    this.#isDue = true;
    queueMicrotask(() => this.#notify());
  }

  #notify(): void {
    this.#isDue = false;
    const level = this.#level();
    for (const listening of [...this.#listening]) {
      const change = level.reserved - listening.reserved;
      if (change === 0 || !this.#listening.has(listening)) continue;
      listening.reserved = level.reserved;
      try {
        listening.listener({ ...level, change });
      } catch (error) {
        // As for event targets: the others are called as well.
        reportError(error);
      }
    }
  }
}
