/**
 * What a user may say of a pool.
 *
 * What the options do not say is taken from the environment, else from the preset; see
 * `pool_settings.ts` for how the three become one.
 *
 * @module
 */

import type { PoolPreset } from "./pool_presets.ts";

/** What a {@linkcode MemoryPoolOptions.onMemoryPressure} callback is told. All sizes are bytes. */
export interface MemoryPressureEvent {
  /** The device, as messages name it: `cuda:0`. */
  readonly device: string;
  /** The request that found no room. */
  readonly requested: number;
  /** What buffers hold. */
  readonly live: number;
  /** What the pool has taken from the device. */
  readonly reserved: number;
  /** What buffers held that are freed but that a stream may still use. */
  readonly pending: number;
  /** What the pool may take from the device at most. */
  readonly limit: number;
}

/**
 * Frees what it can when memory runs out, and says whether it freed anything: then the request is
 * tried again. It may free buffers, but not allocate any. What it throws reaches the caller of the
 * allocation.
 */
export type MemoryPressureCallback = (event: MemoryPressureEvent) => boolean;

/** When a pool begins to make room, and when it refuses. Shares of its limit, above 0, up to 1. */
export interface PressureOptions {
  /**
   * A request that would take the pool above this share gives what is free back to the device
   * first. 0.9 by default.
   */
  readonly reclaim?: number;
  /**
   * Where a request is still above `reclaim` after that, it is refused if it would leave more than
   * this share in use: what remains is for those who cannot be refused, such as libraries that
   * allocate by themselves. 0.85 by default where `pressure` is given, and never where it is not.
   */
  readonly refuse?: number;
}

/**
 * Options of a memory pool. A size is a number of bytes or a text such as `"2GB"` or `"512MiB"`,
 * in which units are powers of 1024.
 *
 * @example
 * ```ts
 * import type { MemoryPoolOptions } from "@gridstride/cuda";
 *
 * const options: MemoryPoolOptions = { preset: "production", maxPoolSize: "8GB" };
 * console.log(options);
 * ```
 */
export interface MemoryPoolOptions {
  /** Where the defaults of the other options come from; see {@linkcode POOL_PRESETS}. */
  readonly preset?: PoolPreset;
  /** Most memory the pool takes from the device; no more than the device has, by default. */
  readonly maxPoolSize?: number | string;
  /**
   * Most memory the pool takes from the device, as a share of what is usable of it when the pool
   * is made: above 0, up to 1. Where `maxPoolSize` is given too, the smaller holds.
   */
  readonly memoryFraction?: number;
  /** Memory that the pool takes from the device when it is made; none by default. */
  readonly initialSize?: number | string;
  /**
   * Most free blocks of one size class that are kept whole for the next request of that class;
   * the others join their free neighbours at once.
   */
  readonly maxCachedBuffers?: number;
  /**
   * Most free memory that the pool keeps; what is freed beyond it goes back to the device. No
   * limit of its own by default.
   */
  readonly maxCachedBytes?: number | string;
  /** Whether the pool knows of every buffer when, where and for which stream it was allocated. */
  readonly enableMemoryTracking?: boolean;
  /**
   * Whether memory is poisoned and guarded, so that overruns and use after free are found at the
   * next check. Implies tracking; slow.
   */
  readonly debug?: boolean;
  /** Frames kept of the place that allocated a buffer, where tracking is on: 1 to 100. */
  readonly stackFrames?: number;
  /**
   * Milliseconds after which memory that stayed free goes back to the device, also without a call
   * of the program; 0 is never. Does not keep the process alive.
   */
  readonly cleanupInterval?: number;
  /**
   * Whether memory that stays free goes back to the device. `true` turns it on with an interval of
   * 10 seconds where nothing else says how long, `false` turns the interval of the preset off.
   */
  readonly trim?: boolean;
  /**
   * Whether the pool grows by mapping memory behind reserved addresses, where the device has
   * virtual memory management; `true` by default. Without it memory comes in plain segments.
   */
  readonly virtualMemory?: boolean;
  /** When the pool makes room and when it refuses. */
  readonly pressure?: PressureOptions;
  /** Called before a request fails for want of memory. */
  readonly onMemoryPressure?: MemoryPressureCallback;
  /** What addresses are multiples of: a power of two, 512 (the default) to 2^30. */
  readonly alignment?: number;
}

/** The settings of a pool: its options, complete, checked and in plain numbers. */
export interface PoolSettings {
  /** The preset; `null` where none was named. */
  readonly preset: PoolPreset | null;
  /** Most bytes the pool takes from the device. */
  readonly limitBytes: number;
  /** Bytes it takes when it is made. */
  readonly initialBytes: number;
  /** Most blocks of a size class that are kept whole. */
  readonly maxCachedBuffers: number;
  /** Most free bytes it keeps; `Infinity` where there is no limit. */
  readonly maxCachedBytes: number;
  /** Whether buffers are tracked. */
  readonly enableMemoryTracking: boolean;
  /** Whether memory is poisoned and guarded. */
  readonly debug: boolean;
  /** Frames kept of an allocation site. */
  readonly stackFrames: number;
  /** Milliseconds after which free memory goes back; 0 is never. */
  readonly cleanupInterval: number;
  /** Whether memory is mapped behind reserved addresses. */
  readonly virtualMemory: boolean;
  /** Share of the limit above which what is free goes back first. */
  readonly reclaimShare: number;
  /** Share of the limit above which requests are refused; `Infinity` where none are. */
  readonly refuseShare: number;
  /** Called before a request fails; `undefined` where nobody wants to know. */
  readonly onMemoryPressure: MemoryPressureCallback | undefined;
  /** What addresses are multiples of. */
  readonly alignment: number;
}
