/**
 * Elementwise operations: fill, add, multiply, scale, axpy.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import type { DeviceBuffer, StreamChoice } from "../memory/device_buffer.ts";
import { bytesPerElement, cTypeOf, type DType, type ElementOf } from "../memory/dtype.ts";
import { elementBits } from "../memory/element_bits.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { launchGeometry } from "../launch/launch_geometry.ts";
import { builtInKernel } from "../launch/kernel_library.ts";
import type { KernelArgument } from "../launch/signature_types.ts";
import {
  FLOATING_DTYPES,
  type FloatingDType,
  NUMERIC_DTYPES,
  type NumericDType,
  requireBuffers,
  requireDevice,
  requireDType,
  requireLength,
  requireNoPartialOverlap,
  requireSameDType,
} from "./operands.ts";

/** The element type of each width by whose bits every other type of that width is filled. */
const FILL_DTYPES = { 1: "uint8", 2: "int16", 4: "uint32", 8: "int64" } as const;

/** Enqueues a kernel with one thread per element, or several elements per thread. */
function launchElementwise(
  out: DeviceBuffer,
  signature: string,
  options: StreamChoice,
  kernelArguments: readonly KernelArgument[],
): void {
  const stream = streamFor(out.context, options.stream);
  if (out.length === 0) return;
  const kernel = builtInKernel(out.context, signature);
  const { grid, block } = launchGeometry(kernel, { elements: out.length });
  kernel.launch({ grid, block, stream }, ...kernelArguments);
}

/**
 * Enqueues setting every element to a value.
 *
 * @param out The buffer; all element types.
 * @param value Rounded to the element type as a store would; integers must fit it.
 * @throws {RangeError} If an integer does not fit the element type.
 */
export function fill<D extends DType>(
  out: DeviceBuffer<D>,
  value: ElementOf<D>,
  options: StreamChoice = {},
): void {
  requireBuffers("fill", { out });
  requireObject(options, "options", "fill");
  const bits = elementBits(out.dtype, value);
  const dtype = FILL_DTYPES[bytesPerElement(out.dtype)];
  launchElementwise(out, fillSignature(dtype), options, [
    out.as(dtype),
    asStored(dtype, bits),
    out.length,
  ]);
}

/** The value of a `dtype` element that has these bits. */
function asStored(dtype: "uint8" | "int16" | "uint32" | "int64", bits: number | bigint) {
  if (dtype === "int64") return BigInt.asIntN(64, BigInt(bits));
  return dtype === "int16" ? Number(bits) << 16 >> 16 : Number(bits);
}

function fillSignature(dtype: DType): string {
  const type = cTypeOf(dtype);
  return `fill_${dtype}(${type}* out, ${type} value, unsigned long long n)`;
}

/** Checks the operands of a binary operation and enqueues its kernel. */
function binary(
  operation: "add" | "multiply",
  x: DeviceBuffer,
  y: DeviceBuffer,
  out: DeviceBuffer,
  options: StreamChoice,
): void {
  requireBuffers(operation, { x, y, out });
  requireObject(options, "options", operation);
  requireDType(operation, "x", x, NUMERIC_DTYPES);
  for (const [name, buffer] of [["y", y], ["out", out]] as const) {
    requireSameDType(operation, name, buffer, x);
    requireDevice(operation, name, buffer, x.context);
    requireLength(operation, name, buffer, x.length);
  }
  requireNoPartialOverlap(operation, "x", x, out);
  requireNoPartialOverlap(operation, "y", y, out);
  const type = cTypeOf(x.dtype);
  launchElementwise(
    out,
    `${operation}_${x.dtype}(const ${type}* x, const ${type}* y, ${type}* out, unsigned long long n)`,
    options,
    [x, y, out, x.length],
  );
}

/**
 * Enqueues `out = x + y`. Integers wrap; half-width floats are added in single precision and
 * rounded once.
 *
 * @param out May be `x` or `y`.
 * @throws {TypeError} If element types or devices differ.
 * @throws {RangeError} If lengths differ, or `out` overlaps an input without being it.
 */
export function add<D extends NumericDType>(
  x: DeviceBuffer<D>,
  y: DeviceBuffer<D>,
  out: DeviceBuffer<D>,
  options: StreamChoice = {},
): void {
  binary("add", x, y, out, options);
}

/**
 * Enqueues `out = x * y`, element by element. Integers wrap; half-width floats are multiplied in
 * single precision and rounded once.
 *
 * @param out May be `x` or `y`.
 * @throws {TypeError} If element types or devices differ.
 * @throws {RangeError} If lengths differ, or `out` overlaps an input without being it.
 */
export function multiply<D extends NumericDType>(
  x: DeviceBuffer<D>,
  y: DeviceBuffer<D>,
  out: DeviceBuffer<D>,
  options: StreamChoice = {},
): void {
  binary("multiply", x, y, out, options);
}

/** Options of {@linkcode scale}. */
export interface ScaleOptions extends StreamChoice {
  /** What is added after scaling; 0 by default. */
  readonly offset?: number;
}

/** The type of a scalar operand: double precision stays, everything else is single. */
function scalarType(dtype: FloatingDType): "double" | "float" {
  return dtype === "float64" ? "double" : "float";
}

/**
 * Enqueues `out = factor * x + offset` with one rounding.
 *
 * @param out May be `x`.
 * @throws {TypeError} If element types or devices differ, or are not floating point.
 * @throws {RangeError} If lengths differ, or `out` overlaps `x` without being it.
 */
export function scale<D extends FloatingDType>(
  x: DeviceBuffer<D>,
  factor: number,
  out: DeviceBuffer<D>,
  options: ScaleOptions = {},
): void {
  requireBuffers("scale", { x, out });
  requireObject(options, "options", "scale");
  requireDType("scale", "x", x, FLOATING_DTYPES);
  requireSameDType("scale", "out", out, x);
  requireDevice("scale", "out", out, x.context);
  requireLength("scale", "out", out, x.length);
  requireNoPartialOverlap("scale", "x", x, out);
  const type = cTypeOf(x.dtype);
  const scalar = scalarType(x.dtype);
  launchElementwise(
    out,
    `scale_${x.dtype}(const ${type}* x, ${type}* out, ${scalar} factor, ${scalar} offset, unsigned long long n)`,
    options,
    [x, out, factor, options.offset ?? 0, x.length],
  );
}

/**
 * Enqueues `y = a * x + y` with one rounding: BLAS's axpy, saxpy for `float32`.
 *
 * @param y Read and written.
 * @throws {TypeError} If element types or devices differ, or are not floating point.
 * @throws {RangeError} If lengths differ, or `y` overlaps `x` without being it.
 */
export function axpy<D extends FloatingDType>(
  a: number,
  x: DeviceBuffer<D>,
  y: DeviceBuffer<D>,
  options: StreamChoice = {},
): void {
  requireBuffers("axpy", { x, y });
  requireObject(options, "options", "axpy");
  requireDType("axpy", "x", x, FLOATING_DTYPES);
  requireSameDType("axpy", "y", y, x);
  requireDevice("axpy", "y", y, x.context);
  requireLength("axpy", "y", y, x.length);
  requireNoPartialOverlap("axpy", "x", x, y);
  const type = cTypeOf(x.dtype);
  launchElementwise(
    y,
    `axpy_${x.dtype}(${scalarType(x.dtype)} a, const ${type}* x, ${type}* y, unsigned long long n)`,
    options,
    [a, x, y, x.length],
  );
}
