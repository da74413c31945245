/**
 * Events that are waited for without blocking, while the pool goes on.
 *
 * Whoever else asks for such an event may find it done before those who wait are told, and the pool
 * may have no more use for it then. It must stay as it is until they have been told.
 *
 * @module
 */

/** Keeps events for those who wait for them. */
export class AwaitedEvents {
  /** How many wait for each event. */
  readonly #waiting = new Map<number, number>();
  /** Events to be destroyed when nobody waits any more. */
  readonly #due = new Set<number>();
  readonly #destroy: (event: number) => void;

  /**
   * Nobody waits yet.
   *
   * @param destroy Destroys an event.
   */
  constructor(destroy: (event: number) => void) {
    this.#destroy = destroy;
  }

  /** Destroys an event, as soon as nobody waits for it. */
  destroy(event: number): void {
    if (this.#waiting.has(event)) this.#due.add(event);
    else this.#destroy(event);
  }

  /** Whether somebody waits for an event who has not been told. */
  has(event: number): boolean {
    return this.#waiting.has(event);
  }

  /** Keeps an event while somebody waits for it. */
  async during(event: number, wait: () => Promise<void>): Promise<void> {
    this.#waiting.set(event, (this.#waiting.get(event) ?? 0) + 1);
    try {
      await wait();
    } finally {
      this.#letGo(event);
    }
  }

  #letGo(event: number): void {
    const left = this.#waiting.get(event)! - 1;
    if (left > 0) {
      this.#waiting.set(event, left);
      return;
    }
    this.#waiting.delete(event);
    if (this.#due.delete(event)) this.#destroy(event);
  }
}
