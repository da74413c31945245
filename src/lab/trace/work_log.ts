/**
 * Counts and times the work of a device during a trace, and keeps the most recent records.
 *
 * @module
 */

import type { DeviceContext } from "../../hardware/device_context.ts";
import { type Occupancy, occupancy, occupancyLimits } from "../../launch/occupancy.ts";
import type { CopyDirection, DeviceWork, KernelWork } from "../../stream/activity.ts";
import { type DeviceClock, type TimedWork, WorkTimer } from "./work_timer.ts";
import { defaultStream, type Stream } from "../../stream/stream.ts";
import type {
  CopyCount,
  CopyStatistics,
  KernelStatistics,
  LaunchStatistics,
  TracedWork,
  TraceStatistics,
  WorkRecord,
} from "./recording.ts";
import { Ring } from "./host_log.ts";

/** Limit of pending timed work; work enqueued beyond it runs untimed. */
const MAX_PENDING = 16_384;

/** Largest small copy, in bytes. */
const SMALL_COPY = 64 * 1024;

/** A record: `start` is a device time, `enqueued` a program time. */
interface Entry {
  readonly work: DeviceWork;
  readonly stream: number;
  readonly enqueued: number;
  enqueueTime: number;
  start: number;
  duration: number;
}

type WorkStatistics = Pick<TraceStatistics, "kernels" | "launches" | "graphs" | CopyDirection>;

export class WorkLog implements Disposable {
  readonly #context: DeviceContext;
  readonly #clock: DeviceClock;
  readonly #timer: WorkTimer<Entry>;
  readonly #ring: Ring<Entry>;
  readonly #kernels = new Map<string, Tally>();
  readonly #graphs = new Tally();
  readonly #copies: Readonly<Record<CopyDirection, CopyTally>> = {
    hostToDevice: new CopyTally(),
    deviceToHost: new CopyTally(),
    deviceToDevice: new CopyTally(),
    peer: new CopyTally(),
  };
  readonly #streamNumbers = new WeakMap<Stream, number>();
  readonly #streamNames: string[] = [];

  constructor(context: DeviceContext, clock: DeviceClock, capacity: number) {
    this.#context = context;
    this.#clock = clock;
    this.#ring = new Ring(capacity);
    this.#timer = new WorkTimer(context, (timed) => this.#evaluate(timed));
  }

  get dropped(): number {
    return this.#ring.dropped;
  }

  /** The names of the streams seen so far, by number. */
  get streams(): readonly string[] {
    return [...this.#streamNames];
  }

  /** The number of a stream, in the order of first use. */
  streamNumber(stream: Stream): number {
    // All contexts of a device have one default stream.
    const key = stream.isDefault ? defaultStream(this.#context) : stream;
    const known = this.#streamNumbers.get(key);
    if (known !== undefined) return known;
    const number = this.#streamNames.length;
    this.#streamNames.push(stream.isDefault ? "default stream" : `stream ${number + 1}`);
    this.#streamNumbers.set(key, number);
    return number;
  }

  /** Enqueues work and times it if possible. Work that fails to enqueue does not count. */
  enqueue(work: DeviceWork, stream: Stream, enqueue: () => void): void {
    if (stream.captureToken !== undefined) {
      enqueue();
      this.#tallyOf(work).captured++;
    } else if (this.#timer.waitingCount >= MAX_PENDING) {
      enqueue();
      this.#tallyOf(work).untimed++;
    } else {
      const number = this.streamNumber(stream);
      // Read before the first event, which an idle device reaches at once.
      const enqueued = performance.now();
      const entry = { work, stream: number, enqueued, enqueueTime: 0, start: 0, duration: 0 };
      this.#timer.time(entry, stream, () => {
        enqueue();
        entry.enqueueTime = performance.now() - enqueued;
      });
    }
  }

  async settle(): Promise<void> {
    await this.#timer.settle();
  }

  /** The kept records in the order in which the device began them; times count from `begun`. */
  records(begun: number): TracedWork[] {
    return [...this.#ring]
      .map((entry) => this.#record(entry, begun))
      .sort((one, other) => one.start - other.start);
  }

  statistics(): WorkStatistics {
    const { hostToDevice, deviceToHost, deviceToDevice, peer } = this.#copies;
    return {
      kernels: [...this.#kernels].map(([name, tally]) => tally.ofKernel(name))
        .sort((one, other) => other.time - one.time),
      launches: Tally.sum([...this.#kernels.values()]),
      graphs: Tally.sum([this.#graphs]),
      hostToDevice: hostToDevice.statistics(),
      deviceToHost: deviceToHost.statistics(),
      deviceToDevice: deviceToDevice.statistics(),
      peer: peer.statistics(),
    };
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #evaluate(timed: TimedWork<Entry>): void {
    const entry = timed.work;
    Object.assign(entry, this.#clock.measure(timed));
    this.#ring.add(entry);
    const { work, duration } = entry;
    if (work.kind === "graph") this.#graphs.add(duration, 0);
    else if (work.kind === "copy") this.#copies[work.direction].add(duration, work.bytes);
    else {
      const tally = this.#kernelTally(work.name);
      tally.add(duration, work.bytes);
      tally.addOccupancy(this.#occupancyOf(work), duration);
    }
  }

  #tallyOf(work: DeviceWork): Tally | CopyTally {
    if (work.kind === "graph") return this.#graphs;
    return work.kind === "copy" ? this.#copies[work.direction] : this.#kernelTally(work.name);
  }

  #kernelTally(name: string): Tally {
    let tally = this.#kernels.get(name);
    if (tally === undefined) this.#kernels.set(name, tally = new Tally());
    return tally;
  }

  #occupancyOf({ attributes, block, sharedMemory }: KernelWork): Occupancy {
    return occupancy(occupancyLimits(this.#context.info), {
      threadsPerBlock: block[0] * block[1] * block[2],
      registersPerThread: attributes.registersPerThread ?? 0,
      staticSharedMemory: attributes.staticSharedMemory,
      dynamicSharedMemory: sharedMemory,
    });
  }

  #record(entry: Entry, begun: number): TracedWork {
    const { work, stream, enqueued, enqueueTime, start, duration } = entry;
    const base: WorkRecord = {
      stream,
      enqueued: enqueued - begun,
      enqueueTime,
      start: this.#clock.programTime(start) - begun,
      duration,
    };
    if (work.kind !== "kernel") return { ...work, ...base };
    const { attributes, sharedMemory, ...kernel } = work;
    const { occupancy, limiter } = this.#occupancyOf(work);
    return {
      ...kernel,
      ...base,
      registersPerThread: attributes.registersPerThread ?? 0,
      staticSharedMemory: attributes.staticSharedMemory,
      dynamicSharedMemory: sharedMemory,
      occupancy,
      limiter,
    };
  }
}

/** Bytes per second of a transfer; 0 if no time was measured. */
function rate(bytes: number, milliseconds: number): number {
  return milliseconds === 0 ? 0 : bytes / (milliseconds / 1000);
}

class Tally {
  captured = 0;
  untimed = 0;
  #timed = 0;
  #time = 0;
  #min = Infinity;
  #max = 0;
  #bytes = 0;
  #weightedOccupancy = 0;
  #weights = 0;
  readonly #timeByLimiter = new Map<Occupancy["limiter"], number>();

  add(time: number, bytes: number): void {
    this.#timed++;
    this.#time += time;
    this.#min = Math.min(this.#min, time);
    this.#max = Math.max(this.#max, time);
    this.#bytes += bytes;
  }

  addOccupancy({ occupancy, limiter }: Occupancy, time: number): void {
    // A launch too short to measure still counts.
    const weight = Math.max(time, Number.MIN_VALUE);
    this.#weightedOccupancy += occupancy * weight;
    this.#weights += weight;
    this.#timeByLimiter.set(limiter, (this.#timeByLimiter.get(limiter) ?? 0) + weight);
  }

  ofKernel(kernel: string): KernelStatistics {
    const limiters = [...this.#timeByLimiter].sort(([, one], [, other]) => other - one);
    return {
      kernel,
      ...Tally.sum([this]),
      occupancy: this.#weights === 0 ? 0 : this.#weightedOccupancy / this.#weights,
      limiter: limiters[0]?.[0] ?? null,
    };
  }

  static sum(tallies: readonly Tally[]): LaunchStatistics {
    const sum = (value: (tally: Tally) => number) =>
      tallies.reduce((total, tally) => total + value(tally), 0);
    const timed = sum((tally) => tally.#timed);
    const time = sum((tally) => tally.#time);
    const captured = sum((tally) => tally.captured);
    const untimed = sum((tally) => tally.untimed);
    const bytes = sum((tally) => tally.#bytes);
    return {
      launches: timed + captured + untimed,
      captured,
      untimed,
      time,
      mean: timed === 0 ? 0 : time / timed,
      min: timed === 0 ? 0 : Math.min(...tallies.map((tally) => tally.#min)),
      max: Math.max(0, ...tallies.map((tally) => tally.#max)),
      bytes,
      bytesPerSecond: rate(bytes, time),
    };
  }
}

class CopyTally {
  captured = 0;
  untimed = 0;
  readonly #all = { copies: 0, bytes: 0, time: 0 };
  readonly #small = { copies: 0, bytes: 0, time: 0 };

  add(time: number, bytes: number): void {
    for (const sums of bytes <= SMALL_COPY ? [this.#all, this.#small] : [this.#all]) {
      sums.copies++;
      sums.bytes += bytes;
      sums.time += time;
    }
  }

  statistics(): CopyStatistics {
    const { captured, untimed } = this;
    const count = (sums: Omit<CopyCount, "bytesPerSecond">) => ({
      ...sums,
      bytesPerSecond: rate(sums.bytes, sums.time),
    });
    return { ...count(this.#all), small: count(this.#small), captured, untimed };
  }
}
