/**
 * The built-in kernels of a device: operations on buffers, and the kernels themselves.
 *
 * @module
 */

import { requireInstance } from "../ffi/arguments.ts";
import { DeviceContext } from "../hardware/device_context.ts";
import { add, axpy, fill, multiply, scale, type ScaleOptions } from "../kernels/elementwise.ts";
import { histogram, type HistogramOptions } from "../kernels/histogram.ts";
import type { FloatingDType, NumericDType } from "../kernels/operands.ts";
import {
  max,
  mean,
  min,
  moments,
  type MomentsOptions,
  sum,
  type SumDType,
} from "../kernels/reduction.ts";
import type { Kernel } from "../launch/kernel.ts";
import { builtInKernel, builtInKernelNames } from "../launch/kernel_library.ts";
import type { ReadableSignature } from "../launch/signature/signature_types.ts";
import type { StreamChoice } from "../memory/buffer_options.ts";
import type { DeviceBuffer } from "../memory/device_buffer.ts";
import type { DType, ElementOf } from "../memory/dtype.ts";

/**
 * Operations on buffers. Each only enqueues work on a stream, the device's default one unless the options name
 * another, and returns at once.
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
 */
export class DeviceKernels {
  readonly #context: DeviceContext;

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
   * A built-in kernel by its C signature. TypeScript reads the signature and types the arguments
   * of `launch`; it is compared with the compiled kernel before the first launch.
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

  /** Sets every element to a value; see {@linkcode fill}. */
  fill<D extends DType>(
    out: DeviceBuffer<D>,
    value: ElementOf<D>,
    options?: StreamChoice,
  ): void {
    fill(out, value, options);
  }

  /** `out = x + y`; see {@linkcode add}. */
  add<D extends NumericDType>(
    x: DeviceBuffer<D>,
    y: DeviceBuffer<D>,
    out: DeviceBuffer<D>,
    options?: StreamChoice,
  ): void {
    add(x, y, out, options);
  }

  /** `out = x * y` element by element; see {@linkcode multiply}. */
  multiply<D extends NumericDType>(
    x: DeviceBuffer<D>,
    y: DeviceBuffer<D>,
    out: DeviceBuffer<D>,
    options?: StreamChoice,
  ): void {
    multiply(x, y, out, options);
  }

  /** `out = factor * x + offset`; see {@linkcode scale}. */
  scale<D extends FloatingDType>(
    x: DeviceBuffer<D>,
    factor: number,
    out: DeviceBuffer<D>,
    options?: ScaleOptions,
  ): void {
    scale(x, factor, out, options);
  }

  /** `y = a * x + y`; see {@linkcode axpy}. */
  axpy<D extends FloatingDType>(
    a: number,
    x: DeviceBuffer<D>,
    y: DeviceBuffer<D>,
    options?: StreamChoice,
  ): void {
    axpy(a, x, y, options);
  }

  /** `out[0] = Σ x`; see {@linkcode sum}. */
  sum<D extends NumericDType>(
    x: DeviceBuffer<D>,
    out: DeviceBuffer<SumDType<D>>,
    options?: StreamChoice,
  ): void {
    sum(x, out, options);
  }

  /** `out[0] = min x`; see {@linkcode min}. */
  min<D extends NumericDType>(
    x: DeviceBuffer<D>,
    out: DeviceBuffer<D>,
    options?: StreamChoice,
  ): void {
    min(x, out, options);
  }

  /** `out[0] = max x`; see {@linkcode max}. */
  max<D extends NumericDType>(
    x: DeviceBuffer<D>,
    out: DeviceBuffer<D>,
    options?: StreamChoice,
  ): void {
    max(x, out, options);
  }

  /** `out[0] = Σ x / n`; see {@linkcode mean}. */
  mean<D extends NumericDType>(
    x: DeviceBuffer<D>,
    out: DeviceBuffer<FloatingDType>,
    options?: StreamChoice,
  ): void {
    mean(x, out, options);
  }

  /** `out = [mean, variance]`; see {@linkcode moments}. */
  moments<D extends NumericDType>(
    x: DeviceBuffer<D>,
    out: DeviceBuffer<FloatingDType>,
    options?: MomentsOptions,
  ): void {
    moments(x, out, options);
  }

  /** Counts elements in equally wide bins; see {@linkcode histogram}. */
  histogram<D extends NumericDType>(
    x: DeviceBuffer<D>,
    counts: DeviceBuffer<"uint32">,
    options: HistogramOptions,
  ): void {
    histogram(x, counts, options);
  }
}
