/**
 * The opened device that the lower layers use: its library, ordinal and description.
 *
 * @module
 */

import { displayAs } from "../ffi/display.ts";
import { cannot, requireInstance, requireObject } from "../ffi/arguments.ts";
import { CudaError } from "../ffi/cuda_error.ts";
import type { NativeLibrary } from "../ffi/library.ts";
import type { DeviceInfo } from "./device_information.ts";

/**
 * An opened device. It stays open while it is held: the `Device` that opened it, its streams, events
 * and buffers each hold it once, so a child outlives its parent's disposal.
 * @category Devices
 */
export class DeviceContext {
  /** The library that drives the device. */
  readonly library: NativeLibrary;
  /** The device's number in that library. */
  readonly ordinal: number;
  /** The description of the device. */
  readonly info: DeviceInfo;
  /** Its label in messages and reports: `cuda:0`, `host:0`. */
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

  /** Whether all holders have released it. */
  get closed(): boolean {
    return this.#holders === 0;
  }

  /**
   * Holds the context once more, until a matching {@linkcode DeviceContext.release}.
   *
   * @ignore
   * @throws {TypeError} If it is closed.
   */
  retain(): void {
    if (this.#holders === 0) {
      throw new TypeError(`Cannot use ${this.label} as it is disposed`);
    }
    this.#holders++;
  }

  /**
   * Releases the context once; the last release runs the functions of
   * {@linkcode DeviceContext.onClose}.
   *
   * @ignore
   * @throws {TypeError} If it is closed.
   */
  release(): void {
    if (this.#holders === 0) {
      throw new TypeError(`Cannot release ${this.label} as it is not held`);
    }
    if (this.#holders === 1) this.#close();
    this.#holders--;
  }

  /** Runs the registered functions; those that fail stay registered for the next attempt. */
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
   * Registers a function to run when the context closes, last in first out.
   *
   * @ignore
   */
  onClose(close: () => void): void {
    this.#closers.push(close);
  }

  /** Whether another context is the same device of the same library. */
  isSameDevice(other: DeviceContext): boolean {
    requireInstance(other, DeviceContext, "other", "compare devices");
    return this.library === other.library && this.ordinal === other.ordinal;
  }
}

displayAs(DeviceContext.prototype, "DeviceContext", {
  device: labelOf,
  closed: ({ closed }) => closed,
});

/** The label of the device of an object, which marks a fake: `host:0 (fake)`. */
export function labelOf(owner: DeviceContext | { readonly context: DeviceContext }): string {
  const { label, info } = "context" in owner ? owner.context : owner;
  return info.fake ? `${label} (fake)` : label;
}

/** @throws {TypeError} If an object belongs to another device than the context. */
export function requireOnDevice(
  context: DeviceContext,
  owner: { readonly context: DeviceContext },
  name: string,
  action: string,
): void {
  if (context.isSameDevice(owner.context)) return;
  throw new TypeError(
    `${cannot(action)} as ${name} must be of ${context.label}: it is of ${owner.context.label}`,
  );
}

/** Holds a context until a promise has settled. */
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
 * @param name The argument's name, for the error message.
 * @param action The caller's action, for the error message.
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
