/**
 * The built-in kernels of a device: operations on buffers, and the kernels themselves.
 *
 * @module
 */

import { displayAs } from "../ffi/display.ts";
import { requireInstance } from "../ffi/arguments.ts";
import { DeviceContext, labelOf } from "../hardware/device_context.ts";
import { add, axpy, fill, multiply, scale } from "../kernels/elementwise.ts";
import { histogram, type HistogramOptions } from "../kernels/histogram.ts";
import type { FloatingDType, NumericDType } from "../kernels/operands.ts";
import { moments } from "../kernels/moments.ts";
import { max, mean, min, sum } from "../kernels/reduction.ts";
import type { Kernel } from "../launch/kernel.ts";
import { builtInKernel, builtInKernelNames } from "../launch/kernel_library.ts";
import type { ReadableSignature } from "../launch/signature/signature_types.ts";
import type { StreamChoice } from "../memory/buffer_options.ts";
import type { DeviceBuffer } from "../memory/device_buffer.ts";
import type { DType, ElementOf } from "../memory/dtype.ts";

/**
 * Operations on buffers. Each enqueues work on the stream of its options, by default on the device's
 * default stream, and returns at once.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.upload(new Float32Array([1, 2, 3]));
 * using total = device.allocate("float32", 1);
 * device.kernels.sum(x, total);
 * console.log((await total.toArray())[0]);
 * ```
 * @category Devices
 */
export class DeviceKernels {
  readonly #context: DeviceContext;

  static {
    displayAs(DeviceKernels.prototype, "DeviceKernels", {
      device: (kernels) => labelOf(kernels.#context),
      kernels: ({ names }) => names.length,
    });
  }

  /** The kernels of a device. */
  constructor(context: DeviceContext) {
    requireInstance(context, DeviceContext, "context", "find the kernels of a device");
    this.#context = context;
  }

  /** The names of all built-in kernels, sorted. */
  get names(): readonly string[] {
    return builtInKernelNames(this.#context);
  }

  /**
   * Finds a built-in kernel by its C signature. TypeScript reads the signature and types the
   * arguments of `launch`. The signature is checked against the compiled kernel.
   *
   * @param signature Such as `"axpy_float32(float a, const float* x, float* y, unsigned long long n)"`.
   * @throws {TypeError} If there is no such kernel or its parameters differ.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice();
   * using x = device.allocate("float32", 1000, { fill: 1 });
   * using y = device.allocate("float32", 1000, { fill: 2 });
   * const axpy = device.kernels.load(
   *   "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
   * );
   * axpy.launch(device.launchFor(axpy, { elements: x.length }), 2, x, y, x.length);
   * ```
   */
  load<const Signature extends string>(
    signature: ReadableSignature<Signature>,
  ): Kernel<Signature> {
    return builtInKernel(this.#context, signature as Signature);
  }

  /**
   * Sets every element to a value.
   *
   * @param value The value, rounded to the element type; an integer must fit.
   * @throws {RangeError} If an integer does not fit the element type.
   */
  fill<D extends DType>(
    out: DeviceBuffer<D>,
    value: ElementOf<NoInfer<D>>,
    options?: StreamChoice,
  ): void {
    fill(this.#context, out, value, options);
  }

  /**
   * Computes `out = x + y`. Integers wrap; half-width floats are added in single precision and rounded
   * once.
   *
   * @param out The result, which may be `x` or `y`.
   * @throws {TypeError} If element types or devices differ.
   * @throws {RangeError} If lengths differ, or `out` partly overlaps an input.
   */
  add<D extends NumericDType>(
    x: DeviceBuffer<D>,
    y: DeviceBuffer<NoInfer<D>>,
    out: DeviceBuffer<NoInfer<D>>,
    options?: StreamChoice,
  ): void {
    add(this.#context, x, y, out, options);
  }

  /**
   * Computes `out = x * y`, element by element. Integers wrap; half-width floats are multiplied in
   * single precision and rounded once.
   *
   * @param out The result, which may be `x` or `y`.
   * @throws {TypeError} If element types or devices differ.
   * @throws {RangeError} If lengths differ, or `out` partly overlaps an input.
   */
  multiply<D extends NumericDType>(
    x: DeviceBuffer<D>,
    y: DeviceBuffer<NoInfer<D>>,
    out: DeviceBuffer<NoInfer<D>>,
    options?: StreamChoice,
  ): void {
    multiply(this.#context, x, y, out, options);
  }

  /**
   * Computes `out = factor * x + offset` with one rounding.
   *
   * @param out The result, which may be `x`.
   * @throws {TypeError} If element types or devices differ, or the type is not floating point.
   * @throws {RangeError} If lengths differ, or `out` partly overlaps `x`.
   */
  scale<D extends FloatingDType>(
    x: DeviceBuffer<D>,
    factor: number,
    out: DeviceBuffer<NoInfer<D>>,
    options?: StreamChoice & { readonly offset?: number },
  ): void {
    scale(this.#context, x, factor, out, options);
  }

  /**
   * Computes `y = a * x + y` with one rounding: BLAS's axpy, saxpy for `float32`.
   *
   * @param y The addend and result.
   * @throws {TypeError} If element types or devices differ, or the type is not floating point.
   * @throws {RangeError} If lengths differ, or `y` partly overlaps `x`.
   */
  axpy<D extends FloatingDType>(
    a: number,
    x: DeviceBuffer<D>,
    y: DeviceBuffer<NoInfer<D>>,
    options?: StreamChoice,
  ): void {
    axpy(this.#context, a, x, y, options);
  }

  /**
   * Computes `out[0] = Σ x`, with the bits of `sum()` of a tensor with these elements if `out` has its
   * type. Of floats up to 32 bits few are added in single precision, and their sums in double precision;
   * integers are exact modulo 2^64.
   *
   * @param out One element: `int64` or `uint64` for integers, any floating-point type for floats.
   * @throws {TypeError} If element types or devices do not fit.
   */
  sum<D extends NumericDType>(
    x: DeviceBuffer<D>,
    out: DeviceBuffer<D extends FloatingDType ? FloatingDType : "int64" | "uint64">,
    options?: StreamChoice,
  ): void {
    sum(this.#context, x, out, options);
  }

  /**
   * Computes `out[0] = min x`; NaN if an element is NaN.
   *
   * @param out One element of the same type.
   * @throws {RangeError} If `x` is empty.
   * @throws {TypeError} If element types or devices differ.
   */
  min<D extends NumericDType>(
    x: DeviceBuffer<D>,
    out: DeviceBuffer<NoInfer<D>>,
    options?: StreamChoice,
  ): void {
    min(this.#context, x, out, options);
  }

  /**
   * Computes `out[0] = max x`; NaN if an element is NaN.
   *
   * @param out One element of the same type.
   * @throws {RangeError} If `x` is empty.
   * @throws {TypeError} If element types or devices differ.
   */
  max<D extends NumericDType>(
    x: DeviceBuffer<D>,
    out: DeviceBuffer<NoInfer<D>>,
    options?: StreamChoice,
  ): void {
    max(this.#context, x, out, options);
  }

  /**
   * Computes `out[0] = Σ x / n`, with the bits of `mean()` of a tensor with these elements if `out` has its
   * type; NaN for an empty buffer. Integers are added up in double precision.
   *
   * @param out One element of any floating-point type.
   * @throws {TypeError} If element types or devices do not fit.
   */
  mean<D extends NumericDType>(
    x: DeviceBuffer<D>,
    out: DeviceBuffer<FloatingDType>,
    options?: StreamChoice,
  ): void {
    mean(this.#context, x, out, options);
  }

  /**
   * Computes `out = [mean, variance]` in one pass by merging means and sums of squared deviations
   * (Chan, Golub and LeVeque 1983); large means cost no digits.
   *
   * @param out Two elements of any floating-point type. The variance is NaN if n ≤ correction.
   * @throws {TypeError} If element types or devices do not fit.
   * @throws {RangeError} If the correction is negative or not a number.
   */
  moments<D extends NumericDType>(
    x: DeviceBuffer<D>,
    out: DeviceBuffer<FloatingDType>,
    options?: StreamChoice & { readonly correction?: number },
  ): void {
    moments(this.#context, x, out, options);
  }

  /**
   * Counts the elements of `x` in `counts.length` equally wide bins from `low` to `high`. Elements
   * outside, and NaN, are not counted. The bin of an element is computed in double precision:
   * `min(floor((x - low) * (bins / (high - low))), bins - 1)`.
   *
   * @param counts One element per bin; overwritten.
   * @throws {TypeError} If element types or devices do not fit.
   * @throws {RangeError} If there is no bin, the edges are not finite and in order, `counts` overlaps
   * `x`, or `x` has 2^32 elements or more.
   */
  histogram<D extends NumericDType>(
    x: DeviceBuffer<D>,
    counts: DeviceBuffer<"uint32">,
    options: HistogramOptions,
  ): void {
    histogram(this.#context, x, counts, options);
  }
}
