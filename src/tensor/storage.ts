/**
 * The memory that tensors and their views share.
 *
 * @module
 */

import type { DeviceContext } from "../hardware/device_context.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { DeviceBuffer, placeOfBuffer } from "../memory/device_buffer.ts";
import type { DType } from "../memory/dtype.ts";
import type { Stream } from "../stream/stream.ts";
import { DeviceWork } from "./device_work.ts";

/** A buffer with the number of tensors that use it. */
export class TensorStorage {
  readonly buffer: DeviceBuffer;
  readonly work: DeviceWork;
  /** Operations that will write to it and wait for their kernels. */
  pending = 0;
  /** The reason why an operation that wrote to it has failed. */
  failure: Error | undefined = undefined;
  /** The stream of the last operation that wrote to it. */
  stream: Stream;
  #holders = 0;

  constructor(buffer: DeviceBuffer, stream: Stream) {
    this.buffer = buffer;
    this.stream = stream;
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

  /** Makes later work of a stream wait for the last operation that wrote to this memory. */
  orderOn(stream: Stream): void {
    if (this.stream === stream) return;
    using written = this.stream.record({ timing: false });
    stream.wait(written);
  }
}
