/**
 * Events: points in a stream's work that can be waited for and timed.
 *
 * @module
 */

import {
  createEvent,
  destroyEvent,
  elapsedMilliseconds,
  queryEvent,
  recordEvent,
  synchronizeEventSync,
} from "../ffi/native_stream.ts";
import { requireInstance, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { giveBack } from "../ffi/give_back.ts";
import { DeviceContext } from "../hardware/device_context.ts";
import { eventDone } from "./completion.ts";
import { Stream } from "./stream.ts";

/** Options of a new event. */
export interface EventOptions {
  /**
   * Whether the event measures time. Events that are only waited for are cheaper, so it is
   * `false` by default.
   */
  readonly timing?: boolean;
}

/**
 * A point in the work of a stream.
 *
 * Made by {@linkcode Stream.record} or `device.createEvent()`.
 *
 * @example Time a piece of work
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using out = device.allocate("float32", 1 << 20);
 * using start = device.stream.record({ timing: true });
 * device.kernels.fill(out, 1);
 * using end = device.stream.record({ timing: true });
 * await end.done();
 * console.log(end.elapsedSince(start), "ms");
 * ```
 */
export class Event implements Disposable {
  /** The device the event belongs to. */
  readonly context: DeviceContext;
  /** Whether the event measures time. */
  readonly timing: boolean;
  #handle: number;

  /** Makes an event of a device; nothing is recorded yet, so it counts as done. */
  constructor(context: DeviceContext, options: EventOptions = {}) {
    requireInstance(context, DeviceContext, "context", "create an event");
    requireObject(options, "options", "create an event");
    this.context = context;
    this.timing = requireFlag(options.timing ?? false);
    context.retain();
    try {
      this.#handle = createEvent(context.library, context.ordinal, this.timing);
    } catch (error) {
      context.release();
      throw error;
    }
  }

  /** The native handle, for the layers above. */
  get id(): number {
    if (this.#handle === 0) throw new TypeError("Cannot use an event as it is disposed");
    return this.#handle;
  }

  /** Whether the event is disposed. */
  get disposed(): boolean {
    return this.#handle === 0;
  }

  /** Marks the point that the stream's work has reached when all work enqueued so far is done. */
  record(stream: Stream): void {
    requireInstance(stream, Stream, "stream", "record an event");
    if (!stream.context.isSameDevice(this.context)) {
      throw new TypeError(
        `Cannot record an event as the stream must be of ${this.context.label}: it is of ${stream.context.label}`,
      );
    }
    recordEvent(this.context.library, this.context.ordinal, stream.id, this.id);
  }

  /** Whether the last recorded point has been reached; an event never recorded counts as done. */
  query(): boolean {
    return queryEvent(this.context.library, this.context.ordinal, this.id);
  }

  /**
   * Waits for the last recorded point without blocking the event loop.
   *
   * @throws {CudaError} If the work before it failed.
   */
  async done(): Promise<void> {
    await eventDone(this.context, this.id);
  }

  /**
   * Waits for the last recorded point, blocking this thread.
   *
   * @throws {CudaError} If the work before it failed.
   */
  doneSync(): void {
    synchronizeEventSync(this.context.library, this.context.ordinal, this.id);
  }

  /**
   * Milliseconds from another event to this one.
   *
   * @throws {TypeError} If one of them does not measure time, or is of another device.
   * @throws {CudaError} If one of them is not recorded or not done.
   */
  elapsedSince(start: Event): number {
    requireInstance(start, Event, "start", "measure the time between two events");
    if (!start.timing || !this.timing) {
      throw new TypeError(
        "Cannot measure the time between two events as both must be made with { timing: true }",
      );
    }
    if (!start.context.isSameDevice(this.context)) {
      throw new TypeError(
        `Cannot measure the time between two events as both must be of ${this.context.label}: start is of ${start.context.label}`,
      );
    }
    return elapsedMilliseconds(this.context.library, this.context.ordinal, start.id, this.id);
  }

  /** Forgets the event; work that waits for it still does. */
  [Symbol.dispose](): void {
    if (this.#handle === 0) return;
    giveBack(
      this.context,
      () => destroyEvent(this.context.library, this.context.ordinal, this.#handle),
      () => {
        this.#handle = 0;
        this.context.release();
      },
    );
  }
}

function requireFlag(timing: unknown): boolean {
  if (typeof timing === "boolean") return timing;
  throw new TypeError(
    `Cannot create an event as timing must be true or false: it is ${describeValue(timing)}`,
  );
}
