/**
 * Pinned slots for uploads: a slot is filled, copied to the device, and reused.
 *
 * @module
 */

import { formatBytes } from "../../ffi/describe_value.ts";
import { displayAs } from "../../ffi/display.ts";
import { labelOf } from "../../hardware/device_context.ts";
import { checkInteger, requireInstance, requireOptions } from "../../ffi/arguments.ts";
import { giveBack } from "../../ffi/give_back.ts";
import { createEvent, destroyEvent, recordEvent, waitForEvent } from "../../ffi/native_stream.ts";
import { DeviceContext } from "../../hardware/device_context.ts";
import { eventDone } from "../../stream/event.ts";
import { closeStream, makeDeviceStream, Stream } from "../../stream/stream.ts";
import { WorkOrder } from "../../stream/work_order.ts";
import { MAX_SLAB_BYTES, StagingSlab } from "../staging.ts";

/**
 * Options of a new {@linkcode UploadRing}.
 * @category Memory
 */
export interface UploadRingOptions {
  /** The maximum number of slots, 1 to 1024; 8 by default. */
  readonly slots?: number;
  /** The size of a slot in bytes, up to 4 GiB; 8 MiB by default. */
  readonly slotBytes?: number;
  /**
   * The number of slots that are filled at once, each by its own thread, 1 to 32; 4 by default. Deno
   * has 32 such threads, which also serve asynchronous file access.
   */
  readonly readers?: number;
}

const DEFAULT_LIMITS: Required<UploadRingOptions> = {
  slots: 8,
  slotBytes: 8 * 2 ** 20,
  readers: 4,
};

/** Deno's threads for nonblocking calls of an isolate. */
const MAX_READERS = 32;
const MAX_SLOTS = 1024;

const rings = new WeakMap<DeviceContext, UploadRing>();

export let beginUpload: (ring: UploadRing) => RunningUpload;
/** Returns the default ring of a device, created on first use. */
export let ringOfDevice: (context: DeviceContext) => UploadRing;

/**
 * Pinned memory for uploads, in slots: one slot is filled while another is copied to the device. A
 * ring bounds the memory and the threads of all uploads that share it. Uploads that began first
 * finish first.
 *
 * Each device has a default ring. `device.createUploadRing()` makes a ring with other limits, or one
 * that returns its memory early.
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
 * @category Memory
 */
export class UploadRing implements AsyncDisposable {
  /** The target device. */
  readonly context: DeviceContext;
  /** The maximum number of slots. */
  readonly slots: number;
  /** The size of a slot in bytes. */
  readonly slotBytes: number;
  /** The number of slots that are filled at once. */
  readonly readers: number;
  readonly #slots: UploadSlots;
  #uploads = 0;
  #lastUpload = 0;
  #disposed = false;
  #whenIdle: PromiseWithResolvers<void> | undefined;
  #closing: Promise<void> | undefined;

  static {
    beginUpload = (ring) => ring.#begin();
    ringOfDevice = (context) => {
      const known = rings.get(context);
      if (known !== undefined) return known;
      const ring = new UploadRing(context, DEFAULT_LIMITS, makeDeviceStream(context));
      rings.set(context, ring);
      context.onClose(() => ring.#slots.close());
      return ring;
    };
  }

  private constructor(
    context: DeviceContext,
    limits: Required<UploadRingOptions>,
    stream: Stream,
  ) {
    this.context = context;
    this.slots = limits.slots;
    this.slotBytes = limits.slotBytes;
    this.readers = limits.readers;
    this.#slots = new UploadSlots(context, stream, limits);
  }

  /**
   * Creates a ring. Slots are pinned on first use.
   *
   * @param context The device.
   * @throws {RangeError} If an option is out of range.
   */
  static create(context: DeviceContext, options: UploadRingOptions = {}): UploadRing {
    const action = "make an upload ring";
    requireInstance(context, DeviceContext, "context", action);
    requireOptions(options, ["slots", "slotBytes", "readers"], action);
    const {
      slots = DEFAULT_LIMITS.slots,
      slotBytes = DEFAULT_LIMITS.slotBytes,
      readers = DEFAULT_LIMITS.readers,
    } = options;
    const limits = {
      slots: checkInteger(slots, "slots", action, 1, MAX_SLOTS),
      slotBytes: checkInteger(slotBytes, "slotBytes", action, 1, MAX_SLAB_BYTES),
      readers: checkInteger(readers, "readers", action, 1, MAX_READERS),
    };
    // The stream keeps the device open.
    return new UploadRing(context, limits, new Stream(context));
  }

  /** True after the disposal of the ring. */
  get disposed(): boolean {
    return this.#disposed;
  }

  #begin(): RunningUpload {
    if (this.#disposed) throw new TypeError("Cannot upload through a ring as it is disposed");
    this.context.retain();
    this.#uploads++;
    const end = () => {
      this.#uploads--;
      if (this.#uploads === 0) this.#whenIdle?.resolve();
      this.context.release();
    };
    return { slots: this.#slots, upload: ++this.#lastUpload, [Symbol.dispose]: end };
  }

  /**
   * Waits for running uploads, then returns the memory. The default ring of a device stays until the
   * device closes.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (rings.get(this.context) === this) return;
    this.#disposed = true;
    // A failed disposal may be repeated.
    this.#closing ??= this.#close().finally(() => this.#closing = undefined);
    await this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#uploads > 0) {
      this.#whenIdle ??= Promise.withResolvers();
      await this.#whenIdle.promise;
    }
    await this.#slots.closeAsync();
  }
}

displayAs(UploadRing.prototype, "UploadRing", {
  device: labelOf,
  slots: ({ slots }) => slots,
  slotSize: ({ slotBytes }) => formatBytes(slotBytes),
  readers: ({ readers }) => readers,
  disposed: ({ disposed }) => disposed,
});

/** A running upload. Its disposal ends it. */
export interface RunningUpload extends Disposable {
  readonly slots: UploadSlots;
  readonly upload: number;
}

/** The slots of a ring. */
export class UploadSlots {
  /**
   * The stream of the copies. They complete in the order of their enqueueing, so one thread that
   * waits for the first is sufficient.
   */
  readonly stream: Stream;
  readonly limits: Required<UploadRingOptions>;
  readonly #context: DeviceContext;
  readonly #free: StagingSlab[] = [];
  /** Slots that the device may still use after a failure. */
  readonly #doubtful: StagingSlab[] = [];
  /** Slots with an enqueued copy. */
  readonly #sent: {
    readonly slot: StagingSlab;
    readonly fail: (error: unknown) => void;
    readonly resolve: (isDone: boolean) => void;
  }[] = [];
  /** Requests for slots, in the order of their uploads. */
  readonly #waiting: {
    readonly upload: number;
    readonly resolve: (slot: StagingSlab | undefined) => void;
    readonly reject: (error: unknown) => void;
  }[] = [];
  readonly #followed: StreamPoint;
  readonly #enqueued: StreamPoint;
  #made = 0;
  #taken = 0;

  constructor(context: DeviceContext, stream: Stream, limits: Required<UploadRingOptions>) {
    this.#context = context;
    this.limits = limits;
    this.#followed = new StreamPoint(context);
    this.#enqueued = new StreamPoint(context);
    this.stream = stream;
  }

  /**
   * Waits for a slot. The caller sends it or returns it.
   *
   * @param upload The number of the upload; lower numbers come first.
   * @returns `undefined` after the cancellation of the upload.
   */
  take(upload: number): Promise<StagingSlab | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<StagingSlab | undefined>();
    const later = this.#waiting.findIndex((waiter) => waiter.upload > upload);
    this.#waiting.splice(later < 0 ? this.#waiting.length : later, 0, { upload, resolve, reject });
    this.#serve();
    return promise;
  }

  cancel(upload: number): void {
    for (let index = this.#waiting.length - 1; index >= 0; index--) {
      if (this.#waiting[index]!.upload !== upload) continue;
      this.#waiting.splice(index, 1)[0]!.resolve(undefined);
    }
  }

  giveBack(slot: StagingSlab): void {
    this.#taken--;
    this.#free.push(slot);
    this.#serve();
  }

  /**
   * Enqueues the copy of a filled slot.
   *
   * @param fail Receives a failure at once.
   * @returns Resolves when the slot is unused: to true after the copy, to false after a failure.
   */
  async send(
    slot: StagingSlab,
    enqueueCopy: () => void,
    fail: (error: unknown) => void,
  ): Promise<boolean> {
    this.#taken--;
    try {
      slot.carry(this.stream, enqueueCopy);
    } catch (error) {
      fail(error);
      await this.#putAway(slot, slot.isUnmarked);
      return false;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#sent.push({ slot, fail, resolve });
    if (this.#sent.length === 1) void this.#awaitSent();
    this.#serve();
    return await promise;
  }

  async #awaitSent(): Promise<void> {
    for (let sent = this.#sent[0]; sent !== undefined; sent = this.#sent[0]) {
      const { slot, fail, resolve } = sent;
      const isDone = await slot.done().then(() => true, (error) => {
        fail(error);
        return false;
      });
      await this.#putAway(slot, !isDone);
      this.#sent.shift();
      resolve(isDone);
    }
  }

  /** Frees a slot, or removes one that a copy may still use. */
  async #putAway(slot: StagingSlab, isDoubtful: boolean): Promise<void> {
    if (isDoubtful) {
      // Closing waits for the devices that use the slot. It is repeated at the end if it fails.
      await slot.closeAsync().catch(() => this.#doubtful.push(slot));
      this.#made--;
    } else this.#free.push(slot);
    this.#serve();
  }

  /** Orders later copies after the work enqueued so far on a stream. */
  follow(stream: Stream): void {
    if (WorkOrder.of(stream).aside(() => stream.query())) return;
    this.#followed.mark(stream);
    this.#followed.holdBack(this.stream);
  }

  /** Resolves when the work enqueued so far on the stream of the copies is done. */
  async done(): Promise<void> {
    this.#enqueued.mark(this.stream);
    await this.#enqueued.reached();
  }

  #serve(): void {
    while (this.#waiting.length > 0 && this.#taken < this.limits.readers) {
      const [first] = this.#waiting;
      try {
        const slot = this.#freeSlot();
        if (slot === undefined) return;
        this.#taken++;
        first!.resolve(slot);
      } catch (error) {
        first!.reject(error);
      }
      this.#waiting.shift();
    }
  }

  #freeSlot(): StagingSlab | undefined {
    const free = this.#free.pop();
    if (free !== undefined || this.#made === this.limits.slots) return free;
    const slot = new StagingSlab(this.#context, this.limits.slotBytes);
    this.#made++;
    return slot;
  }

  /** Unpins all slots, blocking this thread. A slot that fails to close stays for a repetition. */
  close(): void {
    for (const slots of [this.#free, this.#doubtful]) {
      for (; slots.length > 0; slots.pop()) slots.at(-1)!.close();
    }
    this.#closeStream();
  }

  async closeAsync(): Promise<void> {
    for (const slots of [this.#free, this.#doubtful]) {
      for (; slots.length > 0; slots.pop()) await slots.at(-1)!.closeAsync();
    }
    this.#closeStream();
  }

  #closeStream(): void {
    this.#followed.close();
    this.#enqueued.close();
    closeStream(this.stream);
  }
}

/**
 * A point of a stream that is marked repeatedly, with one event, created on first use. Unlike an
 * `Event` it does not keep the device open.
 */
class StreamPoint {
  readonly #context: DeviceContext;
  #event = 0;

  constructor(context: DeviceContext) {
    this.#context = context;
  }

  mark(stream: Stream): void {
    const { library, ordinal } = this.#context;
    if (this.#event === 0) this.#event = createEvent(library, ordinal, false);
    recordEvent(library, ordinal, stream.id, this.#event);
  }

  holdBack(stream: Stream): void {
    waitForEvent(this.#context.library, this.#context.ordinal, stream.id, this.#event);
  }

  /** Resolves when the point is reached, or a later one that was marked meanwhile. */
  async reached(): Promise<void> {
    await eventDone(this.#context, this.#event);
  }

  close(): void {
    if (this.#event === 0) return;
    const { library, ordinal } = this.#context;
    const destroy = () => destroyEvent(library, ordinal, this.#event);
    giveBack(this.#context, destroy, () => this.#event = 0);
  }
}
