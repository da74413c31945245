/**
 * Options of buffers, and checks of their arguments.
 *
 * @module
 */

import { requireInstance, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { contextOf, type DeviceContext } from "../hardware/device_context.ts";
import { Stream } from "../stream/stream.ts";
import { Allocation } from "./allocation.ts";
import { bytesPerElement, type DType } from "./dtype.ts";

/**
 * Options of operations on a stream.
 * @category Memory
 */
export interface StreamChoice {
  /** The stream; the device's default stream by default. */
  readonly stream?: Stream;
}

/**
 * Options of an allocation.
 * @category Memory
 */
export interface PlacementOptions extends StreamChoice {
  /** The stream that uses the memory first and owns it; the device's default stream by default. */
  readonly stream?: Stream;
  /** A power of two up to 2^30 that divides the address; the pool's alignment, at least 512, by default. */
  readonly alignment?: number;
}

/**
 * Options of a copy into or out of a buffer.
 * @category Memory
 */
export interface CopyOptions extends StreamChoice {
  /** The first element in this buffer; 0 by default. */
  readonly offset?: number;
}

const MAX_ALIGNMENT = 2 ** 30;

export function checkAlignment(alignment: number): number {
  if (Number.isSafeInteger(alignment) && alignment > 0) {
    // Compared exactly, because the logarithm of a large number is rounded.
    const isPower = 2 ** Math.round(Math.log2(alignment)) === alignment;
    if (isPower && alignment <= MAX_ALIGNMENT) return alignment;
  }
  throw new RangeError(
    `Cannot allocate a buffer as alignment must be a power of two up to 2^30: it is ${
      describeValue(alignment)
    }`,
  );
}

export function bytesOfLength(length: number, dtype: DType): number {
  const size = bytesPerElement(dtype);
  if (Number.isSafeInteger(length) && length >= 0) {
    const bytes = length * size;
    if (bytes <= Number.MAX_SAFE_INTEGER) return bytes;
  }
  throw new RangeError(
    `Cannot allocate a ${dtype} buffer as length must be an integer of at least 0, and its bytes below 2^53: it is ${
      describeValue(length)
    }`,
  );
}

export function requireViewRange(start: number, end: number, length: number): void {
  if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || start > end) {
    throw new RangeError(
      `Cannot view a buffer as start and end must be integers, start at most end: they are ${
        describeValue(start)
      } and ${describeValue(end)}`,
    );
  }
  if (end > length) {
    throw new RangeError(
      `Cannot view a buffer as end must be at most its length ${length}: it is ${end}`,
    );
  }
}

/** The number of elements of another type in the same bytes. */
export function lengthAs(dtype: DType, address: number, bytes: number): number {
  const size = bytesPerElement(dtype);
  if (bytes % size === 0 && address % size === 0) return bytes / size;
  throw new RangeError(
    `Cannot view a buffer as ${dtype} as its ${bytes} bytes and its address must be multiples of ${size}`,
  );
}

/** Checks a stream that will use a buffer. */
export function requireSameLibrary(stream: Stream, context: DeviceContext): void {
  requireInstance(stream, Stream, "stream", "declare that a stream uses a buffer");
  if (stream.context.library === context.library) return;
  throw new TypeError(
    `Cannot declare that a stream uses a buffer of ${context.label} as it must be of the same library: it is of ${stream.context.label}`,
  );
}

export function foreignAllocation(
  address: number,
  bytes: number,
  options: {
    readonly device: { readonly context: DeviceContext };
    readonly dtype?: DType;
    readonly owner?: unknown;
  },
): Allocation {
  requireOptions(options, ["device", "dtype", "owner"], "wrap device memory");
  const context = contextOf(options.device, "options.device", "wrap device memory");
  const size = bytesPerElement(options.dtype ?? "uint8");
  if (!Number.isSafeInteger(address) || address <= 0 || address % size !== 0) {
    throw new RangeError(
      `Cannot wrap device memory as address must be a positive multiple of ${size}: it is ${
        describeValue(address)
      }`,
    );
  }
  if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes % size !== 0) {
    throw new RangeError(
      `Cannot wrap device memory as bytes must be a multiple of ${size}: it is ${
        describeValue(bytes)
      }`,
    );
  }
  return Allocation.wrap(context, address, options.owner);
}
