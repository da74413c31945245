/**
 * Uploads streams of bytes to the device, such as downloads and decompressed files.
 *
 * @module
 */

import { checkSize, requireObject, trueArray } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { deviceDone, nextTurn } from "../../stream/event.ts";
import { copyBetween } from "../buffer_copy.ts";
import type { DeviceBuffer } from "../device_buffer.ts";
import type { DType } from "../dtype.ts";
import type { StagingSlab } from "../staging.ts";
import {
  elementsOf,
  runUpload,
  TRANSFER_NAMES,
  type TransferOptions,
  uploadSettings,
  type UploadTask,
} from "./upload_task.ts";

/**
 * Options of `device.uploadStream()`.
 * @category Memory
 */
export interface StreamUploadOptions<D extends DType = DType> extends TransferOptions {
  /**
   * The length of the stream; any other length is an error. Without it device memory grows by
   * doubling, and the end takes up to three times the length to join the parts.
   */
  readonly bytes?: number;
  /** The element type; `uint8` by default. The bytes have the device's order: little endian. */
  readonly dtype?: D;
}

const ACTION = "upload a stream";

/**
 * Allocates a buffer and copies all bytes of a stream into it. A slow device slows the stream down:
 * each chunk is requested when there is room for the one before.
 *
 * A failed or cancelled upload cancels the stream.
 *
 * @typeParam D The element type.
 * @param context The device.
 * @param source The chunks; each may be reused when the next one is requested.
 * @throws {TypeError} If a chunk is not a `Uint8Array`, or the stream is locked.
 * @throws {RangeError} If the length differs from `bytes`, or is not a whole number of elements.
 * @throws {OutOfMemoryError} If the device has no room.
 * @throws The failure of the stream, the signal's reason after a cancellation, and exceptions of
 * `onProgress`.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * // Like the body of a compressed download.
 * const response = new Response(new Blob([new Uint8Array(1 << 20)]).stream()
 *   .pipeThrough(new CompressionStream("gzip")));
 * const bytes = response.body!.pipeThrough(new DecompressionStream("gzip"));
 * using weights = await device.uploadStream(bytes, { dtype: "float16" });
 * console.log(weights.length); // 524288
 * ```
 */
export async function uploadStream<D extends DType = "uint8">(
  context: DeviceContext,
  source: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: StreamUploadOptions<D> = {},
): Promise<DeviceBuffer<D>> {
  const settings = uploadSettings(context, options, [...TRANSFER_NAMES, "bytes", "dtype"], ACTION);
  const { dtype = "uint8" as D, bytes } = options;
  if (bytes !== undefined) checkSize(bytes, "bytes", ACTION);
  const reader = readerOf(source);
  // A source that fails to cancel, or never answers, must not hide the failure.
  const cancel = (reason: unknown) => void reader.cancel(reason).catch(() => {});
  try {
    using target = new StreamTarget(dtype, bytes, settings.ring.slotBytes);
    await runUpload(settings, bytes, async (task) => {
      task.failure.addEventListener("abort", () => cancel(task.failure.reason));
      await target.open(task);
      await sendChunks(task, reader, target);
      if (task.failure.aborted) return;
      await task.settle();
      await target.complete(task);
    });
    return target.release();
  } catch (error) {
    cancel(error);
    throw error;
  } finally {
    reader.releaseLock();
  }
}

function readerOf(source: unknown): ReadableStreamDefaultReader<Uint8Array> {
  requireObject(source, "source", ACTION);
  if (source instanceof ReadableStream) return source.getReader();
  if (Symbol.asyncIterator in source || Symbol.iterator in source) {
    return ReadableStream.from(source as AsyncIterable<Uint8Array>).getReader();
  }
  throw new TypeError(
    `Cannot ${ACTION} as source must be a ReadableStream, or iterable: it is ${
      describeValue(source)
    }`,
  );
}

async function sendChunks(
  task: UploadTask,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  target: StreamTarget<DType>,
): Promise<void> {
  try {
    for (;;) {
      const coming = reader.read();
      // A slow source does not hold a slot that other uploads may need.
      if (await Promise.race([coming, nextTurn()]) === undefined) target.send(task);
      const { done, value } = await coming;
      if (done || task.failure.aborted) break;
      const chunk = trueArray(value);
      if (chunk?.kind !== "Uint8Array") {
        throw new TypeError(
          `Cannot ${ACTION} as its chunks must be of Uint8Array: one is ${describeValue(value)}`,
        );
      }
      await target.add(task, chunk.bytes ?? new Uint8Array());
    }
    target.send(task);
  } finally {
    target.drop(task);
  }
}

/**
 * The target of a stream: one buffer for a known length, else parts that double the capacity and are
 * joined at the end.
 */
class StreamTarget<D extends DType> implements Disposable {
  readonly #dtype: D;
  readonly #bytes: number | undefined;
  readonly #smallest: number;
  readonly #parts: { readonly buffer: DeviceBuffer; readonly bytes: number; used: number }[] = [];
  #whole: DeviceBuffer<D> | undefined;
  /** The slot that collects chunks, and its filled bytes. */
  #slot: StagingSlab | undefined;
  #filled = 0;

  /**
   * Allocates nothing yet.
   *
   * @param bytes The length, if known.
   * @param smallest The size of the first part of a stream of unknown length.
   */
  constructor(dtype: D, bytes: number | undefined, smallest: number) {
    elementsOf(bytes ?? 0, dtype, "bytes", ACTION);
    this.#dtype = dtype;
    this.#bytes = bytes;
    this.#smallest = smallest;
  }

  async open(task: UploadTask): Promise<void> {
    if (this.#bytes === undefined) return;
    await this.#allocateWhole(task, this.#bytes);
    this.#parts.push({ buffer: this.#whole!, bytes: this.#bytes, used: 0 });
  }

  async #allocateWhole(task: UploadTask, bytes: number): Promise<void> {
    this.#whole = await task.allocate(this.#dtype, elementsOf(bytes, this.#dtype, "it", ACTION));
  }

  async add(task: UploadTask, chunk: Uint8Array): Promise<void> {
    const { slotBytes } = task.slots.limits;
    for (let taken = 0; taken < chunk.length;) {
      const last = this.#parts.at(-1);
      const room = last === undefined ? 0 : last.bytes - last.used - this.#filled;
      if (room === 0) {
        await this.#grow(task);
        continue;
      }
      this.#slot ??= await task.take();
      if (this.#slot === undefined) return;
      const part = Math.min(chunk.length - taken, slotBytes - this.#filled, room);
      this.#slot.pinned.bytes.set(chunk.subarray(taken, taken + part), this.#filled);
      taken += part;
      this.#filled += part;
      if (part === room || this.#filled === slotBytes) this.send(task);
    }
  }

  /** Adds a part as large as all parts before. */
  async #grow(task: UploadTask): Promise<void> {
    if (this.#bytes !== undefined) {
      throw new RangeError(`Cannot ${ACTION} as it must have ${this.#bytes} bytes: it has more`);
    }
    const capacity = this.#parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const bytes = Math.max(this.#smallest, capacity);
    this.#parts.push({ buffer: await task.allocate("uint8", bytes), bytes, used: 0 });
  }

  send(task: UploadTask): void {
    if (this.#slot === undefined) return;
    const last = this.#parts.at(-1)!;
    task.send(this.#slot, last.buffer, last.used, this.#filled);
    last.used += this.#filled;
    this.#slot = undefined;
    this.#filled = 0;
  }

  drop(task: UploadTask): void {
    if (this.#slot !== undefined) task.slots.giveBack(this.#slot);
    this.#slot = undefined;
  }

  /** Checks a known length, or joins the parts after their arrival. */
  async complete(task: UploadTask): Promise<void> {
    const bytes = this.#parts.reduce((sum, { used }) => sum + used, 0);
    if (this.#bytes !== undefined) {
      if (bytes === this.#bytes) return;
      throw new RangeError(
        `Cannot ${ACTION} as it must have ${this.#bytes} bytes: it has ${bytes}`,
      );
    }
    await this.#allocateWhole(task, bytes);
    const { context, address } = this.#whole!;
    try {
      let offset = 0;
      for (const { buffer, used } of this.#parts) {
        const place = { context, address: address + offset, byteLength: used };
        copyBetween(place, buffer, used, task.slots.stream);
        offset += used;
      }
      await task.slots.done();
    } catch (error) {
      // Copies of unknown state may still use the memory.
      await Promise.allSettled([deviceDone(context)]);
      throw error;
    }
    using parts = new DisposableStack();
    for (const { buffer } of this.#parts) parts.use(buffer);
  }

  release(): DeviceBuffer<D> {
    const whole = this.#whole!;
    this.#whole = undefined;
    return whole;
  }

  /** Frees the parts, and after a failure the whole buffer. */
  [Symbol.dispose](): void {
    if (this.#whole !== undefined) giveBackAfterFailure(this.#whole);
    if (this.#bytes !== undefined) return;
    for (const { buffer } of this.#parts) giveBackAfterFailure(buffer);
  }
}
