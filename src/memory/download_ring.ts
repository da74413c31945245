/**
 * Large downloads through a few pinned pieces, which one part of a copy fills while the program
 * empties another.
 *
 * Pinning memory takes longer than copying it, and pieces are pinned once. They cannot all be enqueued
 * when a copy begins, so the copy begins with a snapshot on the device: later work of the stream may
 * overwrite the source at once.
 *
 * @module
 */

import { giveBackAfterFailure } from "../ffi/give_back.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { type Stream, streamUntilClose, waitForStream } from "../stream/stream.ts";
import { WorkOrder } from "../stream/work_order.ts";
import type { DeviceRange } from "./buffer_copy.ts";
import { enqueueDeviceCopy, enqueueToPinned } from "./enqueued_copy.ts";
import { poolOf } from "./pool/device_pools.ts";
import { StagingArea, type StagingSlab } from "./staging.ts";

/** The size of a piece. */
export const PIECE_BYTES: number = 8 * 2 ** 20;

/**
 * The pinned memory of a ring: four pieces. A smaller copy takes a slab of its own, which is kept, too:
 * the time of a snapshot is not worth it.
 */
export const RING_BYTES: number = 4 * PIECE_BYTES;

/** Receives a part of a copy. */
type Receive = (bytes: Uint8Array<ArrayBuffer>, offset: number) => Promise<void>;

/** A copy of device memory, without the padding of rows. */
export interface Snapshot {
  readonly address: number;
  readonly bytes: number;
  /** Frees the memory. */
  end(): void;
  /** Frees the memory once a stream has finished with it. */
  endAfter(stream: Stream): void;
}

export class DownloadRing {
  /** Its copies complete in the order of their enqueueing. */
  readonly #stream: Stream;
  readonly #area: StagingArea;
  readonly #waiting: PromiseWithResolvers<StagingSlab>[] = [];

  constructor(context: DeviceContext) {
    this.#stream = streamUntilClose(context);
    this.#area = new StagingArea(context, RING_BYTES);
    context.onClose(() => this.#area.close());
  }

  /**
   * Enqueues a copy of a range on a stream, which the copies of this ring wait for.
   *
   * @returns `undefined` if the device has no free memory for it.
   */
  trySnapshot(source: DeviceRange, stream: Stream): Snapshot | undefined {
    const { context, byteLength: bytes, rows } = source;
    const pool = poolOf(context);
    const block = pool.tryAllocate(bytes, stream);
    if (block === 0) return undefined;
    const end = () => pool.free(block);
    const address = pool.addressOf(block);
    const dense = rows && { ...rows, pitch: rows.width, sourcePitch: rows.pitch };
    try {
      enqueueDeviceCopy(stream, address, source.address, bytes, dense);
      waitForStream(this.#stream, stream);
    } catch (error) {
      giveBackAfterFailure({ [Symbol.dispose]: end });
      throw error;
    }
    const endAfter = (user: Stream) => {
      pool.use(block, user);
      end();
    };
    return { address, bytes, end, endAfter };
  }

  /** Passes a snapshot on in pieces, in order, and ends it. */
  async download(snapshot: Snapshot, receive: Receive): Promise<void> {
    const sent: { readonly slab: StagingSlab; readonly offset: number; readonly bytes: number }[] =
      [];
    let next = 0;
    try {
      while (next < snapshot.bytes || sent.length > 0) {
        while (next < snapshot.bytes) {
          // Only a copy without pieces waits for those of others.
          const slab = this.#tryTake() ?? (sent.length === 0 ? await this.#nextFree() : undefined);
          if (slab === undefined) break;
          const offset = next;
          const bytes = Math.min(PIECE_BYTES, snapshot.bytes - offset);
          sent.push({ slab, offset, bytes });
          slab.carry(this.#stream, () => this.#enqueue(slab, snapshot.address + offset, bytes));
          next += bytes;
        }
        const { slab, offset, bytes } = sent[0]!;
        await slab.done();
        await receive(slab.pinned.bytes.subarray(0, bytes), offset);
        sent.shift();
        await this.#putAway(slab);
      }
    } catch (error) {
      // The first failure is the one to report.
      let areDone = true;
      for (const { slab } of sent) await this.#putAwayAfter(slab).catch(() => areDone = false);
      const end = areDone ? snapshot.end : () => snapshot.endAfter(this.#stream);
      giveBackAfterFailure({ [Symbol.dispose]: end });
      throw error;
    }
    snapshot.end();
  }

  #enqueue(slab: StagingSlab, address: number, bytes: number): void {
    // The snapshot took its place in the order of the program's work.
    WorkOrder.of(this.#stream).aside(() =>
      enqueueToPinned(this.#stream, slab.place(), address, bytes)
    );
  }

  #tryTake(): StagingSlab | undefined {
    return this.#waiting.length > 0 ? undefined : this.#area.tryTake(PIECE_BYTES);
  }

  #nextFree(): Promise<StagingSlab> {
    const waiter = Promise.withResolvers<StagingSlab>();
    this.#waiting.push(waiter);
    return waiter.promise;
  }

  /** Puts a piece away, whose copy has ended. */
  async #putAway(slab: StagingSlab): Promise<void> {
    try {
      if (!this.#area.keeps(slab)) await slab.closeAsync();
    } finally {
      this.#serve();
    }
  }

  /** Puts a piece away after its copy. */
  async #putAwayAfter(slab: StagingSlab): Promise<void> {
    await slab.done().catch(() => slab.isUnmarked = true);
    await this.#putAway(slab);
  }

  #serve(): void {
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      try {
        const slab = this.#area.tryTake(PIECE_BYTES);
        if (slab === undefined) return;
        first.resolve(slab);
      } catch (error) {
        first.reject(error);
      }
      this.#waiting.shift();
    }
  }
}

const rings = new WeakMap<DeviceContext, DownloadRing>();

/** The ring of an opened device, made on first use. */
export function downloadRing(context: DeviceContext): DownloadRing {
  let ring = rings.get(context);
  if (ring === undefined) rings.set(context, ring = new DownloadRing(context));
  return ring;
}
