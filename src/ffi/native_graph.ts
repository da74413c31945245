/**
 * Stream capture and graphs.
 *
 * @module
 */

import { check, statusError } from "./check.ts";
import { OPERAND, STREAM } from "./command_block.ts";
import { checkInt32 } from "./integers.ts";
import type { NativeLibrary } from "./library.ts";

/** Which threads a capture keeps from calls that it forbids. */
export type CaptureMode = "global" | "thread-local" | "relaxed";

/** CUDA's numbers of the modes. */
export const CAPTURE_MODES: Readonly<Record<CaptureMode, number>> = {
  "global": 0,
  "thread-local": 1,
  "relaxed": 2,
};

/** What a stream says of its capture. */
export interface CaptureState {
  /** `spoilt` when a forbidden call was made: the capture will fail when it ends. */
  readonly status: "none" | "active" | "spoilt";
  /** Which capture it is, unique in the process; told only while it is active. */
  readonly id: number;
}

const CAPTURE_STATUSES = ["none", "active", "spoilt"] as const;

/** Begins to capture the work of a stream. */
export function beginCapture(
  library: NativeLibrary,
  device: number,
  stream: number,
  mode: CaptureMode,
): void {
  const action = "capture a stream";
  checkInt32(stream, "handle", action);
  check(library, library.symbols.gs_stream_capture(stream, CAPTURE_MODES[mode]), action, device);
}

/** Ends a capture, also where this throws; returns the handle of the graph. */
export function endCapture(library: NativeLibrary, device: number, stream: number): number {
  const action = "make a graph of the captured work of a stream";
  checkInt32(stream, "handle", action);
  check(library, library.symbols.gs_stream_capture_end(stream, library.result), action, device);
  return library.result[0]!;
}

/** Whether a stream is captured, and by which capture. */
export function queryCapture(
  library: NativeLibrary,
  device: number,
  stream: number,
): CaptureState {
  const action = "ask whether a stream is captured";
  checkInt32(stream, "handle", action);
  check(library, library.symbols.gs_stream_capture_query(stream, library.result), action, device);
  return { status: CAPTURE_STATUSES[library.result[0]!] ?? "none", id: library.result[1]! };
}

/** Enqueues all work of a graph. */
export function launchGraph(
  library: NativeLibrary,
  device: number,
  stream: number,
  graph: number,
): void {
  library.block[STREAM] = stream;
  library.block[OPERAND] = graph;
  const status = library.symbols.gs_graph_launch();
  if (status !== 0) throw statusError(library, status, { action: "launch a graph", device });
}

/** The number of nodes of a graph. */
export function graphNodeCount(library: NativeLibrary, graph: number): number {
  const action = "count the nodes of a graph";
  checkInt32(graph, "handle", action);
  check(library, library.symbols.gs_graph_nodes(graph, library.result), action);
  return library.result[0]!;
}

/** Forgets a graph; launches of it still complete. */
export function destroyGraph(library: NativeLibrary, device: number, graph: number): void {
  const action = "destroy a graph";
  checkInt32(graph, "handle", action);
  check(library, library.symbols.gs_graph_destroy(graph), action, device);
}
