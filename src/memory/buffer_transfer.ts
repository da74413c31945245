/**
 * Copies into and out of buffers: what is checked, and which way they go.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { Stream } from "../stream/stream.ts";
import {
  copyBetween,
  type DeviceRange,
  download,
  downloadSync,
  streamFor,
  upload,
} from "./buffer_copy.ts";
import type { CopyOptions } from "./buffer_options.ts";
import { DeviceBuffer } from "./device_buffer.ts";
import {
  bytesPerElement,
  describeArray,
  type DType,
  isLiveArrayOf,
  typedArrayName,
  type TypedArrayOf,
} from "./dtype.ts";
import { PinnedBuffer } from "./pinned_buffer.ts";

const INTO = "copy into a buffer";
const FROM = "copy from a buffer";

/** Enqueues a copy into a buffer; see `DeviceBuffer.copyFrom()`. */
export function copyInto<D extends DType>(
  buffer: DeviceBuffer<D>,
  source: TypedArrayOf<D> | DeviceBuffer<D> | PinnedBuffer<D>,
  options: CopyOptions,
): void {
  requireObject(options, "options", INTO);
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
  requireArray(source, buffer.dtype, "source");
  upload(rangeOf(buffer, stream, source.length, options.offset, INTO), source, stream);
}

/** Copies a buffer into a typed array; see `DeviceBuffer.copyTo()`. */
export async function copyOut<D extends DType>(
  buffer: DeviceBuffer<D>,
  target: TypedArrayOf<D>,
  options: CopyOptions,
): Promise<void> {
  requireObject(options, "options", FROM);
  const stream = streamFor(buffer.context, options.stream);
  requireArray(target, buffer.dtype, "target");
  const range = rangeOf(buffer, stream, target.length, options.offset, FROM);
  await download(target, range, stream);
}

/** The blocking twin of {@linkcode copyOut}. */
export function copyOutSync<D extends DType>(
  buffer: DeviceBuffer<D>,
  target: TypedArrayOf<D>,
  options: CopyOptions,
): void {
  requireObject(options, "options", FROM);
  const stream = streamFor(buffer.context, options.stream);
  requireArray(target, buffer.dtype, "target");
  downloadSync(target, rangeOf(buffer, stream, target.length, options.offset, FROM), stream);
}

/** Part of a buffer, which the stream is going to use. */
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

function requireSameDType(source: { readonly dtype: DType }, dtype: DType): void {
  if (source.dtype === dtype) return;
  throw new TypeError(
    `Cannot copy as source must be ${dtype}, as the buffer is: it is ${source.dtype}`,
  );
}

function requireArray<D extends DType>(
  array: unknown,
  dtype: D,
  name: string,
): asserts array is TypedArrayOf<D> {
  if (isLiveArrayOf(array, dtype)) return;
  throw new TypeError(
    `Cannot copy as ${name} must be a ${typedArrayName(dtype)}, as the buffer is ${dtype}: it is ${
      describeArray(array)
    }`,
  );
}
