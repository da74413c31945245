/**
 * Streams as the pool sees them, their progress, and blocks that wait for it.
 *
 * The stream that freed a block may use it again at once, because work runs in order there. Any
 * other stream must wait until the first has passed the point of freeing. To find out without an
 * event for each block, the time of a stream is divided into epochs. A mark, which is one event,
 * ends an epoch. When the mark is reached, everything freed up to that epoch is clean. Marks are
 * made only when the pool needs the answer.
 *
 * @module
 */

import { type BlockTable, PENDING, RECORD_SHIFT, STATE, USED_ELSEWHERE } from "./block_table.ts";
import { FreeIndex } from "./free_index.ts";
import { type MemoryStream, type MemoryUpstream, releaseTo } from "./memory_upstream.ts";
import type { PoolCounters } from "./pool_statistics.ts";

/** A point on a stream; everything freed up to its epoch is clean when the event is done. */
export interface Mark {
  readonly epoch: number;
  readonly event: number;
}

/** A stream's place in the pool. Without a stream it is the place of blocks for any stream. */
export class StreamSlot {
  readonly index: number;
  readonly stream: MemoryStream | undefined;
  readonly common: number;
  /** Whether the stream is part of a capture; such a slot has no epochs. */
  readonly captured: boolean;
  epoch = 1;
  /** The last epoch with a reached mark. */
  completed = 0;
  /** The last epoch that needs a mark because a block of another stream waits for it. */
  demanded = 0;
  freedBytes = 0;
  readonly marks: Mark[] = [];
  readonly spareEvents: number[] = [];
  retired = false;
  stopListening: () => void = () => {};

  constructor(
    index: number,
    stream: MemoryStream | undefined,
    common: number,
    captured: boolean,
  ) {
    this.index = index;
    this.stream = stream;
    this.common = common;
    this.captured = captured;
  }

  /** The epoch with these lower 32 bits, from the record of a block. */
  epochOf(bits: number): number {
    return this.epoch - ((this.epoch - bits) | 0);
  }

  isClean(epoch: number): boolean {
    return this.completed >= epoch;
  }

  complete(): void {
    this.completed = this.epoch;
  }

  mark(upstream: MemoryUpstream): void {
    const event = this.spareEvents.pop() ?? upstream.createEvent(this.stream!);
    try {
      upstream.recordEvent(event, this.stream!);
    } catch (error) {
      this.spareEvents.push(event);
      throw error;
    }
    this.marks.push({ epoch: this.epoch, event });
    this.epoch++;
    this.freedBytes = 0;
  }

  /** Queries the marks; whether any has been reached. */
  poll(upstream: MemoryUpstream): boolean {
    let reached = 0;
    for (; reached < this.marks.length; reached++) {
      if (!upstream.queryEvent(this.marks[reached]!.event)) break;
      this.completed = this.marks[reached]!.epoch;
    }
    for (const { event } of this.marks.splice(0, reached)) {
      // An event with a waiter must not be recorded again.
      if (upstream.isAwaited(event)) upstream.destroyEvent(event);
      else this.spareEvents.push(event);
    }
    return reached > 0;
  }

  /** Destroys all events; one that fails stays for the next attempt. */
  destroyEvents(upstream: MemoryUpstream): void {
    const events = [...this.spareEvents, ...this.marks.splice(0).map(({ event }) => event)];
    this.spareEvents.splice(0, this.spareEvents.length, ...events);
    const { stream } = this;
    const device = {
      get lost() {
        return upstream.lost || (stream !== undefined && upstream.isLostFor(stream));
      },
    };
    const forget = () => void this.spareEvents.shift();
    for (const event of events) releaseTo(device, () => upstream.destroyEvent(event), forget);
  }
}

/** Epochs that slots must complete before memory can be used again. */
export type Needs = readonly { readonly slot: StreamSlot; readonly epoch: number }[];

export function areMet(needs: Needs): boolean {
  return needs.every(({ slot, epoch }) => slot.isClean(epoch));
}

export function demand(needs: Needs): void {
  for (const { slot, epoch } of needs) slot.demanded = Math.max(slot.demanded, epoch);
}

/** The blocks of a pool that streams other than their owner use. */
export class PendingBlocks {
  readonly #table: BlockTable;
  readonly #counters: PoolCounters;
  readonly #uses = new Map<number, Set<StreamSlot>>(); // The slots that use live blocks
  readonly #needs = new Map<number, Needs>();
  readonly #bySize: FreeIndex;

  constructor(table: BlockTable, counters: PoolCounters) {
    this.#table = table;
    this.#counters = counters;
    this.#bySize = new FreeIndex(table);
    this.#bySize.ensure(1);
  }

  get count(): number {
    return this.#needs.size;
  }

  use(block: number, slot: StreamSlot): void {
    this.#table.ints[(block << RECORD_SHIFT) + STATE]! |= USED_ELSEWHERE;
    const uses = this.#uses.get(block);
    if (uses === undefined) this.#uses.set(block, new Set([slot]));
    else uses.add(slot);
  }

  /**
   * Makes a freed block wait for the streams that used it.
   *
   * @returns False if there is nothing to wait for.
   */
  add(block: number): boolean {
    const needs = [...this.#uses.get(block) ?? []]
      .map((slot) => ({ slot, epoch: slot.retired ? slot.epoch - 1 : slot.epoch }))
      .filter(({ slot, epoch }) => !slot.isClean(epoch));
    this.#uses.delete(block);
    if (needs.length === 0) return false;
    demand(needs);
    this.#needs.set(block, needs);
    this.#table.setState(block, PENDING);
    const kind = this.#table.kind(block);
    this.#bySize.insert(kind, block);
    this.#counters.notePending(kind, this.#table.bytes(block));
    return true;
  }

  /** The needs of a block of at least this size; none if there is no such block. */
  needsOfFitting(kind: number, units: number): Needs {
    return this.#needs.get(this.#bySize.find(kind, units)) ?? [];
  }

  /** Releases the blocks with met needs; whether there were any. */
  releaseMet(release: (block: number) => void): boolean {
    const before = this.count;
    for (const [block, needs] of this.#needs) {
      if (!areMet(needs)) continue;
      const kind = this.#table.kind(block);
      this.#needs.delete(block);
      this.#bySize.remove(kind, block);
      this.#counters.notePending(kind, -this.#table.bytes(block));
      release(block);
    }
    return this.count < before;
  }
}
