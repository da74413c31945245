/**
 * The memory of one device: its capacity, its allocation and its usage.
 *
 * @module
 */

import { displayAs } from "../../ffi/display.ts";
import { requireInteger, requireObject, requireOptions } from "../../ffi/arguments.ts";
import { OutOfMemoryError } from "../../ffi/cuda_error.ts";
import { describeValue, formatBytes } from "../../ffi/describe_value.ts";
import { logger } from "../../ffi/logging.ts";
import { deviceMemory } from "../../ffi/native_device.ts";
import { contextOf, type DeviceContext, labelOf } from "../../hardware/device_context.ts";
import { usableMemory } from "../../hardware/memory_reserve.ts";
import { bytesOfLength, checkAlignment, type PlacementOptions } from "../buffer_options.ts";
import { streamFor } from "../buffer_copy.ts";
import type { DeviceBuffer } from "../device_buffer.ts";
import type { DType } from "../dtype.ts";
import { type MemoryPool, poolOfDevice } from "../pool/memory_pool.ts";
import type { PoolStatistics } from "../pool/pool_statistics.ts";
import { type ChunkOptions, chunksThatFit } from "./chunks.ts";
import { SizeBands } from "./size_bands.ts";

/**
 * Statistics of a device's memory. All sizes are bytes.
 * @category Memory
 */
export interface MemoryManagerStatistics {
  /** The ordinal of the device. */
  readonly ordinal: number;
  /** The label of the device: `cuda:0`. */
  readonly device: string;
  /** Whether `GRIDSTRIDE_FAKE` makes the device up. */
  readonly fake: boolean;
  /** Free, total, reserved and usable memory of the device. */
  readonly memory: {
    /** Free memory of the opened device. */
    readonly free: number;
    /** Total memory. */
    readonly total: number;
    /** The reserve: the sum of the three parts. */
    readonly reserve: number;
    /** Memory for allocations: `free - reserve`. */
    readonly usable: number;
    /** The parts of the reserve. */
    readonly parts: {
      /** For later loads and growth of the context. */
      readonly context: number;
      /** For the driver's own structures. */
      readonly driver: number;
      /** For fragmentation and other processes. */
      readonly emergencies: number;
    };
  };
  /** The limit of all buffers together. */
  readonly capacity: number;
  /** The requested sizes of live buffers, in the pool and direct ones. */
  readonly live: number;
  /** Memory taken from the device, by the pool and by direct buffers. */
  readonly reserved: number;
  /** `live / capacity`: 0 to 1. */
  readonly utilization: number;
  /** The fragmentation of the pool. */
  readonly fragmentation: PoolStatistics["fragmentation"];
  /** Live buffers by size, smallest band first. `from` and `to` are the sizes of a band. */
  readonly bands: readonly {
    readonly band: "small" | "medium" | "large" | "direct";
    readonly from: number;
    readonly to: number;
    readonly count: number;
    readonly bytes: number;
  }[];
  /** The statistics of the pool. */
  readonly pool: PoolStatistics;
}

/** The external fragmentation above which {@linkcode MemoryManager.logUsage} warns. */
export const FRAGMENTATION_WARNING = 0.3;

const ACTION = "manage memory";

/**
 * The alignment of all addresses of a device: CUDA C++ Programming Guide, "Device Memory Accesses".
 */
const DEVICE_ALIGNMENT = 256;

/**
 * Manages the memory of an opened device. It reserves memory for driver, context and emergencies,
 * counts buffers by size, and serves requests too large to cache directly from the device.
 *
 * It keeps neither the device nor the pool open. A pool with `memoryFraction: 1` respects the
 * reserve for its cached memory too.
 *
 * @example
 * ```ts
 * import { MemoryManager, openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * const manager = new MemoryManager(device, { bands: { small: "64KiB" } });
 * using x = manager.allocate("float32", 1 << 20);
 * for (const { band, count, bytes } of manager.stats().bands) console.log(band, count, bytes);
 * console.log(manager.ownsPointer(x.address)); // true
 * manager.logUsage();
 * ```
 * @category Memory
 */
export class MemoryManager {
  /** The device. */
  readonly context: DeviceContext;
  /** The pool that serves all but the largest requests. */
  readonly pool: MemoryPool;
  /**
   * The limit of all buffers together, in bytes: the memory that was usable or in the pool when the
   * manager was created, at most the pool's limit.
   */
  readonly capacity: number;
  readonly #bands: SizeBands;
  /** Live direct buffers. A lost buffer still holds its memory, so they are held strongly. */
  #direct: readonly DeviceBuffer[] = [];

  /**
   * Queries the device's memory and logs its usable part.
   *
   * @param device The device, or an object with its context.
   * @param options The pool, by default that of the device, and the largest size of each band, in
   * bytes or as a text such as `"100MB"`: 1 MiB, 100 MiB and a quarter of the usable memory by
   * default. Larger requests are served by the device.
   * @throws {TypeError} If the pool is invalid or of another device, or a band limit is not a size.
   * @throws {RangeError} If the bands overlap.
   * @throws {CudaError} If the query fails.
   */
  constructor(
    device: { readonly context: DeviceContext },
    options: {
      readonly pool?: MemoryPool;
      readonly bands?: Readonly<Partial<Record<"small" | "medium" | "large", number | string>>>;
    } = {},
  ) {
    this.context = contextOf(device, "device", ACTION);
    requireOptions(options, ["pool", "bands"], ACTION);
    const { pool = poolOfDevice(this.context) } = options;
    const owner = contextOf(pool, "options.pool", ACTION);
    if (typeof pool.stats !== "function" || typeof pool.allocate !== "function") {
      throw new TypeError(
        `Cannot ${ACTION} as options.pool must be a MemoryPool: it is ${describeValue(pool)}`,
      );
    }
    if (!owner.isSameDevice(this.context)) {
      throw new TypeError(
        `Cannot ${ACTION} as options.pool must be of ${this.context.label}: it is of ${owner.label}`,
      );
    }
    this.pool = pool;
    const memory = this.memory();
    this.capacity = Math.min(pool.limitBytes, memory.usable + pool.stats().reserved);
    this.#bands = new SizeBands(this.capacity, options.bands);
    logger("memory").info(
      "{device}: {usable} of {free} free bytes are usable, {reserve} are kept back",
      { device: this.context.label, ...memory },
    );
  }

  /** The ordinal of the device. */
  get ordinal(): number {
    return this.context.ordinal;
  }

  /** Queries free, total, reserved and usable memory of the device, in bytes. */
  memory(): MemoryManagerStatistics["memory"] {
    const { library, ordinal } = this.context;
    return usableMemory(deviceMemory(library, ordinal));
  }

  /** The requested sizes of live buffers, in bytes, without a native call. */
  memoryAllocated(): number {
    return this.pool.memoryAllocated() + this.#directBytes();
  }

  #liveDirect(): readonly DeviceBuffer[] {
    if (this.#direct.some(({ disposed }) => disposed)) {
      this.#direct = this.#direct.filter(({ disposed }) => !disposed);
    }
    return this.#direct;
  }

  #directBytes(): number {
    return this.#liveDirect().reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /**
   * The bytes for further buffers: usable memory of the device and free memory of the pool, within
   * the capacity.
   */
  memoryAvailable(): number {
    const { free } = this.pool.stats();
    const within = this.capacity - this.memoryAllocated();
    return Math.max(0, Math.min(within, this.memory().usable + free));
  }

  /**
   * Allocates a buffer from the pool, or from the device if it is above the largest band. A direct
   * buffer belongs to no stream: its release waits for the streams that use it. Alignments above the
   * device's own are served by the pool.
   *
   * @param dtype The element type.
   * @param length The number of elements; 0 gives a valid empty buffer.
   * @throws {TypeError} If the stream is of another device.
   * @throws {RangeError} If the length is negative, fractional, not a number or too large, or the
   * alignment is not a power of two.
   * @throws {OutOfMemoryError} If the device has no room outside the reserve.
   */
  allocate<D extends DType>(
    dtype: D,
    length: number,
    options: PlacementOptions = {},
  ): DeviceBuffer<D> {
    const bytes = bytesOfLength(length, dtype);
    requireOptions(options, ["stream", "alignment"], "allocate a buffer");
    if (this.memoryAllocated() + bytes > this.capacity) throw this.#outOfMemory(bytes);
    const { stream, alignment = DEVICE_ALIGNMENT } = options;
    const isDirect = this.#bands.bandOf(bytes) === "direct";
    if (isDirect && stream !== undefined) streamFor(this.context, stream);
    if (!isDirect || checkAlignment(alignment) > DEVICE_ALIGNMENT) {
      return this.pool.allocate(dtype, length, options);
    }
    // The free memory of the pool counts against the device.
    const { reserved } = this.pool.stats();
    if (reserved + this.#directBytes() + bytes > this.capacity) this.pool.clearCache();
    const buffer = this.pool.allocateDirect(dtype, length);
    this.#direct = [...this.#direct, buffer];
    logger("memory").debug("{device}: {bytes} bytes are allocated past the pool", {
      device: this.context.label,
      bytes,
    });
    return buffer;
  }

  #outOfMemory(bytes: number): OutOfMemoryError {
    const statistics = this.pool.stats();
    const memory = this.memory();
    return new OutOfMemoryError({
      action: `allocate ${bytes} bytes`,
      device: this.context.label,
      detail: `of the ${this.capacity} bytes that buffers may take ${this.memoryAllocated()} ` +
        `are in use, ${memory.reserve} are kept back for the driver`,
      requested: bytes,
      free: memory.free,
      total: memory.total,
      largestBlock: statistics.largestFree,
      fragmentation: statistics.fragmentation.external,
      pendingBytes: statistics.pending,
    });
  }

  /**
   * Checks for an address inside a live buffer of this device.
   *
   * @throws {TypeError | RangeError} If the address is not an integer of at least 0.
   */
  ownsPointer(address: number): boolean {
    requireInteger(address, "address", "look up an address");
    const isDirect = this.#liveDirect().some((buffer) =>
      address >= buffer.address && address < buffer.address + buffer.byteLength
    );
    return isDirect || this.pool.ownsPointer(address);
  }

  /** Returns free memory of the pool that no stream uses to the device, and its bytes. */
  clearCache(): number {
    return this.pool.clearCache();
  }

  /**
   * Splits work into the fewest chunks that fit into the available memory.
   *
   * @param totalElements All elements.
   * @param bytesPerElement The memory for each element of a chunk in all buffers.
   * @throws {RangeError} If the smallest chunk does not fit.
   */
  chunksThatFit(
    totalElements: number,
    bytesPerElement: number,
    options: Omit<ChunkOptions, "availableBytes"> = {},
  ): ReturnType<typeof chunksThatFit> {
    requireObject(options, "options", "split work into chunks");
    const availableBytes = this.memoryAvailable();
    return chunksThatFit(totalElements, bytesPerElement, { ...options, availableBytes });
  }

  /** Returns the statistics, with a query of the device's free memory. */
  stats(): MemoryManagerStatistics {
    const pool = this.pool.stats();
    const direct = this.#liveDirect().map(({ byteLength }) => byteLength);
    const directBytes = this.#directBytes();
    const live = pool.currentUsage + directBytes;
    const statistics: MemoryManagerStatistics = {
      ordinal: this.ordinal,
      device: this.context.label,
      fake: this.context.info.fake,
      memory: this.memory(),
      capacity: this.capacity,
      live,
      reserved: pool.reserved + directBytes,
      utilization: this.capacity === 0 ? 0 : live / this.capacity,
      fragmentation: pool.fragmentation,
      bands: this.#bands.count([...this.pool.liveSizes(), ...direct]),
      pool,
    };
    return displayAs(statistics, "MemoryManagerStatistics", {
      device: () => labelOf(this),
      live: ({ live }) => formatBytes(live),
      reserved: ({ reserved }) => formatBytes(reserved),
      capacity: ({ capacity }) => formatBytes(capacity),
      utilization: ({ utilization }) => utilization,
    });
  }

  /**
   * Logs the usage at level `info`, with a warning if the largest block holds less than 70 % of the
   * free memory.
   *
   * @returns The logged statistics.
   */
  logUsage(): MemoryManagerStatistics {
    const statistics = this.stats();
    const { device, live, reserved, capacity, fragmentation } = statistics;
    logger("memory").info(
      "{device}: {live} bytes in use and {reserved} taken of {capacity}: {percent} %",
      { device, live, reserved, capacity, percent: (100 * statistics.utilization).toFixed(1) },
    );
    if (fragmentation.external > FRAGMENTATION_WARNING) {
      logger("memory").warn(
        "{device}: free memory is fragmented: {percent} % of it is not in the largest block, " +
          "which has {largest} bytes",
        {
          device,
          percent: (100 * fragmentation.external).toFixed(1),
          largest: statistics.pool.largestFree,
        },
      );
    }
    return statistics;
  }
}

displayAs(MemoryManager.prototype, "MemoryManager", {
  device: labelOf,
  live: (manager) => formatBytes(manager.memoryAllocated()),
  capacity: ({ capacity }) => formatBytes(capacity),
});
