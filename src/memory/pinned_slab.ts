/**
 * Page-aligned JavaScript memory that the device can copy from and to by itself.
 *
 * The slab is a `WebAssembly.Memory` because that is page-aligned and can be neither detached nor
 * transferred, and because registering it needs no more permission than the library itself.
 *
 * @module
 */

import { giveBack, giveBackAsync } from "../ffi/give_back.ts";
import { registerPinned, releasePinned, releasePinnedSync } from "../ffi/native_memory.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import {
  duringDeviceWait,
  refuseDeviceWait,
  refuseWhileCapturing,
} from "../stream/running_captures.ts";

/** The size unit of a `WebAssembly.Memory`. */
const WASM_PAGE = 65536;

/** The largest slab: what a 32-bit `WebAssembly.Memory` can hold. */
export const MAXIMUM_SLAB_BYTES = 65536 * WASM_PAGE;

/** A slab of pinned memory. */
export class PinnedSlab implements Disposable {
  /** The device whose library it is registered with. */
  readonly context: DeviceContext;
  /** The memory, as long as asked for; the pinned pages may go on beyond it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  #handle: number;

  /**
   * Allocates and pins.
   *
   * @param bytes 1 to 4 GiB.
   * @throws {RangeError} If the size is out of range or the host has no memory for it.
   */
  constructor(context: DeviceContext, bytes: number) {
    if (!Number.isSafeInteger(bytes) || bytes < 1 || bytes > MAXIMUM_SLAB_BYTES) {
      throw new RangeError(
        `Cannot allocate pinned memory as bytes must be an integer in 1..${MAXIMUM_SLAB_BYTES}: it is ${bytes}`,
      );
    }
    refuseWhileCapturing(context.library, "allocate pinned memory");
    const pages = Math.ceil(bytes / WASM_PAGE);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const slab = new Uint8Array(memory.buffer as ArrayBuffer);
    this.#handle = registerPinned(context.library, context.ordinal, slab);
    this.context = context;
    this.bytes = slab.subarray(0, bytes);
  }

  /** The handle by which copies name the slab. */
  get handle(): number {
    if (this.#handle === 0) throw new TypeError("Cannot use pinned memory as it is disposed");
    return this.#handle;
  }

  /** Whether the slab is given back. */
  get disposed(): boolean {
    return this.#handle === 0;
  }

  /**
   * Waits, blocking this thread, for the devices that used the slab and unpins it; its bytes stay
   * readable.
   */
  [Symbol.dispose](): void {
    if (this.#handle === 0) return;
    const { library, ordinal } = this.context;
    refuseDeviceWait(library, "release pinned memory");
    giveBack(
      this.context,
      () => releasePinnedSync(library, ordinal, this.#handle),
      () => this.#handle = 0,
    );
  }

  /** The same without blocking the event loop; the slab must not be used any more. */
  async release(): Promise<void> {
    if (this.#handle === 0) return;
    const { library, ordinal } = this.context;
    refuseDeviceWait(library, "release pinned memory");
    await giveBackAsync(
      this.context,
      () => duringDeviceWait(library, () => releasePinned(library, ordinal, this.#handle)),
      () => this.#handle = 0,
    );
  }
}
