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
import { captureOf, refuseWhileCapturing, type RunningCapture } from "./running_captures.ts";
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
  #capture: RunningCapture | undefined;

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

  /**
   * The capture that the event was last recorded in, also when that is over.
   *
   * @internal
   */
  get capture(): RunningCapture | undefined {
    return this.#capture;
  }

  /**
   * Marks the point that the stream's work has reached when all work enqueued so far is done. On a
   * stream that is being captured it marks a point of the graph: streams can wait for it until the
   * capture ends, but nobody can ask whether it has been reached.
   */
  record(stream: Stream): void {
    requireInstance(stream, Stream, "stream", "record an event");
    if (!stream.context.isSameDevice(this.context)) {
      throw new TypeError(
        `Cannot record an event as the stream must be of ${this.context.label}: it is of ${stream.context.label}`,
      );
    }
    const capture = captureOf(stream);
    recordEvent(this.context.library, this.context.ordinal, stream.id, this.id);
    this.#capture = capture;
  }

  /**
   * Whether the last recorded point has been reached; an event never recorded counts as done.
   *
   * @throws {TypeError} If the event was recorded in a capture, or one that forbids it is running.
   */
  query(): boolean {
    this.#refuseWaiting("query an event");
    return queryEvent(this.context.library, this.context.ordinal, this.id);
  }

  /**
   * Waits for the last recorded point without blocking the event loop.
   *
   * @throws {TypeError} If the event was recorded in a capture, or one that forbids it is running.
   * @throws {CudaError} If the work before it failed.
   */
  async done(): Promise<void> {
    this.#refuseWaiting("wait for an event");
    await eventDone(this.context, this.id);
  }

  /**
   * Waits for the last recorded point, blocking this thread.
   *
   * @throws {TypeError} If the event was recorded in a capture, or one that forbids it is running.
   * @throws {CudaError} If the work before it failed.
   */
  doneSync(): void {
    this.#refuseWaiting("wait for an event");
    synchronizeEventSync(this.context.library, this.context.ordinal, this.id);
  }

  /**
   * Milliseconds from another event to this one.
   *
   * @throws {TypeError} If one of them does not measure time, is of another device, or was recorded
   * in a capture.
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
    start.#refuseWaiting("measure the time between two events");
    this.#refuseWaiting("measure the time between two events");
    return elapsedMilliseconds(this.context.library, this.context.ordinal, start.id, this.id);
  }

  #refuseWaiting(action: string): void {
    if (this.#capture !== undefined) {
      throw new TypeError(
        `Cannot ${action} as it was recorded in a capture: a graph passes it, whenever that is launched`,
      );
    }
    refuseWhileCapturing(this.context.library, action);
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
