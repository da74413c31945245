/**
 * From streams of bytes to the device: what comes over the network, or out of a decompressor.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import { requireObject } from "../../ffi/arguments.ts";
import { checkSize } from "../../ffi/arguments.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { nextTurn } from "../../stream/event.ts";
import type { DeviceBuffer } from "../device_buffer.ts";
import type { DType } from "../dtype.ts";
import type { StagingSlab } from "../staging.ts";
import { FixedTarget, GrowingTarget, type StreamTarget } from "./stream_target.ts";
import { type TransferOptions, uploadSettings } from "./upload_options.ts";
import { runUpload, type UploadTask } from "./upload_task.ts";

/** Bytes in chunks of any size: the body of a response, a file, a generator. */
export type ByteSource =
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | Iterable<Uint8Array>;

/** Options of {@linkcode uploadStream}. */
export interface StreamUploadOptions<D extends DType = DType> extends TransferOptions {
  /**
   * How many bytes will come; any other number is an error. Without it device memory is taken as
   * they come, by doubling, and up to three times as much in the end, when they are put together.
   */
  readonly bytes?: number;
  /** The element type; `uint8` by default. The bytes have the device's order: little endian. */
  readonly dtype?: D;
}

/**
 * Allocates a buffer and copies all bytes of a stream into it. A slow device slows the stream down:
 * no chunk is asked for before there is room for the last one.
 *
 * If the upload fails or is cancelled, so is the stream.
 *
 * @typeParam D The element type.
 * @param context The device.
 * @param source The bytes; each chunk may be used again as soon as the next one is asked for.
 * @throws {TypeError} If a chunk is no `Uint8Array`, or the stream is locked.
 * @throws {RangeError} If there are not as many bytes as promised, or they are no whole number of
 * elements.
 * @throws {OutOfMemoryError} If the device has no room.
 * @throws What the stream fails with; the signal's reason, if it cancels the upload; and what
 * `onProgress` throws.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * // As the body of a compressed file that is fetched.
 * const response = new Response(new Blob([new Uint8Array(1 << 20)]).stream()
 *   .pipeThrough(new CompressionStream("gzip")));
 * const bytes = response.body!.pipeThrough(new DecompressionStream("gzip"));
 * using weights = await device.uploadStream(bytes, { dtype: "float16" });
 * console.log(weights.length); // 524288
 * ```
 */
export async function uploadStream<D extends DType = "uint8">(
  context: DeviceContext,
  source: ByteSource,
  options: StreamUploadOptions<D> = {},
): Promise<DeviceBuffer<D>> {
  const action = "upload a stream";
  const settings = uploadSettings(context, options, action);
  const { dtype = "uint8" as D, bytes } = options;
  if (bytes !== undefined) checkSize(bytes, "bytes", action);
  const reader = readerOf(source, action);
  try {
    using target = bytes === undefined
      ? new GrowingTarget(settings.stream, dtype, settings.ring.slotBytes)
      : new FixedTarget(settings.stream, dtype, bytes);
    await runUpload(settings, bytes, async (task) => {
      // Ends the wait for a chunk, too.
      task.failure.addEventListener("abort", () => cancel(reader, task.failure.reason));
      await target.open(task);
      await sendChunks(task, reader, target);
      if (task.failure.aborted) return;
      await task.settle();
      await target.complete(task);
    });
    return target.release();
  } catch (error) {
    cancel(reader, error);
    throw error;
  } finally {
    reader.releaseLock();
  }
}

function readerOf(source: ByteSource, action: string): ReadableStreamDefaultReader<Uint8Array> {
  requireObject(source, "source", action);
  if (source instanceof ReadableStream) return source.getReader();
  if (Symbol.asyncIterator in source || Symbol.iterator in source) {
    return ReadableStream.from(source as AsyncIterable<Uint8Array>).getReader();
  }
  throw new TypeError(
    `Cannot ${action} as source must be a ReadableStream, or iterable: it is ${
      describeValue(source)
    }`,
  );
}

/** Tells a stream that nobody reads on, because of a failure that is told already. */
function cancel(reader: ReadableStreamDefaultReader<Uint8Array>, reason: unknown): void {
  // A source that fails at being cancelled, or never answers, must not hide that failure.
  reader.cancel(reason).catch(() => {});
}

async function sendChunks(
  task: UploadTask,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  target: StreamTarget,
): Promise<void> {
  const filler = new SlotFiller(task, target);
  try {
    for (;;) {
      const coming = reader.read();
      // A slot is not held while the source is slow: others may be waiting for it.
      if (await Promise.race([coming, nextTurn()]) === undefined) filler.send();
      const { done, value } = await coming;
      if (done || task.failure.aborted) break;
      await filler.add(checkedChunk(value));
    }
    filler.send();
  } finally {
    filler.drop();
  }
}

function checkedChunk(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  throw new TypeError(
    `Cannot upload a stream as its chunks must be of Uint8Array: one is ${describeValue(chunk)}`,
  );
}

/** Collects chunks in a slot, and sends it when it is full. */
class SlotFiller {
  readonly #task: UploadTask;
  readonly #target: StreamTarget;
  #slot: StagingSlab | undefined;
  #filled = 0;

  constructor(task: UploadTask, target: StreamTarget) {
    this.#task = task;
    this.#target = target;
  }

  /** Copies a chunk into slots, as many as it takes. */
  async add(chunk: Uint8Array): Promise<void> {
    for (let taken = 0; taken < chunk.length;) {
      const room = this.#target.room(this.#filled);
      if (room === 0) {
        await this.#target.grow(this.#task);
        continue;
      }
      this.#slot ??= await this.#task.take();
      if (this.#slot === undefined) return;
      const part = Math.min(chunk.length - taken, this.#task.slotBytes - this.#filled, room);
      this.#slot.pinned.bytes.set(chunk.subarray(taken, taken + part), this.#filled);
      taken += part;
      this.#filled += part;
      if (part === room || this.#filled === this.#task.slotBytes) this.send();
    }
  }

  /** Sends what is there. */
  send(): void {
    if (this.#slot === undefined) return;
    const { buffer, offset } = this.#target.advance(this.#filled);
    this.#task.send(this.#slot, buffer, offset, this.#filled);
    this.#slot = undefined;
    this.#filled = 0;
  }

  /** Gives a slot back that was not sent, because something failed. */
  drop(): void {
    if (this.#slot !== undefined) this.#task.giveBack(this.#slot);
    this.#slot = undefined;
  }
}
