/**
 * Device memory outside the pools: plain allocations and memory of other libraries.
 *
 * @module
 */

import { giveBack } from "../ffi/give_back.ts";
import { allocateMemory, freeMemory, tryAllocateMemory } from "../ffi/native_memory.ts";
import { pressMemory } from "../ffi/native_memory.ts";
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
 * @throws {OutOfMemoryError} If the device still has no room.
 * @throws {MemoryCorruptionError} If a pool in debug mode detects corruption while it trims.
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
export interface Allocation {
  /** The device. */
  readonly context: DeviceContext;
  /** The address; 0 for an empty allocation. */
  readonly address: number;
  /** The size in bytes. */
  readonly bytes: number;
  /** Whether the memory is freed. */
  readonly freed: boolean;
  /** Frees the memory. Repeated calls have no effect. */
  free(): void;
}

/** Memory of the device's allocator. */
export class OwnedAllocation implements Allocation {
  /** The device. */
  readonly context: DeviceContext;
  /** The address; 0 for an empty allocation. */
  readonly address: number;
  /** The size in bytes. */
  readonly bytes: number;
  #freed = false;

  /** Allocates memory; a size of 0 is valid. */
  constructor(context: DeviceContext, bytes: number) {
    context.retain();
    try {
      this.address = bytes === 0 ? 0 : allocateDirectly(context, bytes);
    } catch (error) {
      context.release();
      throw error;
    }
    this.context = context;
    this.bytes = bytes;
  }

  /** Whether the memory is freed. */
  get freed(): boolean {
    return this.#freed;
  }

  /** Frees the memory after the work that uses it. */
  free(): void {
    if (this.#freed) return;
    const { context, address } = this;
    giveBack(
      context,
      () => {
        if (address !== 0) freeMemory(context.library, context.ordinal, address);
      },
      () => {
        this.#freed = true;
        frees.count++;
        context.release();
      },
    );
  }
}

/** Memory that belongs to another library. */
export class ForeignAllocation implements Allocation {
  /** The device. */
  readonly context: DeviceContext;
  /** The address. */
  readonly address: number;
  /** The size in bytes. */
  readonly bytes: number;
  #owner: unknown;
  #freed = false;

  /**
   * Wraps memory.
   *
   * @param owner The object to keep reachable until the wrapper is freed.
   */
  constructor(context: DeviceContext, address: number, bytes: number, owner: unknown) {
    context.retain();
    this.context = context;
    this.address = address;
    this.bytes = bytes;
    this.#owner = owner;
  }

  /** Whether the wrapper is freed. */
  get freed(): boolean {
    return this.#freed;
  }

  /** The object that keeps the memory alive. */
  get owner(): unknown {
    return this.#owner;
  }

  /** Frees the wrapper; the memory stays allocated. */
  free(): void {
    if (this.#freed) return;
    this.#freed = true;
    frees.count++;
    this.#owner = undefined;
    this.context.release();
  }
}
