/**
 * The memory that tensors and their views share.
 *
 * @module
 */

import { synchronizeDeviceSync } from "../ffi/native_device.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { DeviceBuffer, placeOfBuffer } from "../memory/device_buffer.ts";
import type { DType } from "../memory/dtype.ts";
import { defaultStream, type Stream } from "../stream/stream.ts";
import { DeviceWork } from "./device_work.ts";

/** Makes later work of a stream wait for the work of another one so far. */
export function waitFor(first: Stream, then: Stream): void {
  if (first === then) return;
  using done = first.record();
  then.wait(done);
}

/** A buffer with the number of tensors that use it. */
export class TensorStorage {
  readonly buffer: DeviceBuffer;
  readonly work: DeviceWork;
  /** Operations that will write to it and wait for their kernels. */
  pending = 0;
  /** The reason why an operation that wrote to it has failed. */
  failure: Error | undefined = undefined;
  #stream: Stream;
  // Other streams that have read it since.
  readonly #readers = new Set<Stream>();
  #holders = 0;

  constructor(buffer: DeviceBuffer, stream: Stream) {
    this.buffer = buffer;
    this.#stream = stream;
    this.work = DeviceWork.of(buffer.context);
  }

  /** Allocates memory on a stream. */
  static allocate(
    context: DeviceContext,
    dtype: DType,
    length: number,
    wanted?: Stream,
  ): TensorStorage {
    const stream = streamFor(context, wanted);
    return new TensorStorage(DeviceBuffer.allocate(context, dtype, length, { stream }), stream);
  }

  get context(): DeviceContext {
    return this.buffer.context;
  }

  /**
   * The stream of the last operation that wrote to it. If that is disposed, its work is awaited, and
   * it is the default stream.
   */
  get stream(): Stream {
    if (this.#stream.disposed) {
      const { context } = this;
      synchronizeDeviceSync(context.library, context.ordinal);
      this.#stream = defaultStream(context);
    }
    return this.#stream;
  }

  /** Whether the memory is freed. */
  get freed(): boolean {
    return this.buffer.disposed;
  }

  /** Whether the pool records where its memory is allocated, as the preset `development` does. */
  get isTracked(): boolean {
    return placeOfBuffer(this.buffer).pool?.tracker !== undefined;
  }

  hold(): void {
    this.#holders++;
  }

  /** Gives up one hold; the last one frees the memory, after the operations that wait. */
  release(): void {
    if (--this.#holders > 0) return;
    if (this.work.isWaiting) this.work.enqueue(undefined, [], [], () => this.buffer.free());
    else this.buffer.free();
  }

  /** Makes later work of a stream, which reads this memory, wait for the work that wrote it. */
  orderRead(stream: Stream): void {
    waitFor(this.stream, stream);
    if (stream !== this.#stream) this.#readers.add(stream);
  }

  /** Makes later work of a stream, which writes this memory, wait for the work that uses it. */
  orderWrite(stream: Stream): void {
    waitFor(this.stream, stream);
    for (const reader of this.#readers) {
      if (!reader.disposed) waitFor(reader, stream);
      else synchronizeDeviceSync(this.context.library, this.context.ordinal);
    }
    this.#readers.clear();
    this.#stream = stream;
  }
}
