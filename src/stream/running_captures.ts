/**
 * The captures that are running in this isolate, and what may not be done meanwhile.
 *
 * A forbidden call does not only fail: it spoils the capture, which then fails when it ends, far
 * from the cause. So what waits asks here before it calls.
 *
 * @module
 */

import { type CaptureMode, queryCapture } from "../ffi/native_graph.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import type { Graph } from "./graph.ts";
import type { Stream } from "./stream.ts";

/** Who hears of captures; the layers above keep memory for them. */
export interface CaptureObserver {
  /** A capture has begun on a stream. The token is the same for all streams that join it. */
  captureBegun(token: object, stream: Stream): void;
  /** It is over; `undefined` when it has failed, so that nobody will ever launch what it holds. */
  captureEnded(token: object, graph: Graph | undefined): void;
}

/** A capture, from its begin to its end; it is the token that identifies it. */
export class RunningCapture {
  /** The stream that it began on. */
  readonly stream: Stream;
  /** Whether it keeps this thread from what waits for other work. */
  readonly mode: CaptureMode;
  /** The number by which the library knows it. */
  readonly id: number;
  /** Graphs launched on its streams, which have become part of its own. */
  readonly children: Set<Graph> = new Set();
  readonly #endings: ((graph: Graph | undefined) => void)[] = [];

  /** Notes a capture that has begun. */
  constructor(stream: Stream, mode: CaptureMode, id: number) {
    this.stream = stream;
    this.mode = mode;
    this.id = id;
  }

  /** The library whose streams it captures. */
  get library(): NativeLibrary {
    return this.stream.context.library;
  }

  /** Registers what is to be done at its end, with its graph or `undefined` when it has failed. */
  onEnd(act: (graph: Graph | undefined) => void): void {
    this.#endings.push(act);
  }

  /** What is to be done at its end, once. */
  takeEndings(): readonly ((graph: Graph | undefined) => void)[] {
    return this.#endings.splice(0);
  }
}

// Bodies are synchronous, so captures of an isolate are nested: the last one began last.
const running: RunningCapture[] = [];
const observers: CaptureObserver[] = [];
// CUDA does not tell which capture it is that was spoilt.
const lastCapture = new WeakMap<Stream, RunningCapture>();

/** Whether this isolate is capturing a stream. */
export function isCapturing(): boolean {
  return running.length !== 0;
}

/**
 * Registers who hears of captures.
 *
 * @returns Takes the registration back.
 */
export function observeCaptures(observer: CaptureObserver): () => void {
  observers.push(observer);
  return () => {
    const place = observers.indexOf(observer);
    if (place >= 0) observers.splice(place, 1);
  };
}

/** Those who hear of captures now. */
export function captureObservers(): readonly CaptureObserver[] {
  return [...observers];
}

/** Notes that a capture has begun. */
export function addRunningCapture(capture: RunningCapture): void {
  running.push(capture);
  capture.library.interruptions++;
  lastCapture.set(capture.stream, capture);
}

/** Notes that a capture is over. */
export function removeRunningCapture(capture: RunningCapture): void {
  running.splice(running.indexOf(capture), 1);
  capture.library.interruptions++;
}

/**
 * The running capture that a stream is part of. Costs a comparison while nothing is captured, and
 * a native call otherwise.
 */
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

/**
 * Refuses what a captured stream cannot do.
 *
 * @throws {TypeError} If the stream is captured.
 */
export function refuseCaptured(stream: Stream, action: string, reason: string): void {
  if (captureOf(stream) === undefined) return;
  throw new TypeError(`Cannot ${action} as the stream is being captured: ${reason}`);
}

/**
 * Refuses what would spoil a running capture unless it is relaxed.
 *
 * @throws {TypeError} If one is running.
 */
export function refuseWhileCapturing(library: NativeLibrary, action: string): void {
  if (running.length === 0) return;
  if (!running.some((each) => each.library === library && each.mode !== "relaxed")) return;
  throw new TypeError(
    `Cannot ${action} while a stream is being captured: do it before, or capture with { mode: "relaxed" }`,
  );
}

/**
 * Refuses to ask for, or wait for, the work of a stream when that would spoil a capture.
 *
 * @throws {TypeError} If it would.
 */
export function refuseWaiting(stream: Stream, action: string): void {
  if (running.length === 0) return;
  refuseCaptured(stream, action, "its work runs when the graph is launched");
  refuseWhileCapturing(stream.context.library, action);
}

/**
 * Refuses to let a stream wait for an event that its capture, or the event's, has nothing to do
 * with: what runs and what is captured cannot wait for each other.
 *
 * @param capture The capture that the event was last recorded in, also when that is over.
 * @throws {TypeError} If that is so.
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
  // A stream that is not captured joins a running capture.
  if (running.includes(capture!)) return;
  throw new TypeError(
    "Cannot wait for the event as it was recorded in a capture that is over: record it anew",
  );
}

/**
 * Refuses to wait for whole devices, which spoils every capture.
 *
 * @throws {TypeError} If a capture is running.
 */
export function refuseDeviceWait(library: NativeLibrary, action: string): void {
  if (!running.some((each) => each.library === library)) return;
  throw new TypeError(
    `Cannot ${action} while a stream is being captured: that waits for the whole device`,
  );
}

// A wait for a whole device that a thread of the runtime has begun spoils captures as well, and may
// get to its native call late.
const deviceWaits = new Map<NativeLibrary, number>();

/** Waits for whole devices on another thread; no capture may begin meanwhile. */
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

/**
 * Refuses to begin a capture that a wait for a device may spoil.
 *
 * @throws {TypeError} If one is under way.
 */
export function refuseDuringDeviceWait(library: NativeLibrary, action: string): void {
  if ((deviceWaits.get(library) ?? 0) === 0) return;
  throw new TypeError(
    `Cannot ${action} while a wait for the whole device is under way: await it first`,
  );
}
