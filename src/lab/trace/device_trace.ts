/**
 * Traces: what happens on a device, recorded.
 *
 * @module
 */

import { requireInstance, requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { contextOf, type DeviceContext } from "../../hardware/device_context.ts";
import type { LaunchCost, TraceRecording } from "./trace_recording.ts";
import type { TraceStatistics } from "./trace_statistics.ts";
import { listen } from "../../stream/activity.ts";
import { DeviceClock } from "../../stream/device_clock.ts";
import { refuseWhileCapturing } from "../../stream/running_captures.ts";
import { Stream } from "../../stream/stream.ts";
import { HostLog } from "./host_log.ts";
import { launchCost } from "./launch_cost.ts";
import { MemoryLog } from "./memory_log.ts";
import { StreamNumbers } from "./stream_numbers.ts";
import { WorkLog } from "./work_log.ts";

/** Options of a trace. */
export interface DeviceTraceOptions {
  /**
   * How many records are kept of each kind — work, memory, compilations, ranges —, 100 000 by
   * default. Of more the earliest are dropped, and counted; statistics count all.
   */
  readonly capacity?: number;
}

/** Options of {@linkcode DeviceTrace.range}. */
export interface TraceRangeOptions {
  /**
   * A stream of the device: the range is then the time that its work took there, from what was
   * enqueued first in the range to what was enqueued last. Without it is the program's own time.
   */
  readonly stream?: Stream;
}

const ACTION = "trace a device";
const RANGE = "begin a range";
const DEFAULT_CAPACITY = 100_000;
const MOST_CAPACITY = 2 ** 24;

/**
 * A trace under way: from its making to its end it records the kernels, graphs and copies of its
 * device, what its pools do, what is compiled for it, and ranges that the program names. Where none
 * is under way, launches and copies pay a comparison for that. What other workers do on the device
 * is not heard of: each traces for itself, and one file takes the recordings of all.
 *
 * Work is timed by two events around it, which take a few microseconds of the device's time and
 * order nothing. What is captured is counted; the graph is timed whenever it is launched.
 *
 * @example Write a file for https://ui.perfetto.dev
 * ```ts
 * import { DeviceTrace, openDevice, saveTrace } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.upload(new Float32Array(1 << 20));
 * using trace = new DeviceTrace(device);
 * {
 *   using _range = trace.range("scale ten times");
 *   for (let i = 0; i < 10; i++) device.kernels.scale(x, 2, x);
 * }
 * const recording = await trace.stop();
 * const path = await Deno.makeTempFile({ suffix: ".json" });
 * await saveTrace(path, [recording]);
 * console.log(recording.statistics.launches.launches); // 10
 * await Deno.remove(path);
 * ```
 */
export class DeviceTrace implements Disposable {
  readonly #context: DeviceContext;
  readonly #clock: DeviceClock;
  readonly #streams = new StreamNumbers();
  readonly #work: WorkLog;
  readonly #host: HostLog;
  readonly #memory: MemoryLog;
  readonly #launchCost: LaunchCost;
  readonly #begun: number;
  readonly #resources: DisposableStack;
  readonly #stopListening: () => void;
  #reports = 0;
  #disposed = false;

  /**
   * Begins a trace of a device. The first one of a device measures there what a launch costs; each
   * compares the clocks of program and device. That blocks for a fraction of a millisecond.
   *
   * @param device The device, or anything else that has its context.
   * @throws {TypeError} If it has none or is disposed, or if a stream is being captured.
   * @throws {RangeError} If the capacity is no integer in 1..2^24.
   */
  constructor(device: { readonly context: DeviceContext }, options: DeviceTraceOptions = {}) {
    const context = contextOf(device, "device", ACTION);
    requireObject(options, "options", ACTION);
    const capacity = checkedCapacity(options.capacity);
    refuseWhileCapturing(context.library, ACTION);
    context.retain();
    using stack = new DisposableStack();
    stack.defer(() => context.release());
    this.#context = context;
    const clock = stack.use(new DeviceClock(context));
    this.#clock = clock;
    this.#launchCost = launchCost(context, clock.stream);
    this.#work = stack.use(new WorkLog(context, clock, this.#streams, capacity));
    this.#host = stack.use(new HostLog(context, clock, this.#streams, capacity));
    this.#begun = performance.now();
    this.#memory = stack.use(new MemoryLog(context, capacity));
    this.#stopListening = listen({
      context,
      work: (work, stream, enqueue) => this.#work.enqueue(work, stream, enqueue),
      compiled: (compilation) => this.#host.compiled(compilation),
    });
    this.#resources = stack.move();
  }

  /** Whether the trace is over. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Begins a range, which ends when what this returns is disposed. Ranges may lie within each other,
   * or overlap. One that has not ended when the trace is reported lasts until then.
   *
   * @param name What it is called.
   * @throws {TypeError} If the trace is over, or the stream is disposed or of another device.
   *
   * @example
   * ```ts
   * import { DeviceTrace, openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice();
   * using trace = new DeviceTrace(device);
   * {
   *   using _epoch = trace.range("epoch 1", { stream: device.stream });
   *   device.allocate("float32", 1000, { fill: 0 }).free();
   * }
   * const { ranges } = await trace.stop();
   * console.log(ranges.map(({ name, duration }) => `${name}: ${duration} ms`));
   * ```
   */
  range(name: string, options: TraceRangeOptions = {}): Disposable {
    this.#requireUnderWay(RANGE);
    if (typeof name !== "string") {
      throw new TypeError(`Cannot ${RANGE} as name must be a text: it is ${describeValue(name)}`);
    }
    requireObject(options, "options", RANGE);
    const { stream } = options;
    if (stream !== undefined) this.#requireStream(stream);
    const end = this.#host.begin(name, stream);
    return { [Symbol.dispose]: end };
  }

  /**
   * What was recorded so far, when all work of the trace so far is done. The trace goes on.
   *
   * @throws {TypeError} If the trace is over, or a stream is being captured.
   * @throws {CudaError} If some of the work failed.
   */
  async report(): Promise<TraceRecording> {
    return await this.#whenSettled(() => this.#recording());
  }

  /**
   * What was counted so far, when all work of the trace so far is done: each kernel and each way of
   * copying. The trace goes on.
   *
   * @throws {TypeError} If the trace is over, or a stream is being captured.
   * @throws {CudaError} If some of the work failed.
   */
  async statistics(): Promise<TraceStatistics> {
    return await this.#whenSettled(() => this.#statistics(performance.now() - this.#begun));
  }

  /**
   * Ends the trace now, and gives what was recorded when all of its work is done.
   *
   * @throws {TypeError} If the trace is over, or a stream is being captured.
   * @throws {CudaError} If some of the work failed.
   */
  async stop(): Promise<TraceRecording> {
    const recording = this.report();
    this.#end();
    return await recording;
  }

  /** Ends the trace; reports that are under way are given all the same. */
  [Symbol.dispose](): void {
    this.#end();
    this.#closeIfOver();
  }

  #end(): void {
    this.#disposed = true;
    this.#stopListening();
    this.#memory[Symbol.dispose]();
  }

  #closeIfOver(): void {
    if (this.#disposed && this.#reports === 0) this.#resources.dispose();
  }

  /** Reads what was recorded when all work so far is done. */
  async #whenSettled<Result>(read: () => Result): Promise<Result> {
    this.#requireUnderWay("report a trace");
    this.#reports++;
    try {
      await this.#work.settle();
      await this.#host.settle();
      this.#clock.compare();
      return read();
    } finally {
      this.#reports--;
      this.#closeIfOver();
    }
  }

  #statistics(duration: number): TraceStatistics {
    return {
      duration,
      ...this.#work.statistics(),
      memory: this.#memory.statistics(),
      compilations: this.#host.statistics(),
    };
  }

  #recording(): TraceRecording {
    const { label, info } = this.#context;
    const begun = this.#begun;
    const duration = performance.now() - begun;
    return {
      device: label,
      deviceName: info.name,
      timeOrigin: performance.timeOrigin,
      begun,
      duration,
      clockError: this.#clock.error,
      launchCost: this.#launchCost,
      work: this.#work.records(begun),
      compilations: this.#host.compilations(begun),
      ranges: this.#host.ranges(begun),
      memory: this.#memory.records(begun),
      streams: this.#streams.names,
      dropped: {
        work: this.#work.dropped,
        compilations: this.#host.droppedCompilations,
        ranges: this.#host.droppedRanges,
        memory: this.#memory.dropped,
      },
      statistics: this.#statistics(duration),
    };
  }

  #requireUnderWay(action: string): void {
    if (!this.#disposed) return;
    throw new TypeError(`Cannot ${action} as the trace is over`);
  }

  #requireStream(stream: Stream): void {
    requireInstance(stream, Stream, "stream", RANGE);
    void stream.id;
    if (stream.context.isSameDevice(this.#context)) return;
    throw new TypeError(
      `Cannot ${RANGE} as stream must be of ${this.#context.label}: it is of ${stream.context.label}`,
    );
  }
}

function checkedCapacity(capacity: unknown = DEFAULT_CAPACITY): number {
  const isRight = Number.isInteger(capacity) && Number(capacity) >= 1 &&
    Number(capacity) <= MOST_CAPACITY;
  if (isRight) return Number(capacity);
  const ErrorClass = typeof capacity === "number" ? RangeError : TypeError;
  throw new ErrorClass(
    `Cannot ${ACTION} as options.capacity must be an integer in 1..${MOST_CAPACITY}: it is ${
      describeValue(capacity)
    }`,
  );
}
