/**
 * The times of a device's events on the clock of the program.
 *
 * CUDA measures the time between two events as a 32-bit float of milliseconds, which is off by a
 * quarter of a millisecond after an hour. Times are therefore measured from a recent event of known
 * time. The clocks of device and program drift apart, and are compared at the beginning and at each
 * reading.
 *
 * @module
 */

import type { DeviceContext } from "../../hardware/device_context.ts";
import { Event } from "../../stream/event.ts";
import { Stream } from "../../stream/stream.ts";
import type { TimedWork } from "./work_timer.ts";

/** Milliseconds after which another event is the reference: a float is then off by 30 ns. */
const REACH = 1000;

/** Comparisons of the clocks; the quickest one is the most exact. */
const ATTEMPTS = 5;

/** Milliseconds between two comparisons that suffice for the drift of the clocks. */
const MIN_BASE = 100;

/** No clocks drift more; a comparison that suggests it was interrupted. */
const MAX_DRIFT = 1e-3;

/** The same moment on both clocks, in milliseconds. */
interface Comparison {
  readonly device: number;
  readonly program: number;
  /** The error of `program`. */
  readonly error: number;
}

/** The clock of a device. */
export class DeviceClock implements Disposable {
  readonly #context: DeviceContext;
  readonly #stream: Stream;
  readonly #first: Comparison;
  #last: Comparison;
  // The reference event, and its time.
  #anchor: Event;
  #anchorTime = 0;

  /**
   * Begins with a comparison, which blocks for some microseconds.
   *
   * @throws {TypeError} If a stream is being captured.
   */
  constructor(context: DeviceContext) {
    using stack = new DisposableStack();
    this.#context = context;
    this.#stream = stack.use(new Stream(context));
    this.#anchor = stack.use(this.#stream.record({ timing: true }));
    // The first recording of an event may take longer.
    this.#anchor.doneSync();
    this.#first = this.#compare();
    this.#last = this.#first;
    stack.move();
  }

  /** The clock's own stream. */
  get stream(): Stream {
    return this.#stream;
  }

  /** The error of the program's times in milliseconds. */
  get error(): number {
    return Math.max(this.#first.error, this.#last.error);
  }

  /** The time of an event in milliseconds on the device's clock. */
  timeOf(event: Event): number {
    return this.#anchorTime + event.elapsedSince(this.#anchor);
  }

  /**
   * The start and duration of timed work. From time to time the clock keeps the start event and
   * replaces it by another.
   */
  measure<Work>(timed: TimedWork<Work>): { start: number; duration: number } {
    const { start: event, end } = timed;
    const start = this.timeOf(event);
    const duration = end.elapsedSince(event);
    timed.start = this.#keepNear(event, start);
    return { start, duration };
  }

  /** Makes an event the reference if the present one is old, and returns the unused one. */
  #keepNear(event: Event, time: number): Event {
    if (time - this.#anchorTime <= REACH) return event;
    const former = this.#anchor;
    this.#anchor = event;
    this.#anchorTime = time;
    return former;
  }

  /**
   * Compares the clocks again, which blocks for some microseconds.
   *
   * @throws {TypeError} If a stream is being captured.
   */
  compare(): void {
    this.#last = this.#compare();
  }

  /** A device time as the program's `performance.now()`. */
  programTime(time: number): number {
    const base = this.#last.device - this.#first.device;
    const { device, program } = this.#first;
    const rate = base < MIN_BASE ? 1 : (this.#last.program - program) / base;
    const isPlausible = Math.abs(rate - 1) < MAX_DRIFT;
    return program + (time - device) * (isPlausible ? rate : 1);
  }

  /** Disposes its stream and event. */
  [Symbol.dispose](): void {
    using stack = new DisposableStack();
    stack.use(this.#stream);
    stack.use(this.#anchor);
  }

  #compare(): Comparison {
    let event = new Event(this.#context, { timing: true });
    try {
      let best = this.#readBoth(event);
      for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
        const reading = this.#readBoth(event);
        if (reading.error < best.error) best = reading;
      }
      event = this.#keepNear(event, this.timeOf(event));
      return best;
    } finally {
      event[Symbol.dispose]();
    }
  }

  #readBoth(event: Event): Comparison {
    const before = performance.now();
    event.record(this.#stream);
    event.doneSync();
    const after = performance.now();
    const error = (after - before) / 2;
    return { device: this.timeOf(event), program: before + error, error };
  }
}
