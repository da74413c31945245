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
  type PitchedRows,
} from "../ffi/native_memory.ts";
import {
  type CopyDirection,
  type CopyHostMemory,
  enqueueHeard,
  listenersOf,
} from "../stream/activity.ts";
import type { Stream } from "../stream/stream.ts";
import { WorkOrder } from "../stream/work_order.ts";

interface DevicePlace {
  readonly context: { readonly ordinal: number };
  readonly address: number;
}

/** A location in pinned memory. */
export interface PinnedPlace {
  readonly handle: number;
  readonly offset: number;
  /** Whether the memory stages an array or belongs to the program. */
  readonly use: "pinned" | "staged";
}

/**
 * Copies after the operations that wait for their kernels, and reports the copy if the stream's
 * device has listeners.
 */
function report(
  stream: Stream,
  direction: CopyDirection,
  hostMemory: CopyHostMemory,
  bytes: number,
  copy: () => void,
): void {
  WorkOrder.of(stream).settleNow("copy memory");
  const heard = listenersOf(stream.context);
  if (heard === undefined) copy();
  else enqueueHeard(heard, { kind: "copy", direction, hostMemory, bytes }, stream, copy);
}

/** Enqueues a copy within the device of a stream. */
export function enqueueDeviceCopy(
  stream: Stream,
  destination: number,
  source: number,
  bytes: number,
  rows?: PitchedRows & { readonly sourcePitch: number },
): void {
  const { library, ordinal } = stream.context;
  const copy = () => copyDevice(library, ordinal, stream.id, destination, source, bytes, rows);
  report(stream, "deviceToDevice", "none", bytes, copy);
}

/** Enqueues a copy between two devices, on a stream of either. */
export function enqueuePeerCopy(
  stream: Stream,
  destination: DevicePlace,
  source: DevicePlace,
  bytes: number,
): void {
  const { context: { library }, id } = stream;
  const [to, from] = [destination.context.ordinal, source.context.ordinal];
  const copy = () => copyPeer(library, id, destination.address, to, source.address, from, bytes);
  report(stream, "peer", "none", bytes, copy);
}

/** Enqueues a copy from pinned memory to the device of a stream. */
export function enqueueFromPinned(
  stream: Stream,
  destination: number,
  { handle, offset, use }: PinnedPlace,
  bytes: number,
  rows?: PitchedRows,
): void {
  const { context: { library, ordinal }, id } = stream;
  const copy = () => copyFromPinned(library, ordinal, id, destination, handle, offset, bytes, rows);
  report(stream, "hostToDevice", use, bytes, copy);
}

/** Enqueues a copy from the device of a stream to pinned memory. */
export function enqueueToPinned(
  stream: Stream,
  { handle, offset, use }: PinnedPlace,
  source: number,
  bytes: number,
  rows?: PitchedRows,
): void {
  const { context: { library, ordinal }, id } = stream;
  const copy = () => copyToPinned(library, ordinal, id, handle, offset, source, bytes, rows);
  report(stream, "deviceToHost", use, bytes, copy);
}

/** Copies an array to the device of a stream, blocking this thread. */
export function copyArrayToDevice(
  stream: Stream,
  destination: number,
  source: HostMemory,
  bytes: number,
  rows?: PitchedRows,
): void {
  const { context: { library, ordinal }, id } = stream;
  const copy = () => copyToDeviceSync(library, ordinal, id, destination, source, bytes, rows);
  report(stream, "hostToDevice", "pageable", bytes, copy);
}

/** Copies from the device of a stream to an array, blocking this thread. */
export function copyDeviceToArray(
  stream: Stream,
  destination: HostMemory,
  source: number,
  bytes: number,
  rows?: PitchedRows,
): void {
  const { context: { library, ordinal }, id } = stream;
  const copy = () => copyToHostSync(library, ordinal, id, destination, source, bytes, rows);
  report(stream, "deviceToHost", "pageable", bytes, copy);
}
