/**
 * The timeline: what happened, and what a chart of it needs to know.
 *
 * @module
 */

import { Extremes } from "./extremes.ts";
import type { Columns, Report } from "./report.ts";
import type { EventColumn } from "../report_data.ts";
import { TimeAxis } from "./time_axis.ts";

/** Events with what is drawn of them. */
export class Timeline {
  /** The columns. */
  readonly events: Columns<EventColumn>;
  /** The number of events. */
  readonly count: number;
  /** Bytes that somebody had. */
  readonly live: Extremes;
  /** Bytes taken from the device. */
  readonly reserved: Extremes;
  /** External fragmentation when it was last looked at; NaN where nobody had yet. */
  readonly fragmentation: Float64Array;
  /** Its extremes. */
  readonly fragmentationExtremes: Extremes;
  /** The most that was ever reserved. */
  readonly peak: number;
  /** The events that were out of memory, oldest first. */
  readonly failures: readonly number[];
  /** What is seen of it. */
  axis: TimeAxis;
  /** Whether positions are times, not numbers of events. */
  isByTime = true;

  /** Prepares events, of which there is at least one. */
  constructor(events: Columns<EventColumn>, actions: Report["actions"]) {
    this.events = events;
    this.count = events.time.length;
    this.live = new Extremes(events.live);
    this.reserved = new Extremes(events.reserved);
    this.fragmentation = this.#fragmentation();
    this.fragmentationExtremes = new Extremes(this.fragmentation);
    this.reserved.measure(0, this.count);
    this.live.measure(0, this.count);
    this.peak = Math.max(this.reserved.high, this.live.high, 1);
    const failure = actions.indexOf("out of memory");
    this.failures = [...events.action.keys()].filter((index) => events.action[index] === failure);
    this.axis = new TimeAxis(events.time);
  }

  /** Shows the events by time or by number, everything at first. */
  arrange(isByTime: boolean): void {
    this.isByTime = isByTime;
    const { time } = this.events;
    this.axis = new TimeAxis(isByTime ? time : time.map((_, index) => index));
  }

  /** The event to speak of between two shares of the window: a failure, else the largest. */
  eventBetween(left: number, right: number): number {
    const from = this.axis.countUntil(left);
    const to = this.axis.countUntil(right);
    if (from === to) return this.#nearest(from, (left + right) / 2);
    const failure = this.failures.find((index) => index >= from && index < to);
    if (failure !== undefined) return failure;
    let largest = from;
    for (let index = from; index < to; index++) {
      if (this.events.bytes[index]! > this.events.bytes[largest]!) largest = index;
    }
    return largest;
  }

  #nearest(next: number, share: number): number {
    if (next === 0) return 0;
    if (next === this.count) return next - 1;
    const before = share - this.axis.shareOf(next - 1);
    return this.axis.shareOf(next) - share < before ? next : next - 1;
  }

  #fragmentation(): Float64Array {
    const { live, reserved, largestFree } = this.events;
    // Pools look at their free blocks from time to time only: what was seen holds until then.
    let seen = NaN;
    return largestFree.map((largest, index) => {
      if (largest < 0) return seen;
      const free = reserved[index]! - live[index]!;
      seen = free <= 0 ? 0 : Math.min(Math.max(1 - largest / free, 0), 1);
      return seen;
    });
  }
}
