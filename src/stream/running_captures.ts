/**
 * The running captures of this isolate, and checks for calls that captures forbid.
 *
 * A forbidden call fails and also invalidates the capture, which then fails at its end, far from the
 * cause. Functions that wait or query therefore check here first.
 *
 * @module
 */

import { type CaptureMode, queryCapture } from "../ffi/native_stream.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import type { Graph } from "./graph.ts";
import type { Stream } from "./stream.ts";

/** An observer of captures. */
export interface CaptureObserver {
  /** A capture began on a stream. The token is the same for all streams that join it. */
  captureBegun(token: object, stream: Stream): void;
  /** The capture ended; its graph is `undefined` if it failed. */
  captureEnded(token: object, graph: Graph | undefined): void;
}

/** A running capture; the object is its own token. */
export class RunningCapture {
  /** The stream on which the capture began. */
  readonly stream: Stream;
  /** The threads in which waiting is forbidden. */
  readonly mode: CaptureMode;
  /** The id in the native library. */
  readonly id: number;
  /** Graphs launched on the captured streams, which become part of the graph. */
  readonly children: Set<Graph> = new Set();
  /** The number of operations of these graphs, for each of their launches. */
  nestedNodes = 0;
  readonly #kept = new Map<object, (stream: Stream) => unknown>();
  readonly #endings: ((graph: Graph | undefined) => void)[] = [];

  /** Makes the record of a capture that has begun. */
  constructor(stream: Stream, mode: CaptureMode, id: number) {
    this.stream = stream;
    this.mode = mode;
    this.id = id;
  }

  /** The library of the captured streams. */
  get library(): NativeLibrary {
    return this.stream.context.library;
  }

  /** Registers a function to call at the end with the graph, or `undefined` after a failure. */
  onEnd(act: (graph: Graph | undefined) => void): void {
    this.#endings.push(act);
  }

  /**
   * Keeps memory that the captured work uses reachable as long as the graph.
   *
   * @param launched Refers to the memory; called with each stream that the graph is launched on.
   */
  keep(memory: object, launched: (stream: Stream) => unknown): void {
    if (this.#kept.size === 0) {
      this.onEnd((graph) => {
        // The record of a capture outlives it.
        const listeners = [...this.#kept.values()];
        this.#kept.clear();
        graph?.onLaunch((stream) => {
          for (const notify of listeners) notify(stream);
        });
      });
    }
    this.#kept.set(memory, launched);
  }

  /** Removes and returns the registered functions. */
  takeEndings(): readonly ((graph: Graph | undefined) => void)[] {
    return this.#endings.splice(0);
  }
}

// Bodies are synchronous, so captures of an isolate are nested: the last one began last.
const running: RunningCapture[] = [];
const observers: CaptureObserver[] = [];
// CUDA does not report which capture was invalidated.
const lastCapture = new WeakMap<Stream, RunningCapture>();

/** Whether this isolate is capturing a stream. */
export function isCapturing(): boolean {
  return running.length !== 0;
}

/**
 * Registers an observer of captures.
 *
 * @returns Removes the registration.
 */
export function observeCaptures(observer: CaptureObserver): () => void {
  observers.push(observer);
  return () => {
    const place = observers.indexOf(observer);
    if (place >= 0) observers.splice(place, 1);
  };
}

/** The registered observers. */
export function captureObservers(): readonly CaptureObserver[] {
  return [...observers];
}

/** Adds a capture that has begun. */
export function addRunningCapture(capture: RunningCapture): void {
  running.push(capture);
  capture.library.interruptions++;
  lastCapture.set(capture.stream, capture);
}

/** Removes a capture that has ended. */
export function removeRunningCapture(capture: RunningCapture): void {
  running.splice(running.indexOf(capture), 1);
  capture.library.interruptions++;
}

/** The running capture of a stream. Costs a native call only while a capture is running. */
export function captureOf(stream: Stream): RunningCapture | undefined {
  if (running.length === 0 || stream.disposed) return undefined;
  const { library, ordinal } = stream.context;
  const { status, id } = queryCapture(library, ordinal, stream.id);
  if (status === "none") return undefined;
  const known = running.filter((capture) => capture.library === library);
  if (status === "spoilt") {
    const last = lastCapture.get(stream);
    return last !== undefined && running.includes(last) ? last : known.at(-1);
  }
  const capture = known.find((each) => each.id === id);
  if (capture !== undefined) lastCapture.set(stream, capture);
  return capture;
}

/** Throws if a stream is being captured. */
export function refuseCaptured(stream: Stream, action: string, reason: string): void {
  if (captureOf(stream) === undefined) return;
  throw new TypeError(`Cannot ${action} as the stream is being captured: ${reason}`);
}

/** Throws if a running capture forbids waiting and queries. */
export function refuseWhileCapturing(library: NativeLibrary, action: string): void {
  if (running.length === 0) return;
  if (!running.some((each) => each.library === library && each.mode !== "relaxed")) return;
  throw new TypeError(
    `Cannot ${action} while a stream is being captured: do it before, or capture with { mode: "relaxed" }`,
  );
}

/** Throws if waiting for a stream or querying it would invalidate a capture. */
export function refuseWaiting(stream: Stream, action: string): void {
  if (running.length === 0) return;
  refuseCaptured(stream, action, "its work runs when the graph is launched");
  refuseWhileCapturing(stream.context.library, action);
}

/**
 * Throws if a stream and an event belong to different captures: running and captured work cannot
 * wait for each other.
 *
 * @param capture The capture in which the event was last recorded, even if it has ended.
 */
export function refuseEventOfOtherCapture(
  stream: Stream,
  capture: RunningCapture | undefined,
): void {
  const own = captureOf(stream);
  if (own === capture) return;
  if (own !== undefined) {
    throw new TypeError(
      "Cannot wait for the event as the stream is being captured: the event must be recorded in the same capture",
    );
  }
  // The stream joins the event's running capture.
  if (running.includes(capture!)) return;
  throw new TypeError(
    "Cannot wait for the event as it was recorded in a capture that has ended: record it again",
  );
}

/** Throws if a capture is running, because waiting for a whole device invalidates every capture. */
export function refuseDeviceWait(library: NativeLibrary, action: string): void {
  if (!running.some((each) => each.library === library)) return;
  throw new TypeError(
    `Cannot ${action} while a stream is being captured: that waits for the whole device`,
  );
}

// A pending wait for a whole device on another thread also invalidates captures, and may reach its
// native call late.
const deviceWaits = new Map<NativeLibrary, number>();

/** Runs a wait for a whole device on another thread; no capture may begin until it ends. */
export async function duringDeviceWait<T>(
  library: NativeLibrary,
  wait: () => Promise<T>,
): Promise<T> {
  deviceWaits.set(library, (deviceWaits.get(library) ?? 0) + 1);
  try {
    return await wait();
  } finally {
    deviceWaits.set(library, deviceWaits.get(library)! - 1);
  }
}

/** Throws if a pending wait for a device would invalidate a new capture. */
export function refuseDuringDeviceWait(library: NativeLibrary, action: string): void {
  if ((deviceWaits.get(library) ?? 0) === 0) return;
  throw new TypeError(
    `Cannot ${action} while a wait for the whole device is pending: await it first`,
  );
}
