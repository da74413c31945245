/**
 * Waiting for the device without blocking the event loop.
 *
 * A nonblocking FFI call costs about 30 µs and a thread; asking costs nanoseconds and a turn of
 * the event loop about 1 µs. So short work is polled and only long work is waited for on a thread.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { queryEvent, synchronizeEvent } from "../ffi/native_stream.ts";
import type { DeviceContext } from "../hardware/device_context.ts";

/** How long to poll before a thread waits: about what handing over to one costs. */
const POLLING_MILLISECONDS = 0.1;

/** Resolves in the next turn of the event loop, about 1 µs later when there is nothing else to do. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/**
 * Resolves when an event's last recorded point has been reached.
 *
 * @throws {CudaError} If the work before it failed.
 */
export async function eventDone(context: DeviceContext, event: number): Promise<void> {
  const { library, ordinal } = context;
  const started = performance.now();
  do {
    if (queryEvent(library, ordinal, event)) return;
    await nextTurn();
  } while (performance.now() - started < POLLING_MILLISECONDS);
  await synchronizeEvent(library, ordinal, event);
}
