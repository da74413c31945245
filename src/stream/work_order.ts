/**
 * The order of a device's work in this isolate, in which operations may wait for a compiler.
 *
 * The tensor layer appends operations that cannot be enqueued yet. Everything else that a program
 * asks of the device comes after them: an asynchronous call takes a place behind them in the queue,
 * and a synchronous call first prepares what waits, with this thread blocked.
 *
 * @module
 */

import { logger } from "../ffi/logging.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import type { DeviceContext } from "../hardware/device_context.ts";

/** A condition for an operation, such as a compiled kernel. */
export interface Preparation {
  /** Whether it is prepared, or has failed. */
  readonly isSettled: boolean;
  /** Resolves when it is settled; never rejects. */
  readonly settled: Promise<void>;
  /** Settles it with this thread blocked, once all before it have run; absent if `prepareNow` does. */
  settleNow?(action: string): void;
}

/** An operation in the queue. */
export interface WaitingOperation {
  /** Absent if the operation only waits for those before it. */
  readonly preparation?: Preparation | undefined;
  /** Enqueues the operation on the device. Must not throw. */
  run(): void;
}

/** Settles preparations with this thread blocked, or throws because it cannot. */
export type PrepareNow = (preparations: readonly Preparation[], action: string) => void;

/** A program that never returns to the event loop must not collect operations without end. */
const MAX_WAITING = 1024;

const orders = new WeakMap<NativeLibrary, WorkOrder[]>();

/** The queue of operations of a device, which all contexts of the device share. */
export class WorkOrder {
  readonly #library: NativeLibrary;
  readonly #waiting = new Map<WaitingOperation, DeviceContext>();
  #isRunning = false;
  #isDraining = false;
  /** Ends the wait for the first operation. */
  #wake: () => void = () => {};
  /** Prepares operations for synchronous calls. */
  prepareNow: PrepareNow | undefined;

  private constructor({ library }: DeviceContext) {
    this.#library = library;
  }

  /** The order of the device of a context. */
  static of({ context }: { readonly context: DeviceContext }): WorkOrder {
    const { library, ordinal } = context;
    let known = orders.get(library);
    if (known === undefined) orders.set(library, known = []);
    return known[ordinal] ??= new WorkOrder(context);
  }

  /** The number of operations that wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Whether new work must come after operations that wait. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0 && !this.#isRunning;
  }

  /**
   * Adds an operation to the queue.
   *
   * @param context Stays open until the operation has run, or is removed.
   */
  append(operation: WaitingOperation, context: DeviceContext): void {
    if (this.#waiting.size >= MAX_WAITING) this.settleNow(`let more than ${MAX_WAITING} wait`);
    context.retain();
    // Launches look the queue up after an interruption only.
    if (this.#waiting.size === 0) this.#library.interruptions++;
    this.#waiting.set(operation, context);
    if (!this.#isDraining) void this.#drain();
  }

  /** Removes an operation whose results are not needed; returns whether it waited. */
  abandon(operation: WaitingOperation): boolean {
    const context = this.#waiting.get(operation);
    if (context === undefined) return false;
    this.#waiting.delete(operation);
    releaseContext(context);
    // Those behind it need not wait for its kernel.
    this.#wake();
    return true;
  }

  /** Calls `act` after the operations that wait now, at once if there are none. */
  async inOrder<Result>(
    context: DeviceContext,
    act: () => Promise<Result>,
  ): Promise<Result> {
    if (!this.isWaiting) return await act();
    const { promise, resolve } = Promise.withResolvers<Result>();
    this.append({ run: () => resolve(Promise.try(act)) }, context);
    return await promise;
  }

  /**
   * Enqueues all operations that wait, for a synchronous call that comes after them.
   *
   * @param action The caller's action, for the error message.
   * @throws {TypeError} If kernels must be compiled and that cannot block this thread.
   */
  settleNow(action: string): void {
    if (!this.isWaiting) return;
    const waiting = new Set<Preparation>();
    for (const { preparation } of this.#waiting.keys()) {
      if (preparation?.isSettled === false && !preparation.settleNow) waiting.add(preparation);
    }
    if (waiting.size > 0) this.prepareNow!([...waiting], action);
    this.#runSettled();
    for (let [first] = this.#waiting.keys(); first !== undefined; [first] = this.#waiting.keys()) {
      first.preparation!.settleNow!(action);
      this.#runSettled();
    }
  }

  /** Calls `act`, whose work needs no order with the operations that wait, such as of new memory. */
  aside<Result>(act: () => Result): Result {
    const wasRunning = this.#isRunning;
    this.#isRunning = true;
    try {
      return act();
    } finally {
      this.#isRunning = wasRunning;
    }
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    while (this.#waiting.size > 0) {
      const [operation] = this.#waiting.keys();
      const { promise: woken, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await Promise.race([operation!.preparation?.settled, woken]);
      this.#runSettled();
    }
    this.#isDraining = false;
  }

  /** Runs operations until one is not prepared. */
  #runSettled(): void {
    for (const [operation, context] of this.#waiting) {
      if (operation.preparation?.isSettled === false) return;
      this.#waiting.delete(operation);
      this.aside(() => operation.run());
      releaseContext(context);
    }
  }
}

/** Releases a context. If it was the last holder, its resources are given back. */
export function releaseContext(context: DeviceContext): void {
  try {
    context.release();
  } catch (error) {
    logger("stream").error("{device}: cannot release the device: {error}", {
      device: context.label,
      error,
    });
  }
}
