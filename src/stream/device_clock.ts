/**
 * The times of a device's events, on the clock of the program.
 *
 * CUDA tells the time between two events, as a 32-bit float of milliseconds: of two that are an hour
 * apart it is off by a quarter of a millisecond. So times are measured from an event nearby, whose
 * own time is known. And the clocks of device and program do not run alike, so that they are
 * compared at the beginning and again whenever somebody wants the times.
 *
 * @module
 */

import type { DeviceContext } from "../hardware/device_context.ts";
import { Event } from "./event.ts";
import { Stream } from "./stream.ts";
import type { TimedWork } from "./work_timer.ts";

/** Milliseconds after which another event is measured from: a float then is off by 30 ns. */
const REACH = 1000;

/** How often the clocks are compared; the quickest comparison is the most exact. */
const ATTEMPTS = 5;

/** Milliseconds between two comparisons from which on they tell how fast the clocks run. */
const LEAST_BASE = 100;

/** No two clocks differ by as much; where it seems so, something has held a comparison up. */
const MOST_DRIFT = 1e-3;

/** The same moment on both clocks, in milliseconds. */
interface Comparison {
  readonly device: number;
  readonly program: number;
  /** How far off `program` may be. */
  readonly error: number;
}

/** The clock of a device. */
export class DeviceClock implements Disposable {
  readonly #context: DeviceContext;
  readonly #stream: Stream;
  readonly #first: Comparison;
  #last: Comparison;
  // The event that times are measured from, and its own time.
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
    // An event that is recorded for the first time may take longer.
    this.#anchor.doneSync();
    this.#first = this.#compare();
    this.#last = this.#first;
    stack.move();
  }

  /** A stream of its own, on which nobody else enqueues. */
  get stream(): Stream {
    return this.#stream;
  }

  /** How far off the program's times may be, in milliseconds. */
  get error(): number {
    return Math.max(this.#first.error, this.#last.error);
  }

  /** When an event was reached, in milliseconds on the device's clock. */
  timeOf(event: Event): number {
    return this.#anchorTime + event.elapsedSince(this.#anchor);
  }

  /**
   * When timed work began, and how long it took. Keeps the event of its beginning from time to time,
   * and puts another in its place.
   */
  measure<Work>(timed: TimedWork<Work>): { start: number; duration: number } {
    const { start: event, end } = timed;
    const start = this.timeOf(event);
    const duration = end.elapsedSince(event);
    timed.start = this.#keepNear(event, start);
    return { start, duration };
  }

  /** Measures from an event from now on if the present one is far away; what is not needed. */
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

  /** A time of the device as the program's `performance.now()`. */
  programTime(time: number): number {
    const base = this.#last.device - this.#first.device;
    const { device, program } = this.#first;
    const rate = base < LEAST_BASE ? 1 : (this.#last.program - program) / base;
    const isPlausible = Math.abs(rate - 1) < MOST_DRIFT;
    return program + (time - device) * (isPlausible ? rate : 1);
  }

  /** Gives its stream and event back. */
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
