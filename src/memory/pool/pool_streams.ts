/**
 * The streams, captures and graphs of a pool: which memory each may use, and when memory becomes
 * available to others.
 *
 * Every stream has a slot in the space of the pool. A stream that is part of a capture has another
 * slot, in the space of that capture. The space stays with the captured graph while that lives.
 *
 * @module
 */

import type { BlockPool } from "./block_pool.ts";
import { EPOCH, LIVE, OWNER, RECORD_SHIFT, TICK, USED_ELSEWHERE } from "./block_table.ts";
import { extended } from "./free_index.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import { type MemorySpace, PlainSpace, VirtualSpace } from "./memory_space.ts";
import {
  areMet,
  demand,
  type Mark,
  type Needs,
  PendingBlocks,
  StreamSlot,
} from "./stream_slots.ts";

/** A stream gets a mark after this many freed bytes, to shorten the waits of others. */
const MARK_BYTES = 64 * 2 ** 20;

/** A graph as the pool sees it. A `Graph` is one. */
export interface MemoryGraph {
  /** Registers a function to call for each stream that the graph is launched on. */
  onLaunch(launched: (stream: MemoryStream) => void): void;
  /** Registers a function to call on disposal, with the streams that may use the graph. */
  onDispose(close: (streams: Iterable<MemoryStream>) => void): void;
}

interface Capture {
  readonly space: MemorySpace;
  readonly slots: Map<MemoryStream, StreamSlot>;
  /** Completed when the capture ends; blocks that several branches use wait for it. */
  readonly end: StreamSlot;
}

/** A slot that stands for no stream; it is completed by hand. */
function newHold(): StreamSlot {
  return new StreamSlot(-1, undefined, -1, true);
}

export class PoolStreams {
  readonly #pool: BlockPool;
  readonly #isVirtual: boolean;
  readonly #slots: (StreamSlot | undefined)[] = [];
  readonly #spaces = new Map<number, MemorySpace>();
  readonly #byStream = new Map<MemoryStream, StreamSlot>();
  readonly #captures = new Map<object, Capture>();
  readonly #pending: PendingBlocks;
  readonly #ofGraphs = new Set<MemorySpace>();
  readonly #retiring = new Map<MemorySpace, Needs>();
  /** The present epoch by slot number. */
  epochs: Int32Array<ArrayBuffer> = new Int32Array(16);
  /** The space of everything except captures. */
  readonly space: MemorySpace;
  /** Whether a stream could need blocks of another. */
  severalStreams = false;

  /**
   * No streams yet.
   *
   * @param isVirtual Whether spaces map memory; they have plain segments otherwise.
   */
  constructor(pool: BlockPool, isVirtual: boolean) {
    this.#pool = pool;
    this.#isVirtual = isVirtual;
    this.#pending = new PendingBlocks(pool.table, pool.counters);
    this.space = this.#newSpace(false);
  }

  get pendingCount(): number {
    return this.#pending.count;
  }

  slot(index: number): StreamSlot {
    return this.#slots[index]!;
  }

  *slots(): Generator<StreamSlot> {
    for (const slot of this.#slots) if (slot !== undefined) yield slot;
  }

  get streamCount(): number {
    return this.#byStream.size;
  }

  spaces(): Iterable<MemorySpace> {
    return this.#spaces.values();
  }

  *returnableSpaces(): Generator<MemorySpace> {
    for (const space of this.#spaces.values()) if (!this.#ofGraphs.has(space)) yield space;
  }

  spaceOf(slot: StreamSlot): MemorySpace {
    return this.#spaces.get(slot.common)!;
  }

  /** The slot of a stream now: its own, or that in the capture that it is part of. */
  slotOf(stream: MemoryStream): StreamSlot {
    const token = stream.captureToken;
    if (token === undefined) return this.#byStream.get(stream) ?? this.#addStream(stream);
    let capture = this.#captures.get(token);
    if (capture === undefined) {
      capture = { space: this.#newSpace(true), slots: new Map(), end: newHold() };
      this.#captures.set(token, capture);
    }
    let slot = capture.slots.get(stream);
    if (slot === undefined) {
      slot = this.#addSlot(stream, capture.space.common.index, true);
      capture.slots.set(stream, slot);
    }
    return slot;
  }

  use(block: number, stream: MemoryStream): void {
    const owner = this.slot(this.#pool.table.owner(block));
    const token = stream.captureToken;
    if (token !== undefined) {
      // Branches of a graph overlap: a block that two of them use is not reused in the capture. For
      // memory from outside of the capture the owner of the graph is responsible.
      const capture = this.#captures.get(token);
      if (owner.stream === stream || owner.common !== capture?.space.common.index) return;
      return this.#pending.use(block, capture.end);
    }
    const slot = this.slotOf(stream);
    if (owner !== slot) this.#pending.use(block, slot);
  }

  /** Keeps a live block pending after it is freed, until the returned slot is completed. */
  hold(block: number): StreamSlot {
    const hold = newHold();
    this.#pending.use(block, hold);
    return hold;
  }

  /** Frees a block that other streams used, or that has lost its stream. */
  freeUsed(block: number): void {
    const { ints } = this.#pool.table;
    const at = block << RECORD_SHIFT;
    const owner = this.slot(ints[at + OWNER]!);
    const epoch = owner.epochOf(this.epochs[owner.index]!);
    ints[at + EPOCH] = epoch;
    if (!this.#pending.add(block)) return this.release(block);
    // The owner's mark is made with those of the others, and one wait is enough.
    demand([{ slot: owner, epoch }]);
  }

  noteFreed(index: number, bytes: number): void {
    const slot = this.slot(index);
    slot.freedBytes += bytes;
    if (slot.freedBytes < MARK_BYTES || slot.captured || slot.stream === undefined) return;
    if (this.#pool.upstream.capturing || slot.retired || this.#isLost(slot)) return;
    try {
      // The mark covers the cache as well, which stays as it is.
      this.#endEpoch(slot);
    } catch {
      // Nothing waits for this mark. A later one reports the error.
      slot.freedBytes = 0;
    }
  }

  /**
   * Empties the cache of a slot; whether it held any block.
   *
   * @param kind 0 for its small blocks, 1 for the large one, both by default.
   */
  flush(slot: StreamSlot, kind?: 0 | 1): boolean {
    const { cache } = this.#pool;
    const hadSmall = kind !== 1 && cache.drainSmall(slot.index, this.#release);
    const hadLarge = kind !== 0 && cache.drainLarge(slot.index, this.#release);
    return hadSmall || hadLarge;
  }

  /** Makes a block free, for its stream or, if that has finished with it, for all. */
  release(block: number): void {
    const { table, heap } = this.#pool;
    const owner = this.slot(table.owner(block));
    const epoch = owner.epochOf(table.field(block, EPOCH));
    const tick = table.field(block, TICK);
    const isClean = owner.stream === undefined || owner.isClean(epoch);
    heap.release(block, isClean ? owner.common : owner.index, isClean ? 0 : epoch, tick);
  }

  readonly #release = (block: number): void => this.release(block);

  /** Queries the progress of a slot; whether any memory became clean. */
  poll(slot: StreamSlot): boolean {
    // A slot that is gone has no blocks, and its number may be another's.
    if (this.#slots[slot.index] !== slot) return false;
    if (this.#isLost(slot)) {
      slot.spareEvents.push(...slot.marks.splice(0).map(({ event }) => event));
      this.#abandon(slot);
    }
    // Blocks that the slot adopted and did not use are clean without a mark.
    this.#releaseClean(slot);
    if (slot.marks.length === 0 || !slot.poll(this.#pool.upstream)) return false;
    this.#releaseClean(slot);
    return true;
  }

  /**
   * Marks all slots except one that have something free, and queries their progress. Does nothing
   * during a capture, when queries are forbidden.
   *
   * @param kind The kind of blocks; all by default. Flushing the cache of the others would cost hits.
   */
  settle(except?: StreamSlot, kind?: 0 | 1): void {
    if (this.#pool.upstream.capturing) return;
    this.#settleSlots(except, kind);
    // A block that is no longer pending may still belong to its own stream.
    if (this.pendingCount > 0 && this.#pending.releaseMet(this.#release)) {
      this.#settleSlots(except, kind);
    }
    if (this.#retiring.size > 0) this.#releaseRetired();
  }

  /** The marks to wait for until a block of this size may be available, the most promising first. */
  *waits(kind: number, units: number): Generator<Mark> {
    if (this.#pool.upstream.capturing) return;
    for (const { slot } of this.#pending.needsOfFitting(kind, units)) yield* slot.marks.slice(-1);
    const slots = [...this.slots()].filter((slot) => slot.marks.length > 0);
    const isFitting = (slot: StreamSlot) => this.#pool.heap.find(slot.index, kind, units) !== 0;
    for (const slot of slots) if (isFitting(slot)) yield* slot.marks.slice(-1);
    for (const slot of slots) yield* slot.marks.slice(-1);
  }

  /** The last mark of every slot, read one by one, because a wait may remove the next. */
  *marks(): Generator<Mark> {
    if (this.#pool.upstream.capturing) return;
    for (const slot of [...this.slots()]) yield* slot.marks.slice(-1);
  }

  /**
   * Ends a capture. Its memory stays with its graph while that lives, and goes if the capture
   * failed.
   */
  endCapture(token: object, graph: MemoryGraph | undefined): void {
    const capture = this.#captures.get(token);
    this.#captures.delete(token);
    if (capture === undefined) return;
    const { space } = capture;
    this.#useLiveBlocks(space);
    capture.end.complete();
    this.#pending.releaseMet(this.#release);
    if (graph === undefined) return this.#retireSpace(space, []);
    this.#ofGraphs.add(space);
    // A graph uses the pool as a buffer does.
    this.#pool.retain();
    // A known stream leaves a mark when it is disposed, which the graph's memory can wait for.
    graph.onLaunch((stream) => void this.slotOf(stream));
    graph.onDispose((streams) => {
      // A failed disposal is repeated, and the space may be another's by then.
      if (!this.#ofGraphs.delete(space)) return;
      try {
        this.#retireSpace(space, streams);
      } finally {
        this.#pool.release();
      }
    });
    // Nothing allocates in the space any more.
    if (!this.#pool.upstream.lost) space.reclaim(Infinity);
    this.#pool.counters.recount();
  }

  /** Makes all free blocks of a space available to all of it: its work is done. */
  releaseSpace(space: MemorySpace): void {
    for (const slot of this.slots()) {
      if (slot.common === space.common.index && slot !== space.common) this.#abandon(slot);
    }
  }

  /** Treats all work as done, because a lost device does nothing any more. */
  abandon(): void {
    for (const slot of this.slots()) this.#abandon(slot);
    this.#pending.releaseMet(this.#release);
  }

  close(): void {
    for (const slot of this.slots()) {
      // A stream may outlive the pool and must not keep it alive.
      slot.stopListening();
      slot.retired = true;
      slot.destroyEvents(this.#pool.upstream);
    }
  }

  #newSpace(isOfGraph: boolean): MemorySpace {
    const index = this.#unusedIndex();
    const common = new StreamSlot(index, undefined, index, false);
    this.#install(common);
    const space = this.#isVirtual
      ? new VirtualSpace(this.#pool, common, isOfGraph)
      : new PlainSpace(this.#pool, common, isOfGraph);
    this.#spaces.set(index, space);
    return space;
  }

  #addStream(stream: MemoryStream): StreamSlot {
    // Throws if the stream is disposed: its progress could not be learned.
    void stream.id;
    const slot = this.#addSlot(stream, this.space.common.index, false);
    this.#byStream.set(stream, slot);
    slot.stopListening = stream.onDispose(() => this.#retire(slot));
    this.severalStreams = this.#byStream.size > 1;
    return slot;
  }

  #addSlot(stream: MemoryStream, common: number, captured: boolean): StreamSlot {
    const slot = new StreamSlot(this.#unusedIndex(), stream, common, captured);
    this.#install(slot);
    return slot;
  }

  #unusedIndex(): number {
    let index = 0;
    while (this.#slots[index] !== undefined) index++;
    return index;
  }

  #install(slot: StreamSlot): void {
    const { index, epoch } = slot;
    this.#slots[index] = slot;
    this.#pool.heap.addOwner(index);
    this.#pool.cache.addSlot(index);
    if (index >= this.epochs.length) this.epochs = extended(this.epochs, this.epochs.length * 2);
    this.epochs[index] = epoch;
  }

  #mark(slot: StreamSlot, kind?: 0 | 1): void {
    if (slot.stream === undefined || slot.captured || slot.retired) return;
    if (this.#isLost(slot)) return;
    this.flush(slot, kind);
    const latest = Math.max(this.#pool.heap.latestEpoch[slot.index]!, slot.demanded);
    if (latest >= slot.epoch) this.#endEpoch(slot);
  }

  #endEpoch(slot: StreamSlot): void {
    slot.mark(this.#pool.upstream);
    this.#pool.counters.count("marks");
    this.epochs[slot.index] = slot.epoch;
  }

  #settleSlots(except: StreamSlot | undefined, kind: 0 | 1 | undefined): void {
    for (const slot of this.slots()) {
      if (slot === except) continue;
      this.#mark(slot, kind);
      this.poll(slot);
      // Repeats an attempt that has failed, too.
      if (slot.retired && slot.marks.length === 0) this.#forget(slot);
    }
  }

  /**
   * Work on the own stream of a live block may use it as soon as the capture is over; the launches
   * of the graph do not show when that work is done.
   */
  #useLiveBlocks(space: MemorySpace): void {
    const { table } = this.#pool;
    for (const block of space.blocks()) {
      if (table.state(block) !== LIVE) continue;
      const { stream } = this.slot(table.owner(block));
      if (stream !== undefined && !stream.disposed) this.use(block, stream);
    }
  }

  /** Returns the memory of a space when no block is live and the streams have got this far. */
  #retireSpace(space: MemorySpace, streams: Iterable<MemoryStream>): void {
    const needs = new Map<StreamSlot, number>();
    for (const stream of streams) {
      const slot = stream.disposed
        ? [...this.slots()].find((each) => each.stream === stream && !each.captured)
        // Not the slot of a capture, which has no marks.
        : this.#byStream.get(stream) ?? this.#addStream(stream);
      // A disposed stream without a slot has finished.
      if (slot !== undefined) needs.set(slot, slot.epochOf(this.epochs[slot.index]!));
    }
    const all = [...needs].map(([slot, epoch]) => ({ slot, epoch }));
    demand(all);
    this.#retiring.set(space, all);
    const { upstream, counters } = this.#pool;
    if (!upstream.capturing && !upstream.lost) this.settle();
    counters.recount();
  }

  #releaseRetired(): void {
    for (const [space, needs] of this.#retiring) {
      if (!areMet(needs) || space.isInUse) continue;
      this.releaseSpace(space);
      space.reclaim(Infinity);
      space.releaseAddresses();
      for (const slot of [...this.slots()]) {
        if (slot.common === space.common.index) this.#slots[slot.index] = undefined;
      }
      this.#spaces.delete(space.common.index);
      this.#retiring.delete(space);
    }
  }

  #abandon(slot: StreamSlot): void {
    slot.complete();
    this.flush(slot);
    this.#releaseClean(slot);
  }

  /** Whether the stream's device, which is not the pool's, is lost: its work will not be queried. */
  #isLost({ stream, captured }: StreamSlot): boolean {
    const { upstream } = this.#pool;
    return stream !== undefined && !captured && !upstream.lost && upstream.isLostFor(stream);
  }

  /** Before a stream is disposed: a last mark shows when its work is done. */
  #retire(slot: StreamSlot): void {
    if (slot.retired) return;
    // The work under way may use live blocks.
    slot.demanded = slot.epoch;
    if (!this.#pool.upstream.lost) this.#mark(slot);
    slot.retired = true;
    this.#byStream.delete(slot.stream!);
    this.severalStreams = this.#byStream.size > 1;
    this.#pool.forgetStream();
    // Blocks freed from now on are clean when that mark is reached.
    this.epochs[slot.index] = slot.epoch - 1;
  }

  #releaseClean(slot: StreamSlot): void {
    if (slot.stream === undefined) return;
    const { heap, table } = this.#pool;
    let block = heap.oldest(slot.index);
    while (block !== 0 && slot.isClean(slot.epochOf(table.field(block, EPOCH)))) {
      const tick = table.field(block, TICK);
      heap.take(block);
      heap.release(block, slot.common, 0, tick);
      block = heap.oldest(slot.index);
    }
  }

  /** Removes the slot of a disposed stream that has finished; any stream may have its blocks. */
  #forget(slot: StreamSlot): void {
    this.#abandon(slot);
    const { table } = this.#pool;
    for (const block of this.spaceOf(slot).blocks()) {
      if (table.owner(block) !== slot.index) continue;
      table.setOwner(block, slot.common);
      if (table.state(block) === LIVE) table.setState(block, LIVE | USED_ELSEWHERE);
    }
    slot.destroyEvents(this.#pool.upstream);
    this.#slots[slot.index] = undefined;
  }
}
