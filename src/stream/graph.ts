/**
 * Graphs: work that is captured once and launched many times.
 *
 * @module
 */

import { displayAs } from "../ffi/display.ts";
import { requireInstance, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { giveBack, giveBackAfterFailure, takeSteps } from "../ffi/give_back.ts";
import {
  beginCapture,
  CAPTURE_MODES,
  type CaptureMode,
  destroyGraph,
  endCapture,
  graphNodeCount,
  launchGraph,
  queryCapture,
} from "../ffi/native_stream.ts";
import { type DeviceContext, labelOf } from "../hardware/device_context.ts";
import { enqueueHeard, listenersOf } from "./activity.ts";
import {
  addRunningCapture,
  captureObservers,
  captureOf,
  refuseDuringDeviceWait,
  removeRunningCapture,
  RunningCapture,
} from "./running_captures.ts";
import { defaultStream, Stream } from "./stream.ts";
import { WorkOrder } from "./work_order.ts";

// Access to private members for this module.
let graphOfCapture: (capture: RunningCapture) => Graph;
let releaseGraph: (graph: Graph) => void;

/** The maximum number of operations of all nested graphs of a capture. */
const MAX_NESTED_NODES = 131_072;

/**
 * Captured work, made by {@linkcode Stream.capture}. A launch costs one call regardless of the amount
 * of work, and work captured on several streams overlaps again.
 *
 * A graph uses the captured addresses. Change the content of the buffers between launches, and keep
 * the buffers until the last launch has finished.
 *
 * @example Run two kernels by one launch
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.upload(new Float32Array([1, 2, 3]));
 * using y = device.allocate("float32", 3, { fill: 0 });
 * using graph = device.stream.capture(() => {
 *   device.kernels.scale(x, 2, x);
 *   device.kernels.add(x, y, y);
 * });
 * graph.launch();
 * graph.launch();
 * console.log(await y.toArray()); // Float32Array(3) [ 6, 12, 18 ]
 * ```
 *
 * @category Streams
 */
export class Graph implements Disposable {
  /** The device of the captured stream. */
  readonly context: DeviceContext;
  /** The number of operations; a nested graph counts as one. */
  readonly nodeCount: number;
  readonly #closers: ((streams: ReadonlySet<Stream>) => void)[] = [];
  readonly #launchListeners: ((stream: Stream) => void)[] = [];
  readonly #children: Graph[];
  /** The number of operations, with those of nested graphs. */
  readonly #size: number;
  readonly #streams = new Set<Stream>();
  #id: number;
  #lastStream: Stream | undefined;
  #holders = 1;
  #disposed = false;

  private constructor(context: DeviceContext, id: number, capture: RunningCapture) {
    this.context = context;
    this.nodeCount = graphNodeCount(context.library, id);
    this.#id = id;
    this.#children = [...capture.children];
    this.#size = this.nodeCount + capture.nestedNodes;
    context.retain();
  }

  static {
    graphOfCapture = (capture) => {
      const { context, id } = capture.stream;
      const { library, ordinal } = context;
      const handle = endCapture(library, ordinal, id);
      try {
        return new Graph(context, handle, capture);
      } catch (error) {
        giveBackAfterFailure({ [Symbol.dispose]: () => destroyGraph(library, ordinal, handle) });
        throw error;
      }
    };
    releaseGraph = (graph) => graph.#release([]);
  }

  /** The handle in the native library. */
  get id(): number {
    if (this.#disposed) throw new TypeError("Cannot use a graph as it is disposed");
    return this.#id;
  }

  /** Whether the graph is disposed. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Enqueues the graph's work after the stream's own work and after the previous launch, on any
   * stream. On a stream that is being captured the graph becomes part of the captured graph.
   *
   * @param stream A stream of this or another device of the same library; the device's default
   * stream if absent.
   * @throws {TypeError} If the graph or the stream is disposed, or they belong to different
   * libraries.
   * @throws {RangeError} If the stream is being captured, and the nested graphs of the capture would
   * have more than 131072 operations, because each level of nesting may double them.
   */
  launch(stream: Stream = defaultStream(this.context)): void {
    const { library, label } = this.context;
    requireInstance(stream, Stream, "stream", "launch a graph");
    if (stream.context.library !== library) {
      throw new TypeError(
        `Cannot launch a graph of ${label} on a stream of ${stream.context.label} as they belong to different libraries`,
      );
    }
    const graph = this.id;
    WorkOrder.of(stream).settleNow("launch a graph");
    const capture = captureOf(stream);
    if (capture !== undefined) this.#requireRoom(capture);
    const { ordinal } = stream.context;
    const heard = listenersOf(stream.context);
    if (heard === undefined) launchGraph(library, ordinal, stream.id, graph);
    else {
      const work = { kind: "graph", nodes: this.nodeCount } as const;
      enqueueHeard(heard, work, stream, launchGraph, library, ordinal, stream.id, graph);
    }
    if (capture !== undefined) this.#becomePartOf(capture);
    else if (stream !== this.#lastStream) {
      this.#lastStream = stream;
      this.#notifyLaunch(stream);
    }
  }

  #notifyLaunch(stream: Stream): void {
    for (const launched of this.#launchListeners) launched(stream);
    for (const child of this.#children) child.#notifyLaunch(stream);
  }

  /** A graph has a copy of each nested graph, for each of its launches. */
  #requireRoom(capture: RunningCapture): void {
    const nodes = capture.nestedNodes + this.#size;
    if (nodes <= MAX_NESTED_NODES) return;
    throw new RangeError(
      `Cannot launch a graph of ${this.#size} operations in a capture as its nested graphs must have at most ${MAX_NESTED_NODES} operations: they would have ${nodes}`,
    );
  }

  #becomePartOf(capture: RunningCapture): void {
    capture.nestedNodes += this.#size;
    if (capture.children.has(this)) return;
    capture.children.add(this);
    this.#holders++;
  }

  /**
   * Registers a function to call with each stream on which the graph, or a graph that contains it,
   * is launched, except for repeated launches on the same stream.
   */
  onLaunch(launched: (stream: Stream) => void): void {
    this.#launchListeners.push(launched);
  }

  /**
   * Registers a function to call when the graph is destroyed. Launches run one after the other, so
   * work enqueued on the given streams runs after all of them.
   */
  onDispose(close: (streams: ReadonlySet<Stream>) => void): void {
    this.#closers.push(close);
  }

  /** Destroys the graph. Its launches still complete, and graphs that contain it keep it alive. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#release([]);
    this.#disposed = true;
  }

  /**
   * Drops one reference: that of the owner or of a containing graph. The last one destroys the graph.
   *
   * @param streams The streams of the last launches of the containing graph.
   */
  #release(streams: Iterable<Stream>): void {
    for (const stream of streams) this.#streams.add(stream);
    if (this.#holders > 1) {
      this.#holders--;
      return;
    }
    if (this.#holders === 1) this.#close();
  }

  #close(): void {
    if (this.#lastStream !== undefined) this.#streams.add(this.#lastStream);
    const { library, ordinal } = this.context;
    giveBack(
      this.context,
      () =>
        // A step that fails stays registered for the next attempt.
        takeSteps([
          ...this.#closers.toReversed().map((close) => () => {
            close(this.#streams);
            this.#closers.pop();
          }),
          ...this.#children.toReversed().map((child) => () => {
            child.#release(this.#streams);
            this.#children.pop();
          }),
          () => destroyGraph(library, ordinal, this.#id),
        ]),
      () => {
        this.#holders = 0;
        this.context.release();
      },
    );
  }
}

displayAs(Graph.prototype, "Graph", {
  device: labelOf,
  id: ({ id }) => id,
  nodes: ({ nodeCount }) => nodeCount,
  disposed: ({ disposed }) => disposed,
});

const ACTION = "capture a stream";

const AsyncFunction = (async () => {}).constructor;

/** Captures the work that `body` enqueues; see {@linkcode Stream.capture}. */
export function captureWork(
  stream: Stream,
  body: () => void,
  options: Parameters<Stream["capture"]>[1] & object,
): Graph {
  requireBody(body);
  requireOptions(options, ["mode"], ACTION);
  const { mode: requested = "thread-local" } = options;
  const mode = requireMode(requested);
  if (captureOf(stream) !== undefined) {
    throw new TypeError(`Cannot ${ACTION} as it is being captured already`);
  }
  const capture = begin(stream, mode);
  let failure: { readonly error: unknown } | undefined;
  try {
    for (const observer of captureObservers()) observer.captureBegun(capture, stream);
    requireNoPromise(body());
  } catch (error) {
    failure = { error };
  }
  return end(capture, failure);
}

function begin(stream: Stream, mode: CaptureMode): RunningCapture {
  const { library, ordinal } = stream.context;
  WorkOrder.of(stream).settleNow(ACTION);
  refuseDuringDeviceWait(library, ACTION);
  beginCapture(library, ordinal, stream.id, mode);
  try {
    const { id } = queryCapture(library, ordinal, stream.id);
    const capture = new RunningCapture(stream, mode, id);
    addRunningCapture(capture);
    return capture;
  } catch (error) {
    giveBackAfterFailure({ [Symbol.dispose]: () => abandon(stream) });
    throw error;
  }
}

/** Ends a capture and destroys its graph. */
function abandon(stream: Stream): void {
  const { library, ordinal } = stream.context;
  destroyGraph(library, ordinal, endCapture(library, ordinal, stream.id));
}

function end(capture: RunningCapture, failure: { readonly error: unknown } | undefined): Graph {
  const errors: unknown[] = failure === undefined ? [] : [failure.error];
  const graph = endNative(capture, errors);
  removeRunningCapture(capture);
  for (const observer of captureObservers()) {
    attempt(errors, () => observer.captureEnded(capture, graph));
  }
  for (const act of capture.takeEndings()) attempt(errors, () => act(graph));
  if (graph === undefined) {
    for (const child of capture.children) attempt(errors, () => releaseGraph(child));
  }
  if (graph !== undefined && errors.length === 0) return graph;
  if (graph !== undefined) giveBackAfterFailure(graph);
  throw errors[0];
}

/** The graph of a capture; undefined after a failure, which is added to the errors. */
function endNative(capture: RunningCapture, errors: unknown[]): Graph | undefined {
  if (errors.length === 0) return attempt(errors, () => graphOfCapture(capture));
  // An error of the end would only repeat that the capture was invalidated.
  giveBackAfterFailure({ [Symbol.dispose]: () => abandon(capture.stream) });
  return undefined;
}

/** Collects an error, because every observer must be notified and every resource released. */
function attempt<T>(errors: unknown[], act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    errors.push(error);
    return undefined;
  }
}

function requireBody(body: unknown): asserts body is () => void {
  if (typeof body === "function" && !(body instanceof AsyncFunction)) return;
  const found = typeof body === "function" ? "an asynchronous one" : describeValue(body);
  throw new TypeError(`Cannot ${ACTION} as body must be a synchronous function: it is ${found}`);
}

/** Work enqueued after an `await` would not be captured. */
function requireNoPromise(returned: unknown): void {
  if (typeof (returned as PromiseLike<unknown> | undefined)?.then !== "function") return;
  // The error below replaces a rejection of the promise.
  Promise.resolve(returned as PromiseLike<unknown>).catch(() => {});
  throw new TypeError(`Cannot ${ACTION} as body must be synchronous: it returned a promise`);
}

function requireMode(mode: unknown): CaptureMode {
  if (typeof mode === "string" && Object.hasOwn(CAPTURE_MODES, mode)) return mode as CaptureMode;
  const allowed = Object.keys(CAPTURE_MODES).map((name) => JSON.stringify(name)).join(", ");
  throw new TypeError(
    `Cannot ${ACTION} as mode must be one of ${allowed}: it is ${describeValue(mode)}`,
  );
}
