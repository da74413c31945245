/**
 * Counting work: launches of kernels and graphs, and copies.
 *
 * @module
 */

import type { Occupancy, OccupancyLimiter } from "../../launch/occupancy.ts";
import type {
  CopyCount,
  CopyStatistics,
  KernelStatistics,
  LaunchStatistics,
} from "./trace_statistics.ts";

/** Copies of up to so many bytes are small. */
const SMALL_COPY = 64 * 1024;

/** Bytes by milliseconds, in bytes per second; 0 where no time was measured. */
function rate(bytes: number, time: number): number {
  return time === 0 ? 0 : bytes / (time / 1000);
}

/** What was enqueued. */
abstract class Tally {
  /** Work that was captured. */
  captured = 0;
  /** Work that was not timed. */
  untimed = 0;
}

/** Launches. */
export class LaunchTally extends Tally {
  #timed = 0;
  #time = 0;
  #least = Infinity;
  #most = 0;
  #bytes = 0;

  /** Counts a launch that was timed. */
  add(time: number, bytes: number): void {
    this.#timed++;
    this.#time += time;
    this.#least = Math.min(this.#least, time);
    this.#most = Math.max(this.#most, time);
    this.#bytes += bytes;
  }

  /** What was counted. */
  statistics(): LaunchStatistics {
    return LaunchTally.together([this]);
  }

  /** What several have counted together. */
  static together(tallies: readonly LaunchTally[]): LaunchStatistics {
    const sum = (value: (tally: LaunchTally) => number) =>
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
      least: timed === 0 ? 0 : Math.min(...tallies.map((tally) => tally.#least)),
      most: Math.max(0, ...tallies.map((tally) => tally.#most)),
      bytes,
      bytesPerSecond: rate(bytes, time),
    };
  }
}

/** Launches of a kernel. */
export class KernelTally extends LaunchTally {
  #weighted = 0;
  #weights = 0;
  readonly #timeByLimiter = new Map<OccupancyLimiter, number>();

  /** Counts the occupancy of a launch that was timed. */
  addOccupancy({ occupancy, limiter }: Occupancy, time: number): void {
    // Launches that took no measurable time count as well.
    const weight = Math.max(time, Number.MIN_VALUE);
    this.#weighted += occupancy * weight;
    this.#weights += weight;
    this.#timeByLimiter.set(limiter, (this.#timeByLimiter.get(limiter) ?? 0) + weight);
  }

  /** What was counted. */
  ofKernel(kernel: string): KernelStatistics {
    const limiters = [...this.#timeByLimiter].sort(([, one], [, other]) => other - one);
    return {
      kernel,
      ...this.statistics(),
      occupancy: this.#weights === 0 ? 0 : this.#weighted / this.#weights,
      limiter: limiters[0]?.[0] ?? null,
    };
  }
}

class CopySums {
  copies = 0;
  bytes = 0;
  time = 0;

  add(time: number, bytes: number): void {
    this.copies++;
    this.bytes += bytes;
    this.time += time;
  }

  count(): CopyCount {
    const { copies, bytes, time } = this;
    return { copies, bytes, time, bytesPerSecond: rate(bytes, time) };
  }
}

/** Copies that go one way. */
export class CopyTally extends Tally {
  readonly #all = new CopySums();
  readonly #small = new CopySums();

  /** Counts a copy that was timed. */
  add(time: number, bytes: number): void {
    this.#all.add(time, bytes);
    if (bytes <= SMALL_COPY) this.#small.add(time, bytes);
  }

  /** What was counted. */
  statistics(): CopyStatistics {
    const { captured, untimed } = this;
    return { ...this.#all.count(), small: this.#small.count(), captured, untimed };
  }
}
