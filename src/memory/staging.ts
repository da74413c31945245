/**
 * Pinned memory, and the staging of JavaScript arrays through it.
 *
 * An asynchronous copy must not outlive the call that passed its JavaScript memory. Arrays are
 * therefore copied to and from pinned slabs on the JavaScript thread, and the device copies only
 * slabs. The content of a copy is also fixed at the time of the call.
 *
 * A slab is a `WebAssembly.Memory`, which is page-aligned, cannot be detached or transferred, and
 * needs no permission beyond that of the library.
 *
 * @module
 */

import { giveBack, giveBackAfterFailure, giveBackAsync } from "../ffi/give_back.ts";
import {
  readPinned,
  registerPinned,
  releasePinned,
  releasePinnedSync,
} from "../ffi/native_memory.ts";
import { createEvent, destroyEvent, queryEvent, recordEvent } from "../ffi/native_stream.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { deviceDone, eventDone } from "../stream/event.ts";
import type { Stream } from "../stream/stream.ts";
import {
  duringDeviceWait,
  refuseDeviceWait,
  refuseWhileCapturing,
} from "../stream/running_captures.ts";
import type { PinnedPlace } from "./enqueued_copy.ts";

const WASM_PAGE = 65536;

/** The largest slab: the limit of a 32-bit `WebAssembly.Memory`. */
export const MAX_SLAB_BYTES = 65536 * WASM_PAGE;

export class PinnedSlab implements Disposable {
  readonly context: DeviceContext;
  /** The requested bytes; the pinned pages may extend beyond them. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  #handle: number;

  /**
   * Allocates and pins memory.
   *
   * @param bytes 1 to 4 GiB.
   */
  constructor(context: DeviceContext, bytes: number) {
    if (!Number.isSafeInteger(bytes) || bytes < 1 || bytes > MAX_SLAB_BYTES) {
      throw new RangeError(
        `Cannot allocate pinned memory as bytes must be an integer in 1..${MAX_SLAB_BYTES}: it is ${bytes}`,
      );
    }
    refuseWhileCapturing(context.library, "allocate pinned memory");
    const pages = Math.ceil(bytes / WASM_PAGE);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const slab = new Uint8Array(memory.buffer as ArrayBuffer);
    this.#handle = registerPinned(context.library, context.ordinal, slab);
    this.context = context;
    this.bytes = slab.subarray(0, bytes);
  }

  get handle(): number {
    if (this.#handle === 0) throw new TypeError("Cannot use pinned memory as it is disposed");
    return this.#handle;
  }

  get disposed(): boolean {
    return this.#handle === 0;
  }

  /**
   * Unpins the slab after the work that uses it, blocking this thread. Its bytes stay readable.
   */
  [Symbol.dispose](): void {
    if (this.#handle === 0) return;
    const { library, ordinal } = this.context;
    refuseDeviceWait(library, "release pinned memory");
    const unpin = () => releasePinnedSync(library, ordinal, this.#handle);
    giveBack(this.context, unpin, () => this.#handle = 0);
  }

  /** Unpins the slab without blocking the event loop. The slab must no longer be used. */
  async release(): Promise<void> {
    if (this.#handle === 0) return;
    const { library, ordinal } = this.context;
    refuseDeviceWait(library, "release pinned memory");
    await giveBackAsync(
      this.context,
      () =>
        duringDeviceWait(library, async () => {
          // If this fails, the release waits by itself, and reports what it meets.
          await deviceDone(this.context).catch(() => {});
          await releasePinned(library, ordinal, this.#handle);
        }),
      () => this.#handle = 0,
    );
  }
}

/** Maximum pinned bytes that the area of a device keeps for reuse. */
const RETAINED_STAGING_BYTES: number = 256 * 2 ** 20;

/** Minimum size of a slab, to let small copies reuse slabs. */
const MIN_SLAB_BYTES = 2 ** 20;

/** A pinned slab for one copy at a time, with an event that marks the end of the copy. */
export class StagingSlab {
  readonly pinned: PinnedSlab;
  readonly #context: DeviceContext;
  // A raw event, because an `Event` would keep the device open as long as the slab lives.
  #event: number;
  #taken = false;
  /** Whether a copy may be running whose end could not be recorded. */
  isUnmarked = false;

  constructor(context: DeviceContext, bytes: number) {
    this.#context = context;
    this.pinned = new PinnedSlab(context, bytes);
    try {
      this.#event = createEvent(context.library, context.ordinal, false);
    } catch (error) {
      giveBackAfterFailure(this.pinned);
      throw error;
    }
  }

  /** Takes the slab for a copy if it is large enough and its previous copy has finished. */
  tryTake(bytes: number): boolean {
    if (this.#taken || this.pinned.bytes.length < bytes) return false;
    if (!queryEvent(this.#context.library, this.#context.ordinal, this.#event)) return false;
    this.#taken = true;
    return true;
  }

  carry(stream: Stream, enqueueCopy: () => void): void {
    enqueueCopy();
    this.isUnmarked = true;
    recordEvent(this.#context.library, this.#context.ordinal, stream.id, this.#event);
    this.isUnmarked = false;
  }

  /** The slab as the place of a copy. */
  place(offset = 0): PinnedPlace {
    return { handle: this.pinned.handle, offset, use: "staged" };
  }

  /** Copies bytes of the slab to an array. */
  readTo(target: Uint8Array<ArrayBufferLike>, offset: number): void {
    const { library, ordinal } = this.#context;
    readPinned(library, ordinal, this.pinned.handle, offset, target);
  }

  /** Resolves when the last {@linkcode StagingSlab.carry} has finished. */
  done(): Promise<void> {
    return eventDone(this.#context, this.#event);
  }

  giveBack(): void {
    this.#taken = false;
  }

  /** Unpins the memory after the work that uses it, blocking this thread. */
  close(): void {
    this.#destroyEvent();
    this.pinned[Symbol.dispose]();
  }

  /** The twin of {@linkcode StagingSlab.close} that does not block the event loop. */
  async closeAsync(): Promise<void> {
    this.#destroyEvent();
    await this.pinned.release();
  }

  #destroyEvent(): void {
    if (this.#event === 0) return;
    const { library, ordinal } = this.#context;
    const destroy = () => destroyEvent(library, ordinal, this.#event);
    giveBack(this.#context, destroy, () => this.#event = 0);
  }
}

/** The largest copy that shares its slab with other copies. */
export const MAX_SHARED_BYTES = 2 ** 16;

/** Bytes between the parts of a slab, to keep the device's writes in separate cache lines. */
const PART_ALIGNMENT = 256;

/** A slab that is divided among small copies, each with an event of its own. */
interface SharedSlab {
  readonly slab: StagingSlab;
  /** The end of the last part. */
  used: number;
  /** The number of running copies. */
  parts: number;
}

export class StagingArea {
  readonly #context: DeviceContext;
  readonly #limit: number;
  readonly #kept: StagingSlab[] = [];
  #keptBytes = 0;
  #shared: SharedSlab | undefined;

  /** An area that keeps this many pinned bytes. */
  constructor(context: DeviceContext, limit: number = RETAINED_STAGING_BYTES) {
    this.#context = context;
    this.#limit = limit;
  }

  /**
   * Takes a reusable slab.
   *
   * @returns `undefined` if all slabs are busy and the area has reached its limit.
   */
  tryTake(bytes: number): StagingSlab | undefined {
    const place = this.#kept.findIndex((slab) => slab.tryTake(bytes));
    if (place >= 0) {
      // Moved to the end: the least recently used slab is the most likely to be free.
      const [free] = this.#kept.splice(place, 1);
      this.#kept.push(free!);
      return free;
    }
    const size = Math.max(MIN_SLAB_BYTES, 2 ** Math.ceil(Math.log2(bytes)));
    if (this.#keptBytes + size > this.#limit) return undefined;
    const slab = new StagingSlab(this.#context, size);
    this.#keptBytes += size;
    this.#kept.push(slab);
    slab.tryTake(bytes);
    return slab;
  }

  /**
   * Takes a part of a slab for a small copy, because thousands of copies may be pending.
   *
   * @param bytes At most {@linkcode MAX_SHARED_BYTES}.
   */
  takePart(bytes: number): { readonly slab: StagingSlab; readonly offset: number } & Disposable {
    let shared = this.#shared;
    if (shared === undefined || shared.used + bytes > shared.slab.pinned.bytes.length) {
      const slab = this.tryTake(MIN_SLAB_BYTES) ?? new StagingSlab(this.#context, MIN_SLAB_BYTES);
      this.#shared = shared = { slab, used: 0, parts: 0 };
    }
    const { slab, used: offset } = shared;
    shared.used += Math.ceil(bytes / PART_ALIGNMENT) * PART_ALIGNMENT;
    shared.parts++;
    const end = () => {
      if (--shared.parts > 0) return;
      if (this.#shared === shared && !slab.isUnmarked) {
        shared.used = 0;
        return;
      }
      if (this.#shared === shared) this.#shared = undefined;
      if (!this.keeps(slab)) slab.close();
    };
    return { slab, offset, [Symbol.dispose]: end };
  }

  /** Makes a reusable slab available. False for a temporary or unmarked one, to be closed. */
  keeps(slab: StagingSlab): boolean {
    const place = this.#kept.indexOf(slab);
    if (place < 0) return false;
    if (!slab.isUnmarked) {
      slab.giveBack();
      return true;
    }
    this.#kept.splice(place, 1);
    this.#keptBytes -= slab.pinned.bytes.length;
    return false;
  }

  close(): void {
    this.#shared = undefined;
    // A slab that fails to close stays for the next attempt.
    for (const slab of this.#kept.toReversed()) {
      slab.close();
      this.#kept.pop();
      this.#keptBytes -= slab.pinned.bytes.length;
    }
  }
}

const areas = new WeakMap<DeviceContext, StagingArea>();

/** The staging area of an opened device, made on first use. */
export function stagingArea(context: DeviceContext): StagingArea {
  let area = areas.get(context);
  if (area === undefined) {
    areas.set(context, area = new StagingArea(context));
    context.onClose(() => area!.close());
  }
  return area;
}
