/**
 * What the program does in a trace: compilations, and the ranges that it names.
 *
 * @module
 */

import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import type { CompilationRecord, RangeRecord } from "./trace_recording.ts";
import type { CompilationStatistics } from "./trace_statistics.ts";
import type { Compilation } from "../../stream/activity.ts";
import type { DeviceClock } from "../../stream/device_clock.ts";
import type { Event } from "../../stream/event.ts";
import type { Stream } from "../../stream/stream.ts";
import { WorkTimer } from "../../stream/work_timer.ts";
import { Ring } from "./ring.ts";
import type { StreamNumbers } from "./stream_numbers.ts";

/** A range; its times are the program's or, where it has marks on a stream, the device's. */
interface Range {
  readonly name: string;
  start: number;
  duration: number;
  stream: number | undefined;
}

/** The beginning of a range on a stream. */
interface RangeMark {
  readonly stream: Stream;
  readonly event: Event;
}

/** Compilations and ranges. */
export class HostLog implements Disposable {
  readonly #clock: DeviceClock;
  readonly #streams: StreamNumbers;
  readonly #timer: WorkTimer<Range>;
  readonly #compilations: Ring<Compilation>;
  readonly #ranges: Ring<Range>;
  readonly #open = new Map<Range, RangeMark | undefined>();
  readonly #counts = { compiled: 0, compileTime: 0, cached: 0, cachedTime: 0 };

  /**
   * An empty log.
   *
   * @param capacity How many compilations and how many ranges are kept.
   */
  constructor(
    context: DeviceContext,
    clock: DeviceClock,
    streams: StreamNumbers,
    capacity: number,
  ) {
    this.#clock = clock;
    this.#streams = streams;
    this.#compilations = new Ring(capacity);
    this.#ranges = new Ring(capacity);
    this.#timer = new WorkTimer(context, (timed) => {
      const { work } = timed;
      const { start, duration } = clock.measure(timed);
      work.start = start;
      work.duration = duration;
      this.#ranges.add(work);
    });
  }

  /** How many compilations were dropped. */
  get droppedCompilations(): number {
    return this.#compilations.dropped;
  }

  /** How many ranges were dropped. */
  get droppedRanges(): number {
    return this.#ranges.dropped;
  }

  /** Notes a compilation. */
  compiled(compilation: Compilation): void {
    const time = compilation.ended - compilation.begun;
    this.#compilations.add(compilation);
    this.#counts[compilation.cached ? "cached" : "compiled"]++;
    this.#counts[compilation.cached ? "cachedTime" : "compileTime"] += time;
  }

  /**
   * Begins a range, with a mark on the stream if there is one and it is not being captured.
   *
   * @returns Ends it.
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
   * Waits for the marks of all ranges that have ended.
   *
   * @throws {CudaError} If work before them failed.
   */
  async settle(): Promise<void> {
    await this.#timer.settle();
  }

  /** The compilations that are kept, from when the trace had begun; times are since `begun`. */
  compilations(begun: number): CompilationRecord[] {
    return [...this.#compilations].map(({ name, begun: asked, ended, cached }) => {
      const start = Math.max(asked, begun);
      return { name, start: start - begun, duration: ended - start, cached };
    });
  }

  /** The ranges that are kept, and those that have not ended; times are since `begun`. */
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

  /** What was counted. */
  statistics(): CompilationStatistics {
    return { ...this.#counts };
  }

  /** Gives its events back; ranges that have not ended never will. */
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
      range.stream = this.#streams.of(mark.stream);
      this.#timer.end(range, mark.event, mark.stream);
    } catch (error) {
      giveBackAfterFailure(mark.event);
      throw error;
    }
  }
}
