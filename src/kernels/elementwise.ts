/**
 * Elementwise operations: fill, add, multiply, scale, axpy.
 *
 * @module
 */

import { requireOptions } from "../ffi/arguments.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import type { StreamChoice } from "../memory/buffer_options.ts";
import type { DeviceBuffer } from "../memory/device_buffer.ts";
import { bytesPerElement, type DType, type ElementOf } from "../memory/dtype.ts";
import { elementBits } from "../memory/element_bits.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import type { KernelArgument } from "../launch/signature/signature_types.ts";
import { FormFamily } from "./kernel_form.ts";
import { elementwiseLaunch } from "./launch_choice.ts";
import {
  FLOATING_DTYPES,
  type FloatingDType,
  NUMERIC_DTYPES,
  type NumericDType,
  requireDType,
  requireLength,
  requireNoPartialOverlap,
  requireOperands,
  requireSameDType,
} from "./operands.ts";

/** The element type that fills all types of its width, bit by bit. */
const FILL_DTYPES = { 1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64" } as const;

/** The element types with a fill kernel. */
export type FillDType = (typeof FILL_DTYPES)[keyof typeof FILL_DTYPES];

/** The element type with the fill kernel of a type. */
export function fillDType(dtype: DType): FillDType {
  return FILL_DTYPES[bytesPerElement(dtype)];
}

/** The kernels of an elementwise operation. */
export class Elementwise<D extends DType> extends FormFamily<D> {
  readonly #stepBytes: number;

  /**
   * @param packets Packets of 16 bytes that a CUDA thread takes of an array in one step, as the
   * operation's file in `csrc/kernels/` says.
   */
  constructor(name: string, packets: number, parametersOf: (type: string, dtype: D) => string) {
    super(name, parametersOf);
    this.#stepBytes = 16 * packets;
  }

  /** Elements that a CUDA thread takes of an array in one step. */
  elementsPerThread(dtype: D): number {
    return this.#stepBytes / bytesPerElement(dtype);
  }

  /** Enqueues the kernel for as many elements as the output has. */
  launch(
    dtype: D,
    out: DeviceBuffer,
    options: StreamChoice,
    ...kernelArguments: KernelArgument[]
  ): void {
    const { context, length } = out;
    const stream = streamFor(context, options.stream);
    if (length === 0) return;
    const kernel = this.of(context, dtype);
    const { grid, block } = elementwiseLaunch(kernel, length, this.elementsPerThread(dtype));
    kernel.launch({ grid, block, stream }, ...kernelArguments);
  }
}

/** Setting elements. */
export const FILL: Elementwise<FillDType> = new Elementwise<FillDType>(
  "fill",
  4,
  (type) => `${type}* out, ${type} value, unsigned long long n`,
);

function binaryKernels(operation: string): Elementwise<NumericDType> {
  return new Elementwise(
    operation,
    2,
    (type) => `const ${type}* x, const ${type}* y, ${type}* out, unsigned long long n`,
  );
}

/** Adding and multiplying. */
export const BINARY: Readonly<Record<"add" | "multiply", Elementwise<NumericDType>>> = {
  add: binaryKernels("add"),
  multiply: binaryKernels("multiply"),
};

/** The type of a scalar operand: double precision stays, everything else is single. */
function scalarType(dtype: FloatingDType): "double" | "float" {
  return dtype === "float64" ? "double" : "float";
}

/** Scaling. */
export const SCALE: Elementwise<FloatingDType> = new Elementwise<FloatingDType>(
  "scale",
  2,
  (type, dtype) => {
    const scalar = scalarType(dtype);
    return `const ${type}* x, ${type}* out, ${scalar} factor, ${scalar} offset, unsigned long long n`;
  },
);

/** Adding multiples. */
export const AXPY: Elementwise<FloatingDType> = new Elementwise<FloatingDType>(
  "axpy",
  2,
  (type, dtype) => `${scalarType(dtype)} a, const ${type}* x, ${type}* y, unsigned long long n`,
);

/**
 * Enqueues setting every element to a value.
 *
 * @param out The buffer; all element types.
 * @param value Rounded to the element type as a store would; integers must fit it.
 */
export function fill<D extends DType>(
  context: DeviceContext,
  out: DeviceBuffer<D>,
  value: ElementOf<D>,
  options: StreamChoice = {},
): void {
  requireOperands("fill", context, { out });
  requireOptions(options, ["stream"], "fill");
  const bits = elementBits(out.dtype, value);
  const dtype = fillDType(out.dtype);
  FILL.launch(dtype, out, options, out.as(dtype), bits, out.length);
}

/** Refuses an operand that differs from another in element type or length. */
function requireLike(
  operation: string,
  name: string,
  operand: DeviceBuffer,
  other: DeviceBuffer,
): void {
  requireSameDType(operation, name, operand, other);
  requireLength(operation, name, operand, other.length);
}

/** Checks the operands of a binary operation and enqueues its kernel. */
function binary(
  operation: "add" | "multiply",
  context: DeviceContext,
  x: DeviceBuffer,
  y: DeviceBuffer,
  out: DeviceBuffer,
  options: StreamChoice,
): void {
  requireOperands(operation, context, { x, y, out });
  requireOptions(options, ["stream"], operation);
  requireDType(operation, "x", x, NUMERIC_DTYPES);
  requireLike(operation, "y", y, x);
  requireLike(operation, "out", out, x);
  requireNoPartialOverlap(operation, "x", x, "out", out);
  requireNoPartialOverlap(operation, "y", y, "out", out);
  BINARY[operation].launch(x.dtype as NumericDType, out, options, x, y, out, x.length);
}

/**
 * Enqueues `out = x + y`. Integers wrap; half-width floats are added in single precision and
 * rounded once.
 *
 * @param out May be `x` or `y`.
 */
export function add<D extends NumericDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  y: DeviceBuffer<D>,
  out: DeviceBuffer<D>,
  options: StreamChoice = {},
): void {
  binary("add", context, x, y, out, options);
}

/**
 * Enqueues `out = x * y`, element by element. Integers wrap; half-width floats are multiplied in
 * single precision and rounded once.
 *
 * @param out May be `x` or `y`.
 */
export function multiply<D extends NumericDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  y: DeviceBuffer<D>,
  out: DeviceBuffer<D>,
  options: StreamChoice = {},
): void {
  binary("multiply", context, x, y, out, options);
}

/**
 * Enqueues `out = factor * x + offset` with one rounding.
 *
 * @param out May be `x`.
 * @param options `offset` is added after scaling; 0 by default.
 */
export function scale<D extends FloatingDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  factor: number,
  out: DeviceBuffer<D>,
  options: StreamChoice & { readonly offset?: number } = {},
): void {
  requireOperands("scale", context, { x, out });
  requireOptions(options, ["offset", "stream"], "scale");
  requireDType("scale", "x", x, FLOATING_DTYPES);
  requireLike("scale", "out", out, x);
  requireNoPartialOverlap("scale", "x", x, "out", out);
  SCALE.launch(x.dtype, out, options, x, out, factor, options.offset ?? 0, x.length);
}

/**
 * Enqueues `y = a * x + y` with one rounding: BLAS's axpy, saxpy for `float32`.
 *
 * @param y Read and written.
 */
export function axpy<D extends FloatingDType>(
  context: DeviceContext,
  a: number,
  x: DeviceBuffer<D>,
  y: DeviceBuffer<D>,
  options: StreamChoice = {},
): void {
  requireOperands("axpy", context, { x, y });
  requireOptions(options, ["stream"], "axpy");
  requireDType("axpy", "x", x, FLOATING_DTYPES);
  requireLike("axpy", "y", y, x);
  requireNoPartialOverlap("axpy", "x", x, "y", y);
  AXPY.launch(x.dtype, y, options, a, x, y, x.length);
}
