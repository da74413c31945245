/**
 * Copies between buffers and JavaScript arrays.
 *
 * @module
 */

import { byteLengthOf, requireInstance, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { type Event, nextTurn } from "../stream/event.ts";
import { defaultStream, Stream } from "../stream/stream.ts";
import { refuseCaptured, refuseWhileCapturing } from "../stream/running_captures.ts";
import { WorkOrder } from "../stream/work_order.ts";
import type { CopyOptions } from "./buffer_options.ts";
import { DeviceBuffer, holdBuffer } from "./device_buffer.ts";
import {
  type AnyTypedArray,
  bytesPerElement,
  type DType,
  requireArrayOf,
  type TypedArrayOf,
} from "./dtype.ts";
import {
  copyArrayToDevice,
  copyDeviceToArray,
  enqueueDeviceCopy,
  enqueueFromPinned,
  enqueuePeerCopy,
  enqueueToPinned,
} from "./enqueued_copy.ts";
import { type DeviceRange, partOf, type PitchedRange } from "./device_range.ts";
import { downloadRing, PIECE_BYTES } from "./download_ring.ts";
import { PinnedBuffer } from "./pinned_buffer.ts";
import { MAX_SHARED_BYTES, stagingArea, StagingSlab } from "./staging.ts";

const INTO = "copy into a buffer";
const FROM = "copy from a buffer";
const COPY_OUT = "copy a buffer to an array";

/** The stream that an operation on a device runs on. */
export function streamFor(context: DeviceContext, stream: Stream | undefined): Stream {
  if (stream === undefined) return defaultStream(context);
  if (stream instanceof Stream && stream.context.isSameDevice(context)) return stream;
  requireInstance(stream, Stream, "stream", "enqueue a copy");
  throw new TypeError(
    `Cannot enqueue on the stream as it must be of ${context.label}: it is of ${stream.context.label}`,
  );
}

/**
 * Throws if a capture forbids copies of arrays. Each launch of the graph would copy the staging memory
 * with its content at that time, and finding free staging memory queries events.
 */
function refuseStaging(context: DeviceContext, stream: Stream, action: string): void {
  refuseCaptured(stream, action, "a graph copies only between buffers and pinned buffers");
  refuseWhileCapturing(context.library, action);
}

/**
 * Enqueues a copy of a JavaScript array to the device. The array may be changed at once: this
 * returns after its bytes are staged or, if too large to stage, copied.
 */
export function upload(
  { context, address, byteLength: bytes, rows }: DeviceRange,
  elements: Uint8Array<ArrayBufferLike>,
  stream: Stream,
): void {
  if (bytes === 0) return;
  refuseStaging(context, stream, "copy an array to a buffer");
  const area = stagingArea(context);
  const slab = area.tryTake(bytes);
  if (slab === undefined) return copyArrayToDevice(stream, address, elements, bytes, rows);
  try {
    slab.pinned.bytes.set(elements);
    slab.carry(stream, () => enqueueFromPinned(stream, address, slab.place(), bytes, rows));
  } finally {
    if (!area.keeps(slab)) slab.close();
  }
}

/** Bytes that a turn of the event loop copies to an array: about a millisecond. */
const BYTES_PER_TURN = PIECE_BYTES;

/**
 * Copies device memory to a JavaScript array after the work enqueued so far, without blocking the
 * event loop.
 */
async function download(
  target: Uint8Array<ArrayBufferLike>,
  source: DeviceRange,
  stream: Stream,
): Promise<void> {
  const { context, byteLength: expected, rows } = source;
  refuseStaging(context, stream, COPY_OUT);
  if (expected === 0) return;
  const area = stagingArea(context);
  const requireTarget = () => {
    if (target.byteLength !== expected) throw lostTarget(expected, target.byteLength);
  };
  const moveToTarget = async (slab: StagingSlab, bytes: number, offset: number) => {
    for (let at = 0; at < bytes; at += BYTES_PER_TURN) {
      if (offset + at > 0) await nextTurn();
      requireTarget();
      const end = Math.min(at + BYTES_PER_TURN, bytes);
      slab.readTo(target.subarray(offset + at, offset + end), at);
    }
  };
  // The device must not close while its copies run.
  context.retain();
  // Releases everything even if several steps fail.
  await using taken = new AsyncDisposableStack();
  taken.defer(() => context.release());
  if (expected <= MAX_SHARED_BYTES) {
    const { slab, offset } = taken.use(area.takePart(expected));
    enqueueToPinned(stream, slab.place(offset), source.address, expected, rows);
    const event = taken.use(recordCopy(stream, slab));
    await event.done();
    requireTarget();
    return target.set(slab.pinned.bytes.subarray(offset, offset + expected));
  }
  // An integrated device copies with the memory and, on the host device, the processors of the program:
  // there pieces do not overlap, and a snapshot takes as long as a copy.
  const isWhole = expected <= PIECE_BYTES || context.info.integrated;
  const kept = isWhole ? area.tryTake(expected) : undefined;
  if (kept === undefined && expected > PIECE_BYTES) {
    return await downloadRing(context).download(source, stream, moveToTarget);
  }
  const slab = kept ?? new StagingSlab(context, expected);
  taken.defer(async () => {
    if (!area.keeps(slab)) await slab.closeAsync();
  });
  slab.carry(stream, () => enqueueToPinned(stream, slab.place(), source.address, expected, rows));
  await slab.done();
  await moveToTarget(slab, expected, 0);
}

/** Blocking twin of {@linkcode download}. */
export function downloadSync(
  target: Uint8Array<ArrayBufferLike>,
  { context, address, byteLength: bytes, rows }: DeviceRange,
  stream: Stream,
): void {
  if (bytes === 0) return;
  refuseStaging(context, stream, COPY_OUT);
  copyDeviceToArray(stream, target, address, bytes, rows);
}

/** Marks the end of a copy to a shared slab, which is not reused if that fails. */
function recordCopy(stream: Stream, slab: StagingSlab): Event {
  try {
    return stream.record();
  } catch (error) {
    slab.isUnmarked = true;
    throw error;
  }
}

function lostTarget(expected: number, left: number): TypeError {
  return new TypeError(
    `Cannot copy from a buffer as target must keep its ${expected} bytes until they have arrived: it has ${left}`,
  );
}

/** Enqueues a copy within a device or between two devices of one library. */
export function copyBetween(
  destination: DeviceRange,
  source: DeviceRange,
  bytes: number,
  stream: Stream,
): void {
  if (bytes === 0) return;
  const from = source.context;
  const to = destination.context;
  if (from.library !== to.library) {
    throw new TypeError(
      `Cannot copy from ${from.label} to ${to.label} as they belong to different libraries: copy through an array`,
    );
  }
  if (!from.isSameDevice(to)) return enqueuePeerCopy(stream, destination, source, bytes);
  const distance = Math.abs(destination.address - source.address);
  if (distance < bytes) {
    throw new RangeError(
      `Cannot copy ${bytes} bytes as source and destination must not overlap: they begin ${distance} bytes apart`,
    );
  }
  enqueueDeviceCopy(stream, destination.address, source.address, bytes);
}

/** Enqueues a copy between ranges with rows of one shape; between two devices, row by row. */
export function copyRows(to: PitchedRange, from: PitchedRange, stream: Stream): void {
  const { byteLength: bytes, rows: { width, height } } = to;
  if (bytes === 0) return;
  if (to.context.isSameDevice(from.context)) {
    const rows = { ...to.rows, sourcePitch: from.rows.pitch };
    return enqueueDeviceCopy(stream, to.address, from.address, bytes, rows);
  }
  for (let row = 0; row < height; row++) {
    const [target, source] = [to, from].map((each) => partOf(each, row * width, width));
    copyBetween(target!, source!, width, stream);
  }
}

/** Enqueues a copy into a buffer; see `DeviceBuffer.copyFrom()`. */
export function copyInto<D extends DType>(
  buffer: DeviceBuffer<D>,
  source: TypedArrayOf<D> | DeviceBuffer<D> | PinnedBuffer<D>,
  options: CopyOptions,
): void {
  requireOptions(options, ["offset", "stream"], INTO);
  if (source instanceof PinnedBuffer) {
    const { offset = 0, ...choice } = options;
    return source.copyTo(buffer, { ...choice, deviceOffset: offset, length: source.length });
  }
  const stream = streamFor(buffer.context, options.stream);
  if (source instanceof DeviceBuffer) {
    requireSameDType(source, buffer.dtype);
    const target = rangeOf(buffer, stream, source.length, options.offset, INTO);
    source.recordStream(stream);
    return copyBetween(target, source, target.byteLength, stream);
  }
  const { offset } = options;
  const bytes = requireArray(source, buffer.dtype, "source");
  upload(rangeOf(buffer, stream, elementsIn(bytes, buffer), offset, INTO), bytes, stream);
}

/** Copies a buffer into a typed array; see `DeviceBuffer.copyTo()`. */
export async function copyOut<D extends DType>(
  buffer: DeviceBuffer<D>,
  target: TypedArrayOf<D>,
  options: CopyOptions,
): Promise<void> {
  const { bytes, range, stream } = sourceOf(buffer, target, options);
  await downloadInOrder(bytes, buffer, range, stream);
}

/** Downloads a part of a buffer after the operations that wait for their kernels. */
export async function downloadInOrder(
  target: Uint8Array<ArrayBufferLike>,
  buffer: DeviceBuffer,
  range: DeviceRange,
  stream: Stream,
): Promise<void> {
  // The memory must last until the copy is enqueued.
  const release = holdBuffer(buffer);
  try {
    await WorkOrder.of(buffer).inOrder(range.context, () => {
      const copied = download(target, range, stream);
      release();
      return copied;
    });
  } finally {
    release();
  }
}

/** The blocking twin of {@linkcode copyOut}. */
export function copyOutSync<D extends DType>(
  buffer: DeviceBuffer<D>,
  target: TypedArrayOf<D>,
  options: CopyOptions,
): void {
  const { bytes, range, stream } = sourceOf(buffer, target, options);
  downloadSync(bytes, range, stream);
}

function sourceOf(buffer: DeviceBuffer, target: AnyTypedArray, options: CopyOptions) {
  requireOptions(options, ["offset", "stream"], FROM);
  const stream = streamFor(buffer.context, options.stream);
  const { offset } = options;
  const bytes = requireArray(target, buffer.dtype, "target");
  return { bytes, stream, range: rangeOf(buffer, stream, elementsIn(bytes, buffer), offset, FROM) };
}

function elementsIn(bytes: Uint8Array<ArrayBufferLike>, { dtype }: DeviceBuffer): number {
  return byteLengthOf(bytes) / bytesPerElement(dtype);
}

/** A part of a buffer, with the stream recorded as a user. */
function rangeOf(
  buffer: DeviceBuffer,
  stream: Stream,
  length: number,
  offset = 0,
  action: string,
): DeviceRange {
  if (!Number.isInteger(offset) || offset < 0 || offset + length > buffer.length) {
    throw new RangeError(
      `Cannot ${action} as offset and count must stay within its ${buffer.length} elements: they are ${
        describeValue(offset)
      } and ${length}`,
    );
  }
  const size = bytesPerElement(buffer.dtype);
  buffer.recordStream(stream);
  return {
    context: buffer.context,
    address: buffer.address + offset * size,
    byteLength: length * size,
  };
}

export function requireSameDType(source: { readonly dtype: DType }, dtype: DType): void {
  if (source.dtype === dtype) return;
  throw new TypeError(
    `Cannot copy a buffer as source must be ${dtype}, as the buffer is: it is ${source.dtype}`,
  );
}

export function requireArray(
  array: unknown,
  dtype: DType,
  name: string,
): Uint8Array<ArrayBufferLike> {
  return requireArrayOf(array, dtype, "copy a buffer", name, `, as the buffer is ${dtype}`);
}
