/**
 * Streams and events.
 *
 * @module
 */

import { check, statusError } from "./check.ts";
import { OPERAND, RESULT, STREAM } from "./command_block.ts";
import { checkInt32, checkSize } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";

/** Creates a non-blocking stream and returns its handle. */
export function createStream(library: NativeLibrary, device: number, priority: number): number {
  const action = "create a stream";
  checkInt32(device, "device", action);
  const urgency = checkInt32(priority, "priority", action);
  check(
    library,
    library.symbols.gs_stream_create(device, urgency, library.result),
    action,
    device,
  );
  return library.result[0]!;
}

/** Destroys a stream; what is enqueued still completes. */
export function destroyStream(library: NativeLibrary, device: number, stream: number): void {
  checkInt32(stream, "handle", "destroy a stream");
  check(library, library.symbols.gs_stream_destroy(stream), "destroy a stream", device);
}

/** The range of priorities; a smaller number is more urgent. */
export function streamPriorities(
  library: NativeLibrary,
  device: number,
): { least: number; greatest: number } {
  const action = "read the stream priorities";
  checkInt32(device, "device", action);
  check(library, library.symbols.gs_stream_priorities(device, library.result), action, device);
  return { least: library.result[0]!, greatest: library.result[1]! };
}

/** A handle for a `cudaStream_t` of another library. */
export function adoptStream(library: NativeLibrary, device: number, address: number): number {
  const action = "adopt a stream";
  checkInt32(device, "device", action);
  checkSize(address, "handle", action);
  check(library, library.symbols.gs_stream_adopt(device, address, library.result), action, device);
  return library.result[0]!;
}

/** The `cudaStream_t` behind a handle. */
export function streamAddress(library: NativeLibrary, stream: number): number {
  const action = "read a stream's address";
  checkInt32(stream, "handle", action);
  check(library, library.symbols.gs_stream_address(stream, library.result), action);
  return library.result[0]!;
}

/** Whether all work enqueued on a stream is done. */
export function queryStream(library: NativeLibrary, device: number, stream: number): boolean {
  library.block[STREAM] = stream;
  const status = library.symbols.gs_stream_query();
  if (status !== 0) throw statusError(library, status, { action: "query a stream", device });
  return library.block[RESULT] === 1;
}

/** Makes later work of a stream wait for an event. */
export function waitForEvent(
  library: NativeLibrary,
  device: number,
  stream: number,
  event: number,
): void {
  library.block[STREAM] = stream;
  library.block[OPERAND] = event;
  const status = library.symbols.gs_stream_wait();
  if (status !== 0) {
    throw statusError(library, status, { action: "make a stream wait for an event", device });
  }
}

/** Waits, blocking this thread, for the work of a stream. */
export function synchronizeStreamSync(
  library: NativeLibrary,
  device: number,
  stream: number,
): void {
  const action = "wait for a stream";
  checkInt32(stream, "handle", action);
  check(library, library.symbols.gs_stream_synchronize(stream), action, device);
}

/** Creates an event: for timing, or for waiting. */
export function createEvent(library: NativeLibrary, device: number, timing: boolean): number {
  const action = "create an event";
  checkInt32(device, "device", action);
  check(
    library,
    library.symbols.gs_event_create(device, timing ? 1 : 0, library.result),
    action,
    device,
  );
  return library.result[0]!;
}

/** Forgets an event. */
export function destroyEvent(library: NativeLibrary, device: number, event: number): void {
  checkInt32(event, "handle", "destroy an event");
  check(library, library.symbols.gs_event_destroy(event), "destroy an event", device);
}

/** Records an event on a stream. */
export function recordEvent(
  library: NativeLibrary,
  device: number,
  stream: number,
  event: number,
): void {
  library.block[STREAM] = stream;
  library.block[OPERAND] = event;
  const status = library.symbols.gs_event_record();
  if (status !== 0) throw statusError(library, status, { action: "record an event", device });
}

/** Whether an event's last record is done. */
export function queryEvent(library: NativeLibrary, device: number, event: number): boolean {
  library.block[OPERAND] = event;
  const status = library.symbols.gs_event_query();
  if (status !== 0) throw statusError(library, status, { action: "query an event", device });
  return library.block[RESULT] === 1;
}

/** Waits, blocking this thread, for an event's last record. */
export function synchronizeEventSync(
  library: NativeLibrary,
  device: number,
  event: number,
): void {
  const action = "wait for an event";
  checkInt32(event, "handle", action);
  check(library, library.symbols.gs_event_synchronize(event), action, device);
}

/** Waits for an event's last record without blocking the event loop. */
export async function synchronizeEvent(
  library: NativeLibrary,
  device: number,
  event: number,
): Promise<void> {
  const action = "wait for an event";
  checkInt32(event, "handle", action);
  const status = await library.symbols.gs_event_synchronize_async(event);
  if (status !== 0) {
    throw statusError(library, status, { action, device, call: "cudaEventSynchronize" });
  }
}

/** Milliseconds between two completed timing events. */
export function elapsedMilliseconds(
  library: NativeLibrary,
  device: number,
  start: number,
  end: number,
): number {
  const action = "measure the time between two events";
  checkInt32(start, "start", action);
  checkInt32(end, "end", action);
  check(library, library.symbols.gs_event_elapsed(start, end, library.result), action, device);
  return library.result[0]!;
}
