/**
 * Streams, as the pool sees them, and what it knows of how far they have got.
 *
 * A freed block may be had by its own stream at once, since work runs in order there. Any other
 * stream must wait until its own has reached the point of the freeing. To know that without an
 * event for each block, a stream's time is divided into epochs: a mark, which is one event, ends an
 * epoch, and once the mark is reached everything that was freed in that epoch or before is clean.
 * Marks are made when somebody wants to know, not before.
 *
 * @module
 */

import { giveBackTo, type MemoryStream, type MemoryUpstream } from "./memory_upstream.ts";

/** A point on a stream: what was freed up to this epoch is clean when the event is done. */
export interface Mark {
  /** The last epoch that it covers. */
  readonly epoch: number;
  /** The event. */
  readonly event: number;
}

/** A stream's place in the pool; or, without a stream, the place of blocks that anybody may have. */
export class StreamSlot {
  /** Its number; a number is used again when nothing refers to it any more. */
  readonly index: number;
  /** The stream; `undefined` for a common slot. */
  readonly stream: MemoryStream | undefined;
  /** The number of the common slot that its blocks go to when they are clean. */
  readonly common: number;
  /** The present epoch. */
  epoch = 1;
  /** The last epoch whose mark has been reached. */
  completed = 0;
  /** The last epoch of which something needs a mark, because another stream's block waits for it. */
  demanded = 0;
  /** Bytes freed since the last mark. */
  freedBytes = 0;
  /** Marks that have not been reached, oldest first. */
  readonly marks: Mark[] = [];
  /** Events for later marks. */
  readonly spareEvents: number[] = [];
  /** Whether the stream is disposed. */
  retired = false;
  /** Whether the stream is part of a capture, whose work has not run: it has no epochs. */
  readonly captured: boolean;
  /** Ends that the pool is told of the stream's disposal. */
  stopListening: () => void = () => {};

  /** Makes a slot. */
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

  /** The epoch of which the records of blocks keep the lower 32 bits. */
  epochOf(bits: number): number {
    return this.epoch - ((this.epoch - bits) | 0);
  }

  /** Whether everything up to an epoch is known to be done. */
  isClean(epoch: number): boolean {
    return this.completed >= epoch;
  }
}

/** Makes marks and finds out which have been reached. */
export class StreamMarks {
  readonly #upstream: MemoryUpstream;

  /** Marks made with this upstream's events. */
  constructor(upstream: MemoryUpstream) {
    this.#upstream = upstream;
  }

  /** Ends the slot's epoch with a mark. */
  mark(slot: StreamSlot): void {
    const event = slot.spareEvents.pop() ?? this.#upstream.createEvent(slot.stream!);
    try {
      this.#upstream.recordEvent(event, slot.stream!);
    } catch (error) {
      slot.spareEvents.push(event);
      throw error;
    }
    slot.marks.push({ epoch: slot.epoch, event });
    slot.epoch++;
    slot.freedBytes = 0;
  }

  /** Asks which marks have been reached; whether any has. */
  poll(slot: StreamSlot): boolean {
    let reached = 0;
    for (; reached < slot.marks.length; reached++) {
      if (!this.#upstream.queryEvent(slot.marks[reached]!.event)) break;
      slot.completed = slot.marks[reached]!.epoch;
    }
    for (const { event } of slot.marks.splice(0, reached)) this.#spare(slot, event);
    return reached > 0;
  }

  /** Keeps an event for a later mark, unless somebody is still to be told of this one. */
  #spare(slot: StreamSlot, event: number): void {
    if (this.#upstream.isAwaited(event)) this.#upstream.destroyEvent(event);
    else slot.spareEvents.push(event);
  }

  /** Forgets a slot's events; one that fails stays, for the next attempt. */
  close(slot: StreamSlot): void {
    const events = [...slot.spareEvents, ...slot.marks.splice(0).map(({ event }) => event)];
    slot.spareEvents.splice(0, slot.spareEvents.length, ...events);
    const upstream = this.#upstream;
    const device = {
      get lost() {
        return upstream.lost || (slot.stream !== undefined && upstream.isLostFor(slot.stream));
      },
    };
    for (const event of events) {
      giveBackTo(
        device,
        () => this.#upstream.destroyEvent(event),
        () => void slot.spareEvents.shift(),
      );
    }
  }
}
