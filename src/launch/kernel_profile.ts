/**
 * Profiles: how often each kernel was launched and how long it ran, by events on its stream.
 *
 * @module
 */

import { giveBackAfterFailure } from "../ffi/give_back.ts";
import { contextOf, type DeviceContext } from "../hardware/device_context.ts";
import { Event } from "../stream/event.ts";
import { isCapturing } from "../stream/running_captures.ts";
import type { Stream } from "../stream/stream.ts";

/** What a profile knows of a kernel. Times are milliseconds on the device. */
export interface KernelTiming {
  /** The kernel's name. */
  readonly kernel: string;
  /** How often it was launched. */
  readonly launches: number;
  /** Launches that went into a graph that was being captured: they did not run, and have no time. */
  readonly captured: number;
  /** All launches together. */
  readonly total: number;
  /** A launch on average; 0 where none ran. */
  readonly mean: number;
  /** The shortest. */
  readonly least: number;
  /** The longest. */
  readonly most: number;
  /**
   * Bytes of the device memory that launches were passed, each memory once a launch: what they moved
   * if they read or wrote every byte of it once. Those into graphs do not count.
   */
  readonly bytes: number;
}

interface Sums {
  launches: number;
  captured: number;
  total: number;
  least: number;
  most: number;
  bytes: number;
}

interface Launch {
  readonly kernel: string;
  readonly start: Event;
  readonly end: Event;
}

/** Launches that wait to be evaluated before it is asked which of them are done. */
const MOST_WAITING = 256;

const profiles = new Map<DeviceContext, Set<KernelProfile>>();
// What every launch asks: how many profiles are under way in all.
let underWay = 0;

/** The profiles of a device that are under way; none costs a comparison. */
export function profilesOf(context: DeviceContext): Iterable<KernelProfile> | undefined {
  return underWay === 0 ? undefined : profiles.get(context);
}

/**
 * A profile under way: from its making to its disposal it times every launch on its device, also
 * those of the operations under `device.kernels`. Timing orders nothing, but two events around each
 * launch take a few microseconds of the device's time.
 *
 * @example
 * ```ts
 * import { KernelProfile, openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.allocate("float32", 1 << 20, { fill: 1 });
 * using profile = new KernelProfile(device);
 * device.kernels.scale(x, 2, x);
 * for (const { kernel, launches, mean } of await profile.timings()) {
 *   console.log(`${kernel}: ${launches} launches, ${mean.toFixed(3)} ms each`);
 * }
 * ```
 */
export class KernelProfile implements Disposable {
  readonly #context: DeviceContext;
  readonly #sums = new Map<string, Sums>();
  readonly #spare: Event[] = [];
  #waiting: Launch[] = [];
  #disposed = false;

  /**
   * Begins a profile of a device.
   *
   * @param device The device, or anything else that has its context.
   * @throws {TypeError} If it has none, or is disposed.
   */
  constructor(device: { readonly context: DeviceContext }) {
    const context = contextOf(device, "device", "profile kernels");
    context.retain();
    this.#context = context;
    const those = profiles.get(context);
    if (those === undefined) profiles.set(context, new Set([this]));
    else those.add(this);
    underWay++;
  }

  /** Whether the profile is over. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * Enqueues a launch between two marks; on a stream that is being captured without them.
   *
   * @param enqueue Enqueues it. A launch that it refuses is not counted.
   * @param bytes What it is passed; see {@linkcode KernelTiming.bytes}.
   * @internal
   */
  time(kernel: string, stream: Stream, enqueue: () => void, bytes: number): void {
    if (stream.captureToken !== undefined) {
      enqueue();
      this.#sumsOf(kernel).captured++;
    } else {
      if (this.#waiting.length >= MOST_WAITING && !isCapturing()) this.#evaluateDone();
      const start = this.#record(stream);
      try {
        enqueue();
        this.#waiting.push({ kernel, start, end: this.#record(stream) });
        this.#sumsOf(kernel).bytes += bytes;
      } catch (error) {
        this.#keep(start);
        throw error;
      }
    }
    this.#sumsOf(kernel).launches++;
  }

  /**
   * What is known of each kernel, the one that took longest first, when all launches so far are
   * done. The profile goes on.
   *
   * @throws {CudaError} If one of the launches failed.
   */
  async timings(): Promise<KernelTiming[]> {
    const waiting = this.#waiting.splice(0);
    try {
      for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
        await next.end.done();
        waiting.shift();
        this.#evaluate(next);
      }
    } finally {
      // What is left is for the next time, or for nobody.
      if (!this.#disposed) this.#waiting.unshift(...waiting);
      else for (const { start, end } of waiting) this.#keep(start, end);
    }
    return [...this.#sums].map(([kernel, { launches, captured, total, least, most, bytes }]) => {
      const timed = launches - captured;
      return {
        kernel,
        launches,
        captured,
        total,
        mean: timed === 0 ? 0 : total / timed,
        least: timed === 0 ? 0 : least,
        most,
        bytes,
      };
    }).sort((one, other) => other.total - one.total);
  }

  /** Ends the profile. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    underWay--;
    const those = profiles.get(this.#context)!;
    those.delete(this);
    if (those.size === 0) profiles.delete(this.#context);
    using stack = new DisposableStack();
    stack.defer(() => this.#context.release());
    for (const { start, end } of this.#waiting.splice(0)) {
      stack.use(start);
      stack.use(end);
    }
    for (const event of this.#spare.splice(0)) stack.use(event);
  }

  #record(stream: Stream): Event {
    const event = this.#spare.pop() ?? new Event(stream.context, { timing: true });
    try {
      event.record(stream);
    } catch (error) {
      giveBackAfterFailure(event);
      throw error;
    }
    return event;
  }

  #evaluateDone(): void {
    // Streams overlap, so that a later launch may be done before an earlier one.
    this.#waiting = this.#waiting.filter((launch) => {
      if (!launch.end.query()) return true;
      this.#evaluate(launch);
      return false;
    });
  }

  #evaluate({ kernel, start, end }: Launch): void {
    const time = end.elapsedSince(start);
    const sums = this.#sumsOf(kernel);
    sums.total += time;
    sums.least = Math.min(sums.least, time);
    sums.most = Math.max(sums.most, time);
    this.#keep(start, end);
  }

  /** Keeps events for later launches, if there will be any. */
  #keep(...events: Event[]): void {
    if (!this.#disposed) this.#spare.push(...events);
    else for (const event of events) giveBackAfterFailure(event);
  }

  #sumsOf(kernel: string): Sums {
    let sums = this.#sums.get(kernel);
    if (sums === undefined) {
      sums = { launches: 0, captured: 0, total: 0, least: Infinity, most: 0, bytes: 0 };
      this.#sums.set(kernel, sums);
    }
    return sums;
  }
}
