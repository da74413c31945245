/**
 * Records the activity of a device: work on its streams, memory, compilations, and named ranges.
 *
 * @module
 */

import { displayAs } from "../../ffi/display.ts";
import { labelOf } from "../../hardware/device_context.ts";
import { requireInstance, requireInteger, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { findKernel, launchError, launchKernel, LaunchRecord } from "../../ffi/native_kernel.ts";
import { contextOf, type DeviceContext } from "../../hardware/device_context.ts";
import { median } from "../../launch/kernel_timing.ts";
import { listen } from "../../stream/activity.ts";
import { DeviceClock } from "./work_timer.ts";
import { refuseWhileCapturing } from "../../stream/running_captures.ts";
import { Stream } from "../../stream/stream.ts";
import { HostLog, MemoryLog } from "./host_log.ts";
import type { TraceRecording, TraceStatistics } from "./recording.ts";
import { WorkLog } from "./work_log.ts";

/**
 * Options of a trace.
 * @category Tracing
 */
export interface DeviceTraceOptions {
  /**
   * The number of records to keep of each kind (work, memory, compilations, ranges); 100 000 by
   * default. The oldest records are dropped and counted. Statistics cover all of them.
   */
  readonly capacity?: number;
}

/**
 * Options of {@linkcode DeviceTrace.range}.
 * @category Tracing
 */
export interface TraceRangeOptions {
  /**
   * Measures the range on this stream, from the first to the last work enqueued during the range.
   * The range covers the program's own time if absent.
   */
  readonly stream?: Stream;
}

const ACTION = "trace a device";
const RANGE = "begin a range";
const MAX_CAPACITY = 2 ** 24;

/**
 * A running trace. From construction to its end it records kernels, graphs and copies, the memory of
 * the pools, compilations, and ranges that the program names. Each worker traces its own work; one
 * trace file can hold the recordings of several workers. Without a trace, a launch or copy pays one
 * comparison.
 *
 * Two events around each piece of work measure its time. They take a few microseconds of the
 * device's time and impose no order. Work captured into a graph is counted, and the graph is timed
 * at each launch.
 *
 * @example Write a file for https://ui.perfetto.dev
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { DeviceTrace, saveTrace } from "@gridstride/cuda/trace";
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
 * @category Tracing
 */
export class DeviceTrace implements Disposable {
  readonly #context: DeviceContext;
  readonly #clock: DeviceClock;
  readonly #work: WorkLog;
  readonly #host: HostLog;
  readonly #memory: MemoryLog;
  readonly #launchCost: TraceRecording["launchCost"];
  readonly #begun: number;
  readonly #resources: DisposableStack;
  readonly #stopListening: () => void;
  #reports = 0;

  static {
    displayAs(DeviceTrace.prototype, "DeviceTrace", {
      device: (trace) => labelOf(trace.#context),
      disposed: ({ disposed }) => disposed,
    });
  }

  #disposed = false;

  /**
   * Starts a trace. Compares the clocks of program and device, and the first trace of a device also
   * measures the cost of a launch; that blocks for a fraction of a millisecond.
   *
   * @param device The device, or another object with its context.
   * @throws {TypeError} If the device is disposed, or a stream is being captured.
   * @throws {RangeError} If the capacity is not an integer in 1..2^24.
   */
  constructor(device: { readonly context: DeviceContext }, options: DeviceTraceOptions = {}) {
    const context = contextOf(device, "device", ACTION);
    requireOptions(options, ["capacity"], ACTION);
    const { capacity = 100_000 } = options;
    requireInteger(capacity, "options.capacity", ACTION, 1, MAX_CAPACITY);
    refuseWhileCapturing(context.library, ACTION);
    context.retain();
    using stack = new DisposableStack();
    stack.defer(() => context.release());
    this.#context = context;
    const clock = stack.use(new DeviceClock(context));
    this.#clock = clock;
    this.#launchCost = launchCost(context, clock.stream);
    this.#work = stack.use(new WorkLog(context, clock, capacity));
    const streamNumber = (stream: Stream) => this.#work.streamNumber(stream);
    this.#host = stack.use(new HostLog(context, clock, streamNumber, capacity));
    this.#begun = performance.now();
    this.#memory = stack.use(new MemoryLog(context, capacity));
    this.#stopListening = listen({
      context,
      work: (work, stream, enqueue) => this.#work.enqueue(work, stream, enqueue),
      compiled: (compilation) => this.#host.compiled(compilation),
    });
    this.#resources = stack.move();
  }

  /** Whether the trace has ended. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Starts a range that ends when the result is disposed. Ranges may nest or overlap. An open range
   * lasts until the time of the report.
   *
   * @param name The name of the range.
   * @throws {TypeError} If the trace has ended, or the stream is disposed or belongs to another
   * device.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   * import { DeviceTrace } from "@gridstride/cuda/trace";
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
    this.#requireRunning(RANGE);
    if (typeof name !== "string") {
      throw new TypeError(`Cannot ${RANGE} as name must be a text: it is ${describeValue(name)}`);
    }
    requireOptions(options, ["stream"], RANGE);
    const { stream } = options;
    if (stream !== undefined) this.#requireStream(stream);
    const end = this.#host.begin(name, stream);
    return { [Symbol.dispose]: end };
  }

  /**
   * Waits for the work so far and returns the recording. The trace continues.
   *
   * @throws {TypeError} If the trace has ended, or a stream is being captured.
   * @throws {CudaError} If work failed.
   */
  async report(): Promise<TraceRecording> {
    return await this.#whenSettled(() => this.#recording());
  }

  /**
   * Waits for the work so far and returns counts and sums of kernels and copies. The trace
   * continues.
   *
   * @throws {TypeError} If the trace has ended, or a stream is being captured.
   * @throws {CudaError} If work failed.
   */
  async stats(): Promise<TraceStatistics> {
    return await this.#whenSettled(() => this.#statistics(performance.now() - this.#begun));
  }

  /**
   * Ends the trace, waits for its work, and returns the recording.
   *
   * @throws {TypeError} If the trace has ended, or a stream is being captured.
   * @throws {CudaError} If work failed.
   */
  async stop(): Promise<TraceRecording> {
    const recording = this.report();
    this.#end();
    return await recording;
  }

  /** Ends the trace. Pending reports still complete. */
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

  /** Calls `read` after all work so far has finished. */
  async #whenSettled<Result>(read: () => Result): Promise<Result> {
    this.#requireRunning("report a trace");
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
    const statistics: TraceStatistics = {
      duration,
      ...this.#work.statistics(),
      memory: this.#memory.statistics(),
      compilations: this.#host.statistics(),
    };
    return displayAs(statistics, "TraceStatistics", {
      milliseconds: ({ duration }) => duration,
      launches: ({ launches, graphs }) => launches.launches + graphs.launches,
      busiest: ({ kernels: [busiest] }) =>
        busiest && `${busiest.kernel}: ${busiest.time.toFixed(3)} ms`,
      copies: ({ hostToDevice, deviceToHost, deviceToDevice, peer }) =>
        hostToDevice.copies + deviceToHost.copies + deviceToDevice.copies + peer.copies,
      allocations: ({ memory }) => memory.allocations,
      compilations: ({ compilations }) => compilations.compiled,
    });
  }

  #recording(): TraceRecording {
    const { label, info } = this.#context;
    const begun = this.#begun;
    const duration = performance.now() - begun;
    const recording: TraceRecording = {
      device: label,
      fake: info.fake,
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
      streams: this.#work.streams,
      dropped: {
        work: this.#work.dropped,
        ...this.#host.dropped,
        memory: this.#memory.dropped,
      },
      statistics: this.#statistics(duration),
    };
    return displayAs(recording, "TraceRecording", {
      device: () => labelOf(this.#context),
      work: ({ work }) => work.length,
      ranges: ({ ranges }) => ranges.length,
      statistics: ({ statistics }) => statistics,
    });
  }

  #requireRunning(action: string): void {
    if (!this.#disposed) return;
    throw new TypeError(`Cannot ${action} as the trace has ended`);
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

const WARM_UP = 8;
const LAUNCHES = 31;

const launchCosts = new WeakMap<DeviceContext, TraceRecording["launchCost"]>();

/**
 * The cost of launching the empty kernel, measured once for each device. These launches are not
 * reported to listeners.
 */
function launchCost(context: DeviceContext, idle: Stream): TraceRecording["launchCost"] {
  const known = launchCosts.get(context);
  if (known !== undefined) return known;
  const { library, ordinal } = context;
  // Every library has this kernel.
  const record = new LaunchRecord(library, ordinal, findKernel(library, "empty")!, 0, 0);
  record.setStream(idle.id);
  const launch = () => {
    const status = launchKernel(record);
    if (status !== 0) throw launchError(library, ordinal, "empty", status);
  };
  for (let count = 0; count < WARM_UP; count++) launch();
  idle.doneSync();
  const calls: number[] = [];
  const times: number[] = [];
  for (let count = 0; count < LAUNCHES; count++) {
    using start = idle.record({ timing: true });
    const before = performance.now();
    launch();
    calls.push(performance.now() - before);
    using end = idle.record({ timing: true });
    end.doneSync();
    times.push(end.elapsedSince(start));
  }
  const cost = { call: median(calls), empty: median(times) };
  launchCosts.set(context, cost);
  return cost;
}
