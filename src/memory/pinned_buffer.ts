/**
 * Typed pinned host memory.
 *
 * @module
 */

import { displayAs } from "../ffi/display.ts";
import { requireInstance, requireOptions } from "../ffi/arguments.ts";
import { describeValue, formatBytes } from "../ffi/describe_value.ts";
import { giveBack } from "../ffi/give_back.ts";
import { logger } from "../ffi/logging.ts";
import { DeviceContext, labelOf } from "../hardware/device_context.ts";
import { captureOf } from "../stream/running_captures.ts";
import { streamFor } from "./buffer_copy.ts";
import type { CopyOptions } from "./buffer_options.ts";
import { DeviceBuffer } from "./device_buffer.ts";
import { bytesPerElement, type DType, type TypedArrayOf, typedArrayOver } from "./dtype.ts";
import { enqueueFromPinned, enqueueToPinned } from "./enqueued_copy.ts";
import { MAX_SLAB_BYTES, PinnedSlab } from "./staging.ts";

/**
 * Releases the slabs of dropped buffers. It waits for their work with this thread blocked, because a
 * pending wait on another thread would keep the program from capturing a stream at any time.
 */
const dropped = new FinalizationRegistry<PinnedSlab>((slab) => {
  const { context } = slab;
  try {
    giveBack(context, () => slab[Symbol.dispose](), () => context.release());
  } catch (error) {
    logger("memory").error("{label}: cannot release a dropped pinned buffer: {error}", {
      label: context.label,
      error,
    });
  }
});

/**
 * Typed pinned host memory, made by `device.allocatePinned()`. The device copies it at full speed
 * while the program continues.
 *
 * Copies are only enqueued: do not change the array until the stream has finished them.
 *
 * @typeParam D The element type.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using buffer = device.allocate("float32", 1024);
 * using pinned = device.allocatePinned("float32", 1024);
 * pinned.array.fill(1);
 * pinned.copyTo(buffer);
 * await device.stream.done();
 * ```
 *
 * @category Memory
 */
export class PinnedBuffer<D extends DType = DType> implements Disposable {
  /** The device of the registration. */
  readonly context: DeviceContext;
  /** The element type. */
  readonly dtype: D;
  /** The number of elements. */
  readonly length: number;
  /** The elements. */
  readonly array: TypedArrayOf<D, ArrayBuffer>;
  readonly #slab: PinnedSlab;

  /**
   * Allocates and pins memory.
   *
   * @param context The device.
   * @param dtype The element type.
   * @param length The number of elements: 1 byte to 4 GiB in all.
   * @throws {RangeError} If the length is out of range.
   */
  constructor(context: DeviceContext, dtype: D, length: number) {
    requireInstance(context, DeviceContext, "context", "allocate a pinned buffer");
    const size = bytesPerElement(dtype);
    if (!Number.isSafeInteger(length) || length < 1 || length > MAX_SLAB_BYTES / size) {
      throw new RangeError(
        `Cannot allocate a pinned ${dtype} buffer as length must be an integer in 1..${
          MAX_SLAB_BYTES / size
        }: it is ${describeValue(length)}`,
      );
    }
    context.retain();
    try {
      this.#slab = new PinnedSlab(context, length * size);
    } catch (error) {
      context.release();
      throw error;
    }
    this.context = context;
    this.dtype = dtype;
    this.length = length;
    this.array = typedArrayOver(dtype, this.#slab.bytes.buffer, 0, length);
    Object.freeze(this);
    dropped.register(this, this.#slab, this);
  }

  /** Whether the memory is unpinned. */
  get disposed(): boolean {
    return this.#slab.disposed;
  }

  /**
   * Enqueues a copy from this buffer to the device.
   *
   * @param options The first element here (`offset`) and on the device (`deviceOffset`), 0 by default,
   * and the number of elements, by default as many as both buffers have room for.
   * @throws {RangeError} If the elements do not fit.
   */
  copyTo(
    target: DeviceBuffer<D>,
    options: CopyOptions & { readonly length?: number; readonly deviceOffset?: number } = {},
  ): void {
    const copy = this.#plan(target, options);
    if (copy.bytes === 0) return;
    enqueueFromPinned(copy.stream, copy.address, copy.place, copy.bytes);
  }

  /**
   * Enqueues a copy from the device into this buffer.
   *
   * @param options As for {@linkcode PinnedBuffer.copyTo}.
   * @throws {RangeError} If the elements do not fit.
   */
  copyFrom(
    source: DeviceBuffer<D>,
    options: CopyOptions & { readonly length?: number; readonly deviceOffset?: number } = {},
  ): void {
    const copy = this.#plan(source, options);
    if (copy.bytes === 0) return;
    enqueueToPinned(copy.stream, copy.place, copy.address, copy.bytes);
  }

  /**
   * Unpins the memory after the work that uses it, blocking this thread. The array stays readable.
   */
  [Symbol.dispose](): void {
    if (this.#slab.disposed) return;
    giveBack(this.context, () => this.#slab[Symbol.dispose](), () => this.context.release());
    dropped.unregister(this);
  }

  #plan(
    device: DeviceBuffer<D>,
    options: CopyOptions & { readonly length?: number; readonly deviceOffset?: number },
  ) {
    requireInstance(device, DeviceBuffer, "the device buffer", "copy a buffer");
    requireOptions(options, ["stream", "offset", "length", "deviceOffset"], "copy a buffer");
    if (device.dtype !== this.dtype) {
      throw new TypeError(
        `Cannot copy a buffer as both buffers must be ${this.dtype}: the device buffer is ${device.dtype}`,
      );
    }
    if (device.context.library !== this.context.library) {
      throw new TypeError(
        `Cannot copy between pinned memory of ${this.context.label} and memory of ${device.context.label} as they belong to different libraries`,
      );
    }
    const { offset = 0, deviceOffset = 0 } = options;
    requireOffset("offset", offset, this.length);
    requireOffset("deviceOffset", deviceOffset, device.length);
    const { length = Math.min(this.length - offset, device.length - deviceOffset) } = options;
    requireLength("offset", offset, length, this.length);
    requireLength("deviceOffset", deviceOffset, length, device.length);
    const size = bytesPerElement(this.dtype);
    const stream = streamFor(device.context, options.stream);
    device.recordStream(stream);
    captureOf(stream)?.keep(this, () => void this);
    return {
      stream,
      address: device.address + deviceOffset * size,
      place: { handle: this.#slab.handle, offset: offset * size, use: "pinned" } as const,
      bytes: length * size,
    };
  }
}

displayAs<PinnedBuffer>(PinnedBuffer.prototype, "PinnedBuffer", {
  dtype: ({ dtype }) => dtype,
  length: ({ length }) => length,
  size: ({ length, dtype }) => formatBytes(length * bytesPerElement(dtype)),
  device: labelOf,
  disposed: ({ disposed }) => disposed,
}, { more: { elements: ({ array }) => array.subarray(0, 16) } });

function requireOffset(name: string, offset: number, limit: number): void {
  if (Number.isInteger(offset) && offset >= 0 && offset <= limit) return;
  throw new RangeError(
    `Cannot copy a buffer as ${name} must be an integer in 0..${limit}: it is ${
      describeValue(offset)
    }`,
  );
}

function requireLength(name: string, offset: number, length: number, limit: number): void {
  if (Number.isInteger(length) && length >= 0 && offset + length <= limit) return;
  throw new RangeError(
    `Cannot copy a buffer as ${name} and length must stay within ${limit} elements: they are ${offset} and ${
      describeValue(length)
    }`,
  );
}
