/**
 * Checks of the operands of operations.
 *
 * @module
 */

import { cannot, requireInstance } from "../ffi/arguments.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { DeviceBuffer } from "../memory/device_buffer.ts";
import { type DType, DTYPES, isIntegerDType } from "../memory/dtype.ts";

/**
 * Element types with arithmetic kernels.
 * @category Launching kernels
 */
export type NumericDType = Exclude<DType, "float8_e4m3" | "float8_e5m2" | "bool">;

/**
 * Floating-point element types with arithmetic kernels.
 * @category Launching kernels
 */
export type FloatingDType = "float64" | "float32" | "float16" | "bfloat16";

/** The floating-point element types with arithmetic kernels. */
export const FLOATING_DTYPES: readonly FloatingDType[] = [
  "float64",
  "float32",
  "float16",
  "bfloat16",
];

/** The element types with arithmetic kernels, in the order reports list them. */
export const NUMERIC_DTYPES: readonly NumericDType[] = [
  ...FLOATING_DTYPES,
  ...DTYPES.filter(isIntegerDType),
];

/** Checks whether an element type is floating point. */
export function isFloating(dtype: DType): dtype is FloatingDType {
  return (FLOATING_DTYPES as readonly DType[]).includes(dtype);
}

/**
 * Refuses operands that are no buffers, are disposed or lie on another device.
 *
 * @param context The device of the operation.
 * @param operands The operands by their names.
 */
export function requireOperands(
  operation: string,
  context: DeviceContext,
  operands: Readonly<Record<string, unknown>>,
): void {
  for (const name in operands) {
    const buffer = operands[name];
    requireInstance(buffer, DeviceBuffer, name, operation);
    if (buffer.disposed) {
      throw new TypeError(
        `${cannot(operation)} as ${name} must be a live buffer: it is disposed`,
      );
    }
    if (buffer.context.isSameDevice(context)) continue;
    throw new TypeError(
      `${
        cannot(operation)
      } as ${name} must be on ${context.label}: it is on ${buffer.context.label}`,
    );
  }
}

/** Refuses a buffer of another element type than the allowed ones. */
export function requireDType(
  operation: string,
  name: string,
  buffer: { readonly dtype: DType },
  allowed: readonly DType[],
): void {
  if (allowed.includes(buffer.dtype)) return;
  throw new TypeError(
    `${cannot(operation)} as ${name} must be ${allowed.join(", ")}: it is ${buffer.dtype}`,
  );
}

/** Refuses a buffer that differs from another in element type. */
export function requireSameDType(
  operation: string,
  name: string,
  buffer: { readonly dtype: DType },
  wanted: { readonly dtype: DType },
): void {
  if (buffer.dtype === wanted.dtype) return;
  throw new TypeError(
    `${
      cannot(operation)
    } as ${name} must be ${wanted.dtype}, as the others are: it is ${buffer.dtype}`,
  );
}

/** Refuses a buffer that is not as long as it must be. */
export function requireLength(
  operation: string,
  name: string,
  buffer: { readonly length: number },
  length: number,
): void {
  if (buffer.length === length) return;
  throw new RangeError(
    `${cannot(operation)} as ${name} must have ${length} elements: it has ${buffer.length}`,
  );
}

/** Whether two buffers have bytes in common. */
function overlap(one: DeviceBuffer, other: DeviceBuffer): boolean {
  return one.length > 0 && other.length > 0 &&
    one.address < other.address + other.byteLength &&
    other.address < one.address + one.byteLength;
}

function bytesApart(one: DeviceBuffer, other: DeviceBuffer): string {
  return `they begin ${Math.abs(one.address - other.address)} bytes apart`;
}

/**
 * Refuses an output that shares some but not all of its elements with an input: elements would be read
 * before or after they are written, in no order. Exactly in place is allowed.
 */
export function requireNoPartialOverlap(
  operation: string,
  name: string,
  input: DeviceBuffer,
  outputName: string,
  output: DeviceBuffer,
): void {
  if (input.address === output.address || !overlap(input, output)) return;
  throw new RangeError(
    `${cannot(operation)} as ${outputName} must be ${name} itself or not overlap it: ${
      bytesApart(input, output)
    }`,
  );
}

/** Refuses an output that shares elements with an input that is read after it is written. */
export function requireNoOverlap(
  operation: string,
  name: string,
  input: DeviceBuffer,
  outputName: string,
  output: DeviceBuffer,
): void {
  if (!overlap(input, output)) return;
  throw new RangeError(
    `${cannot(operation)} as ${outputName} must not overlap ${name}: ${bytesApart(input, output)}`,
  );
}
