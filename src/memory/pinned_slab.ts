/**
 * Page-aligned JavaScript memory that the device can copy from and to by itself.
 *
 * The slab is a `WebAssembly.Memory` because that is page-aligned and can be neither detached nor
 * transferred, and because registering it needs no more permission than the library itself.
 *
 * @module
 */

import { giveBack } from "../ffi/give_back.ts";
import { registerPinned, releasePinned } from "../ffi/native_memory.ts";
import type { NativeLibrary } from "../ffi/library.ts";

/** The size unit of a `WebAssembly.Memory`. */
const WASM_PAGE = 65536;

/** The largest slab: what a 32-bit `WebAssembly.Memory` can hold. */
export const MAXIMUM_SLAB_BYTES = 65536 * WASM_PAGE;

/** A slab of pinned memory. */
export class PinnedSlab implements Disposable {
  /** The library it is registered with. */
  readonly library: NativeLibrary;
  /** The memory, as long as asked for; the pinned pages may go on beyond it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  #handle: number;

  /**
   * Allocates and pins.
   *
   * @param bytes 1 to 4 GiB.
   * @throws {RangeError} If the size is out of range or the host has no memory for it.
   */
  constructor(library: NativeLibrary, bytes: number) {
    if (!Number.isSafeInteger(bytes) || bytes < 1 || bytes > MAXIMUM_SLAB_BYTES) {
      throw new RangeError(
        `Cannot allocate pinned memory as bytes must be an integer in 1..${MAXIMUM_SLAB_BYTES}: it is ${bytes}`,
      );
    }
    const pages = Math.ceil(bytes / WASM_PAGE);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
    const slab = new Uint8Array(memory.buffer as ArrayBuffer);
    this.#handle = registerPinned(library, slab);
    this.library = library;
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

  /** Waits for copies that use the slab and unpins it; its bytes stay readable. */
  [Symbol.dispose](): void {
    if (this.#handle === 0) return;
    giveBack(
      () => releasePinned(this.library, this.#handle),
      () => this.#handle = 0,
    );
  }
}
