/**
 * Telling a program how much memory a pool has taken from the device, when that changes.
 *
 * @module
 */

/** What a listener is told when the memory of a pool has changed. All sizes are bytes. */
export interface MemoryChange {
  /** The device, as messages name it: `cuda:0`. */
  readonly device: string;
  /** What the pool has taken from the device. */
  readonly reserved: number;
  /** By how much that grew since the listener was told last; below zero where it shrank. */
  readonly change: number;
  /** What live buffers were asked for. */
  readonly live: number;
  /** The most that the pool may take. */
  readonly limit: number;
}

/** Called when the memory of a pool has changed. */
export type MemoryChangeListener = (change: MemoryChange) => void;

/** What a pool has at the moment. */
export type MemoryLevel = Omit<MemoryChange, "change">;

interface Listening {
  readonly listener: MemoryChangeListener;
  /** What was reserved when it was told last. */
  reserved: number;
}

/**
 * The listeners of a pool. They are called once the program's present task is done and not in the
 * midst of an allocation: so they may use the pool, and hear once of many changes.
 */
export class MemoryWatch {
  readonly #level: () => MemoryLevel;
  readonly #listening = new Set<Listening>();
  #isDue = false;

  /**
   * Nobody listens yet.
   *
   * @param level Tells what the pool has now.
   */
  constructor(level: () => MemoryLevel) {
    this.#level = level;
  }

  /** Adds a listener; disposing what it returns takes the listener away. */
  add(listener: MemoryChangeListener): Disposable {
    const listening: Listening = { listener, reserved: this.#level().reserved };
    this.#listening.add(listening);
    return { [Symbol.dispose]: () => void this.#listening.delete(listening) };
  }

  /** To be called whenever memory was taken from the device or given back. */
  changed(): void {
    if (this.#isDue || this.#listening.size === 0) return;
    this.#isDue = true;
    queueMicrotask(() => this.#tell());
  }

  #tell(): void {
    this.#isDue = false;
    const level = this.#level();
    for (const listening of [...this.#listening]) {
      const change = level.reserved - listening.reserved;
      if (change === 0 || !this.#listening.has(listening)) continue;
      listening.reserved = level.reserved;
      try {
        listening.listener({ ...level, change });
      } catch (error) {
        // As for event targets: the others are told as well, and the program is of the error.
        reportError(error);
      }
    }
  }
}
