/**
 * Device memory as a kernel's parameter sees it: the contract of a pointer argument.
 *
 * @module
 */

import { bytesPerElement, type DType, isDType } from "../../memory/dtype.ts";
import type { Stream } from "../../stream/stream.ts";

/**
 * Typed device memory that a kernel may read: the argument of a parameter such as `const float*`.
 *
 * @typeParam D The element type.
 * @category Launching kernels
 */
export interface ReadonlyDeviceMemory<D extends DType = DType> {
  /** The device it lies on. */
  readonly context: {
    /** The library that drives the device; devices of different libraries are never the same. */
    readonly library: object;
    /** The device's number in that library. */
    readonly ordinal: number;
    /** The device's name in messages: `cuda:0`. */
    readonly label: string;
  };
  /** The element type. */
  readonly dtype: D;
  /** The address of the first element in bytes; 0 when there is none. */
  readonly address: number;
  /** The number of elements. */
  readonly length: number;
  /** Whether the memory is freed. */
  readonly disposed: boolean;
  /** The stream it belongs to, if it may be freed while other streams use it. */
  readonly stream?: Stream | undefined;
  /** Records a launch on another stream. */
  recordStream?(stream: Stream): void;
  /** Whether kernels may only read it; absent means that they may write too. */
  readonly readOnly?: boolean;
}

/**
 * Typed device memory that a kernel may read and write: the argument of a parameter such as
 * `float*`. A `DeviceBuffer` is one.
 *
 * @typeParam D The element type.
 * @category Launching kernels
 */
export interface DeviceMemory<D extends DType = DType> extends ReadonlyDeviceMemory<D> {
  /** Never set, or `false`: kernels may write it. */
  readonly readOnly?: false;
}

/** A device, as far as a launch needs to know it. */
export type MemoryLocation = ReadonlyDeviceMemory["context"];

/** Whether a value is device memory, of any element type and device. */
export function isDeviceMemory(value: unknown): value is ReadonlyDeviceMemory {
  if (typeof value !== "object" || value === null) return false;
  const { context, dtype } = value as Partial<ReadonlyDeviceMemory>;
  return isDType(dtype) && typeof context === "object" && context !== null && "address" in value;
}

/**
 * The bytes of the device memory among a launch's arguments, each memory once: the traffic of a
 * kernel that reads or writes every byte of it once.
 */
export function argumentBytes(args: readonly unknown[]): number {
  const sizes = new Map<string, number>();
  for (const value of args) {
    if (!isDeviceMemory(value) || value.disposed) continue;
    const size = value.length * bytesPerElement(value.dtype);
    sizes.set(`${value.address} ${size}`, size);
  }
  return sizes.values().reduce((sum, size) => sum + size, 0);
}
