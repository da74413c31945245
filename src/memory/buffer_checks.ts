/**
 * What is checked of the numbers that buffers are made with, and of memory that is wrapped.
 *
 * @module
 */

import { requireInstance, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { contextOf, type DeviceContext } from "../hardware/device_context.ts";
import { Stream } from "../stream/stream.ts";
import { ForeignAllocation } from "./allocation.ts";
import type { ForeignMemoryOptions } from "./buffer_options.ts";
import { bytesPerElement, type DType } from "./dtype.ts";

/**
 * An alignment that is a power of two.
 *
 * @throws {RangeError} If it is none.
 */
export function checkAlignment(alignment: number): number {
  if (Number.isSafeInteger(alignment) && alignment > 0) {
    // The logarithm of a large number that is nearly a power of two is rounded to an integer too.
    if (2 ** Math.round(Math.log2(alignment)) === alignment) return alignment;
  }
  throw new RangeError(
    `Cannot allocate a buffer as alignment must be a power of two: it is ${
      describeValue(alignment)
    }`,
  );
}

/**
 * The bytes of so many elements. Asked at every allocation.
 *
 * @throws {RangeError} If there cannot be so many.
 * @throws {TypeError} If that is no element type.
 */
export function bytesOfLength(length: number, dtype: DType): number {
  const size = bytesPerElement(dtype);
  // Nearly all lengths are 32-bit integers, which are multiplied without a look at their fractions.
  if (typeof length === "number" && (length | 0) === length && length >= 0) return length * size;
  if (Number.isSafeInteger(length) && length >= 0) {
    const bytes = length * size;
    if (bytes <= Number.MAX_SAFE_INTEGER) return bytes;
  }
  throw lengthError(length, dtype);
}

/** The error for a length that no buffer has. */
function lengthError(length: number, dtype: DType): RangeError {
  return new RangeError(
    `Cannot allocate a ${dtype} buffer as length must be an integer of at least 0, and its bytes below 2^53: it is ${
      describeValue(length)
    }`,
  );
}

/**
 * Checks the positions of a view.
 *
 * @throws {RangeError} If they are not 0 ≤ start ≤ end ≤ length.
 */
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

/**
 * Checks whether bytes can be elements of another type, and returns how many.
 *
 * @throws {RangeError} If the size or the address is no multiple of the element size.
 */
export function lengthAs(dtype: DType, address: number, bytes: number): number {
  const size = bytesPerElement(dtype);
  if (bytes % size === 0 && address % size === 0) return bytes / size;
  throw new RangeError(
    `Cannot view a buffer as ${dtype} as its ${bytes} bytes and its address must be multiples of ${size}`,
  );
}

/**
 * Checks a stream that is to be declared as using a buffer.
 *
 * @throws {TypeError} If it is none, or of another library than the buffer.
 */
export function requireSameLibrary(stream: Stream, context: DeviceContext): void {
  requireInstance(stream, Stream, "stream", "declare that a stream uses a buffer");
  if (stream.context.library === context.library) return;
  throw new TypeError(
    `Cannot declare that a stream uses a buffer of ${context.label} as it must be of the same library: it is of ${stream.context.label}`,
  );
}

/**
 * Memory of another library, after checking what is said of it.
 *
 * @throws {TypeError} If the options are no object, or without a device.
 * @throws {RangeError} If the address or the size is impossible.
 */
export function foreignAllocation(
  address: number,
  bytes: number,
  options: ForeignMemoryOptions<DType>,
): ForeignAllocation {
  requireObject(options, "options", "wrap device memory");
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
  return new ForeignAllocation(context, address, bytes, options.owner);
}
