/**
 * Stream capture: recording the work of streams as a graph.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { giveBackAfterFailure } from "../ffi/give_back.ts";
import {
  beginCapture,
  CAPTURE_MODES,
  type CaptureMode,
  destroyGraph,
  endCapture,
  queryCapture,
} from "../ffi/native_graph.ts";
import { Graph } from "./graph.ts";
import {
  addRunningCapture,
  captureObservers,
  captureOf,
  refuseDuringDeviceWait,
  removeRunningCapture,
  RunningCapture,
} from "./running_captures.ts";
import type { Stream } from "./stream.ts";

/** Options of `stream.capture()`. */
export interface CaptureOptions {
  /**
   * Who may not make calls that a capture forbids, such as asking whether an event is done, or
   * waiting for another stream:
   *
   * - `"thread-local"`: this thread. The default.
   * - `"global"`: all threads of the process, so that their calls fail and spoil the capture.
   * - `"relaxed"`: nobody, as far as the captured streams are not concerned.
   */
  readonly mode?: CaptureMode;
}

const ACTION = "capture a stream";

const AsyncFunction = (async () => {}).constructor;

/**
 * Captures what body enqueues on a stream, and on streams that wait for events recorded on it.
 *
 * @throws {TypeError} If the stream is captured already, or body is asynchronous.
 * @throws {CudaError} If the capture was spoilt, or work of another stream was not joined.
 */
export function captureWork(stream: Stream, body: () => void, options: CaptureOptions): Graph {
  requireBody(body);
  requireObject(options, "options", ACTION);
  const { mode: wanted = "thread-local" } = options;
  const mode = requireMode(wanted);
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

/** Ends a capture whose graph nobody wants. */
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
    for (const child of capture.children) attempt(errors, () => child.release());
  }
  if (graph !== undefined && errors.length === 0) return graph;
  if (graph !== undefined) giveBackAfterFailure(graph);
  throw errors[0];
}

/** The graph of a capture, unless something has failed or does so now. */
function endNative(capture: RunningCapture, errors: unknown[]): Graph | undefined {
  if (errors.length === 0) return attempt(errors, () => Graph.ofCapture(capture));
  // That the capture was spoilt follows from the failure, or came before it and was told then.
  giveBackAfterFailure({ [Symbol.dispose]: () => abandon(capture.stream) });
  return undefined;
}

/** Keeps what is thrown: everybody is to hear of the end, and everything to be given back. */
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

/** What runs after an `await` would not be captured. */
function requireNoPromise(returned: unknown): void {
  if (typeof (returned as PromiseLike<unknown> | undefined)?.then !== "function") return;
  // The error below is what the caller is told; the promise has nobody else to tell of its own.
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
