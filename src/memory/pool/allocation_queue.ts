/**
 * Requests that wait for memory which others will free: first come, first served.
 *
 * Only the first request tries to allocate, at once and after every free. A small request behind it
 * never overtakes, so a large one is not starved.
 *
 * @module
 */

import { refuseOption, requireInstance } from "../../ffi/arguments.ts";
import type { PlacementOptions } from "../buffer_options.ts";

/** The wait of a request; times in milliseconds. */
export interface AllocationWait {
  readonly signal: AbortSignal | undefined;
  readonly timeout: number | undefined;
}

/** The interval of attempts when the device is full: memory of other owners is freed unnoticed. */
const POLL_MILLISECONDS = 25;
const MAX_TIMEOUT = 2 ** 31 - 1; // The longest time of a timer

const ACTION = "allocate a buffer";

/** Reads the options of a wait; `undefined` if the request does not wait. */
export function readWait(
  options: PlacementOptions & {
    readonly wait?: boolean;
    readonly signal?: AbortSignal;
    readonly timeout?: number;
  },
): AllocationWait | undefined {
  const { wait = false, signal, timeout } = options;
  if (typeof wait !== "boolean") refuseOption(TypeError, ACTION, "wait", "true or false", wait);
  if (signal !== undefined) requireInstance(signal, AbortSignal, "options.signal", ACTION);
  const isTime = timeout === undefined ||
    (Number.isFinite(timeout) && timeout >= 0 && timeout <= MAX_TIMEOUT);
  if (!isTime) {
    const allowed = `milliseconds, a number in 0..${MAX_TIMEOUT}`;
    refuseOption(
      typeof timeout === "number" ? RangeError : TypeError,
      ACTION,
      "timeout",
      allowed,
      timeout,
    );
  }
  if (wait) return { signal, timeout };
  for (const [name, value] of Object.entries({ signal, timeout })) {
    if (value !== undefined) {
      refuseOption(TypeError, ACTION, name, "absent unless wait is true", value);
    }
  }
  return undefined;
}

export class AllocationQueue {
  readonly #turns: PromiseWithResolvers<void>[] = [];
  #freed = Promise.withResolvers<void>();

  /** The number of waiting requests. */
  get length(): number {
    return this.#turns.length;
  }

  /** Lets the first request try again, because memory was freed. */
  wake(): void {
    this.#freed.resolve();
    this.#freed = Promise.withResolvers();
  }

  /**
   * Waits until an attempt finds a block.
   *
   * @param attempt Takes a block; 0 for none, and whether its memory may come from other owners.
   * @param drop Frees a block that is found after the wait was cancelled.
   * @param timedOut The error after the timeout, with the number of requests ahead.
   */
  async take(
    attempt: () => Promise<{ readonly block: number; readonly isForeign: boolean }>,
    drop: (block: number) => void,
    { signal, timeout }: AllocationWait,
    timedOut: (ahead: number) => Error,
  ): Promise<number> {
    signal?.throwIfAborted();
    const cancelled = Promise.withResolvers<never>();
    const turn = Promise.withResolvers<void>();
    if (this.#turns.push(turn) === 1) turn.resolve();
    const abort = () => cancelled.reject(signal!.reason);
    signal?.addEventListener("abort", abort);
    const expire = () => cancelled.reject(timedOut(this.#turns.indexOf(turn)));
    const timer = timeout === undefined ? undefined : setTimeout(expire, timeout);
    let poll: ReturnType<typeof setTimeout> | undefined;
    try {
      await Promise.race([turn.promise, cancelled.promise]);
      for (;;) {
        // Taken before the attempt: a free during it is not missed.
        const freed = this.#freed.promise;
        const coming = attempt();
        const found = await Promise.race([coming, cancelled.promise]).catch((error) => {
          coming.then(({ block }) => block !== 0 && drop(block), () => {});
          throw error;
        });
        if (found.block !== 0) return found.block;
        const polled = Promise.withResolvers<void>();
        if (found.isForeign) poll = setTimeout(polled.resolve, POLL_MILLISECONDS);
        await Promise.race([freed, polled.promise, cancelled.promise]);
        clearTimeout(poll);
      }
    } finally {
      clearTimeout(timer);
      clearTimeout(poll);
      signal?.removeEventListener("abort", abort);
      this.#turns.splice(this.#turns.indexOf(turn), 1);
      this.#turns[0]?.resolve();
    }
  }
}
