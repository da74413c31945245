/**
 * Scratch memory of a stream, for operations of several launches.
 *
 * Work on a stream runs in order, so one workspace serves all operations of the stream without
 * waiting.
 *
 * @module
 */

import type { DeviceContext } from "../hardware/device_context.ts";
import { giveBack } from "../ffi/give_back.ts";
import { freeMemory } from "../ffi/native_memory.ts";
import { captureOf, type RunningCapture } from "../stream/running_captures.ts";
import type { Stream } from "../stream/stream.ts";
import { allocateDirectly } from "./allocation.ts";
import { bytesPerElement, type DType } from "./dtype.ts";

interface Workspace {
  address: number;
  bytes: number;
}

/** Minimum size of a workspace: growing waits for the device and should be rare. */
const MIN_BYTES = 64 * 1024;

// Raw memory, because a buffer on the default stream would keep the device open forever. Each launch
// of a graph writes to its workspaces, so a capture has its own, which the graph takes over.
const workspaces = new WeakMap<Stream | RunningCapture, Map<Stream, Workspace>>();

function release({ context: { library, ordinal }, context }: Stream, workspace: Workspace): void {
  if (workspace.bytes === 0) return;
  const free = () => freeMemory(library, ordinal, workspace.address);
  giveBack(context, free, () => workspace.bytes = 0);
}

/** An empty workspace that is released with its stream or, in a capture, with the graph. */
function makeWorkspace(stream: Stream, capture: RunningCapture | undefined): Workspace {
  const workspace: Workspace = { address: 0, bytes: 0 };
  const end = () => release(stream, workspace);
  if (capture === undefined) stream.onDispose(end);
  else capture.onEnd((graph) => graph === undefined ? end() : graph.onDispose(end));
  return workspace;
}

/** Scratch memory for elements of a type. Later work of the stream may overwrite it. */
export function workspaceMemory<D extends DType>(
  stream: Stream,
  dtype: D,
  length: number,
): ScratchMemory<D> {
  const address = workspaceAddress(stream, length * bytesPerElement(dtype));
  return { context: stream.context, dtype, address, length, disposed: false };
}

/** Elements in the workspace of a stream, which kernels take like a buffer. */
interface ScratchMemory<D extends DType> {
  readonly context: DeviceContext;
  readonly dtype: D;
  readonly address: number;
  readonly length: number;
  readonly disposed: false;
}

function workspaceAddress(stream: Stream, bytes: number): number {
  // Throws for a disposed stream, whose workspace would never be freed.
  void stream.id;
  const capture = captureOf(stream);
  const ofOwner = workspaces.get(capture ?? stream) ?? new Map<Stream, Workspace>();
  workspaces.set(capture ?? stream, ofOwner);
  let workspace = ofOwner.get(stream);
  if (workspace !== undefined && workspace.bytes >= bytes) return workspace.address;
  // The captured work so far uses a workspace that is too small now.
  if (workspace === undefined || capture !== undefined) {
    workspace = makeWorkspace(stream, capture);
    ofOwner.set(stream, workspace);
  }
  release(stream, workspace);
  const size = Math.max(MIN_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
  workspace.address = allocateDirectly(stream.context, size);
  workspace.bytes = size;
  return workspace.address;
}
