/**
 * The program's side of a trace: compilations, named ranges and the memory of the pools.
 *
 * @module
 */

import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import type { Compilation } from "../../stream/activity.ts";
import { type DeviceClock, WorkTimer } from "./work_timer.ts";
import type { Event } from "../../stream/event.ts";
import type { Stream } from "../../stream/stream.ts";
import type { CompilationRecord, MemorySample, RangeRecord, TraceStatistics } from "./recording.ts";
import { type DevicePlace, watchPools } from "../../memory/pool/device_pools.ts";
import type { BlockPool } from "../../memory/pool/block_pool.ts";
import type { PoolObserver } from "../../memory/pool/pool_observer.ts";

/** A range. Its times are the device's if it has a stream, otherwise the program's. */
interface Range {
  readonly name: string;
  start: number;
  duration: number;
  stream: number | undefined;
}

interface RangeMark {
  readonly stream: Stream;
  readonly event: Event;
}

export class HostLog implements Disposable {
  readonly #clock: DeviceClock;
  readonly #streamNumber: (stream: Stream) => number;
  readonly #timer: WorkTimer<Range>;
  readonly #compilations: Ring<Compilation>;
  readonly #ranges: Ring<Range>;
  readonly #open = new Map<Range, RangeMark | undefined>();
  readonly #counts = { compiled: 0, compileTime: 0, cached: 0, cachedTime: 0 };

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

  get dropped(): { readonly compilations: number; readonly ranges: number } {
    return { compilations: this.#compilations.dropped, ranges: this.#ranges.dropped };
  }

  compiled(compilation: Compilation): void {
    const time = compilation.ended - compilation.begun;
    this.#compilations.add(compilation);
    this.#counts[compilation.cached ? "cached" : "compiled"]++;
    this.#counts[compilation.cached ? "cachedTime" : "compileTime"] += time;
  }

  /** Starts a range, with an event unless the stream is being captured; the result ends the range. */
  begin(name: string, stream: Stream | undefined): () => void {
    const mark = stream === undefined || stream.captureToken !== undefined
      ? undefined
      : { stream, event: this.#timer.mark(stream) };
    const range = { name, start: performance.now(), duration: 0, stream: undefined };
    this.#open.set(range, mark);
    return () => this.#end(range);
  }

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

  statistics(): TraceStatistics["compilations"] {
    return { ...this.#counts };
  }

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

export class MemoryLog implements Disposable {
  readonly #stopWatching: () => void;
  readonly #detachers = new Map<BlockPool, () => void>();
  readonly #samples: Ring<MemorySample>;
  #live = 0;
  #reserved = 0;
  readonly #counts = {
    allocations: 0,
    allocatedBytes: 0,
    frees: 0,
    growths: 0,
    grownBytes: 0,
    shrinks: 0,
    shrunkBytes: 0,
    waits: 0,
    failures: 0,
    initialReserved: 0,
    peakReserved: 0,
    peakLive: 0,
  };

  /** Observes the existing and future pools of a device. */
  constructor(device: DevicePlace, capacity: number) {
    this.#samples = new Ring(capacity);
    this.#stopWatching = watchPools(device, {
      added: (pool) => this.#attach(pool),
      removed: (pool) => this.#forget(pool),
    });
    this.#counts.initialReserved = this.#reserved;
    this.#sample();
  }

  get dropped(): number {
    return this.#samples.dropped;
  }

  /** The kept samples; times count from `begun`. */
  records(begun: number): MemorySample[] {
    return [...this.#samples].map(({ time, ...sizes }) => ({ time: time - begun, ...sizes }));
  }

  statistics(): TraceStatistics["memory"] {
    return { ...this.#counts };
  }

  [Symbol.dispose](): void {
    this.#stopWatching();
    for (const detach of this.#detachers.values()) detach();
    this.#detachers.clear();
  }

  #attach(pool: BlockPool): void {
    this.#live += pool.requestedBytes;
    this.#reserved += pool.reservedBytes;
    this.#raisePeaks();
    this.#detachers.set(pool, pool.observe(this.#observerOf(pool)));
  }

  /** Buffers that outlive their pool no longer count. */
  #forget(pool: BlockPool): void {
    this.#detachers.get(pool)?.();
    if (this.#detachers.delete(pool)) this.#change(-pool.requestedBytes, 0);
  }

  #observerOf({ table }: BlockPool): PoolObserver {
    const counts = this.#counts;
    return {
      allocated: (block) => {
        const bytes = table.requested(block);
        counts.allocations++;
        counts.allocatedBytes += bytes;
        this.#change(bytes, 0);
      },
      freed: (block) => {
        counts.frees++;
        this.#change(-table.requested(block), 0);
      },
      reserved: (bytes) => {
        counts[bytes > 0 ? "growths" : "shrinks"]++;
        counts[bytes > 0 ? "grownBytes" : "shrunkBytes"] += Math.abs(bytes);
        this.#change(0, bytes);
      },
      waited: () => counts.waits++,
      failed: () => counts.failures++,
    };
  }

  #change(live: number, reserved: number): void {
    this.#live += live;
    this.#reserved += reserved;
    this.#sample();
  }

  #raisePeaks(): void {
    this.#counts.peakLive = Math.max(this.#counts.peakLive, this.#live);
    this.#counts.peakReserved = Math.max(this.#counts.peakReserved, this.#reserved);
  }

  #sample(): void {
    this.#raisePeaks();
    this.#samples.add({ time: performance.now(), live: this.#live, reserved: this.#reserved });
  }
}

/** Keeps the last `capacity` records and counts the dropped ones. */
export class Ring<T> implements Iterable<T> {
  readonly #capacity: number;
  readonly #records: T[] = [];
  #added = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get dropped(): number {
    return this.#added - this.#records.length;
  }

  add(record: T): void {
    this.#records[this.#added % this.#capacity] = record;
    this.#added++;
  }

  *[Symbol.iterator](): Iterator<T> {
    const { length } = this.#records;
    const first = this.dropped === 0 ? 0 : this.#added % this.#capacity;
    for (let index = 0; index < length; index++) yield this.#records[(first + index) % length]!;
  }
}
