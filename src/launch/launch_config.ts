/**
 * Launch configurations: grid, block, dynamic shared memory and stream, and their validation against
 * the limits of the device and of the kernel.
 *
 * @module
 */

import { requireInteger } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { KernelAttributes } from "../ffi/native_kernel.ts";
import type { LaunchExtents } from "../ffi/native_kernel.ts";
import type { CapabilityLimits, Extents } from "../hardware/capability_limits.ts";
import type { Stream } from "../stream/stream.ts";

/**
 * The parameters of a launch. Extents are one to three integers, x first; missing ones are 1, and a
 * number is x alone.
 *
 * @example
 * ```ts
 * import type { LaunchConfig } from "@gridstride/cuda";
 *
 * const tiled: LaunchConfig = { grid: [64, 64], block: [32, 8], sharedMemory: 32 * 33 * 4 };
 * console.log(tiled);
 * ```
 * @category Launching kernels
 */
export interface LaunchConfig {
  /** Blocks of the grid. */
  readonly grid: number | readonly [x: number, y?: number, z?: number];
  /** Threads of a block. */
  readonly block: number | readonly [x: number, y?: number, z?: number];
  /** Dynamic shared memory of a block in bytes; 0 by default. */
  readonly sharedMemory?: number;
  /** The stream; the device's default stream by default. */
  readonly stream?: Stream;
  /**
   * Whether all blocks run at once, which the grid needs to wait for itself: `this_grid().sync()` of
   * cooperative groups. The grid then has no more blocks than fit on the device.
   */
  readonly cooperative?: boolean;
  /**
   * Blocks of a cluster, which run at once and share their shared memory: at most 8, in extents that
   * divide those of the grid. Needs compute capability 9.0; the host device has no clusters.
   */
  readonly cluster?: number | readonly [x: number, y?: number, z?: number];
}

/** Blocks of a cluster on every device with clusters: CUDA's portable size. */
const MAX_CLUSTER = 8;
const MAX_CLUSTER_EXTENTS: Extents = { x: MAX_CLUSTER, y: MAX_CLUSTER, z: MAX_CLUSTER };

const MAX = Number.MAX_SAFE_INTEGER;
const MAX_EXTENTS: Extents = { x: MAX, y: MAX, z: MAX };

/** Stands for a field that no configuration can have. */
const NOTHING: unknown = Symbol();

/** Reads one to three positive integers. */
export function readExtents(
  value: unknown,
  name: string,
  action: string,
  max: Extents = MAX_EXTENTS,
): Extents {
  const list: readonly unknown[] = typeof value === "number" ? [value] : value as unknown[];
  if (!Array.isArray(list) || list.length < 1 || list.length > 3) {
    const actual = Array.isArray(list) ? `an array of ${list.length}` : describeValue(value);
    throw new TypeError(
      `Cannot ${action} as ${name} must be an integer or an array of 1 to 3 integers: it is ` +
        actual,
    );
  }
  const x: unknown = list[0];
  const y: unknown = list.length > 1 ? list[1] : 1;
  const z: unknown = list.length > 2 ? list[2] : 1;
  requireInteger(x, `${name}.x`, action, 1, max.x);
  requireInteger(y, `${name}.y`, action, 1, max.y);
  requireInteger(z, `${name}.z`, action, 1, max.z);
  return { x, y, z };
}

/** The limits of a device that bound a launch. */
export type LaunchLimits = Pick<
  CapabilityLimits,
  | "maxThreadsPerBlock"
  | "maxBlockDimensions"
  | "maxGridDimensions"
  | "sharedMemoryPerBlock"
  | "sharedMemoryPerBlockOptIn"
  | "cooperativeLaunch"
  | "clusterLaunch"
>;

/** The checked numbers of a {@linkcode LaunchConfig}; each launch of a kernel overwrites them. */
export class LaunchShape implements LaunchExtents {
  gridX = 1;
  gridY = 1;
  gridZ = 1;
  blockX = 1;
  blockY = 1;
  blockZ = 1;
  /** Dynamic shared memory of a block in bytes. */
  sharedMemory = 0;
  /** Whether all blocks run at once. */
  cooperative = false;
  /** The extents of a cluster: x + 256 y + 65536 z; 0 for none. */
  cluster = 0;

  /** The limit of a block's dynamic shared memory in bytes. */
  readonly maxSharedMemory: number;
  readonly #action: string;
  readonly #device: LaunchLimits;
  readonly #maxThreads: number;
  readonly #staticSharedMemory: number;
  // The fields of the last configuration, if isLast() may compare with them; otherwise NOTHING.
  #lastGrid: unknown = NOTHING;
  #lastBlock: unknown = NOTHING;
  #lastSharedMemory: unknown = NOTHING;
  #lastCooperative: unknown = NOTHING;

  /**
   * Prepares for the launches of a kernel. nvcc refuses one that declares more shared memory than a
   * block can have; the compiler of the host device knows no limit.
   */
  constructor(
    kernelName: string,
    device: LaunchLimits,
    kernel: Pick<KernelAttributes, "maxThreadsPerBlock" | "staticSharedMemory">,
  ) {
    this.#action = `launch ${kernelName}`;
    this.#device = device;
    this.#maxThreads = Math.min(device.maxThreadsPerBlock, kernel.maxThreadsPerBlock);
    const { staticSharedMemory } = kernel;
    if (staticSharedMemory > device.sharedMemoryPerBlock) {
      throw new RangeError(
        `Cannot ${this.#action} as its declared shared memory must be at most ` +
          `${device.sharedMemoryPerBlock} bytes: it is ${staticSharedMemory}. Only dynamic shared ` +
          "memory can be larger",
      );
    }
    this.#staticSharedMemory = staticSharedMemory;
    // Static and dynamic shared memory come out of the same space.
    const most = Math.max(device.sharedMemoryPerBlock, device.sharedMemoryPerBlockOptIn);
    this.maxSharedMemory = Math.max(0, most - staticSharedMemory);
  }

  /** Threads of a block. */
  get threads(): number {
    return this.blockX * this.blockY * this.blockZ;
  }

  /** Whether the kernel must opt in to this much shared memory before it is launched. */
  get needsSharedMemoryReserve(): boolean {
    return this.sharedMemory > 0 &&
      this.sharedMemory > this.#device.sharedMemoryPerBlock - this.#staticSharedMemory;
  }

  /**
   * Whether a configuration repeats the last one, which was accepted, as the launches of a loop mostly
   * do. Lists of extents and clusters are checked at every launch.
   */
  isLast(config: LaunchConfig): boolean {
    return config !== undefined && config !== null && config.grid === this.#lastGrid &&
      config.block === this.#lastBlock && config.sharedMemory === this.#lastSharedMemory &&
      config.cooperative === this.#lastCooperative && config.cluster === undefined;
  }

  /**
   * Checks a configuration and takes its numbers over.
   *
   * @param accept Called at the end with the numbers in place; throws if the kernel cannot run so.
   */
  read(config: LaunchConfig, accept?: () => void): void {
    if (typeof config !== "object" || config === null) {
      throw new TypeError(
        `Cannot ${this.#action} as its configuration must be an object with grid and block: it is ` +
          describeValue(config),
      );
    }
    const action = this.#action;
    const { grid, block, sharedMemory, cooperative, cluster } = config;
    // A list may be a proxy whose traps launch this kernel: all are read before anything changes.
    const blocks = readExtents(grid, "grid", action, this.#device.maxGridDimensions);
    const threads = readExtents(block, "block", action, this.#device.maxBlockDimensions);
    const packed = cluster === undefined ? 0 : this.#readCluster(cluster, blocks);
    this.#lastGrid = NOTHING;
    ({ x: this.gridX, y: this.gridY, z: this.gridZ } = blocks);
    ({ x: this.blockX, y: this.blockY, z: this.blockZ } = threads);
    if (this.threads > this.#maxThreads) {
      throw new RangeError(
        `Cannot ${action} as the threads of block must be in 1..${this.#maxThreads}: they are ` +
          `${this.threads} (${threads.x} × ${threads.y} × ${threads.z})`,
      );
    }
    if (sharedMemory !== undefined) this.#checkSharedMemory(sharedMemory);
    if (cooperative !== undefined) this.#checkCooperative(cooperative);
    this.sharedMemory = sharedMemory ?? 0;
    this.cooperative = cooperative === true;
    this.cluster = packed;
    accept?.();
    if (packed === 0 && typeof grid === "number" && typeof block === "number") {
      this.#lastGrid = grid;
      this.#lastBlock = block;
      this.#lastSharedMemory = sharedMemory;
      this.#lastCooperative = cooperative;
    }
  }

  #checkSharedMemory(sharedMemory: unknown): void {
    const held = this.#staticSharedMemory;
    const name = held === 0
      ? "sharedMemory"
      : `sharedMemory, beside the ${held} bytes the kernel declares,`;
    requireInteger(sharedMemory, name, this.#action, 0, this.maxSharedMemory);
  }

  #checkCooperative(cooperative: unknown): void {
    if (typeof cooperative !== "boolean") {
      throw new TypeError(
        `Cannot ${this.#action} as cooperative must be a boolean: it is ` +
          describeValue(cooperative),
      );
    }
    if (!cooperative || this.#device.cooperativeLaunch) return;
    throw new TypeError(
      `Cannot ${this.#action} cooperatively as its device cannot run all blocks of a grid at once`,
    );
  }

  #readCluster(cluster: unknown, grid: Extents): number {
    const { x, y, z } = readExtents(cluster, "cluster", this.#action, MAX_CLUSTER_EXTENTS);
    requireInteger(x * y * z, "the blocks of cluster", this.#action, 1, MAX_CLUSTER);
    if (grid.x % x !== 0 || grid.y % y !== 0 || grid.z % z !== 0) {
      throw new RangeError(
        `Cannot ${this.#action} as the extents of cluster must divide those of grid, ` +
          `${grid.x} × ${grid.y} × ${grid.z}: they are ${x} × ${y} × ${z}`,
      );
    }
    if (!this.#device.clusterLaunch) {
      throw new TypeError(
        `Cannot ${this.#action} in clusters as its device has none: GPUs have clusters from ` +
          `compute capability 9.0 on, and the host device has none`,
      );
    }
    return x + 256 * y + 65536 * z;
  }
}
