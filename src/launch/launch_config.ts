/**
 * How a kernel is launched — grid, block, dynamic shared memory, stream — and the check of it
 * against the limits of the device and of the kernel.
 *
 * @module
 */

import type { Extents } from "../hardware/capability_limits.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { LaunchExtents } from "../ffi/native_kernel_launch.ts";
import type { Stream } from "../stream/stream.ts";

/** One, two or three extents, x first; those left out are 1. A number is x alone. */
export type Dimensions =
  | number
  | readonly [x: number]
  | readonly [x: number, y: number]
  | readonly [x: number, y: number, z: number];

/**
 * How a kernel is launched.
 *
 * @example
 * ```ts
 * import type { LaunchConfig } from "./launch_config.ts";
 *
 * const tiled: LaunchConfig = { grid: [64, 64], block: [32, 8], sharedMemory: 32 * 33 * 4 };
 * console.log(tiled);
 * ```
 */
export interface LaunchConfig {
  /** Blocks of the grid. */
  readonly grid: Dimensions;
  /** Threads of a block. */
  readonly block: Dimensions;
  /** Dynamic shared memory of a block in bytes; 0 by default. */
  readonly sharedMemory?: number;
  /** The stream; the device's default stream when absent. */
  readonly stream?: Stream;
  /**
   * Whether all blocks run at once, so that the grid can wait for itself: `this_grid().sync()` of
   * cooperative groups. There are then only as many blocks as fit on the device.
   */
  readonly cooperative?: boolean;
  /**
   * Blocks of a cluster, which run at once and share their shared memory: 8 at most, and extents
   * that divide those of the grid. From compute capability 9.0 on; the host device has none.
   */
  readonly cluster?: Dimensions;
}

/** Most blocks of a cluster that every device with clusters has: CUDA's portable size. */
const MOST_IN_CLUSTER = 8;

/** What no field of a configuration is. */
const NOTHING: unknown = Symbol();

/** A list of extents whose length has been checked. */
type ExtentList = readonly [number, number?, number?];

/** The limits of a device that bound a launch. */
export interface LaunchLimits {
  /** Most threads of a block. */
  readonly maxThreadsPerBlock: number;
  /** Most threads of a block in each dimension. */
  readonly maxBlockDimensions: Extents;
  /** Most blocks of a grid in each dimension. */
  readonly maxGridDimensions: Extents;
  /** Bytes of shared memory that a block may have without asking: 48 KiB. */
  readonly sharedMemoryPerBlock: number;
  /** Bytes of shared memory that a block may have at most. */
  readonly sharedMemoryPerBlockOptIn: number;
  /** Whether all blocks of a grid can be asked to run at once. */
  readonly cooperativeLaunch?: boolean;
  /** Whether blocks can be launched in clusters. */
  readonly clusterLaunch?: boolean;
}

/** What the compiler made of a kernel, as far as it bounds a launch. */
export interface KernelLimits {
  /** Most threads of a block with the kernel's registers and launch bounds. */
  readonly maxThreadsPerBlock: number;
  /** Bytes of shared memory declared in the kernel. */
  readonly staticSharedMemory: number;
}

/**
 * The numbers of a checked {@linkcode LaunchConfig}. One is kept per kernel and overwritten by
 * each launch, so that a launch allocates nothing.
 */
export class LaunchShape implements LaunchExtents {
  /** Blocks in x. */
  gridX = 1;
  /** Blocks in y. */
  gridY = 1;
  /** Blocks in z. */
  gridZ = 1;
  /** Threads of a block in x. */
  blockX = 1;
  /** Threads of a block in y. */
  blockY = 1;
  /** Threads of a block in z. */
  blockZ = 1;
  /** Dynamic shared memory of a block in bytes. */
  sharedMemory = 0;
  /** Whether all blocks run at once. */
  cooperative = false;
  /** The extents of a cluster: x + 256 y + 65536 z; 0 for none. */
  cluster = 0;

  /** Most bytes of dynamic shared memory of a block. */
  readonly maxSharedMemory: number;
  readonly #kernelName: string;
  readonly #device: LaunchLimits;
  readonly #maxBlock: Extents;
  readonly #maxGrid: Extents;
  readonly #maxThreads: number;
  readonly #maxLine: number;
  readonly #staticSharedMemory: number;
  readonly #freeSharedMemory: number;
  // What the configuration was, if it was good, simple and had one dimension; see isLast(). Before,
  // and else, what none has. NaN would do, but then V8 made an object of every number that it
  // compares with it.
  /** The grid as it was given. */
  lastGrid: unknown = NOTHING;
  /** The block as it was given. */
  lastBlock: unknown = NOTHING;
  /** The shared memory as it was given, or left out. */
  lastSharedMemory: unknown = NOTHING;
  /** Whether all blocks run at once, as it was given, or left out. */
  lastCooperative: unknown = NOTHING;

  /**
   * Prepares for the launches of a kernel on a device.
   *
   * @param kernelName How errors name the kernel.
   * @throws {RangeError} If no launch can do, as the kernel declares too much shared memory.
   */
  constructor(kernelName: string, device: LaunchLimits, kernel: KernelLimits) {
    this.#kernelName = kernelName;
    this.#device = device;
    this.#maxBlock = device.maxBlockDimensions;
    this.#maxGrid = device.maxGridDimensions;
    this.#maxThreads = Math.min(device.maxThreadsPerBlock, kernel.maxThreadsPerBlock);
    // Threads of a block that has no extent but x.
    this.#maxLine = Math.min(this.#maxThreads, this.#maxBlock.x);
    this.#staticSharedMemory = kernel.staticSharedMemory;
    if (kernel.staticSharedMemory > device.sharedMemoryPerBlock) this.#refuseStaticSharedMemory();
    // Static and dynamic shared memory come out of the same space.
    this.maxSharedMemory = Math.max(
      0,
      Math.max(device.sharedMemoryPerBlock, device.sharedMemoryPerBlockOptIn) -
        kernel.staticSharedMemory,
    );
    this.#freeSharedMemory = device.sharedMemoryPerBlock - kernel.staticSharedMemory;
  }

  /** Threads of a block. */
  get threads(): number {
    return this.blockX * this.blockY * this.blockZ;
  }

  /**
   * Whether the kernel must be allowed this much dynamic shared memory before it is launched:
   * with its static shared memory it exceeds what a block has without asking.
   */
  get needsSharedMemoryReserve(): boolean {
    return this.sharedMemory > 0 && this.sharedMemory > this.#freeSharedMemory;
  }

  /**
   * Whether a configuration says again what the last one did, which was good: launches of a loop
   * mostly do. Lists of extents are not remembered, nor is what decides more than these
   * numbers.
   */
  isLast(config: LaunchConfig): boolean {
    return config !== undefined && config !== null && config.grid === this.lastGrid &&
      config.block === this.lastBlock && config.sharedMemory === this.lastSharedMemory &&
      config.cooperative === this.lastCooperative && config.cluster === undefined;
  }

  /**
   * Takes over a configuration. After an error the numbers are not to be used.
   *
   * @throws {RangeError} If an extent, the threads of a block or the shared memory is beyond its
   * limit or no integer; it names the field, what is allowed, and the value.
   * @throws {TypeError} If a field is no number or list of numbers.
   */
  read(config: LaunchConfig): void {
    if (!isObject(config)) this.#refuseConfig(config);
    const { grid, block, sharedMemory, cooperative, cluster } = config;
    const isPlain = sharedMemory === undefined && cooperative === undefined &&
      cluster === undefined;
    if (isPlain === true && isExtent(grid, this.#maxGrid.x) && isExtent(block, this.#maxLine)) {
      return this.#takeLine(grid, block);
    }
    // A list may be a proxy, whose traps may launch the kernel, which comes back here. So all lists are
    // read before anything is taken over.
    let gridX: number, gridY = 1, gridZ = 1;
    if (typeof grid === "number") gridX = grid;
    else {
      this.#checkList("grid", grid);
      gridX = grid[0];
      if (grid.length > 1) gridY = grid[1]!;
      if (grid.length > 2) gridZ = grid[2]!;
    }
    let blockX: number, blockY = 1, blockZ = 1;
    if (typeof block === "number") blockX = block;
    else {
      this.#checkList("block", block);
      blockX = block[0];
      if (block.length > 1) blockY = block[1]!;
      if (block.length > 2) blockZ = block[2]!;
    }
    const sides = cluster === undefined ? undefined : this.#readCluster(cluster);
    this.lastGrid = NOTHING;
    this.gridX = gridX;
    this.gridY = gridY;
    this.gridZ = gridZ;
    this.blockX = blockX;
    this.blockY = blockY;
    this.blockZ = blockZ;
    this.sharedMemory = sharedMemory === undefined ? 0 : sharedMemory;
    this.#checkExtents();
    if (cooperative !== undefined && cooperative !== false) this.#checkCooperative(cooperative);
    this.cooperative = cooperative === true;
    this.cluster = sides === undefined ? 0 : this.#checkCluster(sides);
    // What more than these numbers decide on is read at every launch.
    const isSimple = !this.cooperative && !this.needsSharedMemoryReserve && cluster === undefined;
    if (isSimple && typeof grid === "number" && typeof block === "number") {
      this.lastGrid = grid;
      this.lastBlock = block;
      this.lastSharedMemory = sharedMemory;
      this.lastCooperative = cooperative;
    }
  }

  /** Takes over blocks and threads in x that have been checked: all that most launches need. */
  #takeLine(grid: number, block: number): void {
    this.gridX = grid;
    this.gridY = 1;
    this.gridZ = 1;
    this.blockX = block;
    this.blockY = 1;
    this.blockZ = 1;
    this.sharedMemory = 0;
    this.cooperative = false;
    this.cluster = 0;
    this.lastGrid = grid;
    this.lastBlock = block;
    this.lastSharedMemory = undefined;
    this.lastCooperative = undefined;
  }

  #checkExtents(): void {
    const maxGrid = this.#maxGrid;
    const maxBlock = this.#maxBlock;
    if (!isExtent(this.gridX, maxGrid.x)) this.#refuse("grid.x", 1, maxGrid.x, this.gridX);
    if (!isExtent(this.gridY, maxGrid.y)) this.#refuse("grid.y", 1, maxGrid.y, this.gridY);
    if (!isExtent(this.gridZ, maxGrid.z)) this.#refuse("grid.z", 1, maxGrid.z, this.gridZ);
    if (!isExtent(this.blockX, maxBlock.x)) this.#refuse("block.x", 1, maxBlock.x, this.blockX);
    if (!isExtent(this.blockY, maxBlock.y)) this.#refuse("block.y", 1, maxBlock.y, this.blockY);
    if (!isExtent(this.blockZ, maxBlock.z)) this.#refuse("block.z", 1, maxBlock.z, this.blockZ);
    if (this.threads > this.#maxThreads) this.#refuseThreads();
    const { sharedMemory } = this;
    if (sharedMemory !== 0 && !isExtent(sharedMemory, this.maxSharedMemory)) {
      this.#refuseSharedMemory();
    }
  }

  #checkCooperative(cooperative: unknown): void {
    if (cooperative !== true) {
      throw new TypeError(
        `Cannot launch ${this.#kernelName} as cooperative must be a boolean: it is ` +
          describeValue(cooperative),
      );
    }
    if (this.#device.cooperativeLaunch === true) return;
    throw new TypeError(
      `Cannot launch ${this.#kernelName} cooperatively as its device cannot run all blocks of a ` +
        `grid at once`,
    );
  }

  #readCluster(cluster: Dimensions): readonly [number, number, number] {
    if (typeof cluster !== "number") this.#checkList("cluster", cluster);
    const [x, y = 1, z = 1] = typeof cluster === "number" ? [cluster] : cluster;
    return [x, y, z];
  }

  /** Checks the extents of a cluster, and gives them as the library takes them. */
  #checkCluster([x, y, z]: readonly [number, number, number]): number {
    for (const [axis, extent] of Object.entries({ x, y, z })) {
      if (!isExtent(extent, MOST_IN_CLUSTER)) {
        this.#refuse(`cluster.${axis}`, 1, MOST_IN_CLUSTER, extent);
      }
    }
    const blocks = x * y * z;
    if (blocks > MOST_IN_CLUSTER) this.#refuse("the blocks of cluster", 1, MOST_IN_CLUSTER, blocks);
    const grid = `${this.gridX} × ${this.gridY} × ${this.gridZ}`;
    if (this.gridX % x !== 0 || this.gridY % y !== 0 || this.gridZ % z !== 0) {
      throw new RangeError(
        `Cannot launch ${this.#kernelName} as the extents of cluster must divide those of grid, ` +
          `${grid}: they are ${x} × ${y} × ${z}`,
      );
    }
    if (this.#device.clusterLaunch !== true) {
      throw new TypeError(
        `Cannot launch ${this.#kernelName} in clusters as its device has none: GPUs have them ` +
          `from compute capability 9.0 on, and the host device has not`,
      );
    }
    return x + 256 * y + 65536 * z;
  }

  #checkList(field: "grid" | "block" | "cluster", value: unknown): asserts value is ExtentList {
    if (Array.isArray(value) && value.length >= 1 && value.length <= 3) return;
    const it = Array.isArray(value) ? `an array of ${value.length}` : describeValue(value);
    throw new TypeError(
      `Cannot launch ${this.#kernelName} as ${field} must be an integer or an array of 1 to 3 ` +
        `integers: it is ${it}`,
    );
  }

  #refuse(field: string, lowest: number, highest: number, value: unknown): never {
    const ErrorClass = typeof value === "number" ? RangeError : TypeError;
    const kind = Number.isInteger(value) ? "" : "an integer ";
    throw new ErrorClass(
      `Cannot launch ${this.#kernelName} as ${field} must be ${kind}in ${lowest}..${highest}: ` +
        `it is ${describeValue(value)}`,
    );
  }

  #refuseThreads(): never {
    throw new RangeError(
      `Cannot launch ${this.#kernelName} as the threads of block must be in ` +
        `1..${this.#maxThreads}: they are ${this.threads} ` +
        `(${this.blockX} × ${this.blockY} × ${this.blockZ})`,
    );
  }

  /** nvcc does not compile such a kernel; the compiler of the host device knows no limit. */
  #refuseStaticSharedMemory(): never {
    throw new RangeError(
      `Cannot launch ${this.#kernelName} as the shared memory that it declares must be at most ` +
        `${this.#device.sharedMemoryPerBlock} bytes: it is ${this.#staticSharedMemory}. A block ` +
        "has more only as dynamic shared memory",
    );
  }

  #refuseSharedMemory(): never {
    const held = this.#staticSharedMemory;
    const field = held === 0
      ? "sharedMemory"
      : `sharedMemory, beside the ${held} bytes the kernel declares,`;
    this.#refuse(field, 0, this.maxSharedMemory, this.sharedMemory);
  }

  #refuseConfig(config: unknown): never {
    throw new TypeError(
      `Cannot launch ${this.#kernelName} as its configuration must be an object with grid and ` +
        `block: it is ${describeValue(config)}`,
    );
  }
}

/** Functions are objects that may have fields, too. */
function isObject(value: unknown): boolean {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Whether a value is an integer of at least 1 and at most the limit, which is one of 32 bits. */
function isExtent(value: unknown, limit: number): value is number {
  return typeof value === "number" && (value | 0) === value && value >= 1 && value <= limit;
}
