/**
 * Events: points in a stream's work to wait for and to measure time between.
 *
 * @module
 */

import { displayAs } from "../ffi/display.ts";
import { setImmediate } from "node:timers";
import { requireInstance, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { synchronizeDevice, WAIT_FOR_DEVICE } from "../ffi/native_device.ts";
import { giveBack, giveBackAfterFailure } from "../ffi/give_back.ts";
import {
  createEvent,
  destroyEvent,
  elapsedMilliseconds,
  queryEvent,
  recordDevice,
  recordEvent,
  synchronizeEvent,
  synchronizeEventSync,
} from "../ffi/native_stream.ts";
import { DeviceContext, labelOf } from "../hardware/device_context.ts";
import { captureOf, refuseWhileCapturing, type RunningCapture } from "./running_captures.ts";
import { Stream } from "./stream.ts";
import { WorkOrder } from "./work_order.ts";

/** The capture that an event was last recorded in, even if that capture has ended. */
export let captureOfEvent: (event: Event) => RunningCapture | undefined;

/**
 * Options of a new event.
 * @category Streams, events and graphs
 */
export interface EventOptions {
  /**
   * Whether the event measures time; `false` by default, because an event without timing is
   * cheaper.
   */
  readonly timing?: boolean;
}

/**
 * A point in the work of a stream, made by {@linkcode Stream.record} or `device.createEvent()`.
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
 *
 * @category Streams
 */
export class Event implements Disposable {
  /** The device the event belongs to. */
  readonly context: DeviceContext;
  /** Whether the event measures time. */
  readonly timing: boolean;
  #handle: number;
  #capture: RunningCapture | undefined;
  /** The pending waits for the native event, and its handle if the last of them destroys it. */
  #waits = { pending: 0, abandoned: 0 };

  /** Makes an event. An event that is not recorded yet counts as reached. */
  constructor(context: DeviceContext, options: EventOptions = {}) {
    requireInstance(context, DeviceContext, "context", "create an event");
    requireOptions(options, ["timing"], "create an event");
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

  /** The handle in the native library. */
  get id(): number {
    if (this.#handle === 0) throw new TypeError("Cannot use an event as it is disposed");
    return this.#handle;
  }

  /** Whether the event is disposed. */
  get disposed(): boolean {
    return this.#handle === 0;
  }

  static {
    captureOfEvent = (event) => event.#capture;
  }

  /**
   * Records the event after all work enqueued on a stream so far. Tensor operations that wait for a
   * kernel are compiled first, which blocks this thread. On a stream that is being captured
   * the event becomes a point of the graph: until the capture ends streams can wait for it, but it
   * cannot be queried.
   */
  record(stream: Stream): void {
    requireInstance(stream, Stream, "stream", "record an event");
    if (!stream.context.isSameDevice(this.context)) {
      throw new TypeError(
        `Cannot record an event as the stream must be of ${this.context.label}: it is of ${stream.context.label}`,
      );
    }
    WorkOrder.of(stream).settleNow("record an event");
    const capture = captureOf(stream);
    const { library, ordinal } = this.context;
    if (this.#waits.pending === 0) recordEvent(library, ordinal, stream.id, this.id);
    else this.#recordAnother(stream);
    this.#capture = capture;
  }

  /** Leaves the native event with its earlier record to the pending waits. */
  #recordAnother(stream: Stream): void {
    const { library, ordinal } = this.context;
    const handle = createEvent(library, ordinal, this.timing);
    try {
      recordEvent(library, ordinal, stream.id, handle);
    } catch (error) {
      giveBackAfterFailure({ [Symbol.dispose]: () => destroyEvent(library, ordinal, handle) });
      throw error;
    }
    this.#waits.abandoned = this.id;
    this.#waits = { pending: 0, abandoned: 0 };
    this.#handle = handle;
  }

  /**
   * Whether the last recorded point has been reached; true for an event that was never recorded.
   *
   * @throws {TypeError} If the event was recorded in a capture, or a running capture forbids it.
   */
  query(): boolean {
    this.#refuseWaiting("query an event");
    return queryEvent(this.context.library, this.context.ordinal, this.id);
  }

  /**
   * Waits for the last recorded point without blocking the event loop.
   *
   * @throws {TypeError} If the event was recorded in a capture, or a running capture forbids it.
   * @throws {CudaError} If the work before it failed.
   */
  async done(): Promise<void> {
    this.#refuseWaiting("wait for an event");
    const { context } = this;
    const waits = this.#waits;
    waits.pending++;
    try {
      await eventDone(context, this.id);
    } finally {
      if (--waits.pending === 0 && waits.abandoned !== 0) {
        const destroy = () => destroyEvent(context.library, context.ordinal, waits.abandoned);
        giveBack(context, destroy, () => waits.abandoned = 0);
      }
    }
  }

  /**
   * Waits for the last recorded point, blocking this thread.
   *
   * @throws {TypeError} If the event was recorded in a capture, or a running capture forbids it.
   * @throws {CudaError} If the work before it failed.
   */
  doneSync(): void {
    this.#refuseWaiting("wait for an event");
    synchronizeEventSync(this.context.library, this.context.ordinal, this.id);
  }

  /**
   * Milliseconds from another event to this one.
   *
   * @throws {TypeError} If either event does not measure time, belongs to another device, or was
   * recorded in a capture.
   * @throws {CudaError} If either event is not recorded or not reached.
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
        `Cannot ${action} as it was recorded in a capture: it is reached whenever the graph runs`,
      );
    }
    refuseWhileCapturing(this.context.library, action);
  }

  /** Destroys the event. Work that waits for it still does. */
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

displayAs(Event.prototype, "Event", {
  device: labelOf,
  id: ({ id }) => id,
  timing: ({ timing }) => timing,
  disposed: ({ disposed }) => disposed,
});

function requireFlag(timing: unknown): boolean {
  if (typeof timing === "boolean") return timing;
  throw new TypeError(
    `Cannot create an event as timing must be true or false: it is ${describeValue(timing)}`,
  );
}

/** Milliseconds to poll in the event loop: about the cost of starting the wait on a thread. */
const POLLING_MILLISECONDS = 0.1;

/** Resolves in the next turn of the event loop, after about 1 µs if there is nothing else to do. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/**
 * Resolves when an event has been reached, without blocking the event loop. A nonblocking FFI call
 * costs about 30 µs; a query costs nanoseconds. Short waits therefore poll, and only long ones go
 * to the thread of all waits.
 */
export async function eventDone(
  context: DeviceContext,
  event: number,
  action?: string,
): Promise<void> {
  const { library, ordinal } = context;
  const started = performance.now();
  do {
    if (queryEvent(library, ordinal, event, action)) return;
    await nextTurn();
  } while (performance.now() - started < POLLING_MILLISECONDS);
  await synchronizeEvent(library, ordinal, event, action);
}

/**
 * Resolves when all work that a device has by now is done, without blocking the event loop.
 *
 * `cudaDeviceSynchronize` on another thread would do so only on the host device: on a GPU, calls of
 * this thread that need the context wait until it returns. Drivers before CUDA 12.5 have no other way.
 */
export async function deviceDone(context: DeviceContext): Promise<void> {
  const { library, ordinal } = context;
  const event = createEvent(library, ordinal, false, WAIT_FOR_DEVICE);
  const destroy = () => destroyEvent(library, ordinal, event);
  try {
    if (recordDevice(library, ordinal, event, WAIT_FOR_DEVICE)) {
      await eventDone(context, event, WAIT_FOR_DEVICE);
      // Returns at once, after the driver has written what kernels have printed.
      synchronizeEventSync(library, ordinal, event, WAIT_FOR_DEVICE);
    } else await synchronizeDevice(library, ordinal);
    giveBack(context, destroy, () => {});
  } catch (error) {
    giveBackAfterFailure({ [Symbol.dispose]: destroy });
    throw error;
  }
}
