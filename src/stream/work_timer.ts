/**
 * Timing work on streams by an event before it and one after it.
 *
 * @module
 */

import { giveBackAfterFailure } from "../ffi/give_back.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { Event } from "./event.ts";
import { isCapturing } from "./running_captures.ts";
import type { Stream } from "./stream.ts";

/** Work between two marks. Who evaluates it may put another event in the place of one of them. */
export interface TimedWork<Work> {
  /** The work. */
  readonly work: Work;
  /** Its beginning. */
  start: Event;
  /** Its end. */
  end: Event;
}

/** So much work waits at least before it is asked what of it is done. */
const LEAST_WAITING = 256;

/** Times work: two events around each piece, which are used again once it is evaluated. */
export class WorkTimer<Work> implements Disposable {
  readonly #context: DeviceContext;
  readonly #evaluate: (timed: TimedWork<Work>) => void;
  readonly #spare: Event[] = [];
  // What a stream does is done in its order, so that only the first of each has to be asked for.
  #waiting = new Map<Stream, TimedWork<Work>[]>();
  #waitingCount = 0;
  #askAt = LEAST_WAITING;
  #settling = 0;
  #disposed = false;

  /**
   * A timer without work.
   *
   * @param evaluate Reads the events of work that is done.
   */
  constructor(context: DeviceContext, evaluate: (timed: TimedWork<Work>) => void) {
    this.#context = context;
    this.#evaluate = evaluate;
  }

  /** How much work is not evaluated. */
  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Enqueues work between two marks, on a stream that is not captured. What fails is not timed. */
  time(work: Work, stream: Stream, enqueue: () => void): void {
    // There before the work is enqueued, when it would be too late to fail for want of it.
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

  /** Marks a beginning; to be given to {@linkcode end} or {@linkcode keep}. */
  mark(stream: Stream): Event {
    if (this.#waitingCount >= this.#askAt && !isCapturing()) this.#evaluateDone();
    const event = this.#take();
    try {
      event.record(stream);
    } catch (error) {
      giveBackAfterFailure(event);
      throw error;
    }
    return event;
  }

  /** Marks the end of work. */
  end(work: Work, start: Event, stream: Stream): void {
    this.#add({ work, start, end: this.mark(stream) }, stream);
  }

  /** Keeps an event for later work, if there will be any. */
  keep(event: Event): void {
    if (this.#disposed) giveBackAfterFailure(event);
    else this.#spare.push(event);
  }

  /**
   * Waits for all work so far and evaluates it.
   *
   * @throws {CudaError} If some of it failed.
   */
  async settle(): Promise<void> {
    this.#settling++;
    try {
      for (const [stream, those] of [...this.#waiting]) {
        const last = those.at(-1)!;
        await last.end.done();
        // Meanwhile others may have evaluated some of it, and work may have come.
        this.#evaluateUntil(stream, (timed) => timed === last || timed.end.query());
      }
    } finally {
      this.#settling--;
      if (this.#disposed) this.#close();
    }
  }

  /** Forgets what is not evaluated; what is being settled is evaluated all the same. */
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
    // Where little was done, as much again has to come: each piece is moved a few times in all.
    this.#askAt = Math.max(LEAST_WAITING, 2 * this.#waitingCount);
  }

  /** Evaluates the work of a stream as far as it is done. */
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
