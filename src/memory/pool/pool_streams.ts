/**
 * The streams of a pool: what they have got through with, and what waits for that.
 *
 * @module
 */

import type { BlockCache } from "./block_cache.ts";
import {
  EPOCH,
  LIVE,
  NEXT,
  OWNER,
  RECORD_SHIFT,
  STATE,
  STATE_MASK,
  TICK,
  USED_ELSEWHERE,
} from "./block_table.ts";
import { CaptureHolds } from "./capture_holds.ts";
import type { MemorySpace } from "./memory_space.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import {
  areMet,
  demand,
  type Needs,
  PendingBlocks,
  type PendingListener,
} from "./pending_blocks.ts";
import type { SharedMemory } from "./shared_memory.ts";
import { SlotRegistry } from "./slot_registry.ts";
import { type Mark, StreamMarks, StreamSlot } from "./stream_slots.ts";

/** After this many freed bytes a stream gets a mark, so that others need not wait for long. */
const MARK_BYTES = 64 * 2 ** 20;

/** The slots of a pool, and how far their streams have got. */
export class PoolStreams extends SlotRegistry {
  readonly #marks: StreamMarks;
  readonly #byStream = new Map<MemoryStream, StreamSlot>();
  readonly #pending: PendingBlocks;
  readonly #holds = new CaptureHolds();
  readonly #retiring = new Map<MemorySpace, Needs>();
  // Fields and not getters of what the maps know: the hot path reads them.
  /** Whether blocks of one stream could be wanted by another. */
  severalStreams = false;
  /** How many blocks are freed while a stream may still use them. */
  pendingCount = 0;

  /** No streams yet. */
  constructor(
    shared: SharedMemory,
    cache: BlockCache,
    isVirtual: boolean,
    onPending: PendingListener,
  ) {
    super(shared, cache, isVirtual);
    this.#marks = new StreamMarks(shared.upstream);
    this.#pending = new PendingBlocks(shared.table, onPending);
  }

  /** Blocks that are freed and that a stream may still use. */
  get pendingBlocks(): IterableIterator<number> {
    return this.#pending.blocks;
  }

  /** The slot of a stream as it is now: of itself, or of the capture that it is part of. */
  slotOf(stream: MemoryStream): StreamSlot {
    const token = stream.captureToken;
    if (token === undefined) return this.#byStream.get(stream) ?? this.#slotOfStream(stream);
    return this.slotInCapture(stream, token);
  }

  /** A new slot of a stream itself. */
  #slotOfStream(stream: MemoryStream): StreamSlot {
    // A disposed stream would never tell that it is done.
    void stream.id;
    const slot = this.addSlot(stream, this.space, false);
    this.#byStream.set(stream, slot);
    slot.stopListening = stream.onDispose(() => this.#retire(slot));
    this.severalStreams = this.#byStream.size > 1;
    return slot;
  }

  /** Says that another stream uses a live block. */
  use(block: number, stream: MemoryStream): void {
    const owner = this.slot(this.shared.table.field(block, OWNER));
    const token = stream.captureToken;
    if (token !== undefined) return this.#useInCapture(block, owner, stream, token);
    const slot = this.slotOf(stream);
    if (owner !== slot) this.#pending.use(block, slot);
  }

  /**
   * Branches of a graph overlap, so that what one uses another must not have again; nobody can tell
   * when that is over. What the graph uses besides its own memory is for the graph's owner to keep.
   */
  #useInCapture(block: number, owner: StreamSlot, stream: MemoryStream, token: object): void {
    if (owner.stream === stream || owner.common !== this.commonOfCapture(token)) return;
    this.#pending.use(block, this.#holds.of(owner.common));
  }

  /**
   * Keeps a live block pending, once it is freed, until what is returned is told that its epoch is
   * completed: a stream that does not exist uses it.
   */
  hold(block: number): StreamSlot {
    const slot = new StreamSlot(-1, undefined, -1, true);
    this.#pending.use(block, slot);
    return slot;
  }

  /**
   * Frees a block that other streams used, or whose stream is gone: it is pending until they have
   * got this far.
   */
  freeUsed(block: number): void {
    const { ints } = this.shared.table;
    const at = block << RECORD_SHIFT;
    const owner = this.slot(ints[at + OWNER]!);
    const epoch = owner.epochOf(this.epochs[owner.index]!);
    ints[at + EPOCH] = epoch;
    if (!this.#pending.add(block)) return void this.release(block);
    this.pendingCount = this.#pending.count;
    // Its own stream's mark is made with those of the others, so that one wait is enough.
    demand([{ slot: owner, epoch }]);
  }

  /** Notes that a slot freed bytes, and marks it when they have become many. */
  noteFreed(index: number, bytes: number): void {
    const slot = this.slot(index);
    slot.freedBytes += bytes;
    if (slot.freedBytes < MARK_BYTES || slot.captured || slot.stream === undefined) return;
    if (this.shared.upstream.capturing || slot.retired || this.#isLost(slot)) return;
    try {
      // What its cache keeps is covered as well, and stays there: emptied, it would give no hits.
      this.#endEpoch(slot);
    } catch {
      // Nobody waits for this mark. Who does later makes one, and is told what is wrong.
      slot.freedBytes = 0;
    }
  }

  /**
   * Empties a slot's cache, so that its blocks join their neighbours; whether it had any.
   *
   * @param kind 0 for its small blocks, 1 for the large one; all when absent.
   */
  flush(slot: StreamSlot, kind?: 0 | 1): boolean {
    const hadSmall = kind !== 1 && this.cache.drainSmall(slot.index, this.#releaseOne);
    const hadLarge = kind !== 0 && this.cache.drainLarge(slot.index, this.#releaseOne);
    return hadSmall || hadLarge;
  }

  readonly #releaseOne = (block: number): void => this.release(block);

  /**
   * Marks a slot if there is something that only a mark can tell of.
   *
   * @param kind Of which blocks; of all when absent. Flushing a cache for the others would cost
   * them their hits.
   */
  mark(slot: StreamSlot, kind?: 0 | 1): void {
    if (slot.stream === undefined || slot.captured || slot.retired) return;
    if (this.#isLost(slot)) return;
    this.flush(slot, kind);
    const latest = Math.max(this.shared.heap.latestEpoch[slot.index]!, slot.demanded);
    if (latest >= slot.epoch) this.#endEpoch(slot);
  }

  #endEpoch(slot: StreamSlot): void {
    this.#marks.mark(slot);
    this.shared.onMark();
    this.epochs[slot.index] = slot.epoch;
  }

  /** Finds out what has become clean on a slot; whether anything has. */
  poll(slot: StreamSlot): boolean {
    // One that is forgotten has nothing any more, and its number may be another's.
    if (this.slot(slot.index) !== slot) return false;
    if (this.#isLost(slot)) this.#abandonLost(slot);
    // What the slot was given and did not use is clean without a mark.
    this.#releaseClean(slot);
    if (slot.marks.length === 0 || !this.#marks.poll(slot)) return false;
    this.#releaseClean(slot);
    return true;
  }

  /**
   * Marks all slots but one that has something free, and finds out what has become clean. Does
   * nothing while a stream is captured, when nobody may ask.
   *
   * @param kind Of which blocks; of all when absent.
   */
  settle(except?: StreamSlot, kind?: 0 | 1): void {
    if (this.shared.upstream.capturing) return;
    this.#settleSlots(except, kind);
    // What is not pending any more may still be its own stream's.
    if (this.pendingCount > 0 && this.#releasePending()) this.#settleSlots(except, kind);
    if (this.#retiring.size > 0) this.#releaseRetired();
  }

  #settleSlots(except: StreamSlot | undefined, kind: 0 | 1 | undefined): void {
    for (const slot of this.slots()) {
      if (slot === except) continue;
      this.mark(slot, kind);
      this.poll(slot);
      // Also where forgetting it has failed before, and there is nothing to poll any more.
      if (slot.retired && slot.marks.length === 0) this.#forget(slot);
    }
  }

  /**
   * What to wait for so that a block of this size may become available, the most promising first.
   */
  *waits(kind: number, units: number): Generator<Mark> {
    if (this.shared.upstream.capturing) return;
    const needs = this.#pending.needsOfFitting(kind, units);
    for (const { slot } of needs) yield* slot.marks.slice(-1);
    const slots = [...this.slots()].filter((slot) => slot.marks.length > 0);
    const isFitting = (slot: StreamSlot) => this.shared.heap.find(slot.index, kind, units) !== 0;
    for (const slot of slots) if (isFitting(slot)) yield* slot.marks.slice(-1);
    for (const slot of slots) yield* slot.marks.slice(-1);
  }

  /**
   * The last mark of every slot that has any; looked up one by one, as whoever waits for one may
   * find the next one gone.
   */
  *marks(): Generator<Mark> {
    if (this.shared.upstream.capturing) return;
    for (const slot of [...this.slots()]) yield* slot.marks.slice(-1);
  }

  /** Ends a capture; its memory stays with what was captured. */
  endCapture(token: object): MemorySpace | undefined {
    const space = this.forgetCapture(token);
    if (space === undefined) return undefined;
    this.#useFromNowOn(space);
    this.#holds.end(space.common.index);
    this.#releasePending();
    return space;
  }

  /**
   * What is live in a space whose capture is over may be used by work of its own stream that runs
   * at once; the graph's launches do not tell when that is done.
   */
  #useFromNowOn({ segments }: MemorySpace): void {
    const { table } = this.shared;
    for (const { firstBlock } of segments) {
      for (let block = firstBlock; block !== 0; block = table.field(block, NEXT)) {
        if (table.state(block) !== LIVE) continue;
        const { stream } = this.slot(table.field(block, OWNER));
        if (stream !== undefined && !stream.disposed) this.use(block, stream);
      }
    }
  }

  /**
   * Lets a space go when nothing of it is live any more, and the streams have got this far.
   */
  retireSpace(space: MemorySpace, streams: Iterable<MemoryStream>): void {
    const slots = new Set<StreamSlot>();
    for (const stream of streams) {
      const slot = stream.disposed
        ? [...this.slots()].find((each) => each.stream === stream && !each.captured)
        // Not that of a capture which the stream may be part of by now: that has no marks.
        : this.#byStream.get(stream) ?? this.#slotOfStream(stream);
      // A disposed stream without a slot is through.
      if (slot !== undefined) slots.add(slot);
    }
    const needs = [...slots].map((slot) => ({
      slot,
      epoch: slot.epochOf(this.epochs[slot.index]!),
    }));
    demand(needs);
    this.#retiring.set(space, needs);
  }

  #releaseRetired(): void {
    for (const [space, needs] of this.#retiring) {
      if (!areMet(needs) || space.isInUse) continue;
      this.releaseSpace(space);
      space.reclaim(Infinity);
      space.releaseAddresses();
      this.dropSpace(space);
      this.#retiring.delete(space);
    }
  }

  /** Makes all free blocks of a space available to everybody in it: its work is done for good. */
  releaseSpace(space: MemorySpace): void {
    for (const slot of this.slots()) {
      if (slot.common !== space.common.index || slot === space.common) continue;
      slot.completed = slot.epoch;
      this.flush(slot);
      this.#releaseClean(slot);
    }
  }

  /** Takes all work for done: a lost device does nothing any more. */
  abandon(): void {
    for (const slot of this.slots()) this.#abandonSlot(slot);
    this.#releasePending();
  }

  #abandonSlot(slot: StreamSlot): void {
    slot.completed = slot.epoch;
    this.flush(slot);
    this.#releaseClean(slot);
  }

  /**
   * Whether a stream of another device, which has used memory of this one, is lost with it: nobody
   * can ask for it any more, and it must not keep this pool from its work.
   */
  #isLost({ stream, captured }: StreamSlot): boolean {
    const { upstream } = this.shared;
    return stream !== undefined && !captured && !upstream.lost && upstream.isLostFor(stream);
  }

  #abandonLost(slot: StreamSlot): void {
    slot.spareEvents.push(...slot.marks.splice(0).map(({ event }) => event));
    this.#abandonSlot(slot);
  }

  /** Gives all events back. */
  close(): void {
    for (const slot of this.slots()) {
      // A stream that outlives the pool has nothing to tell it then, and must not keep it.
      slot.stopListening();
      slot.retired = true;
      this.#marks.close(slot);
    }
  }

  /** Before a stream goes: a last mark tells when its work is done. */
  #retire(slot: StreamSlot): void {
    if (slot.retired) return;
    // Blocks that are live may have been used by the work that is under way.
    slot.demanded = slot.epoch;
    if (!this.shared.upstream.lost) this.mark(slot);
    slot.retired = true;
    this.#byStream.delete(slot.stream!);
    this.severalStreams = this.#byStream.size > 1;
    this.shared.onRetired();
    // What is freed from now on is clean when that mark is reached.
    this.epochs[slot.index] = slot.epoch - 1;
  }

  /** Makes a block free, for its stream or, where that is through with it, for everybody. */
  release(block: number): void {
    const { table, heap } = this.shared;
    const owner = this.slot(table.field(block, OWNER));
    const epoch = owner.epochOf(table.field(block, EPOCH));
    const tick = table.field(block, TICK);
    // What its stream is known to have got through with is for everybody.
    const isClean = owner.stream === undefined || owner.isClean(epoch);
    heap.release(block, isClean ? owner.common : owner.index, isClean ? 0 : epoch, tick);
  }

  #releaseClean(slot: StreamSlot): void {
    if (slot.stream === undefined) return;
    const { heap, table } = this.shared;
    let block = heap.oldest(slot.index);
    while (block !== 0 && slot.isClean(slot.epochOf(table.field(block, EPOCH)))) {
      const tick = table.field(block, TICK);
      heap.take(block);
      heap.release(block, slot.common, 0, tick);
      block = heap.oldest(slot.index);
    }
  }

  #releasePending(): boolean {
    const hasSome = this.#pending.releaseMet(this.#releaseOne);
    this.pendingCount = this.#pending.count;
    return hasSome;
  }

  /** A disposed stream is through: what it still owns is anybody's once it is freed. */
  #forget(slot: StreamSlot): void {
    slot.completed = slot.epoch;
    this.flush(slot);
    this.#releaseClean(slot);
    const { ints } = this.shared.table;
    for (const segment of this.spaceOf(slot).segments) {
      for (let block = segment.firstBlock; block !== 0;) {
        const at = block << RECORD_SHIFT;
        if (ints[at + OWNER] === slot.index) {
          ints[at + OWNER] = slot.common;
          if ((ints[at + STATE]! & STATE_MASK) === LIVE) ints[at + STATE]! |= USED_ELSEWHERE;
        }
        block = ints[at + NEXT]!;
      }
    }
    this.#marks.close(slot);
    this.dropSlot(slot);
  }
}
