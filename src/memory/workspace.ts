/**
 * Scratch memory of a stream, for operations of several launches.
 *
 * Work on a stream runs in order, so one workspace serves all operations of the stream without
 * waiting.
 *
 * @module
 */

import { giveBack } from "../ffi/give_back.ts";
import { freeMemory } from "../ffi/native_memory.ts";
import { captureOf, type RunningCapture } from "../stream/running_captures.ts";
import type { Stream } from "../stream/stream.ts";
import { allocateDirectly } from "./allocation.ts";

interface Workspace {
  address: number;
  bytes: number;
}

// Raw memory, because a buffer on the default stream would keep the device open forever.
const workspaces = new WeakMap<Stream, Workspace>();

/** Minimum size of a workspace: growing waits for the device and should be rare. */
const MIN_BYTES = 64 * 1024;

function release(stream: Stream, workspace: Workspace): void {
  if (workspace.bytes === 0) return;
  giveBack(
    stream.context,
    () => freeMemory(stream.context.library, stream.context.ordinal, workspace.address),
    () => workspace.bytes = 0,
  );
}

// Each launch of a graph writes to its workspaces, so the graph owns them.
const graphWorkspaces = new WeakMap<RunningCapture, Map<Stream, Workspace>>();

/** The workspaces of a capture, which its graph takes over. */
function workspacesOf(capture: RunningCapture): Map<Stream, Workspace> {
  const known = graphWorkspaces.get(capture);
  if (known !== undefined) return known;
  const made = new Map<Stream, Workspace>();
  graphWorkspaces.set(capture, made);
  return made;
}

/** Frees a workspace together with the graph of a capture. */
function releaseWithGraph(capture: RunningCapture, stream: Stream, workspace: Workspace): void {
  capture.onEnd((graph) => {
    if (graph === undefined) release(stream, workspace);
    else graph.onDispose(() => release(stream, workspace));
  });
}

function capturedWorkspace(capture: RunningCapture, stream: Stream, bytes: number): number {
  const workspaces = workspacesOf(capture);
  const known = workspaces.get(stream);
  if (known !== undefined && known.bytes >= bytes) return known.address;
  const size = sizeFor(bytes);
  const made = { address: allocateDirectly(stream.context, size), bytes: size };
  releaseWithGraph(capture, stream, made);
  workspaces.set(stream, made);
  return made.address;
}

function sizeFor(bytes: number): number {
  return Math.max(MIN_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
}

/**
 * The address of at least `bytes` of scratch memory. Later work of the stream may overwrite it.
 *
 * @throws {OutOfMemoryError} If the device has no room.
 * @throws {TypeError} If the stream is disposed.
 */
export function workspaceAddress(stream: Stream, bytes: number): number {
  // Throws for a disposed stream, whose workspace would never be freed.
  void stream.id;
  const capture = captureOf(stream);
  if (capture !== undefined) return capturedWorkspace(capture, stream, bytes);
  let workspace = workspaces.get(stream);
  if (workspace === undefined) {
    const created: Workspace = { address: 0, bytes: 0 };
    workspaces.set(stream, created);
    stream.onDispose(() => release(stream, created));
    workspace = created;
  }
  if (workspace.bytes >= bytes) return workspace.address;
  const size = sizeFor(bytes);
  release(stream, workspace);
  workspace.address = allocateDirectly(stream.context, size);
  workspace.bytes = size;
  return workspace.address;
}
