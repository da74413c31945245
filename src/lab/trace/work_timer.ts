/**
 * Times work on streams by an event before it and one after it.
 *
 * @module
 */

import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { Event } from "../../stream/event.ts";
import { isCapturing } from "../../stream/running_captures.ts";
import type { Stream } from "../../stream/stream.ts";

/** Work between two events. The evaluation may replace one of them by another event. */
export interface TimedWork<Work> {
  /** The work. */
  readonly work: Work;
  /** Its beginning. */
  start: Event;
  /** Its end. */
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

  /**
   * A timer without work.
   *
   * @param evaluate Reads the events of finished work.
   */
  constructor(context: DeviceContext, evaluate: (timed: TimedWork<Work>) => void) {
    this.#context = context;
    this.#evaluate = evaluate;
  }

  /** Pieces of work that are not evaluated. */
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

  /** Records the end of work. */
  end(work: Work, start: Event, stream: Stream): void {
    this.#add({ work, start, end: this.mark(stream) }, stream);
  }

  /** Keeps an event for later work. */
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

  /** Evaluates the finished work of a stream. */
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
