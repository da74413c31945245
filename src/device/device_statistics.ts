/**
 * Statistics of operations that may fall back to another device.
 *
 * @module
 */

import { displayAs } from "../ffi/display.ts";
import type { DeviceKind } from "../hardware/selection.ts";

/**
 * The instructions that work runs on: those of a GPU, or the vector instructions of the processor.
 * @category Detection and diagnosis
 */
export type Provider = "cuda" | "avx512" | "avx2" | "neon" | "portable";

/** The share of operations on a GPU above which it is effective. */
const EFFECTIVE_SHARE = 0.8;

/** The operations of one kind. */
interface Tally {
  readonly operations: number;
  readonly milliseconds: number;
}

/** Memory of the machine in bytes; undefined without `--allow-sys=systemMemoryInfo`. */
function hostMemory(): DeviceStatistics["hostMemory"] {
  const permission = { name: "sys", kind: "systemMemoryInfo" } as const;
  if (Deno.permissions.querySync(permission).state !== "granted") return undefined;
  const { total, available } = Deno.systemMemoryInfo();
  return { used: total - available, total };
}

const average = ({ operations, milliseconds }: Tally) =>
  operations === 0 ? 0 : milliseconds / operations;

/**
 * Statistics of the operations of a {@linkcode DeviceFallback} at one moment. Times are wall-clock
 * milliseconds, with those of a failed attempt on the first device; operations that overlap share the
 * time.
 * @category Detection and diagnosis
 */
export class DeviceStatistics {
  /** The label of the first device. */
  readonly device: string;
  /** The label of the device that takes over; undefined if there is none. */
  readonly fallback: string | undefined;
  /** The instructions that the first device runs. */
  readonly provider: Provider;
  /** Completed operations by kind: their number, time, and average time. */
  readonly byKind: Readonly<
    Record<string, {
      readonly operations: number;
      readonly milliseconds: number;
      readonly averageMilliseconds: number;
    }>
  >;
  /** Operations that a GPU completed. */
  readonly gpuOperations: number;
  /** Operations that a host device completed. */
  readonly cpuOperations: number;
  /** Operations that the first device failed and the fallback took over. */
  readonly fallbackCount: number;
  /** The message of the last failure of a GPU. */
  readonly lastGpuError: string | undefined;
  /** The message of the last failure of a host device. */
  readonly lastCpuError: string | undefined;
  /**
   * Used and total memory of the machine in bytes; undefined without `--allow-sys=systemMemoryInfo`.
   */
  readonly hostMemory: { readonly used: number; readonly total: number } | undefined;

  /** Copies the counts of a recorder. */
  constructor(
    device: string,
    fallback: string | undefined,
    provider: Provider,
    { kinds, completed, fallbackCount, lastErrors }: OperationRecorder,
  ) {
    this.device = device;
    this.fallback = fallback;
    this.provider = provider;
    this.byKind = Object.fromEntries(
      [...kinds].map(([kind, tally]) => [kind, { ...tally, averageMilliseconds: average(tally) }]),
    );
    this.gpuOperations = completed.cuda;
    this.cpuOperations = completed.host;
    this.fallbackCount = fallbackCount;
    this.lastGpuError = lastErrors.cuda;
    this.lastCpuError = lastErrors.host;
    this.hostMemory = hostMemory();
  }

  /** All completed operations. */
  get operations(): number {
    return this.gpuOperations + this.cpuOperations;
  }

  /** The time of all completed operations. */
  get milliseconds(): number {
    return Object.values(this.byKind).reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  }

  /** The average time of an operation; 0 if there were none. */
  get averageMilliseconds(): number {
    return average(this);
  }

  /** The share of operations that a GPU completed, 0 to 1; 0 if there were none. */
  get gpuEfficiency(): number {
    return this.operations === 0 ? 0 : this.gpuOperations / this.operations;
  }

  /** Whether a GPU completed more than 80 % of the operations. */
  isGpuEffective(): boolean {
    return this.gpuEfficiency > EFFECTIVE_SHARE;
  }

  /**
   * The statistics in a line, such as
   * `Device: cuda:0 | Total: 3 operations (2 quantize, 1 matmul) | Time: 1.25 ms | GPU: 100.0 % |
   * Fallbacks: 0 | Host memory: 2.0/16.0 GiB (12.5 %)`.
   */
  summary(): string {
    const { device, fallback, byKind, operations, hostMemory: memory } = this;
    const kinds = Object.entries(byKind).map(([kind, { operations }]) => `${operations} ${kind}`);
    const gib = (bytes: number) => (bytes / 2 ** 30).toFixed(1);
    return [
      `Device: ${fallback === undefined ? device : `${device}+${fallback}`}`,
      `Total: ${operations} operations${kinds.length > 0 ? ` (${kinds.join(", ")})` : ""}`,
      `Time: ${this.milliseconds.toFixed(2)} ms`,
      `GPU: ${(100 * this.gpuEfficiency).toFixed(1)} %`,
      `Fallbacks: ${this.fallbackCount}`,
      ...memory === undefined ? [] : [
        `Host memory: ${gib(memory.used)}/${gib(memory.total)} GiB (${
          (100 * memory.used / memory.total).toFixed(1)
        } %)`,
      ],
    ].join(" | ");
  }
}

displayAs(DeviceStatistics.prototype, "DeviceStatistics", {
  summary: (statistics) => statistics.summary(),
});

/** Counts operations, fallbacks and failures. */
export class OperationRecorder {
  readonly kinds: Map<string, Tally> = new Map();
  readonly completed: Record<DeviceKind, number> = { cuda: 0, host: 0 };
  readonly lastErrors: Partial<Record<DeviceKind, string>> = {};
  fallbackCount = 0;
  /** Operations under way, and a clock that advances by their equal shares of the time. */
  #running = 0;
  #clock = 0;
  #advancedAt = 0;

  #advance(): number {
    const now = performance.now();
    if (this.#running > 0) this.#clock += (now - this.#advancedAt) / this.#running;
    this.#advancedAt = now;
    return this.#clock;
  }

  /**
   * Begins an operation; the result ends it, and returns its time in milliseconds. Operations that
   * overlap share the time, so the sum of all is time that has passed.
   */
  begin(): () => number {
    const begun = this.#advance();
    this.#running++;
    return () => {
      const ended = this.#advance();
      this.#running--;
      return ended - begun;
    };
  }

  /** Counts a completed operation. */
  complete(kind: string, device: DeviceKind, milliseconds: number): void {
    const tally = this.kinds.get(kind) ?? { operations: 0, milliseconds: 0 };
    this.kinds.set(kind, {
      operations: tally.operations + 1,
      milliseconds: tally.milliseconds + milliseconds,
    });
    this.completed[device]++;
  }
}
