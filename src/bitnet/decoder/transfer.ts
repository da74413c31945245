/**
 * Brings the bytes of weights to a device, several weights at once.
 *
 * @module
 */

import type { DeviceContext } from "../../hardware/device_context.ts";
import type { DeviceBuffer } from "../../memory/device_buffer.ts";
import type { DType } from "../../memory/dtype.ts";
import { uploadFile } from "../../memory/upload/file_upload.ts";
import { uploadStream } from "../../memory/upload/stream_upload.ts";
import { UploadRing } from "../../memory/upload/upload_ring.ts";
import { fromBuffer, type Tensor } from "../../tensor/mod.ts";
import type { WeightSource } from "../files/model_source.ts";

/** Pinned memory: a slot is filled while others are copied. */
const RING = { slots: 6, slotBytes: 4 * 2 ** 20, readers: 3 };
/** Bytes on the device that are still to be converted, and what the least of them count for. */
const IN_FLIGHT = 32 * 2 ** 20;
const LEAST = 2 ** 20;

/** Options of {@linkcode WeightTransfer}. */
export interface TransferSettings {
  /** The bytes of all weights. */
  readonly bytes: number;
  readonly onProgress: ((read: number, bytes: number) => void) | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Room that requests take in their order. */
class Room {
  #free: number;
  readonly #all: number;
  readonly #waiting: { readonly bytes: number; readonly resolve: () => void }[] = [];

  constructor(bytes: number) {
    this.#free = this.#all = bytes;
  }

  /** Takes room, and returns what gives it back. More than there is counts as all. */
  async take(wanted: number): Promise<Disposable> {
    const bytes = Math.min(wanted, this.#all);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ bytes, resolve });
    this.#serve();
    await promise;
    return {
      [Symbol.dispose]: () => {
        this.#free += bytes;
        this.#serve();
      },
    };
  }

  #serve(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (first.bytes > this.#free) return;
      this.#free -= first.bytes;
      this.#waiting.shift();
      first.resolve();
    }
  }
}

/** A part of a weight. */
export interface WeightPart {
  readonly source: WeightSource;
  readonly offset: number;
  readonly bytes: number;
}

/** Bytes that pass from one memory to another, with progress. The first failure ends all transfers. */
export class WeightTransfer implements AsyncDisposable {
  readonly #context: DeviceContext;
  readonly #settings: TransferSettings;
  readonly #ending = new AbortController();
  readonly #signal: AbortSignal;
  readonly #ring: UploadRing;
  readonly #room = new Room(IN_FLIGHT);
  readonly #running = new Set<Promise<unknown>>();
  #read = 0;

  constructor(context: DeviceContext, settings: TransferSettings) {
    const { signal } = settings;
    signal?.throwIfAborted();
    this.#context = context;
    this.#settings = settings;
    const signals = signal === undefined ? [] : [signal];
    this.#signal = AbortSignal.any([this.#ending.signal, ...signals]);
    this.#ring = UploadRing.create(context, RING);
  }

  /** Runs what reads a weight, which is awaited before the transfers end. */
  async track<Result>(read: () => Promise<Result>): Promise<Result> {
    const running = read();
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      this.#ending.abort(error);
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }

  /**
   * Uploads a part that becomes something else, and calls what makes that of its elements. They are
   * freed afterwards.
   */
  async convert<D extends DType, Result>(
    part: WeightPart,
    dtype: D,
    use: (elements: Tensor<D>) => Result | Promise<Result>,
  ): Promise<Result> {
    return await this.track(async () => {
      using _room = await this.#room.take(Math.max(LEAST, part.bytes));
      using elements = fromBuffer(await this.upload(part, dtype));
      return await use(elements);
    });
  }

  /** Uploads a part. */
  async upload<D extends DType>(part: WeightPart, dtype: D): Promise<DeviceBuffer<D>> {
    this.#signal.throwIfAborted();
    const { source, offset, bytes } = part;
    let own = 0;
    const options = {
      ...{ bytes, dtype, signal: this.#signal, ring: this.#ring },
      onProgress: (progress: { readonly bytes: number }) => {
        this.#read += progress.bytes - own;
        own = progress.bytes;
        this.#settings.onProgress?.(this.#read, this.#settings.bytes);
      },
    };
    const { place } = source;
    if (place === undefined) return await uploadStream(this.#context, piecesOf(part), options);
    return await uploadFile(this.#context, place.path, {
      ...options,
      offset: place.offset + offset,
    });
  }

  /** Ends all transfers, and waits for them. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
    await this.#ring[Symbol.asyncDispose]();
  }
}

/** The bytes of a part, in pieces of one array. */
async function* piecesOf({ source, offset, bytes }: WeightPart): AsyncGenerator<Uint8Array> {
  const piece = new Uint8Array(Math.min(RING.slotBytes, bytes));
  for (let done = 0; done < bytes; done += piece.length) {
    const part = piece.subarray(0, Math.min(piece.length, bytes - done));
    await source.readInto(part, offset + done);
    yield part;
  }
}
