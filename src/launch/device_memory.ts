/**
 * Device memory as a kernel's parameter sees it: what a pointer argument must be.
 *
 * @module
 */

import type { DType } from "../memory/dtype.ts";
import type { Stream } from "../stream/stream.ts";

/** The device that memory lies on, as far as a launch needs to know it. */
export interface MemoryLocation {
  /** The library that drives the device; devices of different libraries are never the same. */
  readonly library: object;
  /** The device's number in that library. */
  readonly ordinal: number;
  /** How messages name it: `cuda:0`. */
  readonly label: string;
}

/**
 * Typed device memory that a kernel may read: what a parameter such as `const float*` takes.
 *
 * @typeParam D The element type.
 */
export interface ReadonlyDeviceMemory<D extends DType = DType> {
  /** The device it lies on. */
  readonly context: MemoryLocation;
  /** The element type. */
  readonly dtype: D;
  /** The address of the first element in bytes; 0 when there is none. */
  readonly address: number;
  /** The number of elements. */
  readonly length: number;
  /** Whether the memory is given back. */
  readonly disposed: boolean;
  /** The stream it belongs to, where it may be freed while others use it; absent otherwise. */
  readonly stream?: Stream | undefined;
  /** Told of each launch on another stream. */
  recordStream?(stream: Stream): void;
  /** Whether kernels may only read it; absent means that they may write too. */
  readonly readOnly?: boolean;
}

/**
 * Typed device memory that a kernel may read and write: what a parameter such as `float*` takes.
 * A `DeviceBuffer` is one.
 *
 * @typeParam D The element type.
 */
export interface DeviceMemory<D extends DType = DType> extends ReadonlyDeviceMemory<D> {
  /** Never set, or `false`: kernels may write it. */
  readonly readOnly?: false;
}
