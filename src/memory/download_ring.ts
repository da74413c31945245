/**
 * Large downloads through a few pinned pieces, which the device fills in turn while the program empties
 * them.
 *
 * Pinning memory takes longer than copying it, and these pieces are pinned once. The pieces that are
 * free when a copy begins are enqueued at once. If there are too few, a snapshot of the rest is taken
 * on the device: later work of the stream may overwrite the source before a piece is free.
 *
 * @module
 */

import { giveBackAfterFailure } from "../ffi/give_back.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { type Stream, streamUntilClose, waitForStream } from "../stream/stream.ts";
import { WorkOrder } from "../stream/work_order.ts";
import { type DeviceRange, partOf, piecesOf } from "./device_range.ts";
import { enqueueDeviceCopy, enqueueToPinned } from "./enqueued_copy.ts";
import { poolOf } from "./pool/device_pools.ts";
import { MAX_SLAB_BYTES, StagingArea, StagingSlab } from "./staging.ts";

/** The size of a piece. */
export const PIECE_BYTES: number = 8 * 2 ** 20;

/** The pinned memory of a ring: four pieces. */
export const RING_BYTES: number = 4 * PIECE_BYTES;

/** Receives a part of a copy, the first bytes of a slab. */
type Receive = (slab: StagingSlab, bytes: number, offset: number) => Promise<void>;

/** A copy of device memory, without the padding of rows. */
interface Snapshot {
  readonly address: number;
  /** Frees the memory. */
  end(): void;
  /** Frees the memory once a stream has finished with it. */
  endAfter(stream: Stream): void;
}

/** A slab that receives a part of a copy. */
interface SentPiece {
  readonly slab: StagingSlab;
  readonly offset: number;
  readonly bytes: number;
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
   * Passes a range on in pieces, in order, with the content that it has after the work of a stream so
   * far.
   */
  async download(source: DeviceRange, stream: Stream, receive: Receive): Promise<void> {
    const { context, byteLength } = source;
    const sent: SentPiece[] = [];
    let snapshot: Snapshot | undefined;
    try {
      let next = this.#sendToFree(source, stream, sent);
      const kept = next;
      if (next < byteLength) {
        const rest = partOf(source, next, byteLength - next);
        snapshot = this.#trySnapshot(rest, stream);
        if (snapshot === undefined) {
          for (const { range, offset } of piecesOf(rest, MAX_SLAB_BYTES)) {
            const slab = new StagingSlab(context, range.byteLength);
            send(sent, { slab, offset: kept + offset, bytes: range.byteLength }, stream, range);
          }
          next = byteLength;
        }
      }
      while (next < byteLength || sent.length > 0) {
        while (next < byteLength) {
          // Only a copy without pieces waits for those of others.
          const slab = this.#tryTake() ?? (sent.length === 0 ? await this.#nextFree() : undefined);
          if (slab === undefined) break;
          const bytes = Math.min(PIECE_BYTES, byteLength - next);
          const range = { context, address: snapshot!.address + next - kept, byteLength: bytes };
          // The snapshot took its place in the order of the program's work.
          WorkOrder.of(this.#stream).aside(() =>
            send(sent, { slab, offset: next, bytes }, this.#stream, range)
          );
          next += bytes;
        }
        const { slab, offset, bytes } = sent[0]!;
        await slab.done();
        await receive(slab, bytes, offset);
        sent.shift();
        await this.#putAway(slab);
      }
    } catch (error) {
      // The first failure is the one to report.
      let areDone = true;
      for (const { slab } of sent) await this.#putAwayAfter(slab).catch(() => areDone = false);
      const end = areDone ? snapshot?.end : () => snapshot?.endAfter(this.#stream);
      if (end !== undefined) giveBackAfterFailure({ [Symbol.dispose]: end });
      throw error;
    }
    snapshot?.end();
  }

  /** Enqueues the first pieces on the stream, to the slabs that are free, and returns their end. */
  #sendToFree(source: DeviceRange, stream: Stream, sent: SentPiece[]): number {
    for (const { range, offset } of piecesOf(source, PIECE_BYTES)) {
      const bytes = range.byteLength;
      const slab = bytes <= PIECE_BYTES ? this.#tryTake() : undefined;
      if (slab === undefined) return offset;
      send(sent, { slab, offset, bytes }, stream, range);
    }
    return source.byteLength;
  }

  /**
   * Enqueues a copy of a range on a stream, which the copies of this ring wait for.
   *
   * @returns `undefined` if the device has no free memory for it.
   */
  #trySnapshot(source: DeviceRange, stream: Stream): Snapshot | undefined {
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
    return { address, end, endAfter };
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

/** Enqueues the copy of a piece, which the list of pieces owns from now on. */
function send(sent: SentPiece[], piece: SentPiece, stream: Stream, range: DeviceRange): void {
  sent.push(piece);
  const { slab, bytes } = piece;
  slab.carry(
    stream,
    () => enqueueToPinned(stream, slab.place(), range.address, bytes, range.rows),
  );
}
