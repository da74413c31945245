/**
 * A device as the lower layers see it: its library, its ordinal and what is known of it.
 *
 * @module
 */

import { requireInstance, requireObject } from "../ffi/arguments.ts";
import { CudaError } from "../ffi/cuda_error.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import type { DeviceInfo } from "./device_information.ts";

/**
 * An opened device. It stays open while anybody holds it: the `Device` that opened it, its
 * streams, events and buffers each hold it once, so a child outlives its parent's disposal.
 */
export class DeviceContext {
  /** The library that drives the device. */
  readonly library: NativeLibrary;
  /** The device's number in that library. */
  readonly ordinal: number;
  /** What is known of the device. */
  readonly info: DeviceInfo;
  /** How messages and reports name it: `cuda:0`, `host:0`. */
  readonly label: string;
  #holders = 1;
  readonly #closers: (() => void)[] = [];

  /** Makes the context of a device that the library has opened; held once, by the caller. */
  constructor(library: NativeLibrary, ordinal: number, info: DeviceInfo) {
    this.library = library;
    this.ordinal = ordinal;
    this.info = info;
    this.label = `${library.kind}:${ordinal}`;
  }

  /** Whether everybody has let go. */
  get closed(): boolean {
    return this.#holders === 0;
  }

  /**
   * Holds the context once more.
   *
   * @internal For the layers above, which let go as often as they hold.
   */
  retain(): void {
    if (this.#holders === 0) {
      throw new TypeError(`Cannot use ${this.label} as it is disposed`);
    }
    this.#holders++;
  }

  /**
   * Lets go once; the last one closes what was registered with {@linkcode onClose}.
   *
   * @internal
   */
  release(): void {
    if (this.#holders === 0) {
      throw new TypeError(`Cannot let go of ${this.label} as nobody holds it`);
    }
    if (this.#holders === 1) this.#close();
    this.#holders--;
  }

  /** Closes what was registered; what fails stays registered, for the next attempt. */
  #close(): void {
    const failures: unknown[] = [];
    for (const [index, close] of [...this.#closers.entries()].reverse()) {
      try {
        close();
        this.#closers.splice(index, 1);
      } catch (error) {
        failures.push(error);
      }
    }
    const lost = failures.find((error) => error instanceof CudaError && error.sticky);
    if (lost !== undefined || failures.length === 1) throw lost ?? failures[0];
    if (failures.length > 1) throw new AggregateError(failures, `Cannot close ${this.label}`);
  }

  /**
   * Registers what is to be given back when the context closes, last in first out.
   *
   * @internal
   */
  onClose(close: () => void): void {
    this.#closers.push(close);
  }

  /**
   * What `console.log` shows of it, also within a device or a buffer: not the library with all its
   * functions.
   *
   * @internal
   */
  [Symbol.for("Deno.customInspect")](): string {
    return `DeviceContext { ${this.label} }`;
  }

  /** Whether another context is the same device of the same library. */
  isSameDevice(other: DeviceContext): boolean {
    requireInstance(other, DeviceContext, "other", "compare devices");
    return this.library === other.library && this.ordinal === other.ordinal;
  }
}

/**
 * Holds a context until something has ended, however it did.
 *
 * @throws {TypeError} If the context is closed.
 */
export async function whileHeld<Result>(
  context: DeviceContext,
  use: () => Promise<Result>,
): Promise<Result> {
  context.retain();
  try {
    return await use();
  } finally {
    context.release();
  }
}

/**
 * The context of a device, or of anything else that has one.
 *
 * @param name What was passed, as the error message says it.
 * @param action What the caller is about to do, as the error message says it.
 * @throws {TypeError} If it has none.
 */
export function contextOf(
  owner: { readonly context: DeviceContext },
  name: string,
  action: string,
): DeviceContext {
  requireObject(owner, name, action);
  const { context } = owner;
  requireInstance(context, DeviceContext, `${name}.context`, action);
  return context;
}
