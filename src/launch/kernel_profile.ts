/**
 * Profiles: how often each kernel was launched and how long it ran, by events on its stream.
 *
 * @module
 */

import { contextOf, type DeviceContext } from "../hardware/device_context.ts";
import { type ActivityListener, type DeviceWork, listen } from "../stream/activity.ts";
import type { Stream } from "../stream/stream.ts";
import { WorkTimer } from "../stream/work_timer.ts";

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

/** A launch that is not evaluated yet. */
interface Launch {
  readonly kernel: string;
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
  readonly #timer: WorkTimer<Launch>;
  readonly #stopListening: () => void;
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
    this.#timer = new WorkTimer(
      context,
      ({ work, start, end }) => this.#add(work.kernel, end.elapsedSince(start)),
    );
    const listener: ActivityListener = {
      context,
      work: (work, stream, enqueue) => this.#time(work, stream, enqueue),
      compiled: () => {},
    };
    this.#stopListening = listen(listener);
  }

  /** Whether the profile is over. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /**
   * What is known of each kernel, the one that took longest first, when all launches so far are
   * done. The profile goes on.
   *
   * @throws {CudaError} If one of the launches failed.
   */
  async timings(): Promise<KernelTiming[]> {
    await this.#timer.settle();
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
    this.#stopListening();
    using stack = new DisposableStack();
    stack.defer(() => this.#context.release());
    stack.use(this.#timer);
  }

  /**
   * Enqueues a launch between two marks; on a stream that is being captured without them. One that
   * is refused is not counted.
   */
  #time(work: DeviceWork, stream: Stream, enqueue: () => void): void {
    if (work.kind !== "kernel") return enqueue();
    const kernel = work.name;
    if (stream.captureToken !== undefined) {
      enqueue();
      this.#sumsOf(kernel).captured++;
    } else {
      this.#timer.time({ kernel }, stream, enqueue);
      this.#sumsOf(kernel).bytes += work.bytes;
    }
    this.#sumsOf(kernel).launches++;
  }

  #add(kernel: string, time: number): void {
    const sums = this.#sumsOf(kernel);
    sums.total += time;
    sums.least = Math.min(sums.least, time);
    sums.most = Math.max(sums.most, time);
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
