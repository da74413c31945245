/**
 * Streams: ordered queues of work on a device.
 *
 * @module
 */

import {
  adoptStream,
  createStream,
  destroyStream,
  queryStream,
  streamAddress,
  streamPriorities,
  synchronizeStreamSync,
  waitForEvent,
} from "../ffi/native_stream.ts";
import { requireInstance, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { giveBack, giveBackAfterFailure, takeSteps } from "../ffi/give_back.ts";
import { contextOf, DeviceContext } from "../hardware/device_context.ts";
import { type CaptureOptions, captureWork } from "./capture.ts";
import { Event, type EventOptions } from "./event.ts";
import type { Graph } from "./graph.ts";
import {
  captureOf,
  refuseEventOfOtherCapture,
  refuseWaiting,
  type RunningCapture,
} from "./running_captures.ts";

/** Options of a new stream. */
export interface StreamOptions {
  /**
   * Urgency: a smaller number is more urgent. 0 by default; {@linkcode Stream.priorities} tells
   * the range of a device.
   */
  readonly priority?: number;
}

/** Options of {@linkcode Stream.fromHandle}. */
export interface ForeignStreamOptions {
  /** The `cudaStream_t` of another library, as a number; that library keeps it alive. */
  readonly handle: number;
}

/**
 * A queue of work: what is enqueued on one stream runs in order, different streams overlap.
 * Streams never synchronise with CUDA's legacy default stream.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using stream = device.createStream();
 * using buffer = device.allocate("float32", 3);
 * buffer.copyFrom(new Float32Array([1, 2, 3]), { stream });
 * await stream.done();
 * ```
 */
export class Stream implements Disposable {
  /** The device the stream belongs to. */
  readonly context: DeviceContext;
  #id: number;
  #holdsContext = true;
  readonly #closers = new Set<() => void>();

  /**
   * Makes a non-blocking stream of a device, or wraps one of another library.
   *
   * @param context The device.
   * @param options Its priority, or the foreign handle.
   */
  constructor(context: DeviceContext, options: StreamOptions | ForeignStreamOptions = {}) {
    requireInstance(context, DeviceContext, "context", "create a stream");
    requireObject(options, "options", "create a stream");
    this.context = context;
    context.retain();
    try {
      this.#id = "handle" in options
        ? adoptStream(context.library, context.ordinal, options.handle)
        : createChecked(context, options);
    } catch (error) {
      context.release();
      throw error;
    }
  }

  /**
   * Makes the default stream of a device, which does not keep the device open: it belongs to it,
   * and disposing it does nothing.
   *
   * @internal
   */
  static ofDevice(context: DeviceContext): Stream {
    const stream = new Stream(context);
    stream.#holdsContext = false;
    context.release();
    return stream;
  }

  /**
   * Wraps a `cudaStream_t` that another library made on the device and keeps alive. Disposing the
   * wrapper leaves that stream alone.
   *
   * @param owner The device, or anything else that has its context.
   * @param handle The `cudaStream_t` as a number.
   */
  static fromHandle(owner: { readonly context: DeviceContext }, handle: number): Stream {
    return new Stream(contextOf(owner, "owner", "adopt a stream"), { handle });
  }

  /** The range of priorities of a device; a smaller number is more urgent. */
  static priorities(owner: { readonly context: DeviceContext }): {
    least: number;
    greatest: number;
  } {
    const { library, ordinal } = contextOf(owner, "owner", "read the stream priorities");
    return streamPriorities(library, ordinal);
  }

  /** The handle of the native library, for the layers above. */
  get id(): number {
    if (this.#id === 0) throw new TypeError("Cannot use a stream as it is disposed");
    return this.#id;
  }

  /** The `cudaStream_t` as a number, for other libraries. */
  get handle(): number {
    return streamAddress(this.context.library, this.id);
  }

  /** Whether the stream is disposed. */
  get disposed(): boolean {
    return this.#id === 0;
  }

  /** Whether it is the default stream of its device. */
  get isDefault(): boolean {
    return !this.#holdsContext;
  }

  /**
   * The running capture that the stream is part of: the same object for all streams that have
   * joined it, and `undefined` while the stream's work runs.
   */
  get captureToken(): object | undefined {
    return captureOf(this);
  }

  /**
   * Captures work: what body enqueues on this stream is not run but becomes a graph, and so does
   * the work of streams that wait for an event recorded here, from that moment on. They have to be
   * joined again, by this stream waiting for an event of theirs.
   *
   * While it runs, body may allocate and free, but not wait for work, ask whether it is done, or
   * move JavaScript arrays: use {@linkcode PinnedBuffer}s for data that changes from launch to
   * launch. It must be synchronous, as what runs later is not captured. If it throws, the capture
   * is given up.
   *
   * @param body Enqueues the work.
   * @param options Which threads the capture restricts.
   * @throws {TypeError} If the stream is captured already, or body is asynchronous.
   * @throws {CudaError} If a forbidden call has spoilt the capture, or a stream was not joined.
   *
   * @example Two branches
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice();
   * using side = device.createStream();
   * using x = device.allocate("float32", 1000, { fill: 1 });
   * using y = device.allocate("float32", 1000, { fill: 2 });
   * using graph = device.stream.capture(() => {
   *   using begun = device.stream.record();
   *   side.wait(begun);
   *   device.kernels.scale(x, 3, x);
   *   device.kernels.scale(y, 4, y, { stream: side });
   *   using done = side.record();
   *   device.stream.wait(done);
   *   device.kernels.add(x, y, x);
   * });
   * graph.launch();
   * await device.stream.done();
   * ```
   */
  capture(body: () => void, options: CaptureOptions = {}): Graph {
    return captureWork(this, body, options);
  }

  /**
   * Whether all enqueued work is done.
   *
   * @throws {TypeError} If the stream is being captured.
   */
  query(): boolean {
    refuseWaiting(this, "query a stream");
    return queryStream(this.context.library, this.context.ordinal, this.id);
  }

  /** Makes an event and records it after all work enqueued so far. */
  record(options: EventOptions = {}): Event {
    const event = new Event(this.context, options);
    try {
      event.record(this);
    } catch (error) {
      giveBackAfterFailure(event);
      throw error;
    }
    return event;
  }

  /** Makes later work of this stream wait for an event, also of another device. */
  wait(event: Event): void {
    requireInstance(event, Event, "event", "wait for an event");
    if (event.context.library !== this.context.library) {
      throw new TypeError(
        `Cannot wait for an event of ${event.context.label} on a stream of ${this.context.label}`,
      );
    }
    refuseEventOfOtherCapture(this, event.capture);
    waitForEvent(this.context.library, this.context.ordinal, this.id, event.id);
  }

  /**
   * Waits for the work enqueued so far without blocking the event loop.
   *
   * @throws {TypeError} If the stream is being captured.
   * @throws {CudaError} If that work failed.
   */
  async done(): Promise<void> {
    refuseWaiting(this, "wait for a stream");
    if (this.query()) return;
    const event = this.record();
    try {
      await event.done();
    } catch (error) {
      giveBackAfterFailure(event);
      throw error;
    }
    event[Symbol.dispose]();
  }

  /**
   * Waits for the work enqueued so far, blocking this thread.
   *
   * @throws {TypeError} If the stream is being captured.
   * @throws {CudaError} If that work failed.
   */
  doneSync(): void {
    refuseWaiting(this, "wait for a stream");
    synchronizeStreamSync(this.context.library, this.context.ordinal, this.id);
  }

  /**
   * Registers what is to be given back with the stream.
   *
   * @returns Takes the registration back: what ends before the stream must not be kept by it.
   * @internal For the layers above.
   */
  onDispose(close: () => void): () => void {
    this.#closers.add(close);
    return () => void this.#closers.delete(close);
  }

  /**
   * Gives the stream back; enqueued work still completes. The default stream of a device stays:
   * it ends with the device. A stream that has joined a capture stays until the capture ends.
   *
   * @throws {TypeError} If a capture that began on it is running.
   */
  [Symbol.dispose](): void {
    if (this.#holdsContext) this.close();
  }

  /**
   * Gives the stream back, a default stream too.
   *
   * @internal For the device that a default stream belongs to.
   */
  close(): void {
    if (this.#id === 0) return;
    const capture = captureOf(this);
    if (capture !== undefined) {
      refuseOrigin(this, capture);
      return capture.onEnd(() => this.close());
    }
    const { library, ordinal } = this.context;
    giveBack(
      this.context,
      () => takeSteps([...this.#closers, () => destroyStream(library, ordinal, this.#id)]),
      () => {
        this.#id = 0;
        this.context.library.interruptions++;
        if (this.#holdsContext) this.context.release();
      },
    );
  }
}

function refuseOrigin(stream: Stream, capture: RunningCapture): void {
  if (capture.stream !== stream) return;
  throw new TypeError("Cannot dispose of a stream while it is being captured");
}

function createChecked(context: DeviceContext, { priority = 0 }: StreamOptions): number {
  const { least, greatest } = streamPriorities(context.library, context.ordinal);
  if (!Number.isInteger(priority) || priority < greatest || priority > least) {
    throw new RangeError(
      `Cannot create a stream as priority must be an integer in ${greatest}..${least}: it is ${
        describeValue(priority)
      }`,
    );
  }
  return createStream(context.library, context.ordinal, priority);
}
