/**
 * Scratch memory of a stream: what an operation of several launches keeps between them.
 *
 * Work on a stream runs in order, so one workspace per stream serves all operations on it, one
 * after another, without waiting.
 *
 * @module
 */

import { giveBack } from "../ffi/give_back.ts";
import { freeMemory } from "../ffi/native_memory.ts";
import { captureOf, type RunningCapture } from "../stream/running_captures.ts";
import type { Stream } from "../stream/stream.ts";
import { allocateDirectly } from "./direct_memory.ts";

interface Workspace {
  address: number;
  bytes: number;
}

// Raw memory, not a buffer: a buffer would hold the device open as long as its default stream
// lives, which is as long as the device is open.
const workspaces = new WeakMap<Stream, Workspace>();

/** The smallest workspace, so that it seldom grows: growing waits for the device. */
const SMALLEST = 64 * 1024;

function release(stream: Stream, workspace: Workspace): void {
  if (workspace.bytes === 0) return;
  giveBack(
    stream.context,
    () => freeMemory(stream.context.library, stream.context.ordinal, workspace.address),
    () => workspace.bytes = 0,
  );
}

// A graph writes to its workspaces with every launch: none that later work outgrows will do.
const graphWorkspaces = new WeakMap<RunningCapture, Map<Stream, Workspace>>();

/** The workspaces of a capture, which belong to its graph when it is over. */
function workspacesOf(capture: RunningCapture): Map<Stream, Workspace> {
  const known = graphWorkspaces.get(capture);
  if (known !== undefined) return known;
  const made = new Map<Stream, Workspace>();
  graphWorkspaces.set(capture, made);
  return made;
}

/** Gives a workspace back with the graph of a capture. */
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
  return Math.max(SMALLEST, 2 ** Math.ceil(Math.log2(bytes)));
}

/**
 * The address of at least this many bytes that later work of the stream may overwrite.
 *
 * @throws {OutOfMemoryError} If the device has no room.
 * @throws {TypeError} If the stream is disposed.
 */
export function workspaceAddress(stream: Stream, bytes: number): number {
  // Nobody would give back what is allocated for a stream that is disposed: its handle is refused.
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
