/**
 * A piece of device memory and who gives it back. Buffers and their views share one.
 *
 * @module
 */

import { giveBack } from "../ffi/give_back.ts";
import { freeMemory } from "../ffi/native_memory.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { allocateDirectly } from "./direct_memory.ts";
import { memoryReturns } from "./memory_returns.ts";

/** Device memory with one owner. */
export interface Allocation {
  /** The device it lies on. */
  readonly context: DeviceContext;
  /** Its address; 0 for an empty one. */
  readonly address: number;
  /** Its size in bytes. */
  readonly bytes: number;
  /** Whether it has been given back. */
  readonly freed: boolean;
  /** Gives it back; does nothing the second time. */
  free(): void;
}

/** Memory from the device's allocator. */
export class OwnedAllocation implements Allocation {
  /** The device it lies on. */
  readonly context: DeviceContext;
  /** Its address; 0 for an empty one. */
  readonly address: number;
  /** Its size in bytes. */
  readonly bytes: number;
  #freed = false;

  /** Allocates; a size of 0 is valid and takes no memory. */
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

  /** Whether it has been given back. */
  get freed(): boolean {
    return this.#freed;
  }

  /** Gives the memory back, after the work that uses it. */
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
        memoryReturns.count++;
        context.release();
      },
    );
  }
}

/** Memory that another library allocated and frees. */
export class ForeignAllocation implements Allocation {
  /** The device it lies on. */
  readonly context: DeviceContext;
  /** Its address. */
  readonly address: number;
  /** Its size in bytes. */
  readonly bytes: number;
  #owner: unknown;
  #freed = false;

  /**
   * @param owner Whatever must stay reachable as long as the memory is used.
   */
  constructor(context: DeviceContext, address: number, bytes: number, owner: unknown) {
    context.retain();
    this.context = context;
    this.address = address;
    this.bytes = bytes;
    this.#owner = owner;
  }

  /** Whether it has been let go. */
  get freed(): boolean {
    return this.#freed;
  }

  /** What keeps the memory alive. */
  get owner(): unknown {
    return this.#owner;
  }

  /** Lets the memory go; it stays allocated. */
  free(): void {
    if (this.#freed) return;
    this.#freed = true;
    memoryReturns.count++;
    this.#owner = undefined;
    this.context.release();
  }
}
