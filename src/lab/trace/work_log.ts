/**
 * The work of a device in a trace: counted, timed, and the last of it kept.
 *
 * @module
 */

import type { KernelAttributes } from "../../ffi/native_kernel.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { type Occupancy, occupancy } from "../../launch/occupancy.ts";
import { occupancyLimits } from "../../launch/occupancy_limits.ts";
import type { TracedWork, WorkRecord } from "./trace_recording.ts";
import type { TraceStatistics } from "./trace_statistics.ts";
import type { CopyDirection, DeviceWork, KernelWork } from "../../stream/activity.ts";
import type { DeviceClock } from "../../stream/device_clock.ts";
import type { Stream } from "../../stream/stream.ts";
import { type TimedWork, WorkTimer } from "../../stream/work_timer.ts";
import { Ring } from "./ring.ts";
import type { StreamNumbers } from "./stream_numbers.ts";
import { CopyTally, KernelTally, LaunchTally } from "./work_tally.ts";

/** Most work that waits to be evaluated; what is enqueued beyond that is not timed. */
const MOST_WAITING = 16_384;

/** Work as it is kept; `start` is on the device's clock, `enqueued` on the program's. */
interface Entry {
  readonly work: DeviceWork;
  readonly stream: number;
  readonly enqueued: number;
  enqueueTime: number;
  start: number;
  duration: number;
}

/** What of the statistics is about work. */
export type WorkStatistics = Pick<
  TraceStatistics,
  "kernels" | "launches" | "graphs" | CopyDirection
>;

/** The work of a device. */
export class WorkLog implements Disposable {
  readonly #context: DeviceContext;
  readonly #clock: DeviceClock;
  readonly #streams: StreamNumbers;
  readonly #timer: WorkTimer<Entry>;
  readonly #ring: Ring<Entry>;
  readonly #kernels = new Map<string, KernelTally>();
  readonly #graphs = new LaunchTally();
  readonly #copies: Readonly<Record<CopyDirection, CopyTally>> = {
    hostToDevice: new CopyTally(),
    deviceToHost: new CopyTally(),
    deviceToDevice: new CopyTally(),
    peer: new CopyTally(),
  };
  // Of each kernel, by its threads and shared memory.
  readonly #occupancies = new WeakMap<KernelAttributes, Map<string, Occupancy>>();

  /**
   * A log without work.
   *
   * @param capacity How much work is kept.
   */
  constructor(
    context: DeviceContext,
    clock: DeviceClock,
    streams: StreamNumbers,
    capacity: number,
  ) {
    this.#context = context;
    this.#clock = clock;
    this.#streams = streams;
    this.#ring = new Ring(capacity);
    this.#timer = new WorkTimer(context, (timed) => this.#evaluate(timed));
  }

  /** How much work was timed and dropped. */
  get dropped(): number {
    return this.#ring.dropped;
  }

  /** Enqueues work, and times it where that is possible. What is refused does not count. */
  enqueue(work: DeviceWork, stream: Stream, enqueue: () => void): void {
    if (stream.captureToken !== undefined) {
      enqueue();
      this.#tallyOf(work).captured++;
    } else if (this.#timer.waitingCount >= MOST_WAITING) {
      enqueue();
      this.#tallyOf(work).untimed++;
    } else {
      const entry = this.#entry(work, stream);
      this.#timer.time(entry, stream, () => {
        enqueue();
        entry.enqueueTime = performance.now() - entry.enqueued;
      });
    }
  }

  /**
   * Waits for all work so far.
   *
   * @throws {CudaError} If some of it failed.
   */
  async settle(): Promise<void> {
    await this.#timer.settle();
  }

  /** What is kept, in the order in which the device began it; times are since `begun`. */
  records(begun: number): TracedWork[] {
    return [...this.#ring]
      .map((entry) => this.#record(entry, begun))
      .sort((one, other) => one.start - other.start);
  }

  /** What was counted. */
  statistics(): WorkStatistics {
    const { hostToDevice, deviceToHost, deviceToDevice, peer } = this.#copies;
    return {
      kernels: [...this.#kernels].map(([name, tally]) => tally.ofKernel(name))
        .sort((one, other) => other.time - one.time),
      launches: LaunchTally.together([...this.#kernels.values()]),
      graphs: this.#graphs.statistics(),
      hostToDevice: hostToDevice.statistics(),
      deviceToHost: deviceToHost.statistics(),
      deviceToDevice: deviceToDevice.statistics(),
      peer: peer.statistics(),
    };
  }

  /** Gives its events back. */
  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #entry(work: DeviceWork, stream: Stream): Entry {
    const number = this.#streams.of(stream);
    // Before the mark: an idle device reaches it at once.
    const enqueued = performance.now();
    return { work, stream: number, enqueued, enqueueTime: 0, start: 0, duration: 0 };
  }

  #evaluate(timed: TimedWork<Entry>): void {
    const entry = timed.work;
    const { start, duration } = this.#clock.measure(timed);
    entry.start = start;
    entry.duration = duration;
    this.#ring.add(entry);
    this.#count(entry.work, duration);
  }

  #count(work: DeviceWork, time: number): void {
    if (work.kind === "graph") this.#graphs.add(time, 0);
    else if (work.kind === "copy") this.#copies[work.direction].add(time, work.bytes);
    else {
      const tally = this.#kernelTally(work.name);
      tally.add(time, work.bytes);
      tally.addOccupancy(this.#occupancyOf(work), time);
    }
  }

  #tallyOf(work: DeviceWork): LaunchTally | CopyTally {
    if (work.kind === "graph") return this.#graphs;
    return work.kind === "copy" ? this.#copies[work.direction] : this.#kernelTally(work.name);
  }

  #kernelTally(name: string): KernelTally {
    let tally = this.#kernels.get(name);
    if (tally === undefined) this.#kernels.set(name, tally = new KernelTally());
    return tally;
  }

  #occupancyOf({ attributes, block, sharedMemory }: KernelWork): Occupancy {
    let known = this.#occupancies.get(attributes);
    if (known === undefined) this.#occupancies.set(attributes, known = new Map());
    const threadsPerBlock = block[0] * block[1] * block[2];
    const key = `${threadsPerBlock} ${sharedMemory}`;
    let result = known.get(key);
    if (result === undefined) {
      result = occupancy(occupancyLimits(this.#context.info), {
        threadsPerBlock,
        registersPerThread: attributes.registersPerThread,
        staticSharedMemory: attributes.staticSharedMemory,
        dynamicSharedMemory: sharedMemory,
      });
      known.set(key, result);
    }
    return result;
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
      registersPerThread: attributes.registersPerThread,
      staticSharedMemory: attributes.staticSharedMemory,
      dynamicSharedMemory: sharedMemory,
      occupancy,
      limiter,
    };
  }
}
