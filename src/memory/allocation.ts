/**
 * Device memory outside the pools: plain allocations and memory of other libraries.
 *
 * @module
 */

import { giveBack } from "../ffi/give_back.ts";
import {
  allocateMemory,
  freeMemory,
  pressMemory,
  tryAllocateMemory,
} from "../ffi/native_memory.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { drainPools, trimOthers } from "./pool/device_pools.ts";

/**
 * Counts the frees of this isolate, of any device. Results of looking at buffers stay valid as long
 * as the count does not change.
 */
export const frees = { count: 0 };

/**
 * Allocates plain memory. If the device has none left, the pools release their free memory: first the
 * memory that no stream uses, then the rest, which blocks this thread.
 *
 * @param bytes The size; more than 0.
 * @returns The address.
 */
export function allocateDirectly(context: DeviceContext, bytes: number): number {
  const { library, ordinal } = context;
  const atOnce = tryAllocateMemory(library, ordinal, bytes);
  if (atOnce !== 0) return atOnce;
  trimOthers(context, undefined);
  pressMemory(library, ordinal);
  const afterTrim = tryAllocateMemory(library, ordinal, bytes);
  if (afterTrim !== 0) return afterTrim;
  drainPools(context);
  return allocateMemory(library, ordinal, bytes);
}

/** Device memory with one owner, shared by a buffer and its views. */
export class Allocation {
  readonly context: DeviceContext;
  /** The address; 0 for an empty allocation. */
  readonly address: number;
  /** Keeps memory of another library alive; `undefined` for memory of this one. */
  #owner: { readonly object: unknown } | undefined;
  #freed = false;

  private constructor(context: DeviceContext, address: number, owner?: { object: unknown }) {
    this.context = context;
    this.address = address;
    this.#owner = owner;
  }

  static make(context: DeviceContext, bytes: number): Allocation {
    context.retain();
    try {
      return new Allocation(context, bytes === 0 ? 0 : allocateDirectly(context, bytes));
    } catch (error) {
      context.release();
      throw error;
    }
  }

  /**
   * Wraps memory of another library, which stays allocated.
   *
   * @param object The object to keep reachable until the wrapper is freed.
   */
  static wrap(context: DeviceContext, address: number, object: unknown): Allocation {
    context.retain();
    return new Allocation(context, address, { object });
  }

  get freed(): boolean {
    return this.#freed;
  }

  /** Frees the memory after the work that uses it. Repeated calls have no effect. */
  free(): void {
    if (this.#freed) return;
    const { context, address } = this;
    const isOurs = this.#owner === undefined && address !== 0;
    giveBack(
      context,
      () => isOurs && freeMemory(context.library, context.ordinal, address),
      () => {
        this.#freed = true;
        this.#owner = undefined;
        frees.count++;
        context.release();
      },
    );
  }
}
