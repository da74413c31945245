/**
 * Copies on a stream, reported to the listeners of its device.
 *
 * @module
 */

import {
  copyDevice,
  copyFromPinned,
  copyPeer,
  copyToDeviceSync,
  copyToHostSync,
  copyToPinned,
  type HostMemory,
} from "../ffi/native_memory.ts";
import {
  type CopyDirection,
  type CopyHostMemory,
  type CopyWork,
  enqueueHeard,
  listenersOf,
} from "../stream/activity.ts";
import type { Stream } from "../stream/stream.ts";

/** A location in device memory. */
interface DevicePlace {
  readonly context: { readonly ordinal: number };
  readonly address: number;
}

/** A location in pinned memory. */
export interface PinnedPlace {
  /** The handle of the memory. */
  readonly handle: number;
  /** The byte offset. */
  readonly offset: number;
  /** Whether the memory stages an array or belongs to the program. */
  readonly use: "pinned" | "staged";
}

function copyWork(direction: CopyDirection, hostMemory: CopyHostMemory, bytes: number): CopyWork {
  return { kind: "copy", direction, hostMemory, bytes };
}

/** Enqueues a copy within the device of a stream. */
export function enqueueDeviceCopy(
  stream: Stream,
  destination: number,
  source: number,
  bytes: number,
): void {
  const { library, ordinal } = stream.context;
  const heard = listenersOf(stream.context);
  if (heard === undefined) {
    copyDevice(library, ordinal, stream.id, destination, source, bytes);
  } else {
    const work = copyWork("deviceToDevice", "none", bytes);
    const where = [stream.id, destination, source, bytes] as const;
    enqueueHeard(heard, work, stream, copyDevice, library, ordinal, ...where);
  }
}

/** Enqueues a copy between two devices, on a stream of either. */
export function enqueuePeerCopy(
  stream: Stream,
  destination: DevicePlace,
  source: DevicePlace,
  bytes: number,
): void {
  const enqueue = () =>
    copyPeer(
      stream.context.library,
      stream.id,
      destination.address,
      destination.context.ordinal,
      source.address,
      source.context.ordinal,
      bytes,
    );
  const heard = listenersOf(stream.context);
  if (heard === undefined) enqueue();
  else enqueueHeard(heard, copyWork("peer", "none", bytes), stream, enqueue);
}

/** Enqueues a copy from pinned memory to the device of a stream. */
export function enqueueFromPinned(
  stream: Stream,
  destination: number,
  { handle, offset, use }: PinnedPlace,
  bytes: number,
): void {
  const { library, ordinal } = stream.context;
  const heard = listenersOf(stream.context);
  if (heard === undefined) {
    copyFromPinned(library, ordinal, stream.id, destination, handle, offset, bytes);
  } else {
    const work = copyWork("hostToDevice", use, bytes);
    const where = [stream.id, destination, handle, offset, bytes] as const;
    enqueueHeard(heard, work, stream, copyFromPinned, library, ordinal, ...where);
  }
}

/** Enqueues a copy from the device of a stream to pinned memory. */
export function enqueueToPinned(
  stream: Stream,
  { handle, offset, use }: PinnedPlace,
  source: number,
  bytes: number,
): void {
  const { library, ordinal } = stream.context;
  const heard = listenersOf(stream.context);
  if (heard === undefined) {
    copyToPinned(library, ordinal, stream.id, handle, offset, source, bytes);
  } else {
    const work = copyWork("deviceToHost", use, bytes);
    const where = [stream.id, handle, offset, source, bytes] as const;
    enqueueHeard(heard, work, stream, copyToPinned, library, ordinal, ...where);
  }
}

/** Copies an array to the device of a stream, blocking this thread. */
export function copyArrayToDevice(stream: Stream, destination: number, source: HostMemory): void {
  const { library, ordinal } = stream.context;
  const bytes = source.byteLength;
  const copy = () => copyToDeviceSync(library, ordinal, stream.id, destination, source, bytes);
  const heard = listenersOf(stream.context);
  if (heard === undefined) copy();
  else enqueueHeard(heard, copyWork("hostToDevice", "pageable", bytes), stream, copy);
}

/** Copies from the device of a stream to an array, blocking this thread. */
export function copyDeviceToArray(stream: Stream, destination: HostMemory, source: number): void {
  const { library, ordinal } = stream.context;
  const bytes = destination.byteLength;
  const copy = () => copyToHostSync(library, ordinal, stream.id, destination, source, bytes);
  const heard = listenersOf(stream.context);
  if (heard === undefined) copy();
  else enqueueHeard(heard, copyWork("deviceToHost", "pageable", bytes), stream, copy);
}
