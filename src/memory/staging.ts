/**
 * Staging: how JavaScript arrays reach the device, and come back, in stream order.
 *
 * An asynchronous copy must not outlive the call that brought its JavaScript memory, so arrays
 * are copied to and from pinned slabs on the JavaScript thread and the device copies only slabs.
 * That also makes the copy's content that of the moment it was enqueued.
 *
 * @module
 */

import { giveBack, giveBackAfterFailure } from "../ffi/give_back.ts";
import { createEvent, destroyEvent, queryEvent, recordEvent } from "../ffi/native_stream.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { eventDone } from "../stream/event.ts";
import type { Stream } from "../stream/stream.ts";
import { MAXIMUM_SLAB_BYTES, PinnedSlab } from "./pinned_slab.ts";

/** The most pinned bytes an area keeps for reuse. */
export const RETAINED_STAGING_BYTES: number = 256 * 2 ** 20;

/** The smallest slab, so that small copies find one to reuse. */
const SMALLEST_SLAB = 2 ** 20;

/** A pinned slab that carries one copy at a time, and the event that tells when it is done. */
export class StagingSlab {
  /** The pinned memory. */
  readonly pinned: PinnedSlab;
  readonly #context: DeviceContext;
  // A raw event: an `Event` would hold the device open as long as the slab is kept.
  #event: number;
  #taken = false;
  #isUnmarked = false;

  /** Makes a slab of this many bytes. */
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

  /** Takes the slab for a copy of this many bytes, if it is long enough and its last one is done. */
  tryTake(bytes: number): boolean {
    if (this.#taken || this.pinned.bytes.length < bytes) return false;
    if (!queryEvent(this.#context.library, this.#context.ordinal, this.#event)) return false;
    this.#taken = true;
    return true;
  }

  /** Enqueues a copy that uses the slab, and marks the point on the stream where it is done. */
  carry(stream: Stream, enqueueCopy: () => void): void {
    enqueueCopy();
    this.#isUnmarked = true;
    recordEvent(this.#context.library, this.#context.ordinal, stream.id, this.#event);
    this.#isUnmarked = false;
  }

  /** Whether a copy may be under way of which nobody can tell when it is done. */
  get isUnmarked(): boolean {
    return this.#isUnmarked;
  }

  /** Resolves when what used the slab at the last {@linkcode StagingSlab.carry} is done. */
  done(): Promise<void> {
    return eventDone(this.#context, this.#event);
  }

  /** Lets the slab be taken again once its recorded copies are done. */
  giveBack(): void {
    this.#taken = false;
  }

  /** Waits, blocking this thread, for the devices that used it and gives the memory back. */
  close(): void {
    this.#destroyEvent();
    this.pinned[Symbol.dispose]();
  }

  /** The same without blocking the event loop. */
  async closeAsync(): Promise<void> {
    this.#destroyEvent();
    await this.pinned.release();
  }

  #destroyEvent(): void {
    if (this.#event === 0) return;
    const { library, ordinal } = this.#context;
    giveBack(
      this.#context,
      () => destroyEvent(library, ordinal, this.#event),
      () => this.#event = 0,
    );
  }
}

/** The staging slabs of a device. */
export class StagingArea {
  readonly #context: DeviceContext;
  readonly #kept: StagingSlab[] = [];
  #keptBytes = 0;

  /** Makes an empty area; slabs come as copies need them. */
  constructor(context: DeviceContext) {
    this.#context = context;
  }

  /**
   * Takes a slab that is kept for reuse.
   *
   * @returns `undefined` when all are busy and the area may not grow any more.
   */
  tryTake(bytes: number): StagingSlab | undefined {
    const place = this.#kept.findIndex((slab) => slab.tryTake(bytes));
    if (place >= 0) {
      // To the end: the slab that was taken longest ago is the most likely to be done.
      const [free] = this.#kept.splice(place, 1);
      this.#kept.push(free!);
      return free;
    }
    const size = Math.max(SMALLEST_SLAB, 2 ** Math.ceil(Math.log2(bytes)));
    if (this.#keptBytes + size > RETAINED_STAGING_BYTES) return undefined;
    const slab = new StagingSlab(this.#context, size);
    this.#keptBytes += size;
    this.#kept.push(slab);
    slab.tryTake(bytes);
    return slab;
  }

  /** Takes a slab, one made for the occasion when none that is kept is free. */
  take(bytes: number): StagingSlab {
    return this.tryTake(bytes) ?? new StagingSlab(this.#context, bytes);
  }

  /** Gives a slab back; one that is not kept, or not to be trusted any more, is closed. */
  giveBack(slab: StagingSlab): void {
    if (!this.#keeps(slab)) slab.close();
  }

  /** The same without blocking the event loop: closing waits for the devices that used the slab. */
  async giveBackAsync(slab: StagingSlab): Promise<void> {
    if (!this.#keeps(slab)) await slab.closeAsync();
  }

  /** Makes a slab free for others if it is kept, and forgets it if it is not to be trusted. */
  #keeps(slab: StagingSlab): boolean {
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

  /** Gives all pinned memory back. */
  close(): void {
    // One that cannot be closed stays, for the next attempt.
    for (const slab of this.#kept.toReversed()) {
      slab.close();
      this.#kept.pop();
      this.#keptBytes -= slab.pinned.bytes.length;
    }
  }
}

const areas = new WeakMap<DeviceContext, StagingArea>();

/** The staging area of an opened device, made when it is first needed. */
export function stagingArea(context: DeviceContext): StagingArea {
  const known = areas.get(context);
  if (known !== undefined) return known;
  const area = new StagingArea(context);
  areas.set(context, area);
  context.onClose(() => area.close());
  return area;
}

/** Splits a copy into pieces that fit a slab. */
export function* slabPieces(bytes: number): Generator<{ offset: number; bytes: number }> {
  for (let offset = 0; offset < bytes; offset += MAXIMUM_SLAB_BYTES) {
    yield { offset, bytes: Math.min(MAXIMUM_SLAB_BYTES, bytes - offset) };
  }
}
