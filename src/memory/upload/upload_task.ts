/**
 * One upload: its options, its copies, its progress and its end.
 *
 * After a failure the upload waits for the reads and copies that have begun. Neither can be revoked,
 * and both use memory that is freed then.
 *
 * @module
 */

import { requireInstance, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import { DeviceContext } from "../../hardware/device_context.ts";
import { refuseCaptured, refuseWhileCapturing } from "../../stream/running_captures.ts";
import type { Stream } from "../../stream/stream.ts";
import { WorkOrder } from "../../stream/work_order.ts";
import { streamFor } from "../buffer_copy.ts";
import { bufferFromPoolAsync, type DeviceBuffer } from "../device_buffer.ts";
import { bytesPerElement, type DType } from "../dtype.ts";
import { enqueueFromPinned } from "../enqueued_copy.ts";
import { poolOf } from "../pool/device_pools.ts";
import type { StagingSlab } from "../staging.ts";
import { beginUpload, ringOfDevice, UploadRing, type UploadSlots } from "./upload_ring.ts";

/**
 * Options of every upload.
 * @category Memory
 */
export interface TransferOptions {
  /**
   * The upload waits for the work enqueued so far on this stream, by default the device's default
   * stream. Later work does not wait for the upload: await the promise.
   */
  readonly stream?: Stream;
  /** The pinned memory; the default ring of the device if absent. */
  readonly ring?: UploadRing;
  /**
   * Called as bytes arrive, with a growing number, and at last with all bytes. `totalBytes` is
   * `undefined` for a stream of unknown length until its end. An exception ends the upload.
   */
  readonly onProgress?: (
    progress: { readonly bytes: number; readonly totalBytes: number | undefined },
  ) => void;
  /** Cancels the upload, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The names of {@linkcode TransferOptions}. */
export const TRANSFER_NAMES: readonly string[] = ["stream", "ring", "onProgress", "signal"];

export interface UploadSettings extends Pick<TransferOptions, "onProgress" | "signal"> {
  readonly ring: UploadRing;
  readonly stream: Stream;
}

/**
 * Checks the options of an upload.
 *
 * @param names The names of all options.
 * @param action The action in error messages.
 */
export function uploadSettings(
  context: DeviceContext,
  options: TransferOptions,
  names: readonly string[],
  action: string,
): UploadSettings {
  requireInstance(context, DeviceContext, "context", action);
  requireOptions(options, names, action);
  const { onProgress, signal } = options;
  if (signal !== undefined) requireInstance(signal, AbortSignal, "signal", action);
  if (onProgress !== undefined && typeof onProgress !== "function") {
    throw new TypeError(
      `Cannot ${action} as onProgress must be a function: it is ${describeValue(onProgress)}`,
    );
  }
  signal?.throwIfAborted();
  const stream = streamFor(context, options.stream);
  refuseCaptured(stream, action, "a graph does not read files again");
  refuseWhileCapturing(context.library, action);
  const { ring = ringOfDevice(context) } = options;
  requireInstance(ring, UploadRing, "ring", action);
  if (!ring.context.isSameDevice(context)) {
    throw new TypeError(
      `Cannot ${action} as ring must be of ${context.label}: it is of ${ring.context.label}`,
    );
  }
  return {
    ring,
    stream,
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(signal === undefined ? {} : { signal }),
  };
}

/**
 * Converts bytes to elements.
 *
 * @param what The subject of the error message.
 */
export function elementsOf(bytes: number, dtype: DType, what: string, action: string): number {
  const size = bytesPerElement(dtype);
  if (bytes % size === 0) return bytes / size;
  throw new RangeError(
    `Cannot ${action} as ${dtype} as ${what} must be a multiple of ${size} bytes: it is ${bytes}`,
  );
}

export class UploadTask {
  readonly slots: UploadSlots;
  readonly #upload: number;
  readonly #settings: UploadSettings;
  readonly #copies = new Set<Promise<void>>();
  readonly #failure = new AbortController();
  #totalBytes: number | undefined;
  #reported = "";
  #bytes = 0;

  /** Creates the task; {@linkcode runUpload} begins and ends it. */
  constructor(
    slots: UploadSlots,
    upload: number,
    settings: UploadSettings,
    totalBytes: number | undefined,
  ) {
    this.slots = slots;
    this.#upload = upload;
    this.#settings = settings;
    this.#totalBytes = totalBytes;
  }

  /** Aborted after a failure or cancellation, with its reason. */
  get failure(): AbortSignal {
    return this.#failure.signal;
  }

  /** Fails the upload; the first failure is thrown. */
  fail(error: unknown): void {
    if (this.failure.aborted) return;
    this.#failure.abort(error);
    this.slots.cancel(this.#upload);
  }

  async take(): Promise<StagingSlab | undefined> {
    if (this.failure.aborted) return undefined;
    const slot = await this.slots.take(this.#upload);
    if (slot === undefined || !this.failure.aborted) return slot;
    this.slots.giveBack(slot);
    return undefined;
  }

  /** Enqueues a copy of the first bytes of a slot to a place in a buffer. */
  send(slot: StagingSlab, buffer: DeviceBuffer, offset: number, bytes: number): void {
    if (this.failure.aborted) return this.slots.giveBack(slot);
    const copy = this.#copy(slot, buffer, offset, bytes).finally(() => this.#copies.delete(copy));
    this.#copies.add(copy);
  }

  async #copy(
    slot: StagingSlab,
    buffer: DeviceBuffer,
    offset: number,
    bytes: number,
  ): Promise<void> {
    const { stream } = this.slots;
    const enqueue = () => {
      // The memory stays until the end of the copy if the caller frees the buffer.
      buffer.recordStream(stream);
      // The upload began after the operations that waited then; later ones do not use the memory yet.
      WorkOrder.of(stream).aside(() =>
        enqueueFromPinned(stream, buffer.address + offset, slot.place(), bytes)
      );
    };
    if (!await this.slots.send(slot, enqueue, (error) => this.fail(error))) return;
    this.#bytes += bytes;
    try {
      this.#report();
    } catch (error) {
      this.fail(error);
    }
  }

  #report(): void {
    const [bytes, totalBytes] = [this.#bytes, this.#totalBytes];
    if (this.failure.aborted) return;
    const progress = `${bytes} of ${totalBytes}`;
    if (this.#reported === progress) return;
    this.#reported = progress;
    this.#settings.onProgress?.({ bytes, totalBytes });
  }

  /**
   * Allocates a target buffer without blocking the event loop. It belongs to the caller's stream:
   * that stream may still use the memory, and the copies of the upload wait for it.
   */
  async allocate<D extends DType>(dtype: D, length: number): Promise<DeviceBuffer<D>> {
    const { stream } = this.#settings;
    const { context } = stream;
    const buffer = await bufferFromPoolAsync(poolOf(context), context, dtype, length, { stream });
    try {
      // The stream may have new work that uses the previous content of the memory.
      this.slots.follow(stream);
    } catch (error) {
      giveBackAfterFailure(buffer);
      throw error;
    }
    return buffer;
  }

  async settle(): Promise<void> {
    await Promise.all(this.#copies);
  }

  conclude(): void {
    this.#totalBytes = this.#bytes;
    this.#report();
  }
}

/**
 * Runs an upload and waits for its end.
 *
 * @param totalBytes The length, if known.
 * @param act Takes, fills and sends slots; resolves after the last.
 */
export async function runUpload(
  settings: UploadSettings,
  totalBytes: number | undefined,
  act: (task: UploadTask) => Promise<void>,
): Promise<void> {
  const { ring, stream, signal } = settings;
  signal?.throwIfAborted();
  using running = beginUpload(ring);
  const { slots, upload } = running;
  const task = new UploadTask(slots, upload, settings, totalBytes);
  const abort = () => task.fail(signal?.reason);
  signal?.addEventListener("abort", abort);
  try {
    const order = WorkOrder.of(stream);
    if (order.isWaiting) await order.inOrder(stream.context, () => Promise.resolve());
    slots.follow(stream);
    await act(task);
    await task.settle();
    task.conclude();
  } catch (error) {
    task.fail(error);
    await task.settle();
  } finally {
    signal?.removeEventListener("abort", abort);
  }
  task.failure.throwIfAborted();
}
