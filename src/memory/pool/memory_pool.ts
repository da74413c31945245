/**
 * The memory pools of a program.
 *
 * @module
 */

import { displayAs } from "../../ffi/display.ts";
import {
  requireInstance,
  requireInteger,
  requireObject,
  requireOptions,
} from "../../ffi/arguments.ts";
import { describeValue, formatBytes } from "../../ffi/describe_value.ts";
import { giveBack } from "../../ffi/give_back.ts";
import { contextOf, type DeviceContext, labelOf } from "../../hardware/device_context.ts";
import { isCapturing, observeCaptures } from "../../stream/running_captures.ts";
import { Allocation, frees } from "../allocation.ts";
import { bytesOfLength, type PlacementOptions } from "../buffer_options.ts";
import {
  bufferFromPool,
  bufferFromPoolAsync,
  bufferOfAllocation,
  DeviceBuffer,
  placeOfBuffer,
} from "../device_buffer.ts";
import type { DType } from "../dtype.ts";
import type { BlockPool, PoolLifetime } from "./block_pool.ts";
import { createPool, type DevicePool, poolOf } from "./device_pools.ts";
import { checkLeaks, type LeakReport, warnOfLeaks } from "./leak_report.ts";
import { MemoryCorruptionError } from "./memory_corruption.ts";
import {
  DEFAULT_CLEANUP_INTERVAL,
  type MemoryPoolOptions,
  type PoolSettings,
} from "./pool_options.ts";
import type { MemoryChange } from "./pool_observer.ts";
import type { PoolStatistics } from "./pool_statistics.ts";
import { isLiveAddress, walkLive } from "./segment_walk.ts";

/** The blocks of a pool, for the laboratory. The action is for the error of any other value. */
export let blocksOf: (pool: MemoryPool, action: string) => BlockPool;

/** The pool of a device, as the program sees it. */
export let poolOfDevice: (context: DeviceContext) => MemoryPool;

/** Stands for the options of a device's own pool, which exists already. */
const DEVICE_POOL: MemoryPoolOptions = {};

const devicePools = new WeakMap<BlockPool, MemoryPool>();

/**
 * The lifetime of a pool that a program has made. It holds the device until the pool has ended,
 * which is when the program has disposed of it and no buffer or graph uses it.
 */
class OwnLifetime implements PoolLifetime {
  readonly #context: DeviceContext;
  readonly pool: DevicePool;
  #uses = 0;
  #hasEnded = false;
  isDisposed = false;

  constructor(context: DeviceContext, options: MemoryPoolOptions) {
    this.#context = context;
    context.retain();
    try {
      this.pool = createPool(context, options, this);
    } catch (error) {
      context.release();
      throw error;
    }
  }

  retain(): void {
    this.#uses++;
  }

  release(): void {
    this.#uses--;
    if (this.isDisposed) this.#end();
  }

  dispose(): void {
    if (!this.isDisposed && this.#uses > 0) warnOfLeaks(this.pool);
    this.isDisposed = true;
    this.#end();
  }

  #end(): void {
    if (this.#uses > 0 || this.#hasEnded) return;
    // During a capture waiting for streams is forbidden.
    if (isCapturing()) {
      const captureEnded = () => {
        stop();
        this.#end();
      };
      const stop = observeCaptures({ captureBegun: () => {}, captureEnded });
      return;
    }
    const letGo = () => {
      this.#hasEnded = true;
      this.#context.release();
    };
    try {
      giveBack(this.#context, () => this.pool.close(), letGo);
    } catch (error) {
      // The pool has ended all the same.
      if (error instanceof MemoryCorruptionError) letGo();
      throw error;
    }
  }
}

/**
 * A pool of device memory. It keeps freed memory for later requests: most allocations take
 * nanoseconds and make no call to the device.
 *
 * Every device has one, `device.pool`, which its buffers come from. A program can make others, with
 * their own limits and statistics. Pools of one device do not share free memory.
 *
 * @example
 * ```ts
 * import { MemoryPool, openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using pool = new MemoryPool(device, { maxPoolSize: "256MiB", preset: "production" });
 * for (let step = 0; step < 3; step++) {
 *   using x = pool.allocate("float32", 1 << 20);
 *   device.kernels.fill(x, step);
 * }
 * const { cacheHits, peakUsage, reserved } = pool.stats();
 * console.log(cacheHits, peakUsage, reserved); // 2 4194304 4194304
 * ```
 * @category Memory
 */
export class MemoryPool implements Disposable {
  static {
    blocksOf = (pool, action) => {
      requireInstance(pool, MemoryPool, "pool", action);
      return pool.#blocks;
    };
    poolOfDevice = (context) => {
      const blocks = poolOf(context);
      let pool = devicePools.get(blocks);
      if (pool === undefined) {
        pool = new MemoryPool({ context }, DEVICE_POOL);
        devicePools.set(blocks, pool);
      }
      return pool;
    };
  }

  readonly #context: DeviceContext;
  readonly #blocks: DevicePool;
  /** Its lifetime; a device's own pool ends with the device. */
  readonly #lifetime: OwnLifetime | undefined;

  /**
   * Makes a pool of a device.
   *
   * @param device The device, or another object with its context. It stays open until the pool is
   * disposed.
   * @param options Options not given are taken from the environment, else from the preset.
   * @throws {TypeError | RangeError} If an option is wrong.
   * @throws {EnvironmentError} If a variable for pools is invalid.
   * @throws {OutOfMemoryError} If there is no memory for the initial size.
   */
  constructor(device: { readonly context: DeviceContext }, options: MemoryPoolOptions = {}) {
    this.#context = contextOf(device, "device", "make a memory pool");
    requireObject(options, "options", "make a memory pool");
    if (options === DEVICE_POOL) this.#blocks = poolOf(this.#context);
    else {
      this.#lifetime = new OwnLifetime(this.#context, options);
      this.#blocks = this.#lifetime.pool;
    }
  }

  /** The device's context. */
  get context(): DeviceContext {
    return this.#context;
  }

  /** The settings that result from the options, the environment and the preset. */
  get settings(): PoolSettings {
    return this.#blocks.settings;
  }

  /** Maximum bytes taken from the device. */
  get limitBytes(): number {
    return this.#blocks.settings.limitBytes;
  }

  /** Whether the pool is disposed. */
  get disposed(): boolean {
    return this.#lifetime?.isDisposed ?? this.#blocks.closed;
  }

  /**
   * Allocates a buffer. If memory is short it may wait, blocking this thread, for streams that use
   * freed memory; {@linkcode MemoryPool.allocateAsync} does not block.
   *
   * @param dtype The element type.
   * @param length The number of elements; 0 gives a valid empty buffer.
   * @throws {TypeError} If the pool is disposed, or the stream is of another device.
   * @throws {RangeError} If the length is negative, fractional, not a number or too large, or the
   * alignment is no power of two.
   * @throws {OutOfMemoryError} If there is no room within the pool's limit or on the device.
   */
  allocate<D extends DType>(
    dtype: D,
    length: number,
    options: PlacementOptions = {},
  ): DeviceBuffer<D> {
    requireOptions(options, ["stream", "alignment"], "allocate a buffer");
    this.#requireUsable();
    return bufferFromPool(this.#blocks, this.#context, dtype, length, options);
  }

  /**
   * The twin of {@linkcode MemoryPool.allocate} that never blocks the event loop. A pool or a device
   * that is disposed meanwhile ends after it.
   *
   * With `wait: true`, requests queue for memory that others will free. A request that fits into no
   * empty pool is refused at once. Requests without `wait` do not queue, and may overtake.
   *
   * @throws {OutOfMemoryError} If there is no room, or was none within the timeout.
   */
  async allocateAsync<D extends DType>(
    dtype: D,
    length: number,
    options: PlacementOptions & {
      /** Whether to wait, first come first served, for memory that others will free. */
      readonly wait?: boolean;
      /** Cancels the wait, which then rejects with the signal's reason. */
      readonly signal?: AbortSignal;
      /** The longest wait in milliseconds; then it rejects with an {@linkcode OutOfMemoryError}. */
      readonly timeout?: number;
    } = {},
  ): Promise<DeviceBuffer<D>> {
    requireOptions(
      options,
      ["stream", "alignment", "wait", "signal", "timeout"],
      "allocate a buffer",
    );
    this.#requireUsable();
    return await this.#during(() =>
      bufferFromPoolAsync(this.#blocks, this.context, dtype, length, options)
    );
  }

  /**
   * Allocates a buffer directly from the device; it is returned to the device when it is freed. The
   * pool's statistics do not count it. If the device has no more memory, its pools return free
   * memory, which may wait for streams and block this thread.
   *
   * @throws {RangeError} If the length is negative, fractional, not a number or too large.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  allocateDirect<D extends DType>(dtype: D, length: number): DeviceBuffer<D> {
    const bytes = bytesOfLength(length, dtype);
    this.#requireUsable();
    return bufferOfAllocation(Allocation.make(this.context, bytes), dtype, length);
  }

  /**
   * Frees a buffer, like its own `free()`, or the buffer at an address, which takes a search. If
   * nothing can be freed, that is an error and changes nothing.
   *
   * @throws {TypeError} If the buffer is freed already, a view, or not of this pool.
   * @throws {RangeError} If no live buffer of this pool begins at the address.
   */
  free(memory: DeviceBuffer | number): void {
    if (memory instanceof DeviceBuffer) return this.#freeBuffer(memory);
    if (typeof memory === "number") {
      frees.count++;
      return this.#blocks.freeAddress(memory);
    }
    throw new TypeError(
      `Cannot free memory as it must be a DeviceBuffer or its address: it is ${
        describeValue(memory)
      }`,
    );
  }

  /** The statistics of the pool. Makes no native call. */
  stats(): PoolStatistics {
    return displayAs(this.#blocks.stats(), "PoolStatistics", {
      live: ({ currentUsage }) => formatBytes(currentUsage),
      peak: ({ peakUsage }) => formatBytes(peakUsage),
      reserved: ({ reserved }) => formatBytes(reserved),
      buffers: ({ allocation }) => allocation.all.current,
      requests: ({ allocationCount }) => allocationCount,
      hitRate: ({ hitRate }) => hitRate,
      fragmentation: ({ fragmentation }) => fragmentation.external,
    });
  }

  /** Starts peaks and totals again; live buffers stay counted. */
  resetStats(): void {
    this.#blocks.counters.reset();
  }

  /** Bytes requested for live buffers. */
  memoryAllocated(): number {
    return this.#blocks.requestedBytes;
  }

  /** Bytes taken from the device. */
  memoryReserved(): number {
    return this.#blocks.reservedBytes;
  }

  /** The requested bytes of each live buffer, except empty ones. */
  *liveSizes(): Iterable<number> {
    for (const { requested } of walkLive(this.#blocks)) yield requested;
  }

  /**
   * Whether an address lies in a live buffer.
   *
   * @throws {TypeError | RangeError} If the address is not an integer of at least 0.
   */
  ownsPointer(address: number): boolean {
    requireInteger(address, "address", "look up an address");
    return isLiveAddress(this.#blocks, address);
  }

  /** Returns all free memory that no stream uses to the device. The result is its size in bytes. */
  clearCache(): number {
    return this.#blocks.trim();
  }

  /** Returns all free memory to the device after waiting for streams. The result is its size. */
  async clearCacheAsync(): Promise<number> {
    if (this.#blocks.closed) return 0;
    return await this.#during(() => this.#blocks.trimAsync());
  }

  /**
   * Returns memory to the device that is known to have been free for some time and that no stream
   * uses. A pool with a `cleanupInterval` does so by itself, and knows ages to within a quarter of
   * the interval. A pool without reads the clock here, and after each task that frees something. Free
   * neighbours form one block, which is as old as its youngest part.
   *
   * @param age In milliseconds; 0 for all free memory. By default the pool's `cleanupInterval`, or
   * 10 seconds if it has none.
   * @returns The bytes returned.
   * @throws {RangeError} If the age is negative or not a number.
   */
  cleanupExpiredBuffers(
    age: number = this.settings.cleanupInterval || DEFAULT_CLEANUP_INTERVAL,
  ): number {
    if (typeof age !== "number" || !(age >= 0)) {
      throw new RangeError(
        `Cannot clean up as age must be a number of milliseconds, 0 or more: it is ${
          describeValue(age)
        }`,
      );
    }
    if (this.#blocks.closed) return 0;
    return this.#blocks.expiry.expire(age);
  }

  /**
   * Reports the live buffers and, if memory is tracked (`enableMemoryTracking`), their age, stream
   * and allocation site. Makes no native call.
   *
   * @param options.olderThan Limits the report to buffers allocated longer ago, in milliseconds.
   * @throws {TypeError} If an age is given and the pool does not track memory.
   * @throws {RangeError} If the age is out of range.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice(undefined, { memory: { preset: "development" } });
   * using _weights = device.allocate("float16", 1000);
   * const { count, requested, buffers } = device.pool.checkLeaks();
   * console.log(count, requested, buffers[0]!.site); // 1 2000 …
   * ```
   */
  checkLeaks(options: { readonly olderThan?: number } = {}): LeakReport {
    return checkLeaks(this.#blocks, options);
  }

  /**
   * Checks for writes outside of buffers and after their freeing; only in debug mode. Waits for the
   * streams, blocking this thread.
   *
   * @returns The number of checked buffers.
   * @throws {MemoryCorruptionError} If there were any; it names the allocation and the free.
   * @throws {TypeError} If the pool is not in debug mode, or a stream is being captured.
   */
  checkMemory(): number {
    return this.#blocks.checkMemory();
  }

  /**
   * Calls a listener when the pool has taken memory from the device or returned some, which is rare.
   * The call comes at the end of the program's task, once for all changes.
   *
   * @returns Disposing the result removes the listener.
   * @throws {TypeError} If the listener is not a function.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice();
   * using _watching = device.pool.onMemoryChange(({ device, reserved, change }) =>
   *   console.log(`${device}: ${reserved} bytes, ${change > 0 ? "+" : ""}${change}`)
   * );
   * using _x = device.allocate("float32", 1 << 20);
   * await device.done();
   * ```
   */
  onMemoryChange(listener: (change: MemoryChange) => void): Disposable {
    if (typeof listener !== "function") {
      throw new TypeError(
        `Cannot watch a memory pool as listener must be a function: it is ${
          describeValue(listener)
        }`,
      );
    }
    return this.#blocks.watch.add(listener);
  }

  /**
   * Ends the pool: it allocates nothing any more. It returns its memory when no buffer and no graph
   * uses it, after waiting for streams, blocking this thread. Disposing twice is allowed. A device's
   * own pool ends with the device, and disposing of it does nothing.
   */
  [Symbol.dispose](): void {
    this.#lifetime?.dispose();
  }

  /** Keeps the pool and the device open during a promise. */
  async #during<T>(work: () => Promise<T>): Promise<T> {
    const lifetime = this.#lifetime ?? this.context;
    lifetime.retain();
    try {
      return await work();
    } finally {
      lifetime.release();
    }
  }

  #freeBuffer(buffer: DeviceBuffer): void {
    const { label } = this.context;
    const refuse = (reason: string): TypeError =>
      new TypeError(`Cannot free a ${buffer.dtype} buffer as ${reason}`);
    const { pool, isView } = placeOfBuffer(buffer);
    if (buffer.disposed) {
      throw refuse(isView ? "it is a view of a freed buffer" : "it is freed already");
    }
    if (isView) {
      throw refuse("it is a view, which owns nothing: free the buffer that it was made from");
    }
    if (pool !== this.#blocks) {
      const of = buffer.context.label;
      const owner = pool === undefined
        ? "no pool"
        : of === label
        ? `another pool of ${label}`
        : `a pool of ${of}`;
      throw refuse(`buffer must be of this pool of ${label}: it is of ${owner}`);
    }
    buffer.free();
  }

  #requireUsable(): void {
    if (!this.disposed) return;
    throw new TypeError(
      `Cannot allocate memory as the pool of ${this.context.label} is disposed`,
    );
  }
}

displayAs(MemoryPool.prototype, "MemoryPool", {
  device: labelOf,
  live: (pool) => formatBytes(pool.memoryAllocated()),
  reserved: (pool) => formatBytes(pool.memoryReserved()),
  limit: ({ limitBytes }) => formatBytes(limitBytes),
  hitRate: (pool) => pool.stats().hitRate,
  disposed: ({ disposed }) => disposed,
});
