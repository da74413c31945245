/**
 * The program's side of a trace: compilations and named ranges.
 *
 * @module
 */

import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import type { Compilation } from "../../stream/activity.ts";
import type { DeviceClock } from "./device_clock.ts";
import type { Event } from "../../stream/event.ts";
import type { Stream } from "../../stream/stream.ts";
import { WorkTimer } from "./work_timer.ts";
import type { CompilationRecord, RangeRecord, TraceStatistics } from "./recording.ts";
import { Ring } from "./ring.ts";

/** A range. Its times are the device's if it has a stream, otherwise the program's. */
interface Range {
  readonly name: string;
  start: number;
  duration: number;
  stream: number | undefined;
}

/** The start of a range on a stream. */
interface RangeMark {
  readonly stream: Stream;
  readonly event: Event;
}

/** The compilations and ranges of a trace. */
export class HostLog implements Disposable {
  readonly #clock: DeviceClock;
  readonly #streamNumber: (stream: Stream) => number;
  readonly #timer: WorkTimer<Range>;
  readonly #compilations: Ring<Compilation>;
  readonly #ranges: Ring<Range>;
  readonly #open = new Map<Range, RangeMark | undefined>();
  readonly #counts = { compiled: 0, compileTime: 0, cached: 0, cachedTime: 0 };

  /**
   * Makes an empty log.
   *
   * @param streamNumber Numbers the streams of the trace.
   * @param capacity The number of compilations and of ranges to keep.
   */
  constructor(
    context: DeviceContext,
    clock: DeviceClock,
    streamNumber: (stream: Stream) => number,
    capacity: number,
  ) {
    this.#clock = clock;
    this.#streamNumber = streamNumber;
    this.#compilations = new Ring(capacity);
    this.#ranges = new Ring(capacity);
    this.#timer = new WorkTimer(context, (timed) => {
      this.#ranges.add(Object.assign(timed.work, clock.measure(timed)));
    });
  }

  /** Numbers of dropped compilations and ranges. */
  get dropped(): { readonly compilations: number; readonly ranges: number } {
    return { compilations: this.#compilations.dropped, ranges: this.#ranges.dropped };
  }

  /** Adds a compilation. */
  compiled(compilation: Compilation): void {
    const time = compilation.ended - compilation.begun;
    this.#compilations.add(compilation);
    this.#counts[compilation.cached ? "cached" : "compiled"]++;
    this.#counts[compilation.cached ? "cachedTime" : "compileTime"] += time;
  }

  /**
   * Starts a range, with an event on the stream unless the stream is being captured.
   *
   * @returns A function that ends the range.
   */
  begin(name: string, stream: Stream | undefined): () => void {
    const mark = stream === undefined || stream.captureToken !== undefined
      ? undefined
      : { stream, event: this.#timer.mark(stream) };
    const range = { name, start: performance.now(), duration: 0, stream: undefined };
    this.#open.set(range, mark);
    return () => this.#end(range);
  }

  /**
   * Waits for the events of all ended ranges.
   *
   * @throws {CudaError} If earlier work failed.
   */
  async settle(): Promise<void> {
    await this.#timer.settle();
  }

  /** The kept compilations; times count from `begun`. */
  compilations(begun: number): CompilationRecord[] {
    return [...this.#compilations].map(({ name, begun: requested, ended, cached }) => {
      const start = Math.max(requested, begun);
      return { name, start: start - begun, duration: ended - start, cached };
    });
  }

  /** The kept ranges and the open ones; times count from `begun`. */
  ranges(begun: number): RangeRecord[] {
    const now = performance.now();
    const ended = [...this.#ranges].map(({ name, start, duration, stream }) => {
      const began = stream === undefined ? start : this.#clock.programTime(start);
      return { name, start: began - begun, duration, stream };
    });
    const open = [...this.#open.keys()].map(({ name, start }) => ({
      name,
      start: start - begun,
      duration: now - start,
      stream: undefined,
    }));
    return [...ended, ...open];
  }

  /** Counts and times of all compilations. */
  statistics(): TraceStatistics["compilations"] {
    return { ...this.#counts };
  }

  /** Releases the events and forgets open ranges. */
  [Symbol.dispose](): void {
    using stack = new DisposableStack();
    for (const mark of this.#open.values()) if (mark !== undefined) stack.use(mark.event);
    this.#open.clear();
    stack.use(this.#timer);
  }

  #end(range: Range): void {
    if (!this.#open.has(range)) return;
    const mark = this.#open.get(range);
    this.#open.delete(range);
    range.duration = performance.now() - range.start;
    if (mark === undefined) return this.#ranges.add(range);
    if (mark.stream.disposed || mark.stream.captureToken !== undefined) {
      this.#timer.keep(mark.event);
      return this.#ranges.add(range);
    }
    try {
      range.stream = this.#streamNumber(mark.stream);
      this.#timer.end(range, mark.event, mark.stream);
    } catch (error) {
      giveBackAfterFailure(mark.event);
      throw error;
    }
  }
}
