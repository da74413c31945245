/**
 * One upload under way: its copies, its progress, and how it ends.
 *
 * Whatever fails first, the reads and copies that have begun are waited for before the upload ends:
 * neither can be called back, and both use memory that is given away then.
 *
 * @module
 */

import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import type { Stream } from "../../stream/stream.ts";
import type { DeviceBuffer } from "../device_buffer.ts";
import { enqueueFromPinned } from "../enqueued_copy.ts";
import { bufferFromPool } from "../pooled_buffer.ts";
import type { DType } from "../dtype.ts";
import { poolOf } from "../pool/device_pool.ts";
import type { StagingSlab } from "../staging.ts";
import type { UploadProgress, UploadSettings } from "./upload_options.ts";
import type { UploadSlots } from "./upload_slots.ts";

/** An upload under way. */
export class UploadTask {
  readonly #slots: UploadSlots;
  readonly #upload: number;
  readonly #settings: UploadSettings;
  readonly #copies = new Set<Promise<void>>();
  readonly #failure = new AbortController();
  #totalBytes: number | undefined;
  #reported: UploadProgress | undefined;
  #bytes = 0;

  /** Makes the upload; {@linkcode runUpload} begins and ends it. */
  constructor(
    slots: UploadSlots,
    upload: number,
    settings: UploadSettings,
    totalBytes: number | undefined,
  ) {
    this.#slots = slots;
    this.#upload = upload;
    this.#settings = settings;
    this.#totalBytes = totalBytes;
  }

  /** Aborted when the upload has failed or was cancelled; its reason is what is thrown. */
  get failure(): AbortSignal {
    return this.#failure.signal;
  }

  /** The stream of the copies. */
  get stream(): Stream {
    return this.#slots.stream;
  }

  /** The size of a slot in bytes. */
  get slotBytes(): number {
    return this.#settings.ring.slotBytes;
  }

  /** How many parts are worth reading at once. */
  get readers(): number {
    return this.#settings.ring.readers;
  }

  /** Lets the upload fail; of several failures the first is thrown. */
  fail(error: unknown): void {
    if (this.#failure.signal.aborted) return;
    this.#failure.abort(error);
    this.#slots.cancel(this.#upload);
  }

  /** Lets later copies wait for the work enqueued so far on a stream. */
  follow(stream: Stream): void {
    this.#slots.follow(stream);
  }

  /** Takes a slot, waiting until there is one; `undefined` once the upload has failed. */
  async take(): Promise<StagingSlab | undefined> {
    if (this.failure.aborted) return undefined;
    const slot = await this.#slots.take(this.#upload);
    if (slot === undefined || !this.failure.aborted) return slot;
    this.#slots.giveBack(slot);
    return undefined;
  }

  /** Gives a slot back of which nothing is to be copied. */
  giveBack(slot: StagingSlab): void {
    this.#slots.giveBack(slot);
  }

  /**
   * Enqueues copying the first bytes of a slot to a place in a buffer; {@linkcode runUpload} waits
   * for it.
   */
  send(slot: StagingSlab, buffer: DeviceBuffer, offset: number, bytes: number): void {
    if (this.failure.aborted) {
      this.#slots.giveBack(slot);
      return;
    }
    const copy = this.#copy(slot, buffer, offset, bytes).finally(() => this.#copies.delete(copy));
    this.#copies.add(copy);
  }

  async #copy(
    slot: StagingSlab,
    buffer: DeviceBuffer,
    offset: number,
    bytes: number,
  ): Promise<void> {
    const { stream } = this;
    const enqueue = () => {
      // Should the caller free the buffer now, its memory stays until the copy is done.
      buffer.recordStream(stream);
      const place = { handle: slot.pinned.handle, offset: 0, use: "staged" } as const;
      enqueueFromPinned(stream, buffer.address + offset, place, bytes);
    };
    if (!await this.#slots.send(slot, enqueue, (error) => this.fail(error))) return;
    this.#bytes += bytes;
    try {
      this.#report();
    } catch (error) {
      this.fail(error);
    }
  }

  #report(): void {
    const [bytes, totalBytes] = [this.#bytes, this.#totalBytes];
    const { onProgress } = this.#settings;
    if (onProgress === undefined || this.failure.aborted) return;
    if (this.#reported?.bytes === bytes && this.#reported.totalBytes === totalBytes) return;
    this.#reported = { bytes, totalBytes };
    onProgress(this.#reported);
  }

  /** Resolves when what was enqueued so far on {@linkcode UploadTask.stream} is done. */
  async done(): Promise<void> {
    await this.#slots.done();
  }

  /** Waits until everything that was sent has arrived, or has failed to. */
  async settle(): Promise<void> {
    await Promise.all(this.#copies);
  }

  /** Tells, at the end, how much it was in all: nobody knew of a stream, and nothing came of none. */
  conclude(): void {
    this.#totalBytes = this.#bytes;
    this.#report();
  }
}

/**
 * Runs an upload and waits for all of it.
 *
 * @param settings Where it goes through and who is told.
 * @param totalBytes How much it will be, if that is known.
 * @param act Takes slots, fills and sends them; resolves when there is nothing more to send.
 * @throws What `act` threw, or whatever else failed first.
 */
export async function runUpload(
  settings: UploadSettings,
  totalBytes: number | undefined,
  act: (task: UploadTask) => Promise<void>,
): Promise<void> {
  const { ring, stream, signal } = settings;
  signal?.throwIfAborted();
  const { slots, upload } = ring.begin();
  const task = new UploadTask(slots, upload, settings, totalBytes);
  const abort = () => task.fail(signal?.reason);
  signal?.addEventListener("abort", abort);
  try {
    slots.follow(stream);
    await act(task);
    await task.settle();
    task.conclude();
  } catch (error) {
    task.fail(error);
    await task.settle();
  } finally {
    signal?.removeEventListener("abort", abort);
    ring.end();
  }
  task.failure.throwIfAborted();
}

/**
 * Makes a buffer that is uploaded into, without blocking the event loop where memory is short. It
 * belongs to the caller's stream, as if it had been allocated there: what the memory was before,
 * that stream may still use, and the copies of the upload come after that.
 *
 * @throws {OutOfMemoryError} If the device has no room.
 */
export async function allocateTarget<D extends DType>(
  dtype: D,
  length: number,
  stream: Stream,
  task: UploadTask,
): Promise<DeviceBuffer<D>> {
  const { context } = stream;
  const pool = poolOf(context);
  const buffer = await bufferFromPool(pool, context, dtype, length, { stream });
  try {
    // Meanwhile the stream may have been given work with what was there before.
    task.follow(stream);
  } catch (error) {
    giveBackAfterFailure(buffer);
    throw error;
  }
  return buffer;
}
