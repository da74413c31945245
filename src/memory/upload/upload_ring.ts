/**
 * The pinned memory that uploads pass through, however long they are.
 *
 * @module
 */

import { requireInstance, requireObject } from "../../ffi/arguments.ts";
import { checkInteger } from "../../ffi/arguments.ts";
import { DeviceContext } from "../../hardware/device_context.ts";
import { makeDeviceStream, Stream } from "../../stream/stream.ts";
import { MAX_SLAB_BYTES } from "../staging.ts";
import { type SlotLimits, UploadSlots } from "./upload_slots.ts";

/** Options of a new {@linkcode UploadRing}. */
export interface UploadRingOptions {
  /** How many slots there are at most, 1 to 1024; 8 by default. */
  readonly slots?: number;
  /** The size of a slot in bytes, up to 4 GiB; 8 MiB by default. */
  readonly slotBytes?: number;
  /**
   * How many slots are read into at once, each on a thread of its own, 1 to 32; 4 by default. Deno
   * has 32 such threads, which also read and write files asynchronously.
   */
  readonly readers?: number;
}

const DEFAULT_LIMITS: SlotLimits = { slots: 8, slotBytes: 8 * 2 ** 20, readers: 4 };

/** The threads that Deno has for the nonblocking calls of an isolate. */
const MAXIMUM_READERS = 32;
const MAXIMUM_SLOTS = 1024;

function checkedLimits(options: UploadRingOptions): SlotLimits {
  const action = "make an upload ring";
  requireObject(options, "options", action);
  const {
    slots = DEFAULT_LIMITS.slots,
    slotBytes = DEFAULT_LIMITS.slotBytes,
    readers = DEFAULT_LIMITS.readers,
  } = options;
  return {
    slots: checkInteger(slots, "slots", action, 1, MAXIMUM_SLOTS),
    slotBytes: checkInteger(slotBytes, "slotBytes", action, 1, MAX_SLAB_BYTES),
    readers: checkInteger(readers, "readers", action, 1, MAXIMUM_READERS),
  };
}

/**
 * The pinned memory that uploads pass through, in slots: one is read into while another is copied
 * to the device. It bounds the memory and the threads of all uploads that share it; of those, what
 * began first is done first.
 *
 * Each device has one for the uploads that name none. One of one's own, made by
 * `device.createUploadRing()`, is for other limits, or for giving the memory back early.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * const path = await Deno.makeTempFile();
 * await Deno.writeFile(path, new Uint8Array(1 << 20));
 * using device = openDevice();
 * await using ring = device.createUploadRing({ slots: 12, slotBytes: 16 * 2 ** 20, readers: 8 });
 * using weights = await device.uploadFile(path, { dtype: "float16", ring });
 * console.log(weights.length); // 524288
 * await Deno.remove(path);
 * ```
 */
export class UploadRing implements AsyncDisposable {
  /** The device that is uploaded to. */
  readonly context: DeviceContext;
  /** How many slots there are at most. */
  readonly slots: number;
  /** The size of a slot in bytes. */
  readonly slotBytes: number;
  /** How many slots are read into at once. */
  readonly readers: number;
  readonly #parts: UploadSlots;
  #uploads = 0;
  #lastUpload = 0;
  #disposed = false;
  #whenIdle: PromiseWithResolvers<void> | undefined;
  #closing: Promise<void> | undefined;

  private constructor(context: DeviceContext, limits: SlotLimits, stream: Stream) {
    this.context = context;
    this.slots = limits.slots;
    this.slotBytes = limits.slotBytes;
    this.readers = limits.readers;
    this.#parts = new UploadSlots(context, stream, limits);
  }

  /**
   * Makes a ring. No memory is pinned before it is needed.
   *
   * @param context The device.
   * @throws {RangeError} If an option is out of its range.
   */
  static create(context: DeviceContext, options: UploadRingOptions = {}): UploadRing {
    requireInstance(context, DeviceContext, "context", "make an upload ring");
    const limits = checkedLimits(options);
    // The stream holds the device open, and so the ring does.
    return new UploadRing(context, limits, new Stream(context));
  }

  /**
   * The ring of a device, for the uploads that name none; made when it is first needed.
   *
   * @internal
   */
  static ofDevice(context: DeviceContext): UploadRing {
    const known = rings.get(context);
    if (known !== undefined) return known;
    const ring = new UploadRing(context, DEFAULT_LIMITS, makeDeviceStream(context));
    rings.set(context, ring);
    context.onClose(() => ring.#parts.close());
    return ring;
  }

  /** Whether the ring is disposed. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Begins an upload, during which the ring stays.
   *
   * @internal
   * @returns The slots, and the number by which the upload asks for them.
   */
  begin(): { slots: UploadSlots; upload: number } {
    if (this.#disposed) throw new TypeError("Cannot upload through a ring as it is disposed");
    this.context.retain();
    this.#uploads++;
    return { slots: this.#parts, upload: ++this.#lastUpload };
  }

  /**
   * Ends an upload, which holds no slot any more.
   *
   * @internal
   */
  end(): void {
    this.#uploads--;
    if (this.#uploads === 0) this.#whenIdle?.resolve();
    this.context.release();
  }

  /**
   * Waits for the uploads that are under way, then gives the memory back. The ring of a device
   * stays: it ends with the device.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (rings.get(this.context) === this) return;
    this.#disposed = true;
    // Should it fail, it may be done again.
    this.#closing ??= this.#close().finally(() => this.#closing = undefined);
    await this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#uploads > 0) {
      this.#whenIdle ??= Promise.withResolvers();
      await this.#whenIdle.promise;
    }
    await this.#parts.closeAsync();
  }
}

const rings = new WeakMap<DeviceContext, UploadRing>();
