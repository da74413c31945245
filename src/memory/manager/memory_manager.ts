/**
 * The memory of one device: what is usable, who may have it, and how it is used.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { OutOfMemoryError } from "../../ffi/cuda_error.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { deviceMemory } from "../../ffi/native_device.ts";
import { contextOf, type DeviceContext } from "../../hardware/device_context.ts";
import { type UsableMemory, usableMemory } from "../../hardware/memory_reserve.ts";
import { logger } from "../../ffi/logging.ts";
import { checkAlignment } from "../buffer_checks.ts";
import { streamFor } from "../buffer_copy.ts";
import type { PlacementOptions } from "../buffer_options.ts";
import type { DeviceBuffer } from "../device_buffer.ts";
import type { DType } from "../dtype.ts";
import { MemoryPool } from "../pool/memory_pool.ts";
import type { Fragmentation, PoolStatistics } from "../pool/pool_statistics.ts";
import { type Chunk, type ChunkOptions, chunksThatFit } from "./chunks.ts";
import { DirectBuffers } from "./direct_buffers.ts";
import type { ManagedPool } from "./managed_pool.ts";
import { requestedBytes } from "./requested_bytes.ts";
import { type BandFigures, type BandLimits, type BandRange, SizeBands } from "./size_bands.ts";

/** Options of a memory manager. */
export interface MemoryManagerOptions {
  /** Where the bands of sizes end. */
  readonly bands?: BandLimits;
  /** The pool that serves all but the largest requests; the device's own by default. */
  readonly pool?: ManagedPool;
}

/** Statistics of a device's memory. All sizes are bytes. */
export interface MemoryManagerStatistics {
  /** The device's ordinal. */
  readonly ordinal: number;
  /** The device, as messages name it: `cuda:0`. */
  readonly device: string;
  /** The device's memory now: free, total, kept back and usable. */
  readonly memory: UsableMemory;
  /** What buffers may take in all. */
  readonly capacity: number;
  /** What live buffers were asked for, in the pool and past it. */
  readonly live: number;
  /** What is taken from the device, by the pool and past it. */
  readonly reserved: number;
  /** `live / capacity`: 0 to 1. */
  readonly utilization: number;
  /** How broken up the pool's memory is. */
  readonly fragmentation: Fragmentation;
  /** Live buffers by size. */
  readonly bands: readonly BandFigures[];
  /** All that the pool counts. */
  readonly pool: PoolStatistics;
}

/** External fragmentation above which the usage log warns. */
export const FRAGMENTATION_WARNING = 0.3;

const ACTION = "manage memory";

/**
 * What the addresses that a device gives are multiples of at least: CUDA C++ Programming Guide,
 * "Device Memory Accesses".
 */
const DEVICE_ALIGNMENT = 256;

/**
 * Manages the memory of an opened device: keeps back what driver, context and emergencies need,
 * counts by size, and serves requests that are too large to be worth keeping past the pool.
 *
 * It holds neither the device nor the pool: they end when their owners let go. A pool made with
 * `memoryFraction: 1` keeps to the reserve also in what it takes beyond what buffers hold.
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
 */
export class MemoryManager {
  /** The device. */
  readonly context: DeviceContext;
  /** The pool that serves all but the largest requests. */
  readonly pool: ManagedPool;
  /**
   * What buffers may take of the device in all, in bytes: what was usable when the manager was
   * made, with what the pool had already taken, and no more than the pool's limit.
   */
  readonly capacity: number;
  readonly #bands: SizeBands;
  readonly #direct = new DirectBuffers();

  /**
   * Looks at the device's memory and logs what is usable of it.
   *
   * @param device The device, or anything else that has its context.
   * @throws {TypeError} If the pool is none or of another device, or a limit of a band is no size.
   * @throws {RangeError} If the bands overlap.
   * @throws {CudaError} If the device cannot be asked for its memory.
   */
  constructor(device: { readonly context: DeviceContext }, options: MemoryManagerOptions = {}) {
    this.context = contextOf(device, "device", ACTION);
    requireObject(options, "options", ACTION);
    const { pool = MemoryPool.ofDevice(this.context) } = options;
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

  /** The device's ordinal. */
  get ordinal(): number {
    return this.context.ordinal;
  }

  /** The bands, smallest first. */
  get bands(): readonly BandRange[] {
    return this.#bands.ranges;
  }

  /** Free, total, kept back and usable memory of the device now, in bytes. */
  memory(): UsableMemory {
    const { library, ordinal } = this.context;
    return usableMemory(deviceMemory(library, ordinal));
  }

  /** What live buffers were asked for, in bytes. Makes no native call. */
  memoryAllocated(): number {
    return this.pool.memoryAllocated() + this.#direct.bytes;
  }

  /**
   * What further buffers may take, in bytes: what the device has to give, with what the pool has
   * free, within the manager's capacity.
   */
  memoryAvailable(): number {
    const { free } = this.pool.stats();
    const within = this.capacity - this.memoryAllocated();
    return Math.max(0, Math.min(within, this.memory().usable + free));
  }

  /**
   * Allocates a buffer: from the pool, or, if it is above the largest band, from the device. What
   * comes from the device belongs to no stream: freeing it waits for those that use it. Where it is
   * to be aligned to more than the device does by itself, it comes from the pool nevertheless.
   *
   * @param dtype The element type.
   * @param length The number of elements; 0 gives a valid empty buffer.
   * @throws {TypeError} If the stream is of another device.
   * @throws {RangeError} If the length is negative, fractional, not a number or too large, or the
   * alignment is no power of two.
   * @throws {OutOfMemoryError} If the device has no room, or what is kept back would be touched.
   */
  allocate<D extends DType>(
    dtype: D,
    length: number,
    options: PlacementOptions = {},
  ): DeviceBuffer<D> {
    const bytes = requestedBytes(dtype, length);
    requireObject(options, "options", "allocate a buffer");
    if (this.memoryAllocated() + bytes > this.capacity) throw this.#outOfMemory(bytes);
    if (this.#bands.bandOf(bytes) !== "direct" || this.#needsPool(options)) {
      return this.pool.allocate(dtype, length, options);
    }
    return this.#allocateDirect(dtype, length, bytes);
  }

  /** Whether a place is asked for that the device does not give by itself. */
  #needsPool({ stream, alignment = DEVICE_ALIGNMENT }: PlacementOptions): boolean {
    if (stream !== undefined) streamFor(this.context, stream);
    return checkAlignment(alignment) > DEVICE_ALIGNMENT;
  }

  #allocateDirect<D extends DType>(dtype: D, length: number, bytes: number): DeviceBuffer<D> {
    // What the pool keeps free counts against the device as well.
    const { reserved } = this.pool.stats();
    if (reserved + this.#direct.bytes + bytes > this.capacity) this.pool.clearCache();
    const buffer = this.pool.allocateDirect(dtype, length);
    this.#direct.add(buffer);
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
   * Whether an address lies in a live buffer of this device, also inside of it.
   *
   * @throws {TypeError} If the address is no number.
   */
  ownsPointer(address: number): boolean {
    if (typeof address !== "number") {
      throw new TypeError(
        `Cannot look an address up as it must be a number: it is ${describeValue(address)}`,
      );
    }
    return this.#direct.owns(address) || this.pool.ownsPointer(address);
  }

  /** Gives all free memory of the pool back that no stream uses; how many bytes it was. */
  clearCache(): number {
    return this.pool.clearCache();
  }

  /**
   * Splits work into the fewest chunks that fit into what is available now.
   *
   * @param totalElements Elements in all.
   * @param bytesPerElement Memory that each element of a chunk needs, of all buffers together.
   * @throws {RangeError} If not even the smallest chunk fits.
   */
  chunksThatFit(
    totalElements: number,
    bytesPerElement: number,
    options: Omit<ChunkOptions, "availableBytes"> = {},
  ): Generator<Chunk, void> {
    requireObject(options, "options", "split work into chunks");
    const availableBytes = this.memoryAvailable();
    return chunksThatFit(totalElements, bytesPerElement, { ...options, availableBytes });
  }

  /** Statistics now. Asks the device for its free memory. */
  stats(): MemoryManagerStatistics {
    const pool = this.pool.stats();
    const direct = this.#direct.sizes();
    const directBytes = direct.reduce((sum, bytes) => sum + bytes, 0);
    const live = pool.currentUsage + directBytes;
    return {
      ordinal: this.ordinal,
      device: this.context.label,
      memory: this.memory(),
      capacity: this.capacity,
      live,
      reserved: pool.reserved + directBytes,
      utilization: this.capacity === 0 ? 0 : live / this.capacity,
      fragmentation: pool.fragmentation,
      bands: this.#bands.count([...this.pool.liveSizes(), ...direct]),
      pool,
    };
  }

  /**
   * Logs how memory is used, at level `info`, and warns where more than
   * {@linkcode FRAGMENTATION_WARNING} of free memory is not in its largest block.
   *
   * @returns The statistics that were logged.
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
