/**
 * Times work on streams by an event before it and one after it, on the clock of the program.
 *
 * CUDA measures the time between two events as a 32-bit float of milliseconds, which is off by a
 * quarter of a millisecond after an hour. Times are therefore measured from a recent event of known
 * time. The clocks of device and program drift apart, and are compared at the beginning and at each
 * reading.
 *
 * @module
 */

import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { Event } from "../../stream/event.ts";
import { isCapturing } from "../../stream/running_captures.ts";
import { Stream } from "../../stream/stream.ts";

/** Work between two events. The evaluation may replace one of them by another event. */
export interface TimedWork<Work> {
  readonly work: Work;
  start: Event;
  end: Event;
}

/** Pieces of work that wait before the timer queries which are done. */
const MIN_WAITING = 256;

/** Times work by two events around each piece, which are reused after its evaluation. */
export class WorkTimer<Work> implements Disposable {
  readonly #context: DeviceContext;
  readonly #evaluate: (timed: TimedWork<Work>) => void;
  readonly #spare: Event[] = [];
  // The work of a stream is done in order: only the first piece is queried.
  #waiting = new Map<Stream, TimedWork<Work>[]>();
  #waitingCount = 0;
  #queryAt = MIN_WAITING;
  #settling = 0;
  #disposed = false;

  /** `evaluate` reads the events of finished work. */
  constructor(context: DeviceContext, evaluate: (timed: TimedWork<Work>) => void) {
    this.#context = context;
    this.#evaluate = evaluate;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Enqueues work between two events, on a stream that is not captured. Failed work is not timed. */
  time(work: Work, stream: Stream, enqueue: () => void): void {
    // Made before the work is enqueued, while a failure still prevents the work.
    const end = this.#take();
    let start: Event | undefined;
    try {
      start = this.mark(stream);
      enqueue();
      end.record(stream);
    } catch (error) {
      this.keep(end);
      if (start !== undefined) this.keep(start);
      throw error;
    }
    this.#add({ work, start, end }, stream);
  }

  /** Records a start event, for {@linkcode WorkTimer.end} or {@linkcode WorkTimer.keep}. */
  mark(stream: Stream): Event {
    if (this.#waitingCount >= this.#queryAt && !isCapturing()) this.#evaluateDone();
    const event = this.#take();
    try {
      event.record(stream);
    } catch (error) {
      giveBackAfterFailure(event);
      throw error;
    }
    return event;
  }

  end(work: Work, start: Event, stream: Stream): void {
    this.#add({ work, start, end: this.mark(stream) }, stream);
  }

  keep(event: Event): void {
    if (this.#disposed) giveBackAfterFailure(event);
    else this.#spare.push(event);
  }

  /** Waits for all work so far and evaluates it; rejects if some of it failed. */
  async settle(): Promise<void> {
    this.#settling++;
    try {
      for (const [stream, those] of [...this.#waiting]) {
        const last = those.at(-1)!;
        await last.end.done();
        // Meanwhile some of it may have been evaluated, and work may have been added.
        this.#evaluateUntil(stream, (timed) => timed === last || timed.end.query());
      }
    } finally {
      this.#settling--;
      if (this.#disposed) this.#close();
    }
  }

  /** Discards waiting work, except work that `settle()` waits for. */
  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#close();
  }

  #close(): void {
    if (this.#settling > 0) return;
    using stack = new DisposableStack();
    for (const { start, end } of [...this.#waiting.values()].flat()) {
      stack.use(start);
      stack.use(end);
    }
    this.#waiting.clear();
    this.#waitingCount = 0;
    for (const event of this.#spare.splice(0)) stack.use(event);
  }

  #take(): Event {
    return this.#spare.pop() ?? new Event(this.#context, { timing: true });
  }

  #add(timed: TimedWork<Work>, stream: Stream): void {
    const those = this.#waiting.get(stream);
    if (those === undefined) this.#waiting.set(stream, [timed]);
    else those.push(timed);
    this.#waitingCount++;
  }

  #evaluateDone(): void {
    for (const stream of [...this.#waiting.keys()]) {
      this.#evaluateUntil(stream, (timed) => timed.end.query());
    }
    // If little was done, the next query waits for as much work again.
    this.#queryAt = Math.max(MIN_WAITING, 2 * this.#waitingCount);
  }

  #evaluateUntil(stream: Stream, isDone: (timed: TimedWork<Work>) => boolean): void {
    const those = this.#waiting.get(stream);
    if (those === undefined) return;
    let done = 0;
    try {
      for (let timed = those[0]; timed !== undefined && isDone(timed); timed = those[done]) {
        done++;
        this.#evaluateOne(timed);
      }
    } finally {
      those.splice(0, done);
      this.#waitingCount -= done;
      if (those.length === 0) this.#waiting.delete(stream);
    }
  }

  #evaluateOne(timed: TimedWork<Work>): void {
    try {
      this.#evaluate(timed);
    } finally {
      this.keep(timed.start);
      this.keep(timed.end);
    }
  }
}

/** Milliseconds after which another event is the reference: a float is then off by 30 ns. */
const REACH = 1000;

/** Comparisons of the clocks; the quickest one is the most exact. */
const ATTEMPTS = 5;

/** Milliseconds between two comparisons that suffice for the drift of the clocks. */
const MIN_BASE = 100;

/**
 * No clocks drift more: those of computers by about 1e-4, and by 5e-4 more while the system corrects
 * its time. A comparison that suggests it was interrupted.
 */
const MAX_DRIFT = 5e-3;

/** The same moment on both clocks, in milliseconds. */
interface Comparison {
  readonly device: number;
  readonly program: number;
  readonly error: number;
}

export class DeviceClock implements Disposable {
  readonly #context: DeviceContext;
  readonly #stream: Stream;
  readonly #first: Comparison;
  #last: Comparison;
  // The reference event, and its time.
  #anchor: Event;
  #anchorTime = 0;

  /** Begins with a comparison, which blocks for some microseconds. */
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

  get stream(): Stream {
    return this.#stream;
  }

  /** The error of the program's times in milliseconds. A drift that is ignored is part of it. */
  get error(): number {
    const { drift, isPlausible } = this.#measureDrift();
    const ignored = isPlausible ? 0 : Math.abs(drift) * (this.#last.device - this.#first.device);
    return Math.max(this.#first.error, this.#last.error) + ignored;
  }

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

  /** Compares the clocks again, which blocks for some microseconds. */
  compare(): void {
    this.#last = this.#compare();
  }

  /** A device time as the program's `performance.now()`. */
  programTime(time: number): number {
    const { drift, isPlausible } = this.#measureDrift();
    const { device, program } = this.#first;
    return program + (time - device) * (isPlausible ? 1 + drift : 1);
  }

  /** By how much faster the program's clock runs, and whether clocks do that. */
  #measureDrift(): { drift: number; isPlausible: boolean } {
    const base = this.#last.device - this.#first.device;
    const drift = base < MIN_BASE ? 0 : (this.#last.program - this.#first.program) / base - 1;
    return { drift, isPlausible: Math.abs(drift) < MAX_DRIFT };
  }

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
