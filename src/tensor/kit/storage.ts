/**
 * The memory that tensors and their views share.
 *
 * @module
 */

import { synchronizeDeviceSync } from "../../ffi/native_device.ts";
import { OutOfMemoryError } from "../../ffi/cuda_error.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import { DeviceBuffer, placeOfBuffer } from "../../memory/device_buffer.ts";
import { createTypedArray, type DType, type TypedArrayOf } from "../../memory/dtype.ts";
import { defaultStream, type Stream, waitForStream } from "../../stream/stream.ts";
import { automaticStreamsOf } from "../../stream/automatic_streams.ts";
import { isCapturing } from "../../stream/running_captures.ts";
import { DeviceWork } from "./device_work.ts";
import type { TensorOperation } from "./operation/operation.ts";
import {
  checkReports,
  checkReportsSync,
  NO_REPORTS,
  type Reports,
  unionOf,
} from "./operation/reports.ts";

/**
 * A buffer with the number of its users: tensors, and operations that wait for a kernel. The last
 * one frees it.
 */
export class TensorStorage {
  readonly buffer: DeviceBuffer;
  readonly work: DeviceWork;
  #stream: Stream;
  // Other streams that have read the memory since it was last written.
  readonly #readers = new Set<Stream>();
  #holders = 0;
  /** The number of reads by operations that wait. */
  #readsWaiting = 0;
  /** Operations that wait to write the memory. */
  readonly #writers = new Set<TensorOperation>();
  #failure: Error | undefined;
  #reports: Reports = NO_REPORTS;

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
    requested?: Stream,
  ): TensorStorage {
    const stream = streamFor(context, requested);
    const allocate = () => DeviceBuffer.allocate(context, dtype, length, { stream });
    let buffer: DeviceBuffer;
    try {
      buffer = allocate();
    } catch (error) {
      const { order } = DeviceWork.of(context);
      if (!(error instanceof OutOfMemoryError) || !order.isWaiting) throw error;
      // Operations that wait hold memory that their launch gives back.
      order.settleNow("allocate a tensor");
      buffer = allocate();
    }
    const storage = new TensorStorage(buffer, stream);
    automaticStreamsOf(context)?.noteResult(storage, stream);
    return storage;
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

  /** Whether an operation waits to write the memory. */
  get isPending(): boolean {
    return this.#writers.size > 0;
  }

  /**
   * The reason why the content is wrong, as far as it is known: an operation that wrote it, or one
   * that it was computed from, has failed or met a wrong value.
   */
  get failure(): Error | undefined {
    if (this.#failure !== undefined || this.#reports === NO_REPORTS) return this.#failure;
    return this.#reports.find(({ error }) => error !== undefined)?.error;
  }

  /** Operations that may still report a wrong value, by which the content is wrong. */
  get reports(): Reports {
    return this.#reports;
  }

  hold(): void {
    this.#holders++;
  }

  /** Ends one hold, and frees the memory with the last one. */
  release(): void {
    this.#holders--;
    this.#freeUnlessUsed();
  }

  /** Records that an operation waits to read the memory. */
  holdForRead(): void {
    this.#readsWaiting++;
  }

  releaseRead(): void {
    this.#readsWaiting--;
    this.#freeUnlessUsed();
  }

  /** Records that an operation waits to write the memory. */
  holdForWrite(operation: TensorOperation): void {
    this.#writers.add(operation);
  }

  releaseWrite(operation: TensorOperation): void {
    this.#writers.delete(operation);
    this.#freeUnlessUsed();
  }

  /** Whether the content is needed by more than this number of reads. */
  isUsedBeside(reads: number): boolean {
    return this.#holders > 0 || this.#readsWaiting > reads;
  }

  /** Frees the memory unless it is used, and abandons waiting operations with unused results only. */
  #freeUnlessUsed(): void {
    if (this.#holders > 0) return;
    for (const writer of [...this.#writers]) writer.abandonUnlessUsed();
    if (this.#writers.size === 0 && this.#readsWaiting === 0) this.buffer.free();
  }

  /** Takes over the outcome of an operation that wrote the memory, as a whole or in part. */
  conclude(failure: Error | undefined, reports: Reports, isWhole: boolean): void {
    if (failure !== undefined) {
      this.#failure = failure;
      return;
    }
    if (isWhole) {
      this.#failure = undefined;
      this.#reports = reports;
    } else if (reports !== NO_REPORTS) this.#reports = unionOf([this.#reports, reports]);
  }

  /** Makes later work of a stream, which reads this memory, wait for the work that wrote it. */
  orderRead(stream: Stream): void {
    waitForStream(stream, this.stream);
    if (stream !== this.#stream) this.#readers.add(stream);
  }

  /**
   * Makes later work of the default stream wait for work on this memory, if that ran on an automatic
   * stream, and the other way round.
   */
  moveToDefaultStream(): void {
    const { context, stream } = this;
    if (automaticStreamsOf(context)?.has(stream)) this.orderWrite(defaultStream(context));
  }

  /** Makes later work of a stream, which writes this memory, wait for the work that uses it. */
  orderWrite(stream: Stream): void {
    waitForStream(stream, this.stream);
    for (const reader of this.#readers) {
      if (!reader.disposed) waitForStream(stream, reader);
      else synchronizeDeviceSync(this.context.library, this.context.ordinal);
    }
    this.#readers.clear();
    this.#stream = stream;
  }

  /**
   * The elements of a range after all operations before, even if the memory is given up meanwhile.
   *
   * @throws The reason why the content is wrong.
   */
  async read(start: number, length: number): Promise<TypedArrayOf<DType, ArrayBuffer>> {
    this.hold();
    try {
      return await this.work.order.inOrder(this.context, async () => {
        if (this.failure !== undefined) throw this.failure;
        const { buffer, stream, reports } = this;
        const reading = length === 0
          ? createTypedArray(buffer.dtype, 0)
          : buffer.view(start, start + length).toArray({ stream });
        const [elements] = await Promise.allSettled([reading, checkReports(reports, stream)])
          .then((outcomes) => outcomes.map(valueOf));
        return elements as TypedArrayOf<DType, ArrayBuffer>;
      });
    } finally {
      this.release();
    }
  }

  /** The blocking twin of {@linkcode TensorStorage.read}, of memory that no operation waits for. */
  readSync(start: number, length: number): TypedArrayOf<DType, ArrayBuffer> {
    const { buffer, stream, reports } = this;
    const elements = buffer.view(start, start + length).toArraySync({ stream });
    checkReportsSync(reports, stream);
    return elements;
  }
}

/** The stream of an operation: that which is asked for, else the default or an automatic stream. */
export function operationStream(
  context: DeviceContext,
  requested: Stream | undefined,
  operands: readonly TensorStorage[],
): Stream {
  const automatic = requested === undefined ? automaticStreamsOf(context) : undefined;
  if (automatic === undefined || isCapturing()) return streamFor(context, requested);
  return automatic.streamAfter(operands);
}

function valueOf(outcome: PromiseSettledResult<unknown>): unknown {
  if (outcome.status === "rejected") throw outcome.reason;
  return outcome.value;
}
