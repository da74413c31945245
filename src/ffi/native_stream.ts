/**
 * Streams, events, captures and graphs.
 *
 * @module
 */

import { checkSize } from "./arguments.ts";
import { call, callStatus, check, statusError, withOperands } from "./check.ts";
import { RESULT } from "./command_block.ts";
import type { NativeLibrary } from "./library.ts";

/** `GS_ERROR_UNSUPPORTED`. */
const UNSUPPORTED = -7;

/** Creates a non-blocking stream and returns its handle. */
export function createStream(library: NativeLibrary, device: number, priority: number): number {
  const context = { action: "create a stream", device };
  return call(library, "gs_stream_create", context, device, priority)[0]!;
}

/** Destroys a stream; its enqueued work still completes. */
export function destroyStream(library: NativeLibrary, device: number, stream: number): void {
  call(library, "gs_stream_destroy", { action: "destroy a stream", device }, stream);
}

/** The range of priorities; a smaller number is more urgent. */
export function streamPriorities(
  library: NativeLibrary,
  device: number,
): { least: number; greatest: number } {
  const context = { action: "read the stream priorities", device };
  const [least, greatest] = call(library, "gs_stream_priorities", context, device);
  return { least: least!, greatest: greatest! };
}

export function adoptStream(library: NativeLibrary, device: number, address: number): number {
  const context = { action: "adopt a stream", device };
  // The caller passes the address as `handle`.
  checkSize(address, "handle", context.action);
  return call(library, "gs_stream_adopt", context, device, address)[0]!;
}

export function streamAddress(library: NativeLibrary, stream: number): number {
  return call(library, "gs_stream_address", { action: "read a stream's address" }, stream)[0]!;
}

export function queryStream(library: NativeLibrary, device: number, stream: number): boolean {
  check(library, withOperands(library, device, stream).gs_stream_query(), "query a stream", device);
  return library.block[RESULT] === 1;
}

export function waitForEvent(
  library: NativeLibrary,
  device: number,
  stream: number,
  event: number,
): void {
  const status = withOperands(library, device, stream, event).gs_stream_wait();
  if (status !== 0) check(library, status, "make a stream wait for an event", device);
}

export function synchronizeStreamSync(
  library: NativeLibrary,
  device: number,
  stream: number,
): void {
  call(library, "gs_stream_synchronize", { action: "wait for a stream", device }, stream);
}

export function createEvent(
  library: NativeLibrary,
  device: number,
  timing: boolean,
  action = "create an event",
): number {
  const context = { action, device };
  return call(library, "gs_event_create", context, device, timing ? 1 : 0)[0]!;
}

export function destroyEvent(library: NativeLibrary, device: number, event: number): void {
  call(library, "gs_event_destroy", { action: "destroy an event", device }, event);
}

export function recordEvent(
  library: NativeLibrary,
  device: number,
  stream: number,
  event: number,
): void {
  const status = withOperands(library, device, stream, event).gs_event_record();
  if (status !== 0) check(library, status, "record an event", device);
}

/**
 * Records an event after all work that its device has by now, of all streams and libraries.
 *
 * @returns Whether the driver can.
 */
export function recordDevice(
  library: NativeLibrary,
  device: number,
  event: number,
  action: string,
): boolean {
  const status = callStatus(library, "gs_event_record_device", action, device, event);
  if (status === UNSUPPORTED) return false;
  check(library, status, action, device);
  return true;
}

export function queryEvent(
  library: NativeLibrary,
  device: number,
  event: number,
  action = "query an event",
): boolean {
  const status = withOperands(library, device, 0, event).gs_event_query();
  if (status !== 0) check(library, status, action, device);
  return library.block[RESULT] === 1;
}

const WAIT_FOR_EVENT = "wait for an event";

export function synchronizeEventSync(
  library: NativeLibrary,
  device: number,
  event: number,
  action = WAIT_FOR_EVENT,
): void {
  call(library, "gs_event_synchronize", { action, device }, event);
}

/** Ended waits that a call takes from the waiter. */
const ENDED_WAITS = 256;

interface PendingWait extends PromiseWithResolvers<void> {
  readonly device: number;
  readonly action: string;
}

/**
 * The pending waits of a library for events. However many there are, they take one thread: the
 * library polls for all of them in one nonblocking call, which runs only while a wait is pending.
 */
class EventWaits {
  readonly #library: NativeLibrary;
  readonly #waiter: number;
  readonly #pending = new Map<number, PendingWait>();
  readonly #ended = new Float64Array(2 * ENDED_WAITS);
  #lastTicket = 0;
  #isRunning = false;

  constructor(library: NativeLibrary) {
    this.#library = library;
    this.#waiter = call(library, "gs_waiter_create", { action: WAIT_FOR_EVENT })[0]!;
  }

  add(device: number, event: number, action: string): Promise<void> {
    const ticket = ++this.#lastTicket;
    const context = { action, device };
    call(this.#library, "gs_waiter_add", context, this.#waiter, event, ticket);
    const wait = { device, action, ...Promise.withResolvers<void>() };
    this.#pending.set(ticket, wait);
    if (!this.#isRunning) void this.#run();
    return wait.promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#pending.size > 0) {
      const status = await this.#library.symbols.gs_waiter_next_async(this.#waiter);
      if (status === 0) this.#settleEnded();
      else for (const ticket of [...this.#pending.keys()]) this.#settle(ticket, status);
    }
    this.#isRunning = false;
  }

  #settleEnded(): void {
    const { result, symbols } = this.#library;
    for (let count = ENDED_WAITS; count === ENDED_WAITS;) {
      const status = symbols.gs_waiter_take(this.#waiter, this.#ended, ENDED_WAITS, result);
      count = status === 0 ? result[0]! : 0;
      for (let index = 0; index < 2 * count; index += 2) {
        this.#settle(this.#ended[index]!, this.#ended[index + 1]!);
      }
    }
  }

  #settle(ticket: number, status: number): void {
    const wait = this.#pending.get(ticket);
    if (wait === undefined) return;
    this.#pending.delete(ticket);
    if (status === 0) return wait.resolve();
    const { device, action } = wait;
    const context = { action, device, call: "cudaEventQuery" };
    wait.reject(statusError(this.#library, status, context));
  }
}

const eventWaits = new WeakMap<NativeLibrary, EventWaits>();

/**
 * Waits for the last record of an event without blocking this thread. The event may be destroyed
 * meanwhile, but not recorded again.
 */
export function synchronizeEvent(
  library: NativeLibrary,
  device: number,
  event: number,
  action = WAIT_FOR_EVENT,
): Promise<void> {
  let waits = eventWaits.get(library);
  if (waits === undefined) eventWaits.set(library, waits = new EventWaits(library));
  return waits.add(device, event, action);
}

export function elapsedMilliseconds(
  library: NativeLibrary,
  device: number,
  start: number,
  end: number,
): number {
  const context = { action: "measure the time between two events", device };
  return call(library, "gs_event_elapsed", context, start, end)[0]!;
}

/** The threads that a capture prevents from making unsafe calls. */
export type CaptureMode = "global" | "thread-local" | "relaxed";

/** CUDA's numbers of the modes. */
export const CAPTURE_MODES: Readonly<Record<CaptureMode, number>> = {
  "global": 0,
  "thread-local": 1,
  "relaxed": 2,
};

/** `spoilt` after a forbidden call: the end of the capture will fail. */
const CAPTURE_STATUSES = ["none", "active", "spoilt"] as const;

export function beginCapture(
  library: NativeLibrary,
  device: number,
  stream: number,
  mode: CaptureMode,
): void {
  const context = { action: "capture a stream", device };
  call(library, "gs_stream_capture", context, stream, CAPTURE_MODES[mode]);
}

/** Ends a capture, also if it throws, and returns the handle of the graph. */
export function endCapture(library: NativeLibrary, device: number, stream: number): number {
  const context = { action: "make a graph of the captured work of a stream", device };
  return call(library, "gs_stream_capture_end", context, stream)[0]!;
}

/** The state of a stream's capture, and its number, which is unique in the process. */
export function queryCapture(
  library: NativeLibrary,
  device: number,
  stream: number,
): { status: typeof CAPTURE_STATUSES[number]; id: number } {
  const context = { action: "query the capture of a stream", device };
  const [status, id] = call(library, "gs_stream_capture_query", context, stream);
  return { status: CAPTURE_STATUSES[status!] ?? "none", id: id! };
}

export function launchGraph(
  library: NativeLibrary,
  device: number,
  stream: number,
  graph: number,
): void {
  const status = withOperands(library, device, stream, graph).gs_graph_launch();
  if (status !== 0) check(library, status, "launch a graph", device);
}

export function graphNodeCount(library: NativeLibrary, graph: number): number {
  return call(library, "gs_graph_nodes", { action: "count the nodes of a graph" }, graph)[0]!;
}

/** Destroys a graph; its launches still complete. */
export function destroyGraph(library: NativeLibrary, device: number, graph: number): void {
  call(library, "gs_graph_destroy", { action: "destroy a graph", device }, graph);
}
