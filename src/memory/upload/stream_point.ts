/**
 * A point of a stream that is marked again and again.
 *
 * @module
 */

import { giveBack } from "../../ffi/give_back.ts";
import { createEvent, destroyEvent, recordEvent, waitForEvent } from "../../ffi/native_stream.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { eventDone } from "../../stream/event.ts";
import type { Stream } from "../../stream/stream.ts";

/**
 * A point of a stream, to wait for. One event serves for all points, made when it is first needed;
 * unlike an `Event` it does not hold the device open.
 */
export class StreamPoint {
  readonly #context: DeviceContext;
  #event = 0;

  /** Marks nothing yet. */
  constructor(context: DeviceContext) {
    this.#context = context;
  }

  /** Marks the point that a stream's work has reached when all enqueued so far is done. */
  mark(stream: Stream): void {
    const { library, ordinal } = this.#context;
    if (this.#event === 0) this.#event = createEvent(library, ordinal, false);
    recordEvent(library, ordinal, stream.id, this.#event);
  }

  /** Makes later work of another stream wait for the point as it is marked now. */
  holdBack(stream: Stream): void {
    waitForEvent(this.#context.library, this.#context.ordinal, stream.id, this.#event);
  }

  /** Resolves when the point is reached, or a later one that was marked meanwhile. */
  async reached(): Promise<void> {
    await eventDone(this.#context, this.#event);
  }

  /** Forgets the event. */
  close(): void {
    if (this.#event === 0) return;
    const { library, ordinal } = this.#context;
    giveBack(
      this.#context,
      () => destroyEvent(library, ordinal, this.#event),
      () => this.#event = 0,
    );
  }
}
