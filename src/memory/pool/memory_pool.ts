/**
 * A memory pool, as a program uses it.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { contextOf, type DeviceContext } from "../../hardware/device_context.ts";
import type { PlacementOptions } from "../buffer_options.ts";
import { DeviceBuffer } from "../device_buffer.ts";
import { bufferFromPool } from "../pooled_buffer.ts";
import type { DType } from "../dtype.ts";
import { allocateDirect, type ManagedPool } from "../manager/managed_pool.ts";
import { requestedBytes } from "../manager/requested_bytes.ts";
import { freeAddress, freeBuffer } from "./deallocation.ts";
import { upkeepOf } from "./device_pool.ts";
import type { LeakOptions, LeakReport } from "./leak_report.ts";
import { isLiveAddress, liveSizes } from "./live_blocks.ts";
import type { MemoryChangeListener } from "./memory_watch.ts";
import type { PoolCore } from "./pool_core.ts";
import { REQUESTED_BYTES, RESERVED_BYTES } from "./pool_counters.ts";
import { DevicePoolHome, OwnPoolHome, PoolHome } from "./pool_home.ts";
import type { MemoryPoolOptions, PoolSettings } from "./pool_options.ts";
import { DEFAULT_CLEANUP_INTERVAL } from "./pool_settings.ts";
import type { PoolStatistics } from "./pool_statistics.ts";

/** The blocks behind a pool, for the laboratory. */
export let blocksOf: (pool: MemoryPool) => PoolCore;

const ownPools = new WeakMap<PoolCore, MemoryPool>();

/**
 * A pool of device memory: what is freed is kept for the next request, so that allocating takes
 * nanoseconds and asks the device for nothing.
 *
 * Every device has one, `device.pool`, that its buffers come from. A program that wants other
 * limits, or statistics of its own, for part of its work makes more. Pools of one device do not
 * share what they keep free.
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
 */
export class MemoryPool implements Disposable, ManagedPool {
  static {
    blocksOf = (pool) => pool.#core;
  }

  readonly #home: PoolHome;

  /**
   * Makes a pool of a device.
   *
   * @param device The device, or anything else that has its context. It stays open as long as the
   * pool is not disposed.
   * @param options What the options do not say, the environment and the preset do.
   * @throws {TypeError | RangeError} If an option is wrong.
   * @throws {EnvironmentError} If a variable for pools cannot be understood.
   * @throws {OutOfMemoryError} If what is to be preallocated is not there.
   */
  constructor(device: { readonly context: DeviceContext }, options?: MemoryPoolOptions);
  /**
   * Makes what a program sees of a pool that is there.
   *
   * @internal
   */
  constructor(device: { readonly context: DeviceContext }, home: PoolHome);
  constructor(
    device: { readonly context: DeviceContext },
    options: MemoryPoolOptions | PoolHome = {},
  ) {
    const context = contextOf(device, "device", "make a memory pool");
    requireObject(options, "options", "make a memory pool");
    this.#home = options instanceof PoolHome ? options : new OwnPoolHome(context, options);
  }

  /**
   * The pool that the buffers of a device come from.
   *
   * @throws {TypeError} If the device is disposed.
   * @internal
   */
  static ofDevice(context: DeviceContext): MemoryPool {
    const home = new DevicePoolHome(context);
    const known = ownPools.get(home.core);
    if (known !== undefined) return known;
    const pool = new MemoryPool(home, home);
    ownPools.set(home.core, pool);
    return pool;
  }

  get #core(): PoolCore {
    return this.#home.core;
  }

  /** Its device. */
  get context(): DeviceContext {
    return this.#home.context;
  }

  /** What holds for it, of the options, the environment and the preset together. */
  get settings(): PoolSettings {
    return this.#core.settings;
  }

  /** Most bytes that it takes from the device. */
  get limitBytes(): number {
    return this.#core.settings.limitBytes;
  }

  /** Whether it gives no memory any more. */
  get disposed(): boolean {
    return this.#home.disposed;
  }

  /**
   * Allocates a buffer. May block once, waiting for streams that use freed memory, before there is
   * an error; {@linkcode MemoryPool.allocateAsync} does not.
   *
   * @param dtype The element type.
   * @param length The number of elements; 0 gives a valid empty buffer.
   * @throws {TypeError} If the pool is disposed, or the stream is of another device.
   * @throws {RangeError} If the length is negative, fractional, not a number or too large, or the
   * alignment is no power of two.
   * @throws {OutOfMemoryError} If there is no room, within the pool's limit or on the device.
   */
  allocate<D extends DType>(
    dtype: D,
    length: number,
    options: PlacementOptions = {},
  ): DeviceBuffer<D> {
    requireObject(options, "options", "allocate a buffer");
    this.#requireUsable();
    return DeviceBuffer.fromPool(this.#core, this.context, dtype, length, options);
  }

  /**
   * The twin of {@linkcode MemoryPool.allocate} that never blocks the event loop: it tries the same
   * and waits for streams by promises. A pool or a device that is disposed meanwhile ends after it.
   */
  async allocateAsync<D extends DType>(
    dtype: D,
    length: number,
    options: PlacementOptions = {},
  ): Promise<DeviceBuffer<D>> {
    requireObject(options, "options", "allocate a buffer");
    this.#requireUsable();
    const { context } = this;
    return await this.#home.during(() =>
      bufferFromPool(this.#core, context, dtype, length, options)
    );
  }

  /**
   * Allocates a buffer past the pool, from the device, to which it goes back when it is freed.
   * Nothing of it is counted here. Where the device has no more, the pools give back what they keep
   * free, for which this may block until streams are through with it.
   *
   * @throws {RangeError} If the length is negative, fractional, not a number or too large.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  allocateDirect<D extends DType>(dtype: D, length: number): DeviceBuffer<D> {
    requestedBytes(dtype, length);
    this.#requireUsable();
    return allocateDirect(this.context, dtype, length);
  }

  /**
   * Frees a buffer, as its own `free()` does, or the one that begins at an address, which is looked
   * up among all blocks: with many, free buffers. What would free nothing is an error and changes
   * nothing.
   *
   * @throws {TypeError} If the buffer is freed already, a view, or not of this pool.
   * @throws {RangeError} If no live buffer of this pool begins at the address.
   */
  free(memory: DeviceBuffer | number): void {
    const place = { core: this.#core, label: this.context.label };
    if (memory instanceof DeviceBuffer) freeBuffer(memory, place);
    else freeAddress(memory, place);
  }

  /** What the pool counts, and how its memory is divided. Makes no native call. */
  stats(): PoolStatistics {
    return this.#core.stats();
  }

  /** Makes peaks and totals begin anew; what is live stays counted. */
  resetStats(): void {
    this.#core.resetStats();
  }

  /** What live buffers were asked for, in bytes. */
  memoryAllocated(): number {
    return this.#core.engine.counters.current(REQUESTED_BYTES);
  }

  /** What is taken from the device, in bytes. */
  memoryReserved(): number {
    return this.#core.engine.counters.current(RESERVED_BYTES);
  }

  /** What was asked for, in bytes, of each live buffer; without empty ones. */
  liveSizes(): Iterable<number> {
    return liveSizes(this.#core.engine);
  }

  /**
   * Whether an address lies in a live buffer, also inside of it.
   *
   * @throws {TypeError} If the address is no number.
   */
  ownsPointer(address: number): boolean {
    if (typeof address !== "number") {
      throw new TypeError(
        `Cannot look an address up as it must be a number: it is ${describeValue(address)}`,
      );
    }
    return isLiveAddress(this.#core.engine, address);
  }

  /** Gives all free memory back that no stream uses, without waiting; how many bytes it was. */
  clearCache(): number {
    return this.#core.trim();
  }

  /**
   * Gives all free memory back, once no stream uses it any more, without blocking the event loop.
   *
   * @returns How many bytes it was.
   */
  async clearCacheAsync(): Promise<number> {
    if (this.#core.closed) return 0;
    return await this.#home.during(() => this.#core.trimAsync());
  }

  /**
   * Gives back what is known to have been free for some time and no stream uses, as a pool with a
   * `cleanupInterval` does by itself. Such a pool knows how long to a quarter of the interval; one
   * without looks at the clock only when this is called, so that the first call finds nothing. Free
   * neighbours are one block, which is as old as the part that was freed last.
   *
   * @param age In milliseconds; the pool's `cleanupInterval` by default, and 10 seconds where it has
   * none. 0 stands for all that is free.
   * @returns How many bytes it was.
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
    if (this.#core.closed) return 0;
    return upkeepOf(this.#core).expiry.expire(age);
  }

  /**
   * What is live, and, where memory is tracked (`enableMemoryTracking`), since when, for which stream
   * and who allocated it. Makes no native call.
   *
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
   * console.log(count, requested, buffers[0]!.site); // 1 2000 at …
   * ```
   */
  checkLeaks(options: LeakOptions = {}): LeakReport {
    return this.#core.checkLeaks(options);
  }

  /**
   * Looks for writes outside of buffers and after their freeing; only in debug mode. Waits for the
   * streams, blocking this thread.
   *
   * @returns How many buffers were looked at.
   * @throws {MemoryCorruptionError} If there were any; it names who allocated and who freed.
   * @throws {TypeError} If the pool is not in debug mode, or a stream is being captured.
   */
  checkMemory(): number {
    return this.#core.checkMemory();
  }

  /**
   * Registers who is told when the pool has taken memory from the device or given some back, which
   * is rare: an allocation that is served from what is free changes nothing. Told at the end of the
   * program's present task, once for all changes of it.
   *
   * @returns Disposing it ends that.
   * @throws {TypeError} If the listener is no function.
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
  onMemoryChange(listener: MemoryChangeListener): Disposable {
    if (typeof listener !== "function") {
      throw new TypeError(
        `Cannot watch a memory pool as listener must be a function: it is ${
          describeValue(listener)
        }`,
      );
    }
    return upkeepOf(this.#core).watch.add(listener);
  }

  /**
   * Ends the pool: it gives nothing any more, and everything back as soon as no buffer of it lives
   * and no graph owns memory of it. That waits, blocking this thread, for the streams that used it,
   * here or where the last buffer is freed. Doing it twice is allowed. A device's own pool ends with
   * the device, and disposing it does nothing.
   */
  [Symbol.dispose](): void {
    this.#home.dispose();
  }

  #requireUsable(): void {
    if (!this.#home.disposed) return;
    throw new TypeError(
      `Cannot allocate memory as the pool of ${this.context.label} is disposed`,
    );
  }
}
