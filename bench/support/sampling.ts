/**
 * Samples of benchmarks. Every benchmark passes through {@linkcode sampleBench}, which refuses to time
 * calls whose work would not be launched.
 *
 * @module
 */

import { builtInKernel } from "../../src/launch/kernel_library.ts";
import { DeviceWork } from "../../src/tensor/kit/device_work.ts";
import type { Device } from "../../mod.ts";
import type { Sample, SampledBench } from "../report/figure.ts";
import type { Bench } from "./measure.ts";

/** The extent of the samples of a benchmark. */
export interface SamplingPlan {
  /** Minimum number of samples. */
  readonly samples: number;
  /** Milliseconds that all samples take at least. */
  readonly milliseconds: number;
  /** Milliseconds after which no further sample is taken, if there are three. */
  readonly most: number;
  /** Milliseconds of warming up. */
  readonly warmUp: number;
  /**
   * The same of calls that take half a millisecond: until then, a GPU that exceeds its power limit has
   * not lowered its clock, and some samples would be faster than the work is in the long run.
   */
  readonly warmUpOfLong: number;
  /** Milliseconds of a sample of calls on the device. */
  readonly sample: number;
  /** Minimum number of calls in such a sample, if they fit it. */
  readonly calls: number;
  /** Whether such calls are timed by events; otherwise by the host, with the wait for them. */
  readonly events: boolean;
}

/** One short sample of each. */
export const QUICK_PLAN: SamplingPlan = {
  ...{ samples: 1, milliseconds: 0, most: 0, warmUp: 0, warmUpOfLong: 0 },
  ...{ sample: 0, calls: 1, events: true },
};

/** On a GPU, where some hundred benchmarks have to pass in minutes. */
export const GPU_PLAN: SamplingPlan = {
  ...{ samples: 11, milliseconds: 40, most: 300, warmUp: 10, warmUpOfLong: 250 },
  ...{ sample: 3, calls: 10, events: true },
};

/** On the host device, whose events would leave out the time of TypeScript. */
export const HOST_PLAN: SamplingPlan = {
  ...{ samples: 11, milliseconds: 400, most: 3000, warmUp: 100, warmUpOfLong: 100 },
  ...{ sample: 3, calls: 1, events: false },
};

const MAX_SAMPLES = 5000;
const MIN_SAMPLES = 3;
/** Calls in a sample that fit the device's queue. */
const MAX_CALLS = 400;
/** Nanoseconds that the device is kept busy while a sample is enqueued. */
const MIN_HEAD_START = 50_000;
const MAX_HEAD_START = 50e6;
/** Nanoseconds of a long call. */
const LONG = 500_000;

/** Tensor operations that wait for a compiler. */
export type PendingWork = Pick<DeviceWork, "isPending" | "settled">;

/**
 * Runs a benchmark until its kernels are compiled.
 *
 * @param run Does it once.
 * @throws {Error} If work of it still waits for a compiler: its samples would time nothing.
 */
export async function warmUp(
  title: string,
  run: () => void | Promise<void>,
  work: PendingWork,
): Promise<void> {
  await run();
  await work.settled();
  await run();
  requireNothingPending(title, work);
}

/**
 * Starts the compilation of all kernels of benchmarks, which run at the same time, and waits for them.
 * A benchmark that fails will fail again when it is measured, and then says why.
 */
export async function compileAhead(benches: readonly Bench[], work: PendingWork): Promise<void> {
  for (const { clock, run } of benches) {
    if (clock !== "device") continue;
    try {
      run(0);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
  }
  await work.settled();
}

function requireNothingPending(title: string, { isPending }: PendingWork): void {
  if (!isPending) return;
  throw new Error(
    `Cannot measure ${title} as nothing may be pending: its work waits for a compiler`,
  );
}

/** Takes the samples of a benchmark on a device. */
export async function sampleBench(
  bench: Bench,
  device: Device,
  plan: SamplingPlan,
): Promise<SampledBench> {
  const { title, options, clock } = bench;
  const work = DeviceWork.of(device.context);
  const byEvents = clock === "device" && plan.events;
  const take = byEvents ? new EventSampler(device, bench) : new HostSampler(device, bench);
  try {
    await warmUp(title, () => take.once(), work);
    const { calls, isLong } = clock === "device"
      ? await chooseCalls(take, plan)
      : { calls: options.calls ?? 1, isLong: false };
    const end = performance.now() + (isLong ? plan.warmUpOfLong : plan.warmUp);
    while (performance.now() < end) await take.sample(calls);
    requireNothingPending(title, work);
    const samples: Sample[] = [];
    const host: number[] = [];
    const start = performance.now();
    for (;;) {
      const { enqueueing, ...sample } = await take.sample(calls);
      samples.push(sample);
      if (byEvents) host.push(enqueueing);
      const passed = performance.now() - start;
      const isEnough = samples.length >= plan.samples && passed >= plan.milliseconds;
      const isLate = samples.length >= Math.min(MIN_SAMPLES, plan.samples) && passed >= plan.most;
      if (isEnough || isLate || samples.length >= MAX_SAMPLES) break;
    }
    requireNothingPending(title, work);
    const { group, baseline = false, bytes, calls: _, ...rest } = options;
    return {
      ...{ group, title, baseline, bytes: bytes ?? null, ...rest },
      ...{ clock: byEvents || clock === "host" ? clock : "total", calls, samples, host },
    };
  } finally {
    take[Symbol.dispose]();
  }
}

/** Calls that fill a sample of the device's clock, one if it takes that long, and whether they are long. */
async function chooseCalls(
  take: Sampler,
  plan: SamplingPlan,
): Promise<{ readonly calls: number; readonly isLong: boolean }> {
  if (plan.sample === 0) return { calls: plan.calls, isLong: false };
  const fitting = (nanoseconds: number) => Math.ceil(plan.sample * 1e6 / Math.max(1, nanoseconds));
  let { nanoseconds } = await take.sample(1);
  const least = Math.min(plan.calls, fitting(nanoseconds));
  if (least === 1) return { calls: 1, isLong: true };
  for (let trial = 0; trial < MIN_SAMPLES; trial++) {
    nanoseconds = Math.min(nanoseconds, (await take.sample(least)).nanoseconds);
  }
  return {
    calls: Math.max(least, Math.min(MAX_CALLS, fitting(nanoseconds))),
    isLong: nanoseconds >= LONG,
  };
}

/** A sample, and nanoseconds of enqueueing a call. */
type TimedSample = Sample & { readonly enqueueing: number };

interface Sampler extends Disposable {
  /** Does it once and waits for it. */
  once(): Promise<void>;
  sample(calls: number): Promise<TimedSample>;
}

/** Times the calls on the host. */
class HostSampler implements Sampler {
  readonly #device: Device;
  readonly #bench: Bench;

  constructor(device: Device, bench: Bench) {
    this.#device = device;
    this.#bench = bench;
  }

  async once(): Promise<void> {
    await this.sample(1);
  }

  async sample(calls: number): Promise<TimedSample> {
    const { before, run, after, clock } = this.#bench;
    before();
    const begin = Date.now();
    const start = performance.now();
    if (clock === "device") {
      for (let call = 0; call < calls; call++) run(call);
      this.#device.stream.doneSync();
    } else {
      // An await would add to the time of a body that needs none.
      const promise = run(0);
      if (promise !== undefined) await promise;
    }
    const stop = performance.now();
    if (clock === "host") this.#device.doneSync();
    after();
    const nanoseconds = (stop - start) * 1e6 / calls;
    // The clock may have a resolution of a microsecond.
    const least = Math.max(nanoseconds, 1 / calls);
    return { begin, end: Date.now(), nanoseconds: least, enqueueing: nanoseconds };
  }

  [Symbol.dispose](): void {}
}

/**
 * Times the calls by events on the default stream. A kernel keeps the device busy until all calls are
 * enqueued: otherwise the time would include the device's wait for the host.
 */
class EventSampler implements Sampler {
  readonly #device: Device;
  readonly #run: Bench["run"];
  readonly #owned = new DisposableStack();
  readonly #keepBusy: (nanoseconds: number) => void;
  #headStart = MIN_HEAD_START;

  constructor(device: Device, { run }: Bench) {
    this.#device = device;
    this.#run = run;
    const { context, stream } = device;
    const spin = builtInKernel(
      context,
      "spin_float32(float* out, unsigned long long nanoseconds, float value)",
    );
    const out = this.#owned.adopt(device.allocate("float32", 1), (buffer) => buffer.free());
    this.#keepBusy = (nanoseconds) =>
      spin.launch({ grid: 1, block: 1, stream }, out, Math.round(nanoseconds), 0);
  }

  async once(): Promise<void> {
    this.#run(0);
    await this.#device.done();
  }

  async sample(calls: number): Promise<TimedSample> {
    for (;;) {
      const { stream } = this.#device;
      using start = this.#device.createEvent({ timing: true });
      using end = this.#device.createEvent({ timing: true });
      const begin = Date.now();
      const enqueueing = performance.now();
      this.#keepBusy(this.#headStart);
      start.record(stream);
      for (let call = 0; call < calls; call++) this.#run(call);
      const enqueued = (performance.now() - enqueueing) * 1e6;
      end.record(stream);
      await end.done();
      const isAhead = enqueued < this.#headStart || this.#headStart >= MAX_HEAD_START;
      this.#headStart = Math.min(MAX_HEAD_START, Math.max(this.#headStart, 2 * enqueued));
      // The device waited for the host: the sample is taken again.
      if (!isAhead) continue;
      const nanoseconds = end.elapsedSince(start) * 1e6 / calls;
      return { begin, end: Date.now(), nanoseconds, enqueueing: enqueued / calls };
    }
  }

  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}
