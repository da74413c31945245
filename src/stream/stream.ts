/**
 * Streams: ordered queues of work on a device.
 *
 * @module
 */

import { displayAs } from "../ffi/display.ts";
import { requireInstance, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { giveBack, giveBackAfterFailure, takeSteps } from "../ffi/give_back.ts";
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
import { logger } from "../ffi/logging.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import { contextOf, DeviceContext, labelOf } from "../hardware/device_context.ts";
import { WorkOrder } from "./work_order.ts";
import { captureOf, refuseEventOfOtherCapture, refuseWaiting } from "./running_captures.ts";
import { captureOfEvent, Event, type EventOptions } from "./event.ts";
import { captureWork, type Graph } from "./graph.ts";

// Access to private members for the layers above, which the class does not offer to its users.

/** Makes a stream that does not keep its device open; disposing it has no effect. */
export let makeDeviceStream: (context: DeviceContext) => Stream;

/** Makes the default stream of a context, which does not keep its device open. */
let makeDefaultStream: (context: DeviceContext) => Stream;

/** Destroys a stream, including one of {@linkcode makeDeviceStream}. */
export let closeStream: (stream: Stream) => void;

/** A native stream that several contexts of one device use. */
interface SharedStream {
  readonly id: number;
  users: number;
}

/** The native default streams by the ordinals of their devices. */
const sharedStreams = new WeakMap<NativeLibrary, Map<number, SharedStream>>();

function sharedStreamsOf({ library }: DeviceContext): Map<number, SharedStream> {
  let known = sharedStreams.get(library);
  if (known === undefined) sharedStreams.set(library, known = new Map());
  return known;
}

/** The options of default streams, which the constructor tells apart by their identity. */
const DEFAULT_STREAM: StreamOptions = {};

/**
 * Options of a new stream.
 * @category Streams, events and graphs
 */
export interface StreamOptions {
  /**
   * The priority; a smaller number is more urgent. 0 by default. {@linkcode Stream.priorities}
   * returns the range of a device.
   */
  readonly priority?: number;
  /**
   * A `cudaStream_t` of another library, as a number, to wrap instead of making a stream. That library
   * keeps the stream alive.
   */
  readonly handle?: number;
}

/**
 * A queue of work. Work on one stream runs in order; work on different streams may overlap.
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
 *
 * @category Streams
 */
export class Stream implements Disposable {
  /** The device the stream belongs to. */
  readonly context: DeviceContext;
  #id: number;
  #holdsContext = true;
  #shared: SharedStream | undefined;
  readonly #closers = new Set<() => void>();

  /**
   * Makes a non-blocking stream of a device, or wraps a stream of another library.
   *
   * @param context The device.
   * @param options The priority, or the foreign handle.
   */
  constructor(context: DeviceContext, options: StreamOptions = {}) {
    requireInstance(context, DeviceContext, "context", "create a stream");
    requireOptions(options, ["priority", "handle"], "create a stream");
    this.context = context;
    context.retain();
    try {
      if (options === DEFAULT_STREAM) this.#shared = shareStream(context);
      this.#id = this.#shared?.id ??
        (options.handle === undefined
          ? createChecked(context, options)
          : adoptStream(context.library, context.ordinal, options.handle));
    } catch (error) {
      context.release();
      throw error;
    }
    this.#log("opened");
  }

  #log(event: string): void {
    logger("stream").debug("{device}: stream {id} {event}", () => {
      return { device: labelOf(this.context), id: this.#id, event };
    });
  }

  static {
    const make = (context: DeviceContext, options?: StreamOptions) => {
      const stream = new Stream(context, options);
      stream.#holdsContext = false;
      context.release();
      return stream;
    };
    makeDeviceStream = (context) => make(context);
    makeDefaultStream = (context) => make(context, DEFAULT_STREAM);
    closeStream = (stream) => stream.#close();
  }

  /**
   * Wraps a `cudaStream_t` that another library owns. Disposing the wrapper does not destroy the
   * stream.
   *
   * @param owner The device, or another object with its context.
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

  /** The handle in the native library. */
  get id(): number {
    if (this.#id === 0) throw new TypeError("Cannot use a stream as it is disposed");
    return this.#id;
  }

  /** The `cudaStream_t` as a number, for other FFI libraries. */
  get handle(): number {
    return streamAddress(this.context.library, this.id);
  }

  /** Whether the stream is disposed. */
  get disposed(): boolean {
    return this.#id === 0;
  }

  /** Whether this is the default stream of its device. */
  get isDefault(): boolean {
    return this.#shared !== undefined;
  }

  /**
   * Identifies the running capture of the stream; all streams of one capture return the same object.
   * `undefined` if the stream is not being captured.
   *
   * @ignore
   */
  get captureToken(): object | undefined {
    return captureOf(this);
  }

  /**
   * Captures the work that `body` enqueues into a graph instead of running it. A stream that waits
   * for an event of this stream joins the capture, and this stream must wait for an event of that
   * stream before the capture ends.
   *
   * `body` may allocate and free memory. It must not wait for work, query it, or copy JavaScript
   * arrays: use a {@linkcode PinnedBuffer} for data that changes between launches. It must be
   * synchronous, because later work is not captured. If it throws, the capture is discarded.
   *
   * @param body Enqueues the work.
   * @param options The threads that the capture restricts.
   * @throws {TypeError} If the stream is already being captured, or `body` is asynchronous.
   * @throws {CudaError} If a forbidden call invalidated the capture, or a stream was not joined.
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
  capture(body: () => void, options: {
    /**
     * The threads in which calls that wait for or query other work are forbidden during the capture:
     *
     * - `"thread-local"`: this thread. The default.
     * - `"global"`: all threads of the process. Such a call fails and invalidates the capture.
     * - `"relaxed"`: none, except for calls on the captured streams themselves.
     */
    readonly mode?: "thread-local" | "global" | "relaxed";
  } = {}): Graph {
    return captureWork(this, body, options);
  }

  /**
   * Whether all enqueued work has finished. Tensor operations that wait for a kernel are compiled
   * first, which blocks this thread.
   *
   * @throws {TypeError} If the stream is being captured.
   */
  query(): boolean {
    refuseWaiting(this, "query a stream");
    WorkOrder.of(this).settleNow("query a stream");
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

  /** Makes later work of this stream wait for an event of this or another device. */
  wait(event: Event): void {
    requireInstance(event, Event, "event", "wait for an event");
    if (event.context.library !== this.context.library) {
      throw new TypeError(
        `Cannot wait for an event of ${event.context.label} on a stream of ${this.context.label}`,
      );
    }
    refuseEventOfOtherCapture(this, captureOfEvent(event));
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
    await WorkOrder.of(this).inOrder(this.context, async () => {
      if (this.query()) return;
      const event = this.record();
      try {
        await event.done();
      } catch (error) {
        giveBackAfterFailure(event);
        throw error;
      }
      event[Symbol.dispose]();
    });
  }

  /**
   * Waits for the work enqueued so far, blocking this thread. Tensor operations that wait for a
   * kernel are compiled first.
   *
   * @throws {TypeError} If the stream is being captured.
   * @throws {CudaError} If that work failed.
   */
  doneSync(): void {
    refuseWaiting(this, "wait for a stream");
    WorkOrder.of(this).settleNow("wait for a stream");
    synchronizeStreamSync(this.context.library, this.context.ordinal, this.id);
  }

  /**
   * Registers a function to call when the stream is destroyed.
   *
   * @returns Removes the registration.
   */
  onDispose(close: () => void): () => void {
    this.#closers.add(close);
    return () => void this.#closers.delete(close);
  }

  /**
   * Destroys the stream. Enqueued work still completes. A device's default stream ends with the
   * device instead, a stream that joined a capture with the capture, and a stream on which tensor
   * operations wait for their kernels after these.
   *
   * @throws {TypeError} If a capture that began on this stream is running.
   */
  [Symbol.dispose](): void {
    if (!this.#holdsContext || this.#id === 0) return;
    const order = WorkOrder.of(this);
    if (!order.isWaiting) return this.#close();
    order.append({ run: () => this.#closeLater() }, this.context);
  }

  #closeLater(): void {
    try {
      this.#close();
    } catch (error) {
      const device = labelOf(this.context);
      logger("stream").error("{device}: cannot destroy a stream: {error}", { device, error });
    }
  }

  #close(): void {
    if (this.#id === 0) return;
    const capture = captureOf(this);
    if (capture !== undefined) {
      if (capture.stream === this) {
        throw new TypeError("Cannot dispose of a stream while it is being captured");
      }
      return capture.onEnd(() => this.#close());
    }
    const { library, ordinal } = this.context;
    giveBack(
      this.context,
      () =>
        takeSteps([
          ...this.#closers,
          () => this.#isShared() || destroyStream(library, ordinal, this.#id),
        ]),
      () => {
        this.#log("closed");
        this.#id = 0;
        if (this.#shared?.users === 1) sharedStreamsOf(this.context).delete(ordinal);
        if (this.#shared !== undefined) this.#shared.users--;
        this.context.library.interruptions++;
        if (this.#holdsContext) this.context.release();
      },
    );
  }

  /** Whether another context uses the native stream, too. */
  #isShared(): boolean {
    return this.#shared !== undefined && this.#shared.users > 1;
  }
}

displayAs(Stream.prototype, "Stream", {
  device: labelOf,
  id: ({ id }) => id,
  default: ({ isDefault }) => isDefault,
  capturing: ({ captureToken }) => captureToken !== undefined,
  disposed: ({ disposed }) => disposed,
});

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

/** Makes a stream that ends with its device, which it does not keep open. */
export function streamUntilClose(context: DeviceContext): Stream {
  if (context.closed) throw new TypeError(`Cannot use ${context.label} as it is disposed`);
  const stream = makeDeviceStream(context);
  context.onClose(() => closeStream(stream));
  return stream;
}

/** The native default stream of a device, with one more user. */
function shareStream(context: DeviceContext): SharedStream {
  const known = sharedStreamsOf(context);
  let shared = known.get(context.ordinal);
  if (shared === undefined) {
    known.set(context.ordinal, shared = { id: createChecked(context, {}), users: 0 });
  }
  shared.users++;
  return shared;
}

const defaultStreams = new WeakMap<DeviceContext, Stream>();

/**
 * The default stream of an opened device, made on first use. All contexts of a device in this
 * isolate have one native stream, so their work runs in order, however often a program opens the
 * device. It does not keep the device open, and ends with the last context: otherwise later work
 * would go to a new stream without waiting for the old one.
 */
export function defaultStream(context: DeviceContext): Stream {
  const known = defaultStreams.get(context);
  if (known !== undefined && !known.disposed) return known;
  if (context.closed) throw new TypeError(`Cannot use ${context.label} as it is disposed`);
  const stream = makeDefaultStream(context);
  context.onClose(() => closeStream(stream));
  defaultStreams.set(context, stream);
  return stream;
}

/** Makes later work of a stream wait for the work of another one so far. */
export function waitForStream(waiting: Stream, other: Stream): void {
  if (isSameStream(waiting, other)) return;
  using done = other.record();
  waiting.wait(done);
}

/** Whether two streams are one native stream: work of both is in order without an event. */
export function isSameStream(one: Stream, other: Stream): boolean {
  if (one === other) return true;
  return one.context.library === other.context.library && !one.disposed && !other.disposed &&
    one.id === other.id;
}
