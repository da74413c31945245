/**
 * What keeps a pool, and what ends it.
 *
 * The pool of a device ends with the device. One that a program makes ends when the program disposes
 * it, or, if buffers of it live then, with the last of them.
 *
 * @module
 */

import { giveBack } from "../../ffi/give_back.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { isCapturing, observeCaptures } from "../../stream/running_captures.ts";
import { logger } from "../../ffi/logging.ts";
import { createPool, poolOf } from "./device_pool.ts";
import { MemoryCorruptionError } from "./memory_corruption.ts";
import type { PoolCore, PoolLifetime } from "./pool_core.ts";
import type { MemoryPoolOptions } from "./pool_options.ts";

/** A pool and its device. */
export abstract class PoolHome {
  /** The device. */
  readonly context: DeviceContext;

  /** A home on a device. */
  constructor(context: DeviceContext) {
    this.context = context;
  }

  /** The pool. */
  abstract readonly core: PoolCore;
  /** Whether the pool gives no memory any more. */
  abstract readonly disposed: boolean;
  /** Ends the pool, as soon as that is possible. */
  abstract dispose(): void;
  /** Keeps pool and device open while a promise is waited for. */
  abstract during<T>(work: () => Promise<T>): Promise<T>;
}

/** The home of a device's own pool. */
export class DevicePoolHome extends PoolHome {
  /** The pool. */
  readonly core: PoolCore;

  /**
   * Looks the pool up, or makes it.
   *
   * @throws {TypeError} If the device is disposed.
   * @throws {EnvironmentError} If a variable for pools cannot be understood.
   */
  constructor(context: DeviceContext) {
    super(context);
    this.core = poolOf(context);
  }

  /** Whether the device is closed. */
  get disposed(): boolean {
    return this.core.closed;
  }

  /** Does nothing: the device ends it. */
  dispose(): void {}

  /** Keeps the device open while a promise is waited for. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.context.retain();
    try {
      return await work();
    } finally {
      this.context.release();
    }
  }
}

/** The home of a pool that a program has made. It holds the device until the pool has ended. */
export class OwnPoolHome extends PoolHome implements PoolLifetime {
  /** The pool. */
  readonly core: PoolCore;
  #holds = 0;
  #isDisposed = false;
  #hasEnded = false;

  /**
   * Makes the pool.
   *
   * @throws {TypeError | RangeError} If an option is wrong.
   * @throws {OutOfMemoryError} If what is to be preallocated is not there.
   */
  constructor(context: DeviceContext, options: MemoryPoolOptions) {
    super(context);
    context.retain();
    try {
      this.core = createPool(context, options, this);
    } catch (error) {
      context.release();
      throw error;
    }
  }

  /** Whether the program has disposed the pool. */
  get disposed(): boolean {
    return this.#isDisposed;
  }

  /** Called by the pool when it begins to be used. */
  retain(): void {
    this.#holds++;
  }

  /** Called by the pool when it is not used any more. */
  release(): void {
    this.#holds--;
    if (this.#isDisposed) this.#end();
  }

  /** Ends the pool now, or else when the last buffer is freed. */
  dispose(): void {
    if (!this.#isDisposed && this.#holds > 0) this.#reportLeaks();
    this.#isDisposed = true;
    this.#end();
  }

  /** Keeps the pool, and so the device, open while a promise is waited for. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.retain();
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  #end(): void {
    if (this.#holds > 0 || this.#hasEnded) return;
    if (isCapturing()) return this.#endAfterCapture();
    try {
      giveBack(this.context, () => this.core.close(), () => this.#letGo());
    } catch (error) {
      // It tells of what debug mode has found; the pool has ended all the same.
      if (error instanceof MemoryCorruptionError) this.#letGo();
      throw error;
    }
  }

  #letGo(): void {
    this.#hasEnded = true;
    this.context.release();
  }

  /** Warns of what lives when the program says that it is through with the pool. */
  #reportLeaks(): void {
    if (this.core.tracker === undefined) return;
    const report = this.core.checkLeaks();
    if (report.count === 0) return;
    logger("memory").warn("a pool of {device} is disposed while buffers live: {report}", {
      device: this.context.label,
      report: String(report),
    });
  }

  /** While a stream is captured nobody may wait for streams, nor ask how far they are. */
  #endAfterCapture(): void {
    const stop = observeCaptures({
      captureBegun: () => {},
      captureEnded: () => {
        stop();
        this.#end();
      },
    });
  }
}
